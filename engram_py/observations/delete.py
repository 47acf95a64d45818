"""Hide, destroy and bring back observations, and give one the text it had before."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.erasing import erase
from engram_py.database.soundness import OBSERVATIONS
from engram_py.observations import topics
from engram_py.observations import versions_table as history_table
from engram_py.observations.edit import Editing
from engram_py.observations.errors import NoEarlierVersionError
from engram_py.observations.lookup import kept_observation, live_observation
from engram_py.observations.repeated_saves import expire
from engram_py.observations.values import Change, Deleted, Observation, Undeleted, Updated
from engram_py.relations import table as relations
from engram_py.relations.values import Relation, pair_id


class Deleting(Editing):
    """Deletes and restores observations by id."""

    def delete(self, observation_id: int, *, hard: bool = False) -> Deleted:
        """Hide an observation, or with ``hard`` destroy it and its versions, leaving a tombstone without text.

        A soft-deleted one leaves search and lists, and can still be hard-deleted.
        """
        return self.delete_many([observation_id], hard=hard)[0]

    def delete_many(self, ids: Sequence[int], *, hard: bool = False) -> tuple[Deleted, ...]:
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

    def undelete(self, observation_id: int) -> Undeleted:
        """Bring back an observation that was deleted, but not destroyed; a live one stays as it is.

        Raises ObservationNotFoundError, and TopicTakenError when another observation has its topic now.
        """
        with self._store.transaction():
            found = kept_observation(self._store, observation_id)
            if found.deleted_at:
                self._check_topic(found, {"topic_key": found.topic_key})
                clock = self._journal.stamp()
                self._write(found, {"deleted_at": None, "updated_at": self._journal.now(), "clock": clock}, clock)
                if found.type == "session_summary":
                    self._sessions.resume_summary(found.session_id, found.content)
        return Undeleted(found.id, found.title, found.project)

    def revert(self, observation_id: int, version: int | None = None) -> Updated:
        """Give an observation the title and text of its latest earlier version, or of the one numbered ``version``.

        Reverting twice restores the present text. Raises ObservationNotFoundError, NoEarlierVersionError.
        """
        with self._store.transaction():
            found = live_observation(self._store, observation_id)
            cursor = None if version is None else version + 1
            earlier = next(iter(history_table.versions(self._store, found.id, cursor=cursor, limit=1)), None)
            if earlier is None or version not in (None, earlier.version):
                raise NoEarlierVersionError(found.id, version)
            done = self.update(found.id, Change(title=earlier.title, content=earlier.content))
            # The text comes back with where it came from.
            history_table.restore_arrival(self._store, found.id, earlier.version)
            return done

    def undo(self, observation_id: int) -> Updated | Undeleted:
        """Bring back an observation that was deleted; else give it the text it had before.

        Raises ObservationNotFoundError, NoEarlierVersionError, TopicTakenError.
        """
        with self._store.transaction():
            found = kept_observation(self._store, observation_id)
            return self.undelete(found.id) if found.deleted_at else self.revert(found.id)

    def _hide(self, found: Observation) -> Deleted:
        now, clock = self._journal.now(), self._journal.stamp()
        self._write(found, {"deleted_at": now, "updated_at": now, "clock": clock}, clock)
        self._carry_summary(found, None)
        return Deleted(found.id, found.sync_id, found.title, hard=False)

    def _destroy(self, found: Observation) -> Deleted:
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
        return Deleted(found.id, found.sync_id, found.title, hard=True, relations_orphaned=len(related))

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
