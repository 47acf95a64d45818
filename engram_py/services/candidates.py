"""After a save: which older observations may say the same, or the opposite."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from itertools import combinations

from engram_py.errors import StoreError
from engram_py.models.observation import Candidate, Observation
from engram_py.recall.query import Word, match_all, match_any, parse_query
from engram_py.recall.similar import SHARED_WORDS_NEEDED, may_contradict, overlap, title_words
from engram_py.services.journal import Journal
from engram_py.services.planner import rarest
from engram_py.store import relations, search
from engram_py.store.database import Row, Store

logger = logging.getLogger(__name__)

LIMIT = 3
_LOOKED_AT = 20
_MOST_WORDS = 3
# Rows that the words of a title may add up to. A save must stay fast in a large memory, and words more common
# than this tell nothing about a conflict anyway.
_ROW_BUDGET = 2_000
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
        clock = ""
        found: list[Candidate] = []
        for score, row in self._similar(observation):
            # What was saved a moment ago cannot have been asked about.
            if observation.revision_count == 1 or self._unasked(observation, row["sync_id"]):
                clock = clock or self._journal.stamp()
                judgment = self._ask(observation, row["sync_id"], clock)
                names = ("id", "sync_id", "title", "type", "topic_key")
                facts = {name: row[name] for name in names}
                found.append(Candidate(**facts, score=round(score, 3), judgment_id=judgment))
            if len(found) == LIMIT:
                break
        return tuple(found)

    def _similar(self, observation: Observation) -> list[tuple[float, Row]]:
        """Older observations of the same project and scope whose title shares enough, most alike first."""
        wanted = title_words(observation.title)
        words = [word for word in parse_query(observation.title).words if word.text in wanted]
        chosen = rarest(self._store, words, row_budget=_ROW_BUDGET)[:_MOST_WORDS]
        if not chosen:
            return []
        matches = search.title_matches(
            self._store,
            match=f"title : ({_enough_of(chosen)})",
            project=observation.project,
            scope=observation.scope,
            without=observation.id,
            limit=_LOOKED_AT,
        )
        alike = [
            (overlap(wanted, theirs), row)
            for row in matches
            if row["type"] not in _SILENT_TYPES and may_contradict(wanted, theirs := title_words(row["title"]))
        ]
        return sorted(alike, key=lambda pair: (-pair[0], -pair[1]["id"]))

    def _unasked(self, observation: Observation, other_sync_id: str) -> bool:
        return relations.between(self._store, observation.sync_id, other_sync_id) is None

    def _ask(self, new: Observation, old_sync_id: str, clock: str) -> str:
        now, judgment_id = self._journal.now(), pair_id(new.sync_id, old_sync_id)
        self._store.insert(
            "memory_relations",
            {
                "sync_id": judgment_id,
                "source_id": new.sync_id,
                "target_id": old_sync_id,
                "session_id": new.session_id,
                "project": new.project,
                "created_at": now,
                "updated_at": now,
                "clock": clock,
            },
        )
        # A question is this machine's own; other machines hear of the verdict (Relations.judge).
        return judgment_id


def _enough_of(words: list[Word]) -> str:
    """An expression for titles that may share enough: any two of the words, or one where there are no more than two."""
    if len(words) <= SHARED_WORDS_NEEDED:
        return match_any(words)
    return " OR ".join(f"({match_all(pair)})" for pair in combinations(words, SHARED_WORDS_NEEDED))


def pair_id(one: str, other: str) -> str:
    """``rel-`` and 16 hex digits made of both ends: two machines that relate the same pair make the same row."""
    joined = "\n".join(sorted((one, other)))
    return "rel-" + hashlib.sha256(joined.encode()).hexdigest()[:16]
