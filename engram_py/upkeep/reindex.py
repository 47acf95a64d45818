"""Rebuild what searches use: the derived terms of every row and the full-text indexes, while others write."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable

from engram_py.base.database import fts, health
from engram_py.base.database.mutation_queue import get_meta, set_meta
from engram_py.base.database.soundness import INDEXES, OBSERVATIONS, PASSAGES, PROMPTS, Index
from engram_py.base.database.store import Row, Store
from engram_py.base.text.words import derived_terms, folded_words
from engram_py.upkeep.values import Reindexed

Progress = Callable[[int, int], None]

# How long a step should hold the write lock, and the pause between the steps that follow: a process that waits to
# write asks again within 25 ms for its first tenth of a second (SQLite's busy handler), so it meets a gap soon.
_STEP_SECONDS = 0.02
_PAUSE_SECONDS = 0.01
_FIRST_STEP, _LARGEST_STEP = 32, 2_048
_SAMPLE = 50

# One of each kind of text that gets terms of its own; what they are decides `index_version`.
_PROBE = (
    "getHTTPResponse2 rate_limit kebab-case-word dotted.path.name src/store/database.py Zürich naïve 42 v1.2.3 "
    "検索エンジン 한국어 검색 ภาษาไทย поиск मेमोरी e-mail user@example.org C++ don't "
    "Βάση ещё Straße ＡＰＩ ｶﾞ ışık Ørsted"
)


def index_version(store: Store) -> str:
    """Return a name for how this program indexes this file: equal while the same rows give the same index."""
    made_of = [fts.definition(store, index.name) for index in INDEXES]
    return hashlib.sha256(json.dumps([made_of, derived_terms(_PROBE)]).encode()).hexdigest()[:8]


def reindex_notes(store: Store) -> tuple[str, ...]:
    """Return the reasons to run `engram reindex`."""
    notes = [f"a rebuild of {name} was begun and not finished" for name in fts.unfinished(store)]
    rows = fts.sample(store, OBSERVATIONS, size=_SAMPLE)
    stale = sum(_derived(OBSERVATIONS, row) != row["terms"] for row in rows)
    if stale:
        notes.append(f"{stale} of {len(rows)} observations looked at have index terms of another version")
    return tuple(notes)


class Reindexing:
    """Derives and indexes everything again. After an interruption the next run continues."""

    def __init__(self, store: Store, *, pause: Callable[[float], None] = time.sleep) -> None:
        self._store = store
        self._pause = pause

    def run(self, *, progress: Progress | None = None) -> Reindexed:
        """Rebuild the terms of every row and both indexes; searches answer the same as before, byte for byte.

        Other processes search and save meanwhile: no step holds the write lock for long. Raises StoreError; what
        was done until then stays, and the index in use is whole at every moment.
        """
        mended = health.mend(self._store)
        version = index_version(self._store)
        run = _Run(self._store, version, self._pause, progress, fts.count(self._store))
        for index in INDEXES:
            run.rebuild(index)
        observations, prompts = (run.indexed[index.name] for index in (OBSERVATIONS, PROMPTS))
        return Reindexed(observations, prompts, run.rewritten, run.resumed, mended)


class _Run:
    """One rebuild of all indexes."""

    def __init__(
        self, store: Store, version: str, pause: Callable[[float], None], progress: Progress | None, total: int
    ) -> None:
        self._store = store
        self._version = version
        self._pause = pause
        self._progress = progress
        self._total = total
        self._done = 0
        self.rewritten = 0
        self.resumed = False
        self.indexed: dict[str, int] = {}

    def rebuild(self, index: Index) -> None:
        self.indexed[index.name] = 0
        self._discard(index)  # what a run that died at the very end left
        start = fts.begin(self._store, index, self._version)
        self.resumed = self.resumed or start is not None
        after, size = start or 0, _FIRST_STEP
        while rows := fts.rows_after(self._store, index, after, limit=size):
            # Deriving takes most of the time and no lock, which is when others write.
            stale = [(row, terms) for row in rows if (terms := _derived(index, row)) != row["terms"]]
            last, started = int(rows[-1]["id"]), time.monotonic()
            with self._store.transaction():
                if not fts.is_building(self._store, index):
                    break
                for row, terms in stale:
                    self.rewritten += fts.rewrite(self._store, index, row, {"terms": terms})
                fts.fill(self._store, index, self._version, after=after, last=last)
            size = _next_size(size, time.monotonic() - started)
            self._report(index, len(rows))
            after = last
        self._finish(index)

    def _report(self, index: Index, rows: int) -> None:
        self.indexed[index.name] += rows
        self._done += rows
        if self._progress is not None:
            self._progress(min(self._done, self._total), self._total)

    def _finish(self, index: Index) -> None:
        """Bring the new index into one piece, put it in its place, and take the old one away: step by step."""
        first = True
        while self._merged(index, first=first):
            first = False
            self._pause(_PAUSE_SECONDS)
        self._discard(index)

    def _discard(self, index: Index) -> None:
        while fts.discard(self._store, index):
            self._pause(_PAUSE_SECONDS)

    def _merged(self, index: Index, *, first: bool) -> bool:
        """Do a step of the merge, and the swap with the last; return whether there is more to do."""
        with self._store.transaction():
            if not fts.is_building(self._store, index):
                return False
            if fts.merge_all(self._store, index.next, first=first):
                return True
            fts.swap(self._store, index)
        return False


def _next_size(size: int, seconds: float) -> int:
    """Return the size of the next step, by how long this one held the write lock."""
    if seconds > 2 * _STEP_SECONDS:
        return max(1, size // 2)
    return min(_LARGEST_STEP, size * 2) if seconds < _STEP_SECONDS / 2 else size


def _derived(index: Index, row: Row) -> str:
    if index is PASSAGES:  # made of the files of the commit too, which the row does not name
        held = row["terms"].split()
        missing = dict.fromkeys(folded_words(f"{row['title']}\n{row['content']}")).keys() - set(held)
        return " ".join([*held, *sorted(missing)]) if missing else str(row["terms"])
    if index is OBSERVATIONS:
        return derived_terms(row["title"], row["topic_key"] or "", row["aliases"], row["content"])
    return derived_terms(row["content"])


# The version of the terms that are derived already, and of which table up to which row; "all" for all of them.
_RENEWED = "terms"
_RENEWED_AT_ONCE = 100


def renew_terms(store: Store, *, until: float | None) -> dict[str, float]:
    """Derive the terms of the rows of an earlier version again, at least one step, from where the last call stopped.

    ASCII has the same terms in every version. The index follows by its triggers. Raises StoreError.
    """
    version = hashlib.sha256(derived_terms(_PROBE).encode()).hexdigest()[:8]
    known, _, place = (get_meta(store, _RENEWED) or "").partition(" ")
    name, _, after = (place if known == version else f"{INDEXES[0].name} 0").partition(" ")
    renewed = 0
    following = dict(zip([index.name for index in INDEXES], [*INDEXES[1:], None], strict=True))
    index = next((one for one in INDEXES if one.name == name), None)
    begun = False
    while index is not None and (not begun or until is None or time.monotonic() < until):
        begun = True
        store.give_way()
        with store.transaction():
            rows = fts.rows_after(store, index, int(after), limit=_RENEWED_AT_ONCE)
            renewed += sum(_renew(store, index, row) for row in rows)
            if len(rows) == _RENEWED_AT_ONCE:
                after = str(rows[-1]["id"])
            else:
                index, after = following[index.name], "0"
            set_meta(store, _RENEWED, f"{version} {index.name if index else 'all'} {after}")
    return {"renewed": renewed} if renewed else {}


def _renew(store: Store, index: Index, row: Row) -> int:
    texts = [row[name] for name in ("title", "topic_key", "aliases", "content") if name in row.keys()]  # noqa: SIM118
    if "".join(filter(None, texts)).isascii() or (terms := _derived(index, row)) == row["terms"]:
        return 0
    return fts.rewrite(store, index, row, {"terms": terms})
