"""Changing what is kept: corrections, pins, reviews, and the two ways to delete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from engram_py.database.erasing import erase
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import (
    ChangedMeanwhileError,
    InvalidArgumentError,
    NothingReplacedError,
    ObservationNotFoundError,
    TextTooLongError,
    TopicTakenError,
)
from engram_py.observations import relations_table as relations
from engram_py.observations import table
from engram_py.observations.arguments import clean_scope, end_of
from engram_py.observations.lookup import check_id, live_observation
from engram_py.observations.relation_values import Relation, pair_id
from engram_py.observations.validation import TYPE_LIMIT_CHARS, clean_content, clean_line, clean_topic_key
from engram_py.observations.values import (
    CONTENT_LIMIT_BYTES,
    REVIEW_MONTHS,
    TITLE_LIMIT_CHARS,
    Change,
    Deleted,
    Observation,
    Pinned,
    Reviewed,
    Truncated,
    Undeleted,
    Updated,
)
from engram_py.text.derived_terms import derived_terms
from engram_py.text.normalize import check_text, content_hash
from engram_py.times import add_months, to_text

if TYPE_CHECKING:
    from engram_py.anchors.anchors import Anchors
    from engram_py.anchors.record import Observed
    from engram_py.sessions.sessions import Sessions

_CHANGEABLE = "title, content, find and replace, type, scope, topic_key, archived, salience, expires_at"
# How an observation counts, not what it says: changing these makes no revision.
_STANDING = frozenset({"lifecycle", "salience", "expires_at"})
_EDITED = ("title", "content", "type", "scope", "topic_key")


@dataclass(frozen=True, slots=True)
class _Edit:
    """The columns a change sets, already redacted, and what redacting and cutting did."""

    columns: dict[str, Any]
    redacted: int
    truncation: Truncated | None


class Editing:
    """Corrects, pins, reviews and deletes observations by id."""

    _store: Store
    _journal: Journal
    _sessions: Sessions
    _anchors: Anchors

    def update(self, observation_id: int, change: Change, *, base: Observation | None = None) -> Updated:
        """Change the given fields of an observation; the text it had becomes a version.

        ``find``/``replace`` replaces every literal occurrence in the content. The project never changes.
        ``base`` is the observation as the caller read it: the change is refused where it is not like that any more.

        Raises:
            ChangedMeanwhileError: it is not what ``base`` says.
            ObservationNotFoundError: there is no such live observation.
            InvalidArgumentError: nothing to change, or ``find`` and ``replace`` do not come as a pair.
            NothingReplacedError: ``find`` does not occur.
            TopicTakenError: the new topic key names another observation.
        """
        observed = self._observed(observation_id, change)
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            if base is not None and any(getattr(old, name) != getattr(base, name) for name in _EDITED):
                raise ChangedMeanwhileError(old.id)
            edit = self._edit(old, change)
            changed = {name: value for name, value in edit.columns.items() if getattr(old, name) != value}
            if changed:
                self._check_topic(old, changed)
                self._rewrite(old, changed) if changed.keys() - _STANDING else self._stand(old, changed)
            notes: tuple[str, ...] = ()
            if "content" in changed:
                notes = self._anchors.record(old.id, old.project, observed, "updated")
            now = live_observation(self._store, observation_id)
        return Updated(
            outcome="updated" if changed else "unchanged",
            id=now.id,
            sync_id=now.sync_id,
            title=now.title,
            type=now.type,
            scope=now.scope,
            topic_key=now.topic_key,
            project=now.project,
            revision_count=now.revision_count,
            changed=tuple(changed),
            truncation=edit.truncation,
            redacted=edit.redacted,
            warnings=(*_said(edit.redacted), *notes),
        )

    def _observed(self, observation_id: int, change: Change) -> Observed | None:
        """The files the new content names, read before any other process has to wait for it."""
        if change.content is None and change.find is None:
            return None
        text = self._new_content(live_observation(self._store, observation_id), change)
        if text is None or "where" not in text.lower():
            return None
        return self._anchors.observe((), clean_content(text)[0])

    def _edit(self, old: Observation, change: Change) -> _Edit:
        columns: dict[str, Any] = {}
        redacted, truncation = 0, None
        if change.title is not None:
            columns["title"], hidden = clean_line("title", change.title, limit=TITLE_LIMIT_CHARS)
            redacted += hidden
        if change.type is not None:
            kind, hidden = clean_line("type", change.type, limit=TYPE_LIMIT_CHARS)
            columns["type"] = kind.lower()
            redacted += hidden
        if change.scope is not None and change.scope.strip():
            columns["scope"] = clean_scope(change.scope)
        if change.topic_key is not None:
            columns["topic_key"], hidden = clean_topic_key(change.topic_key)
            redacted += hidden
        text = self._new_content(old, change)
        if text is not None:
            columns["content"], truncation, hidden = clean_content(text)
            redacted += hidden
        columns |= self._standing(old, change)
        if not columns:
            raise InvalidArgumentError("update", "nothing", expected=f"at least one of {_CHANGEABLE}")
        return _Edit(columns, redacted, truncation)

    def _standing(self, old: Observation, change: Change) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        if change.archived is not None:
            columns["lifecycle"] = "archived" if change.archived else old.lifecycle.replace("archived", "active")
        if change.salience is not None:
            if not 0 <= change.salience <= 1:
                raise InvalidArgumentError("salience", change.salience, expected="a number from 0 to 1")
            columns["salience"] = float(change.salience)
        if change.expires_at is not None:
            columns["expires_at"] = end_of("expires_at", change.expires_at, self._journal.moment())
        return columns

    def _stand(self, old: Observation, changed: dict[str, Any]) -> None:
        clock = self._journal.stamp()
        self._write(old, changed | {"clock": clock}, clock)

    def _new_content(self, old: Observation, change: Change) -> str | None:
        if change.find is None and change.replace is None:
            return change.content
        if change.find is None or change.replace is None:
            missing = "find" if change.find is None else "replace"
            raise InvalidArgumentError(missing, None, expected="given together with the other: both are text")
        if change.content is not None:
            raise InvalidArgumentError("content", "given", expected="left out when find and replace are used")
        check_text("replace", change.replace)
        if not change.find or change.find not in old.content:
            raise NothingReplacedError(old.id, change.find)
        text = old.content.replace(change.find, change.replace)
        if len(text.encode()) > CONTENT_LIMIT_BYTES:
            raise TextTooLongError("content after replacing", len(text.encode()), CONTENT_LIMIT_BYTES)
        return text

    def _check_topic(self, old: Observation, changed: dict[str, Any]) -> None:
        topic_key = changed.get("topic_key", old.topic_key)
        if topic_key is None or not {"topic_key", "scope"} & changed.keys():
            return
        scope = changed.get("scope", old.scope)
        other = table.live_topic(self._store, topic_key=topic_key, project=old.project, scope=scope)
        if other is not None and other.id != old.id:
            raise TopicTakenError(topic_key, other.id)

    def _rewrite(self, old: Observation, changed: dict[str, Any]) -> None:
        clock = self._journal.stamp()
        if {"title", "content"} & changed.keys():
            table.keep_version(self._store, old, clock=clock)
        title, content = changed.get("title", old.title), changed.get("content", old.content)
        topic_key = changed.get("topic_key", old.topic_key)
        values = changed | {
            "terms": derived_terms(title, topic_key or "", old.aliases, content),
            "content_hash": content_hash(content),
            "revision_count": old.revision_count + 1,
            "updated_at": self._journal.now(),
            "clock": clock,
        }
        self._write(old, values, clock)
        self._carry_summary(old, content)

    def pin(self, observation_id: int, *, pinned: bool = True) -> Pinned:
        """Keep an observation on top of the context, or stop doing so. Pinning twice changes nothing."""
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            if old.pinned != pinned:
                clock = self._journal.stamp()
                self._write(old, {"pinned": int(pinned), "clock": clock}, clock)
        return Pinned(old.id, pinned, old.title)

    def mark_reviewed(self, observation_id: int) -> Reviewed:
        """Confirm that an observation still holds; the next review date follows from its type."""
        anchors = self._anchors.confirmed(live_observation(self._store, observation_id))
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            self._anchors.rewrite(old.id, anchors)
            months = REVIEW_MONTHS.get(old.type)
            due = None if months is None else to_text(add_months(self._journal.moment(), months))
            clock = self._journal.stamp()
            self._write(old, {"review_after": due, "clock": clock}, clock)
        return Reviewed(old.id, old.title, due)

    def delete(self, observation_id: int, *, hard: bool = False) -> Deleted:
        """Hide an observation, or with ``hard`` destroy it and its versions, leaving a tombstone without text.

        A soft-deleted one leaves search and lists, and can still be hard-deleted.
        """
        with self._store.transaction():
            found = self.deletable(observation_id, hard=hard)
            deleted = self._destroy(found) if hard else self._hide(found)
        if hard:
            erase(self._store, "observations_fts")
        return deleted

    def deletable(self, observation_id: int, *, hard: bool) -> Observation:
        """The observation, unless there is none to delete. Raises ObservationNotFoundError, InvalidArgumentError."""
        found = table.by_id(self._store, check_id(observation_id))
        if found is None or (found.deleted_at and not hard):
            raise ObservationNotFoundError(observation_id, deleted_at=found.deleted_at if found else None)
        return found

    def undelete(self, observation_id: int) -> Undeleted:
        """Bring back an observation that was deleted, but not destroyed; one that is live stays as it is.

        Raises:
            ObservationNotFoundError: it was never there, or it was destroyed.
            TopicTakenError: its topic is another observation now.
        """
        with self._store.transaction():
            found = table.by_id(self._store, check_id(observation_id))
            if found is None:
                raise ObservationNotFoundError(observation_id)
            if found.deleted_at:
                self._check_topic(found, {"topic_key": found.topic_key})
                clock = self._journal.stamp()
                self._write(found, {"deleted_at": None, "updated_at": self._journal.now(), "clock": clock}, clock)
                if found.type == "session_summary":
                    self._sessions.resume_summary(found.session_id, found.content)
        return Undeleted(found.id, found.title, found.project)

    def _hide(self, found: Observation) -> Deleted:
        now, clock = self._journal.now(), self._journal.stamp()
        self._write(found, {"deleted_at": now, "updated_at": now, "clock": clock}, clock)
        self._carry_summary(found, None)
        return Deleted(found.id, found.sync_id, found.title, hard=False)

    def _destroy(self, found: Observation) -> Deleted:
        clock = self._journal.stamp()
        related = relations.of_observation(self._store, found.sync_id)
        self._join_line(related, found, clock)
        for relation in related:
            values = {"judgment_status": "orphaned", "updated_at": self._journal.now(), "clock": clock}
            self._store.update("memory_relations", {"id": relation.id}, values)
            self._journal.changed("relation", relation.sync_id, project=relation.project, clock=clock)
        # The answers of repeated saves hold the title: their own, and as a candidate of later saves.
        self._store.execute("delete from save_operations where instr(answer, :sync_id)", sync_id=found.sync_id)
        self._carry_summary(found, None)
        self._store.execute("delete from observations where id = :id", id=found.id)
        relations.settle(self._store, [end for one in related for end in (one.source_id, one.target_id)])
        session_id = None if found.scope == "personal" else found.session_id
        self._journal.removed("observation", found.sync_id, project=found.project, clock=clock, session_id=session_id)
        return Deleted(found.id, found.sync_id, found.title, hard=True, relations_orphaned=len(related))

    def _join_line(self, related: Sequence[Relation], found: Observation, clock: str) -> None:
        """What replaced an observation that is destroyed replaces what this had replaced."""
        said = [one for one in related if one.relation == "supersedes" and one.judgment_status == "judged"]
        for later in (one for one in said if one.target_id == found.sync_id and not one.superseded_at):
            for earlier in (one for one in said if one.source_id == found.sync_id and not one.superseded_at):
                ends = later.source_id, earlier.target_id
                if ends[0] != ends[1] and relations.between(self._store, *ends) is None:
                    sync_id, now = pair_id(*ends), self._journal.now()
                    values = asdict(later) | {"sync_id": sync_id, "target_id": ends[1], "clock": clock}
                    del values["id"]
                    self._store.insert("memory_relations", values | {"created_at": now, "updated_at": now})
                    self._journal.changed("relation", sync_id, project=later.project, clock=clock)

    def _carry_summary(self, old: Observation, new: str | None) -> None:
        if old.type == "session_summary":
            self._sessions.resummarize(old.session_id, old=old.content, new=new)

    def _write(self, old: Observation, values: dict[str, Any], clock: str) -> None:
        self._store.update("observations", {"id": old.id}, values)
        if values.keys() & {"deleted_at", "scope", "lifecycle"}:
            relations.settle(self._store, [old.sync_id])
        self._journal.changed("observation", old.sync_id, project=old.project, clock=clock)


def _said(redacted: int) -> tuple[str, ...]:
    return (f"redacted {redacted} secret or private part(s)",) if redacted else ()
