"""After a save: which older observations may say the same, or the opposite."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain

from engram_py.database.journal import Journal
from engram_py.database.store import Row, Store
from engram_py.errors import StoreError
from engram_py.log import logger_of
from engram_py.observations import relations_table as relations
from engram_py.observations.relation_values import pair_id
from engram_py.observations.values import Candidate, Observation
from engram_py.recall.index import mentions, vocabulary
from engram_py.recall.index import table as search
from engram_py.recall.query.parse import quote
from engram_py.recall.score.similar_titles import (
    SHARED_WORDS_NEEDED,
    frame,
    is_next,
    may_contradict,
    overlap,
    rarity,
    replaced_by,
    stem,
    title_words,
    written_words,
)

logger = logger_of(__name__)

LIMIT = 3
_LOOKED_AT = 20
_MOST_COUNTED, _MOST_WORDS = 40, 4
# Rows that the words of a title may add up to, and how far those of one are counted. A save must stay fast in a large
# memory, and words more common than this tell nothing about a conflict anyway.
_ROW_BUDGET, _COUNTED_TO = 400, 200
# What stands in no more titles than this, the new one's included, is the name of something.
_NAMED_BY = 5
_SERIES = 2
_SILENT_TYPES = frozenset({"session_summary", "passive", "entity"})


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
        """Older observations of the same project and scope whose title shares enough, most alike first; before
        them those that the title names, where it says that it takes their place."""
        wanted = title_words(observation.title)
        enough = SHARED_WORDS_NEEDED if len(wanted) > SHARED_WORDS_NEEDED else 1
        words, size = written_words(observation.title), mentions.totals(self._store).rows
        counts, found = self._counted(words, size)
        rare = {stem(word): rarity(counts.get(_titled(word), 0), size) for word in words}
        matches = _out_of_series(
            observation.title, self._sharing(observation, self._rarest(counts, found, enough), enough)
        )
        alike = {row["id"]: row for row in matches if may_contradict(wanted, title_words(row["title"]), rare)}
        named: dict[int, Row] = {}
        if old := replaced_by(observation.title):
            names = {one: found[one] for one in map(_titled, old) if 1 < len(found.get(one, ())) <= _NAMED_BY}
            named = {row["id"]: row for row in self._sharing(observation, names, 1)}
        scored = [
            (overlap(wanted, title_words(row["title"]), rare), row)
            for row in (alike | named).values()
            if row["type"] not in _SILENT_TYPES
        ]
        return sorted(scored, key=lambda pair: (pair[1]["id"] not in named, -pair[0], -pair[1]["id"]))

    def _sharing(self, observation: Observation, chosen: Mapping[str, Sequence[int]], enough: int) -> list[Row]:
        """The newest whose titles have any ``enough`` of the chosen words."""
        store, project, scope, me = self._store, observation.project, observation.scope, observation.id
        if any(len(rows) >= _COUNTED_TO for rows in chosen.values()):  # there are more of them
            match = _any_two(list(chosen)) if enough > 1 else " OR ".join(chosen)
            return search.title_matches(store, match=match, project=project, scope=scope, without=me, limit=_LOOKED_AT)
        times = Counter(chain.from_iterable(chosen.values()))
        together = sorted((row for row, words in times.items() if words >= enough), reverse=True)
        return search.titled(store, together, project=project, scope=scope, without=me, limit=_LOOKED_AT)

    def _counted(self, words: Sequence[str], size: int) -> tuple[dict[str, int], dict[str, list[int]]]:
        """How many titles have each of the words, by the expression that finds them; and the rows that were read."""
        titled = [_titled(word) for word in words[:_MOST_COUNTED]]
        return vocabulary.matching(self._store, titled, cap=_COUNTED_TO, size=size)

    def _rarest(self, counts: Mapping[str, int], found: Mapping[str, list[int]], enough: int) -> dict[str, list[int]]:
        """The rarest of the words that more titles than the new one have, each with its newest rows; more than are
        ``enough`` while few rows have them."""
        known = sorted((rows, one) for one, rows in counts.items() if rows > 1)
        within = sum(rows <= _ROW_BUDGET for rows in accumulate(rows for rows, _ in known))
        chosen = [one for _, one in known[: min(_MOST_WORDS, max(enough, within))]]
        if len(chosen) < enough:
            return {}
        read = vocabulary.newest_matching(self._store, [one for one in chosen if one not in found], cap=_COUNTED_TO)
        return {one: found[one] if one in found else read[one] for one in chosen}

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


def _titled(word: str) -> str:
    return f"title : {quote(word)}"


def _out_of_series(title: str, rows: Sequence[Row]) -> list[Row]:
    """Those that are not told from ``title`` by their number alone, as the next one of a series is, nor by nothing, as
    what is repeated ("Weekly notes"): where two others are called so, it is the name of a kind."""
    name, numbers = frame(title)
    framed = [(row, frame(row["title"])) for row in rows]
    same = {one[1] if one[1] else row["id"] for row, one in framed if one[0] == name}
    return [
        row
        for row, (other, its) in framed
        if other != name or (len(same) < _SERIES and not (numbers and is_next(numbers, its)))
    ]


def _any_two(words: Sequence[str]) -> str:
    """An expression for titles that have any two of the words."""
    # Each time that a word is named the index looks it up: with each pair by itself, four are named twelve times.
    return " OR ".join(f"({one} AND ({' OR '.join(words[at:])}))" for at, one in enumerate(words[:-1], start=1))
