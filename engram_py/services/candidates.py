"""After a save: which older observations may say the same, or the opposite."""

from __future__ import annotations

import hashlib
import logging
import sqlite3
from collections import Counter
from functools import partial
from itertools import chain

from engram_py.errors import StoreError
from engram_py.models.observation import Candidate, Observation
from engram_py.recall.query import quote
from engram_py.recall.similar import SHARED_WORDS_NEEDED, may_contradict, overlap, title_words
from engram_py.services.journal import Journal
from engram_py.store import relations, search, word_counts
from engram_py.store.database import Row, Store

logger = logging.getLogger(__name__)

LIMIT = 3
_LOOKED_AT = 20
_MOST_WORDS = 12
# What so many titles have tells little about a conflict, and takes long to look up: only where rarer words do not do.
_COMMON_ROWS = 100
_SILENT_TYPES = frozenset({"session_summary", "passive"})


class Candidates:
    """Finds relations worth a verdict and keeps each as ``pending``; the pair is asked about once."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def find(self, observation: Observation, *, clock: str) -> tuple[Candidate, ...]:
        """At most three, most similar first, asked about at the ``clock`` of the save. Never fails that save."""
        if observation.type in _SILENT_TYPES:
            return ()
        try:
            with self._store.transaction():
                return self._find(observation, clock)
        except (StoreError, sqlite3.Error):
            if not self._store.in_transaction:  # the save itself is gone: a full disk, say
                raise
            logger.exception("looking for related observations failed")
            return ()

    def _find(self, observation: Observation, clock: str) -> tuple[Candidate, ...]:
        found: list[Candidate] = []
        for score, row in self._similar(observation):
            # What was saved a moment ago cannot have been asked about.
            if observation.revision_count == 1 or self._unasked(observation, row["sync_id"]):
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
        matches = search.candidates(
            self._store,
            partial(self._sharing, wanted, observation.id),
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

    def _sharing(self, wanted: frozenset[str], size: int, *, limit: int) -> list[int]:
        """The rows whose title may share enough words, newest first; of each word the newest ``limit``."""
        # Of many words the longest: as a rule they are the rare ones.
        words = sorted(wanted, key=lambda word: (-len(word), word))[:_MOST_WORDS]
        titled = [f"title : {quote(word.rstrip('+#'))}" for word in words]
        needed = SHARED_WORDS_NEEDED if len(wanted) > SHARED_WORDS_NEEDED else 1
        common = word_counts.remembered(self._store, titled, size=size)
        rare = [one for one in titled if one not in common]
        found = search.newest_of_each(self._store, rare, limit=limit)
        for expression, rows in zip(rare, found, strict=True):
            if len(rows) >= _COMMON_ROWS:
                word_counts.remember(self._store, expression, len(rows), size=size)
        lacking = needed - sum(len(rows) > 1 for rows in found)  # the new title is one
        if lacking > 0 and common:
            known = sorted(common, key=lambda one: common[one])[:lacking]
            found += search.newest_of_each(self._store, known, limit=limit)
        shared = Counter(chain.from_iterable(found))
        return sorted((row for row, count in shared.items() if count >= needed), reverse=True)

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


def pair_id(one: str, other: str) -> str:
    """``rel-`` and 16 hex digits made of both ends: two machines that relate the same pair make the same row."""
    joined = "\n".join(sorted((one, other)))
    return "rel-" + hashlib.sha256(joined.encode()).hexdigest()[:16]
