"""Bring back what an observation said before its text was changed, or before it was deleted."""

from __future__ import annotations

from engram_py.errors import NoEarlierVersionError, ObservationNotFoundError
from engram_py.observations import table
from engram_py.observations import versions_table as history_table
from engram_py.observations.edit import Editing
from engram_py.observations.lookup import check_id, live_observation
from engram_py.observations.values import Change, Undeleted, Updated


class Undoing(Editing):
    """Reverts observations by id. Nothing is lost by it: what a text replaces becomes a version itself."""

    def revert(self, observation_id: int, version: int | None = None) -> Updated:
        """Give an observation the title and text of its latest earlier version, or of the one numbered ``version``.

        Reverting twice brings the text back that the first time replaced.

        Raises:
            ObservationNotFoundError: there is no such live observation.
            NoEarlierVersionError: it has only one text, or none of that number.
        """
        with self._store.transaction():
            found = live_observation(self._store, observation_id)
            cursor = None if version is None else version + 1
            earlier = next(iter(history_table.versions(self._store, found.id, cursor=cursor, limit=1)), None)
            if earlier is None or version not in (None, earlier.version):
                raise NoEarlierVersionError(found.id, version)
            return self.update(found.id, Change(title=earlier.title, content=earlier.content))

    def undo(self, observation_id: int) -> Updated | Undeleted:
        """Bring back an observation that was deleted; else give it the text it had before.

        Raises ObservationNotFoundError, NoEarlierVersionError, TopicTakenError.
        """
        with self._store.transaction():
            found = table.by_id(self._store, check_id(observation_id))
            if found is None:
                raise ObservationNotFoundError(observation_id)
            return self.undelete(found.id) if found.deleted_at else self.revert(found.id)
