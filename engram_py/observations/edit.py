"""Change an observation: corrections, pins, reviews."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from engram_py.dataclass import replace
from engram_py.errors import InvalidArgumentError, TextTooLongError
from engram_py.observations import table, topics
from engram_py.observations.arguments import clean_scope, end_of
from engram_py.observations.errors import ChangedMeanwhileError, NothingReplacedError, TopicTakenError
from engram_py.observations.listing import Reviewed
from engram_py.observations.lookup import live_observation
from engram_py.observations.save import Saving
from engram_py.observations.validation import TYPE_LIMIT_CHARS, clean_content, clean_line, clean_topic_key
from engram_py.observations.values import (
    CONTENT_LIMIT_BYTES,
    TITLE_LIMIT_CHARS,
    Accepted,
    Change,
    Editor,
    Observation,
    Origin,
    Pinned,
    Truncated,
    Updated,
)
from engram_py.relations import table as relations
from engram_py.text.derived_terms import derived_terms
from engram_py.text.normalize import check_text, content_hash

if TYPE_CHECKING:
    from engram_py.anchors.record import Observed

_CHANGEABLE = "title, content, find and replace, type, scope, topic_key, archived, salience, expires_at"
# Changing these columns makes no revision: the text stays.
_NOT_REVISED = frozenset({"lifecycle", "salience", "expires_at"})
_EDITED = ("title", "content", "type", "scope", "topic_key")


class _Edit(NamedTuple):
    """The columns a change sets, already redacted, and what redacting and cutting did."""

    columns: dict[str, Any]
    redacted: int
    truncation: Truncated | None


class Editing(Saving):
    """Corrects, pins and reviews observations by id."""

    def update(
        self, observation_id: int, change: Change, *, base: Observation | None = None, by: Editor = "agent"
    ) -> Updated:
        """Change the given fields of an observation; the text it had becomes a version.

        ``find``/``replace`` replaces every literal occurrence in the content. The project never changes:
        ``move`` does that.
        ``base`` is the observation as the caller read it; the change is refused when it differs now. A text
        from elsewhere becomes this machine's once a ``person`` edits it or an ``agent`` writes all of it anew.

        Raises:
            ChangedMeanwhileError: it differs from ``base``.
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
                if changed.keys() - _NOT_REVISED:
                    self._rewrite(old, changed, whole=_is_whole(change, by))
                else:
                    clock = self._journal.stamp()
                    self._write(old, changed | {"clock": clock}, clock)
            notes: tuple[str, ...] = ()
            if "content" in changed:
                notes = self._anchors.record(old.id, old.project, observed, "updated")
            now = live_observation(self._store, observation_id)
        return Updated(
            outcome="updated" if changed else "unchanged",
            **now.shared_with(Updated),
            changed=tuple(changed),
            truncation=edit.truncation,
            redacted=edit.redacted,
            warnings=(f"redacted {edit.redacted} secret or private part(s)",) * bool(edit.redacted) + notes,
        )

    def _observed(self, observation_id: int, change: Change) -> Observed | None:
        """Return the files that the new content names, read before the transaction begins."""
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
        columns |= self._status_columns(old, change)
        if not columns:
            raise InvalidArgumentError("update", "nothing", expected=f"at least one of {_CHANGEABLE}")
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
            columns["expires_at"] = end_of("expires_at", change.expires_at, self._journal.moment())
        return columns

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
        if topic_key is None or not {"topic_key", "scope", "project"} & changed.keys():
            return
        scope, project = changed.get("scope", old.scope), changed.get("project", old.project)
        other = table.live_topic(self._store, topic_key=topic_key, project=project, scope=scope)
        if other is not None and other.id != old.id:
            raise TopicTakenError(topic_key, other.id)

    def _rewrite(self, old: Observation, changed: dict[str, Any], *, whole: bool) -> None:
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
            "clock": clock,
        }
        if old.origin == "derived" and content != old.content:
            values["origin"] = "agent"  # somebody wrote it now: what is derived again does not take its place
        if "content" in changed and whole:
            values["arrival"] = None
        self._write(old, values, clock)
        self._carry_summary(old, content)

    def move(self, observation_id: int, project: str) -> Updated:
        """Give an observation to another project; its session stays where it was.

        Raises ObservationNotFoundError, UnknownProjectError, TopicTakenError.
        """
        from engram_py.entities.mentions import forget_mentions  # few processes move anything

        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            target = self._projects.existing(project)
            if target != old.project:
                self._check_topic(old, {"project": target})
                clock = self._journal.stamp()
                self._write(old, {"project": target, "updated_at": self._journal.now(), "clock": clock}, clock)
                forget_mentions(self._store, old.id)
            now = live_observation(self._store, observation_id)
        changed = ("project",) if target != old.project else ()
        return Updated("updated" if changed else "unchanged", **now.shared_with(Updated), changed=changed)

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
            due = self._review_date(old.type)
            clock = self._journal.stamp()
            self._write(old, {"review_after": due, "clock": clock}, clock)
        return Reviewed(old.id, old.title, due)

    def accept(self, observation_id: int, *, origin: Origin = "user") -> Accepted:
        """Make a derived, imported or received observation its reader's own.

        It fades no more, and agents are shown it whatever it reads like and wherever it came from. ``origin`` is what
        it counts as from now on.
        """
        with self._store.transaction():
            old = live_observation(self._store, observation_id)
            arrival = self._store.value("select arrival from observations where id = :id", id=old.id)
            clock = self._journal.stamp()
            self._write(old, {"origin": origin, "arrival": None, "clock": clock}, clock)
        return Accepted(old.id, old.title, origin, old.origin, arrival)

    def unaccept(self, accepted: Accepted) -> Accepted:
        """Take an acceptance back: the observation counts as it did before. Raises ObservationNotFoundError."""
        with self._store.transaction():
            old = live_observation(self._store, accepted.id)
            clock = self._journal.stamp()
            values = {"origin": accepted.before, "arrival": accepted.arrival, "clock": clock}
            self._write(old, values, clock)
        return replace(accepted, origin=accepted.before)

    def _carry_summary(self, old: Observation, new: str | None) -> None:
        if old.type == "session_summary":
            self._sessions.resummarize(old.session_id, old=old.content, new=new)

    def _write(self, old: Observation, values: dict[str, Any], clock: str) -> None:
        if values.keys() & {"salience", "lifecycle"}:  # it begins to fade anew
            values = values | {"faded": 1.0, "faded_at": self._journal.now()}
        self._store.update("observations", {"id": old.id}, values)
        if values.keys() & topics.CLAIMING:
            topics.follow(self._store, self._journal, old, values, clock)
        if values.keys() & {"deleted_at", "scope", "lifecycle", "project"}:
            relations.settle(self._store, [old.sync_id])
        project = values.get("project", old.project)
        self._journal.changed("observation", old.sync_id, project=project, clock=clock)


def _is_whole(change: Change, by: Editor) -> bool:
    """Return whether the editor answers for the whole text after a change."""
    return by == "person" or (by == "agent" and change.content is not None)
