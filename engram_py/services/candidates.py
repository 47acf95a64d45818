"""After a save: which older observations may say the same, or the opposite."""

from __future__ import annotations

import hashlib
import logging
import sqlite3

from engram_py.errors import StoreError
from engram_py.models.observation import Candidate, Observation
from engram_py.recall.query import match_any, parse_query
from engram_py.recall.similar import may_contradict, overlap, title_words
from engram_py.services.journal import Journal
from engram_py.services.planner import rarest
from engram_py.store import observations as table
from engram_py.store import relations, search
from engram_py.store.database import Store

logger = logging.getLogger(__name__)

LIMIT = 3
_LOOKED_AT = 12
# Rows whose titles may be scored per save. A save must stay fast in a large memory: words more common than
# this tell nothing about a conflict anyway.
_ROW_BUDGET = 500
_SILENT_TYPES = frozenset({"session_summary", "passive"})


class Candidates:
    """Finds relations worth a verdict and keeps each as ``pending``; the pair is asked about once."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def find(self, observation: Observation) -> tuple[Candidate, ...]:
        """At most three, most similar first. Never fails the save it follows."""
        if observation.type in _SILENT_TYPES:
            return ()
        try:
            with self._store.transaction():
                return self._find(observation)
        except (StoreError, sqlite3.Error):
            if not self._store.in_transaction:  # the save itself is gone: a full disk, say
                raise
            logger.exception("looking for related observations failed")
            return ()

    def _find(self, observation: Observation) -> tuple[Candidate, ...]:
        found: list[Candidate] = []
        for other in self._similar(observation):
            if relations.between(self._store, observation.sync_id, other.sync_id) is None:
                score = round(overlap(observation.title, other.title), 3)
                judgment = self._ask(observation, other)
                found.append(
                    Candidate(other.id, other.sync_id, other.title, other.type, other.topic_key, score, judgment)
                )
            if len(found) == LIMIT:
                break
        return tuple(found)

    def _similar(self, observation: Observation) -> list[Observation]:
        wanted = title_words(observation.title)
        words = [word for word in parse_query(observation.title).words if word.text in wanted]
        chosen = rarest(self._store, words, row_budget=_ROW_BUDGET)
        if not chosen:
            return []
        matches = search.title_matches(
            self._store,
            match="title : (" + match_any(chosen) + ")",
            project=observation.project,
            scope=observation.scope,
            without=observation.id,
            limit=_LOOKED_AT,
        )
        ids = [row_id for row_id, title in matches if may_contradict(observation.title, title)]
        rows = table.by_ids(self._store, ids)
        return [rows[row_id] for row_id in ids if rows[row_id].type not in _SILENT_TYPES]

    def _ask(self, new: Observation, old: Observation) -> str:
        now, clock = self._journal.now(), self._journal.stamp()
        judgment_id = pair_id(new.sync_id, old.sync_id)
        self._store.insert(
            "memory_relations",
            {
                "sync_id": judgment_id,
                "source_id": new.sync_id,
                "target_id": old.sync_id,
                "session_id": new.session_id,
                "project": new.project,
                "created_at": now,
                "updated_at": now,
                "clock": clock,
            },
        )
        self._journal.changed("relation", judgment_id, project=new.project, clock=clock)
        return judgment_id


def pair_id(one: str, other: str) -> str:
    """``rel-`` and 16 hex digits made of both ends: two machines that relate the same pair make the same row."""
    joined = "\n".join(sorted((one, other)))
    return "rel-" + hashlib.sha256(joined.encode()).hexdigest()[:16]
