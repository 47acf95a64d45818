"""Change an observation: corrections, pins, reviews, deletion, and the text it had before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engram_py.base.database.fts import erase
from engram_py.base.database.soundness import OBSERVATIONS
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import (
    ConflictError,
    InvalidArgumentError,
    InvalidInputError,
    NotFoundError,
    TextTooLongError,
)
from engram_py.base.reasons import Told, operation, reason, sentence
from engram_py.base.text.normalize import check_text, content_hash
from engram_py.base.text.words import derived_terms
from engram_py.memory.observations import table, topics
from engram_py.memory.observations.arguments import end_of, kept_observation, live_observation
from engram_py.memory.observations.errors import ChangedMeanwhileError
from engram_py.memory.observations.validation import clean_content, clean_lines
from engram_py.memory.observations.values import (
    CONTENT_LIMIT_BYTES,
    EDITED,
    Change,
    Changed,
    Editor,
    Observation,
    TruncatedContent,
)
from engram_py.memory.privacy.provenance import reviewed
from engram_py.memory.projects.projects import Core
from engram_py.memory.relations import table as relations
from engram_py.memory.relations.values import Relation, pair_id
from engram_py.memory.writing.save import adopted, expire, review_date

if TYPE_CHECKING:
    from engram_py.memory.anchors.anchors import Anchors
    from engram_py.memory.anchors.record import ObservedFiles
    from engram_py.memory.sessions.sessions import Sessions


_CHANGEABLE = ", ".join(name for name in Change.__match_args__ if name not in ("find", "replace")).replace(
    "content", "content, find and replace"
)
# Changing these columns makes no revision: the text stays.
_NOT_REVISED = frozenset({"lifecycle", "salience", "expires_at"})


@dataclass(frozen=True, slots=True)
class _Edit:
    """The columns a change sets, already redacted, and what redacting and cutting did."""

    columns: dict[str, Any]
    redacted: int
    truncation: TruncatedContent | None


class Editing:
    """Corrects, pins, reviews, deletes and restores observations by id."""

    def __init__(self, core: Core, sessions: Sessions, anchors: Anchors) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._sessions = sessions
        self._anchors = anchors

    def update(
        self, observation_id: int, change: Change, *, base: Observation | None = None, by: Editor = "agent"
    ) -> Changed:
        """Change the given fields of an observation; the text it had becomes a version.

        ``find``/``replace`` replaces every literal occurrence in the content. The project never changes:
        ``move`` does that.
        ``base`` is the observation as the caller read it; the change is refused when it differs now. A text
        from elsewhere becomes this machine's once a ``person`` edits it or an ``agent`` writes all of it anew.

        Raises:
            ChangedMeanwhileError: it differs from ``base``.
            ObservationNotFoundError: there is no such live observation.
            InvalidArgumentError: nothing to change, or ``find`` and ``replace`` do not come as a pair.
            InvalidInputError (nothing_replaced): ``find`` does not occur.
            ConflictError (topic_taken): the new topic key names another observation.
        """
        observed = self._observed(observation_id, change)
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            if base is not None and any(getattr(old, name) != getattr(base, name) for name in EDITED):
                raise ChangedMeanwhileError(old.id)
            edit = self._edit(old, change)
            changed = {name: value for name, value in edit.columns.items() if getattr(old, name) != value}
            if changed:
                self._check_topic(old, changed)
                if changed.keys() - _NOT_REVISED:
                    self._rewrite(old, changed, whole=_is_whole(change, by), kept=by != "upkeep")
                else:
                    self._write(old, changed)
            notes: tuple[Told, ...] = ()
            if "content" in changed:
                notes = self._anchors.record(old.id, old.project, observed, "updated")
            now = live_observation(self._store, observation_id)
        return Changed.of(
            "updated" if changed else "unchanged",
            now,
            changed=tuple(changed),
            truncation=edit.truncation,
            redacted=edit.redacted,
            warnings=(reason("redacted", count=edit.redacted),) * bool(edit.redacted) + notes,
        )

    def _observed(self, observation_id: int, change: Change) -> ObservedFiles | None:
        """Return the files that the new content names, read before the transaction begins."""
        if change.content is None and change.find is None:
            return None
        text = self._new_content(live_observation(self._store, observation_id), change)
        if text is None or "where" not in text.lower():
            return None
        return self._anchors.observe((), clean_content(text)[0])

    def _edit(self, old: Observation, change: Change) -> _Edit:
        lines = clean_lines(change)
        columns: dict[str, Any] = {name: line for name, (line, _) in lines.items()}
        redacted, truncation = sum(hidden for _, hidden in lines.values()), None
        text = self._new_content(old, change)
        if text is not None:
            columns["content"], truncation, hidden = clean_content(text)
            redacted += hidden
        columns |= self._status_columns(old, change)
        if not columns:
            raise InvalidArgumentError(
                "update", said="there is nothing to update", step=f"give at least one of {_CHANGEABLE}"
            )
        return _Edit(columns, redacted, truncation)

    def _status_columns(self, old: Observation, change: Change) -> dict[str, Any]:
        columns: dict[str, Any] = {}
        if change.archived is not None:
            columns["lifecycle"] = "archived" if change.archived else old.lifecycle.replace("archived", "active")
        if change.salience is not None:
            if not 0 <= change.salience <= 1:
                raise InvalidArgumentError("salience", change.salience, expected="a number from 0 to 1")
            columns["salience"] = float(change.salience)
        if change.expires_at is not None:
            columns["expires_at"] = end_of("expires_at", change.expires_at, self._journal.calendar)
        return columns

    def _new_content(self, old: Observation, change: Change) -> str | None:
        if change.find is None and change.replace is None:
            return change.content
        if change.find is None or change.replace is None:
            missing = "find" if change.find is None else "replace"
            raise InvalidArgumentError(missing, said=f"{missing} is missing", step="give both find and replace")
        if change.content is not None:
            said = "content does not go together with find and replace"
            raise InvalidArgumentError("content", said=said, step="give either content, or find and replace")
        check_text("replace", change.replace)
        if not change.find or change.find not in old.content:
            raise InvalidInputError(
                f"{change.find[:80]!r} does not occur in observation #{old.id}",
                hint=sentence(
                    "find is literal and case-sensitive; copy it from the content: ", operation("get", id=old.id)
                ),
                code="nothing_replaced",
            )
        text = old.content.replace(change.find, change.replace)
        if len(text.encode()) > CONTENT_LIMIT_BYTES:
            raise TextTooLongError("content after replacing", len(text.encode()), CONTENT_LIMIT_BYTES)
        return text

    def _check_topic(self, old: Observation, changed: dict[str, Any]) -> None:
        topic_key = changed.get("topic_key", old.topic_key)
        if topic_key is None or not {"topic_key", "scope", "project"} & changed.keys():
            return
        scope, project = changed.get("scope", old.scope), changed.get("project", old.project)
        other = table.live_topic(self._store, topic_key=topic_key, project=project, scope=scope)
        if other is not None and other.id != old.id:
            raise ConflictError(
                f"topic {topic_key!r} is already observation #{other.id}",
                hint=f"update #{other.id} instead, or choose another topic_key",
                code="topic_taken",
            )

    def _rewrite(self, old: Observation, changed: dict[str, Any], *, whole: bool, kept: bool = True) -> None:
        """Write changed columns; ``whole``: the text was written anew, here, and is no longer of somewhere else."""
        clock = self._journal.stamp()
        if {"title", "content"} & changed.keys():
            table.keep_version(self._store, old, clock=clock)
        title, content = changed.get("title", old.title), changed.get("content", old.content)
        topic_key = changed.get("topic_key", old.topic_key)
        values = changed | {
            "terms": derived_terms(title, topic_key or "", old.aliases, content),
            "content_hash": content_hash(content),
            "revision_count": old.revision_count + 1,
            "updated_at": max(self._journal.now(), old.updated_at),  # later than what it was later than
        }
        if old.origin == "derived" and content != old.content:
            values["origin"] = "agent"  # somebody wrote it now: what is derived again does not take its place
        if "content" in changed and whole:
            values |= adopted(old)
        self._write(old, values, clock=clock, kept=kept)
        self._carry_summary(old, content)

    def put_back(self, observation_id: int, columns: dict[str, Any]) -> None:
        """Give an observation the type, scope, topic and the like that it had. Raises ConflictError (topic_taken)."""
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            self._check_topic(old, columns)
            if columns.keys() - _NOT_REVISED:
                self._rewrite(old, columns, whole=False)
            else:
                self._write(old, columns)

    def move(self, observation_id: int, project: str) -> Changed:
        """Give an observation to another project; its session stays where it was.

        Raises ObservationNotFoundError, UnknownProjectError, ConflictError (topic_taken).
        """
        from engram_py.memory.entities.names import forget_mentions  # few processes move anything

        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            target = self._projects.existing(project)
            if target != old.project:
                self._check_topic(old, {"project": target})
                self._write(old, {"project": target, "updated_at": self._journal.now()})
                forget_mentions(self._store, old.id)
            now = live_observation(self._store, observation_id)
        changed = ("project",) if target != old.project else ()
        return Changed.of("updated" if changed else "unchanged", now, changed=changed)

    def pin(self, observation_id: int, *, pinned: bool = True) -> Changed:
        """Keep an observation on top of the context, or stop doing so. Pinning twice changes nothing."""
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            if old.pinned != pinned:
                self._write(old, {"pinned": int(pinned)})
        return Changed.of("pinned" if pinned else "unpinned", old, pinned=pinned)

    def mark_reviewed(self, observation_id: int) -> Changed:
        """Confirm that an observation still holds; the next review date follows from its type."""
        anchors = self._anchors.confirmed(live_observation(self._store, observation_id))
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            self._anchors.rewrite(old.id, anchors)
            due = review_date(old.type, self._journal.moment())
            self._write(old, {"review_after": due})
            table.settle_untaken(self._store, old.id)
            reviewed(self._store, old.id, self._journal.now())
        return Changed.of("reviewed", old, review_after=due)

    def ask_for_review(self, observation_id: int) -> Changed:
        """Let an observation be due for review now, unless it is."""
        with self._store.transaction():
            old, now = live_observation(self._store, observation_id), self._journal.now()
            due = min(old.review_after or now, now)
            if due != old.review_after:
                self._write(old, {"review_after": due})
        return Changed.of("updated", old, review_after=due)

    def guard(self, observation_id: int, guards: str | None) -> Observation:
        """Store what an observation guards, as JSON, and return the observation. Its text stays."""
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            self._write(old, {"guards": guards})
        return old

    def accept(self, observation_id: int) -> Changed:
        """Make a derived, imported or received observation its reader's own.

        It fades no more, and agents are shown it whatever it reads like and wherever it came from.
        """
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            arrival = self._store.value("select arrival from observations where id = :id", id=old.id)
            self._write(old, {"origin": "user", "arrival": None})
            reviewed(self._store, old.id, self._journal.now())
        return Changed.of("accepted", old, origin="user", before=old.origin, arrival=arrival)

    def unaccept(self, accepted: Changed) -> Changed:
        """Take an acceptance back: the observation counts as it did before. Raises ObservationNotFoundError."""
        with self._store.transaction():
            old = live_observation(self._store, accepted.id)
            self._write(old, {"origin": accepted.before, "arrival": accepted.arrival})
        return Changed.of("unaccepted", old, origin=accepted.before, before=accepted.before, arrival=accepted.arrival)

    def _carry_summary(self, old: Observation, new: str | None) -> None:
        if old.type == "session_summary":
            self._sessions.resummarize(old.session_id, old=old.content, new=new)

    def _write(self, old: Observation, values: dict[str, Any], *, clock: str = "", kept: bool = True) -> None:
        """Write the columns with ``clock``, by default that of a new change, and what follows from them.

        Unless ``kept`` is false, the change can be taken back.
        """
        clock = clock or self._journal.stamp()
        values = values | {"clock": clock}
        if values.keys() & {"salience", "lifecycle"}:  # it begins to fade anew
            values = values | {"faded": 1.0, "faded_at": self._journal.now()}
        self._store.update("observations", {"id": old.id}, values)
        if kept:
            table.keep_change(self._journal, old, values, clock=clock)
        if values.keys() & topics.CLAIMING:
            topics.follow(self._store, self._journal, old, values, clock)
        if values.keys() & {"deleted_at", "scope", "lifecycle", "project", "origin", "arrival"}:
            relations.settle(self._store, [old.sync_id])
        project = values.get("project", old.project)
        self._journal.changed("observation", old.sync_id, project=project, clock=clock)

    # --- delete and restore ------------------------------------------------------------------------------

    def delete(self, observation_id: int, *, hard: bool = False) -> Changed:
        """Hide an observation, or with ``hard`` destroy it and its versions, leaving a tombstone without text.

        A soft-deleted one leaves search and lists, and can still be hard-deleted.
        """
        return self.delete_many([observation_id], hard=hard)[0]

    def delete_many(self, ids: Sequence[int], *, hard: bool = False) -> tuple[Changed, ...]:
        """Delete several observations, or none where one is missing. Raises ObservationNotFoundError."""
        with self._store.transaction():
            found = [self.deletable(one, hard=hard) for one in dict.fromkeys(ids)]
            done = tuple(self._destroy(one) if hard else self._hide(one) for one in found)
        if hard:
            erase(self._store, OBSERVATIONS)
        return done

    def deletable(self, observation_id: int, *, hard: bool) -> Observation:
        """Return the observation that may be deleted. Raises ObservationNotFoundError, InvalidArgumentError."""
        return (kept_observation if hard else live_observation)(self._store, observation_id)

    def undelete(self, observation_id: int) -> Changed:
        """Bring back an observation that was deleted, but not destroyed; a live one stays as it is.

        Raises ObservationNotFoundError, and ConflictError (topic_taken) when another observation has its topic now.
        """
        with self._store.transaction():
            found = kept_observation(self._store, observation_id)
            if found.deleted_at:
                self._check_topic(found, {"topic_key": found.topic_key})
                self._write(found, {"deleted_at": None, "updated_at": self._journal.now()})
                if found.type == "session_summary":
                    self._sessions.resume_summary(found.session_id, found.content)
        return Changed.of("restored", found)

    def revert(self, observation_id: int, version: int | None = None) -> Changed:
        """Give an observation the title and text of its latest earlier version, or of the one numbered ``version``.

        Reverting twice restores the present text. Raises ObservationNotFoundError, NotFoundError (no_earlier_version).
        """
        with self._store.transaction():
            found = live_observation(self._store, observation_id)
            cursor = None if version is None else version + 1
            earlier = next(iter(table.versions(self._store, found.id, cursor=cursor, limit=1)), None)
            if earlier is None or version not in (None, earlier.version):
                wanted = "earlier version" if version is None else f"version {version}"
                raise NotFoundError(
                    f"observation #{found.id} has no {wanted}",
                    hint=sentence("list its versions: ", operation("history", id=found.id)),
                    code="no_earlier_version",
                )
            done = self.update(found.id, Change(title=earlier.title, content=earlier.content))
            # The text comes back with where it came from.
            table.restore_arrival(self._store, found.id, earlier.version)
            table.settle_untaken(self._store, found.id)
            return done

    def undo(self, observation_id: int) -> Changed:
        """Bring back an observation that was deleted; else give it the text it had before.

        Raises ObservationNotFoundError, NotFoundError (no_earlier_version), ConflictError (topic_taken).
        """
        with self._store.transaction():
            found = kept_observation(self._store, observation_id)
            return self.undelete(found.id) if found.deleted_at else self.revert(found.id)

    def _hide(self, found: Observation) -> Changed:
        now = self._journal.now()
        self._write(found, {"deleted_at": now, "updated_at": now})
        self._carry_summary(found, None)
        return Changed.of("deleted", found)

    def _destroy(self, found: Observation) -> Changed:
        clock = self._journal.stamp()
        topics.follow(self._store, self._journal, found, {"deleted_at": self._journal.now()}, clock)
        related = relations.of_observation(self._store, found.sync_id)
        self._join_line(related, found, clock)
        for relation in related:
            values = {"judgment_status": "orphaned", "updated_at": self._journal.now(), "clock": clock}
            self._store.update("memory_relations", {"id": relation.id}, values)
            self._journal.changed("relation", relation.sync_id, project=relation.project, clock=clock)
        expire(self._store, found.sync_id)
        self._carry_summary(found, None)
        self._store.execute("delete from observations where id = :id", id=found.id)
        relations.settle(self._store, [end for one in related for end in (one.source_id, one.target_id)])
        session_id = None if found.scope == "personal" else found.session_id
        self._journal.removed("observation", found.sync_id, project=found.project, clock=clock, session_id=session_id)
        return Changed.of("destroyed", found, relations_orphaned=len(related))

    def _join_line(self, related: Sequence[Relation], found: Observation, clock: str) -> None:
        """Link each replacement of the destroyed observation with what the observation itself had replaced."""
        said = [one for one in related if one.relation == "supersedes" and one.judgment_status == "judged"]
        for later in (one for one in said if one.target_id == found.sync_id and not one.superseded_at):
            for earlier in (one for one in said if one.source_id == found.sync_id and not one.superseded_at):
                ends = later.source_id, earlier.target_id
                if ends[0] != ends[1] and relations.between(self._store, *ends) is None:
                    sync_id, now = pair_id(*ends), self._journal.now()
                    values = {name: getattr(later, name) for name in relations.COLUMNS if name != "id"}
                    values |= {"sync_id": sync_id, "target_id": ends[1], "clock": clock}
                    self._store.insert("memory_relations", values | {"created_at": now, "updated_at": now})
                    self._journal.changed("relation", sync_id, project=later.project, clock=clock)


def _is_whole(change: Change, by: Editor) -> bool:
    """Return whether the editor answers for the whole text after a change."""
    return by == "person" or (by == "agent" and change.content is not None)
