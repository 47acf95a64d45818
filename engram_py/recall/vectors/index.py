"""The vectors of one model for searches: bits in memory, kept up by change marks; the nearest are read whole.

One bit a number tells on which side of the memory's centre it lies; the share of bits that differ estimates the
angle (M. Charikar, 2002). Among 19,000 passages the nearest ten are among the first thousand for 99.9 % of
questions.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from engram_py.base.database.connection import identity_of
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.recall.vectors import table
from engram_py.recall.vectors.protocol import unit, unpack
from engram_py.recall.vectors.table import Kind
from engram_py.recall.vectors.values import EmbedderFailedError, Nearest

if TYPE_CHECKING:
    from engram_py.recall.vectors.protocol import Vectors


Integers = NDArray[np.int64]

_FIRST_ROOM = 1_024


class Codes:
    """The bits of each passage, its observation, and the row it is read from. Not locked: one thread at a time."""

    def __init__(self, dimension: int, centre: Vectors) -> None:
        self.dimension = dimension
        self._centre = centre
        self._words = -(-dimension // 64)
        self._bits = np.zeros((self._words, _FIRST_ROOM), np.uint64)
        self._ids = np.zeros(_FIRST_ROOM, np.int64)
        self._rows = np.zeros(_FIRST_ROOM, np.int64)
        self._alive = np.zeros(_FIRST_ROOM, np.bool_)
        self._first = np.zeros(_FIRST_ROOM, np.bool_)  # the first passage stands for its observation
        self._size = 0

    def count(self, among: Integers | None = None) -> int:
        """Return how many observations there are."""
        return len(self._places(among, first=True))

    def put(self, ids: Sequence[int], blobs: Sequence[bytes], *, rows: Sequence[int]) -> None:
        """Take in the vectors of observations, in place of those they had; ``rows`` is where each was read."""
        passages, counts = unpack(blobs, self.dimension)
        new = np.asarray(ids, dtype=np.int64)
        self.drop(new)
        self._make_room(len(passages))
        end = self._size + len(passages)
        self._bits[:, self._size : end] = self._coded(passages)
        self._rows[self._size : end] = np.repeat(np.asarray(rows, dtype=np.int64), counts)
        self._ids[self._size : end] = np.repeat(new, counts)
        self._alive[self._size : end] = True
        self._first[self._size : end] = False
        self._first[self._size + (np.cumsum(counts) - counts)[counts > 0]] = True
        self._size = end

    def drop(self, ids: Integers) -> None:
        """Forget observations."""
        if self._size and len(ids):
            self._alive[: self._size] &= ~np.isin(self._ids[: self._size], ids)

    def nearest(self, question: Vectors, *, most: int, among: Integers | None = None) -> dict[int, int]:
        """Return the observations of the ``most`` nearest passages by bits, nearest first, and the row of each."""
        places = self._places(among)
        if not len(places):
            return {}
        code = self._coded(question)[:, 0]
        whole = len(places) == self._size
        far = np.zeros(len(places), np.uint16)
        for word in range(self._words):
            bits = self._bits[word, : self._size] if whole else self._bits[word, places]
            far += np.bitwise_count(bits ^ code[word])
        chosen = np.argpartition(far, most)[:most] if most < len(places) else np.arange(len(places))
        return self._found(places[chosen[np.argsort(far[chosen], kind="stable")]])

    def spread(self, *, most: int, among: Integers | None = None) -> dict[int, int]:
        """Return at most ``most`` observations, evenly taken, and the row of each."""
        places = self._places(among, first=True)
        return self._found(places[:: max(1, -(-len(places) // most))])

    def _found(self, places: Integers) -> dict[int, int]:
        return dict(zip(self._ids[places].tolist(), self._rows[places].tolist(), strict=True))

    def _places(self, among: Integers | None, *, first: bool = False) -> Integers:
        alive = self._alive[: self._size]
        if first:
            alive = alive & self._first[: self._size]
        if among is not None:
            alive = alive & np.isin(self._ids[: self._size], among)
        places: Integers = np.flatnonzero(alive)
        return places

    def _coded(self, rows: Vectors) -> NDArray[np.uint64]:
        """Return the bits of rows, a column each."""
        packed = np.packbits(np.atleast_2d(rows) > self._centre, axis=1)
        padded = np.zeros((len(packed), self._words * 8), np.uint8)
        padded[:, : packed.shape[1]] = packed
        return np.ascontiguousarray(padded.view(np.uint64).T)

    def _make_room(self, more: int) -> None:
        if self._size + more <= len(self._ids):
            return
        kept = np.flatnonzero(self._alive[: self._size])  # the moment to leave behind what is gone
        room = max(_FIRST_ROOM, 2 * (len(kept) + more))
        bits, self._bits = self._bits, np.zeros((self._words, room), np.uint64)
        self._bits[:, : len(kept)] = bits[:, kept]
        for name in ("_ids", "_rows", "_first", "_alive"):
            old = getattr(self, name)
            new = np.zeros(room, old.dtype)
            new[: len(kept)] = old[kept]
            setattr(self, name, new)
        self._size = len(kept)


_READ_AT_ONCE = 20_000
_CENTRE_ROWS = 4_000
# Passages nearest by bits that are read whole; and more, where most of those are out of sight.
NEAREST, NEAREST_AT_LAST = 600, 10_000
# How many stand for a whole memory when its baseline is measured.
BASELINE_SIZE = 1_000
# Up to here a project's own rows are picked out first; a larger one is a large part of any memory.
_SMALL_PROJECT = 20_000
_SAMPLES_KEPT = 16
_LOADING_SECONDS = 1.0
# The centre is drawn to zero while there are few passages: of five, the one that answers is a fifth of the mean.
_CENTRE_PRIOR = 50

Sees = Callable[[Collection[int]], Collection[int]]


@dataclass(frozen=True, slots=True)
class VectorView:
    """The texts that a search may see: those ``within`` projects (and shared ones) or collections, and of those what
    ``sees`` lets through."""

    within: tuple[object, ...] | None = None
    sees: Sees | None = None


class VectorIndex:
    """Finds the nearest texts of one kind. Safe to use from several threads."""

    def __init__(self, store: Store, kind: Kind, embedder_id: int, dimension: int) -> None:
        self.embedder_id = embedder_id
        self._kind = kind
        self._store = store
        self._dimension = dimension
        self._lock = threading.Lock()
        self._codes: Codes | None = None
        self._seen = 0
        self._file: tuple[int, int] | None = None
        self._samples: dict[tuple[object, ...] | None, tuple[tuple[int, int], Baseline, float]] = {}

    def refresh(self, store: Store | None = None) -> None:
        """Read what was computed since. ``store`` is another connection to the same file."""
        with self._lock:
            self._refresh(store or self._store)

    def near(self, question: Vectors, view: VectorView, *, limit: int, also: Iterable[int] = ()) -> Nearest:
        """Return the ``limit`` nearest texts that ``view`` shows, and how near those of ``also`` are.

        Raises EmbedderFailedError while another thread reads a large memory in.
        """
        if not self._lock.acquire(timeout=_LOADING_SECONDS):
            raise EmbedderFailedError("vectors", "they are still being read", hint="the next search has them")
        try:
            self._refresh(self._store)
            return self._near(question, view, limit, tuple(also))
        finally:
            self._lock.release()

    def _near(self, question: Vectors, view: VectorView, limit: int, also: tuple[int, ...]) -> Nearest:
        codes = self._codes
        assert codes is not None
        among = self._ids_within(view)
        count = codes.count(among)
        baseline, share = self._baseline(view, among, count)
        for most in (NEAREST, NEAREST_AT_LAST):
            rows = codes.nearest(question[0], most=most, among=among)
            blobs = table.read(self._store, self._kind, self.embedder_id, rows.values(), by="seq")
            gone = [key for key in rows if key not in blobs]  # destroyed since: nothing announces that
            if gone and self._codes is not None:
                self._codes.drop(np.asarray(gone, dtype=np.int64))
            found = baseline.cosines(question, blobs)
            shown = self._first_shown(sorted(found, key=lambda key: (-found[key], -key)), view, limit)
            if len(shown) >= limit or len(rows) < most // 2:
                break
        hits = {key: found[key] for key in shown}
        others = table.read(self._store, self._kind, self.embedder_id, set(also) - hits.keys(), by="id")
        hits |= baseline.cosines(question, others)
        mean, deviation = baseline.closeness(question)
        ranked = sorted(hits.items(), key=lambda hit: (-hit[1], -hit[0]))
        return Nearest(tuple(ranked), mean, deviation, round(count * share))

    def _first_shown(self, ordered: Sequence[int], view: VectorView, limit: int) -> list[int]:
        """Return the first that may be shown, asked for in portions: looking at a row costs more than its vector."""
        shown: list[int] = []
        start, portion = 0, 2 * limit
        while start < len(ordered) and len(shown) < limit:
            part = ordered[start : start + portion]
            seen = self._shown(part, view)
            shown += [key for key in part if key in seen]
            start, portion = start + portion, 4 * portion
        return shown[:limit]

    def _baseline(self, view: VectorView, among: NDArray[np.int64] | None, count: int) -> tuple[Baseline, float]:
        """Return the sample of what these projects see, and its share of all rows."""
        made = self._samples.get(view.within)
        if made is not None and (made[0] == (self._seen, count) or BASELINE_SIZE < count < 1.1 * made[0][1]):
            return made[1], made[2]
        assert self._codes is not None
        drawn = self._codes.spread(most=BASELINE_SIZE, among=among)
        seen = table.seen(self._store, self._kind, drawn, within=view.within)
        blobs = table.read(
            self._store, self._kind, self.embedder_id, [row for key, row in drawn.items() if key in seen], by="seq"
        )
        baseline, share = Baseline(list(blobs.values()), self._dimension), len(blobs) / max(1, len(drawn))
        self._samples = {view.within: ((self._seen, count), baseline, share), **self._samples}
        while len(self._samples) > _SAMPLES_KEPT:
            self._samples.popitem()
        return baseline, share

    def _ids_within(self, view: VectorView) -> NDArray[np.int64] | None:
        """Return the texts of small projects or collections, None where all are looked through."""
        if view.within is None:
            return None
        ids = table.all_within(self._store, self._kind, view.within, most=_SMALL_PROJECT)
        return None if ids is None else np.asarray(sorted(ids), dtype=np.int64)

    def _shown(self, ids: Sequence[int], view: VectorView) -> set[int]:
        if view.sees is not None:
            return set(view.sees(ids))
        return table.seen(self._store, self._kind, ids, within=view.within)

    # --- reading in -----------------------------------------------------------------------------------------

    def _refresh(self, store: Store) -> None:
        file = identity_of(str(store.path))
        if (
            self._codes is None
            or file != self._file
            or table.last_seq(store, self._kind, self.embedder_id) < self._seen
        ):
            self._codes, self._seen, self._file, self._samples = self._empty(store), 0, file, {}
        while rows := table.changed(store, self._kind, self.embedder_id, seen=self._seen, limit=_READ_AT_ONCE):
            places, ids, blobs = zip(*rows, strict=True)
            self._codes.put(ids, blobs, rows=places)
            self._seen = places[-1]

    def _empty(self, store: Store) -> Codes:
        sample, _ = unpack(table.spread(store, self._kind, self.embedder_id, limit=_CENTRE_ROWS), self._dimension)
        centre = sample.mean(axis=0) if len(sample) else np.zeros(self._dimension, np.float32)
        return Codes(self._dimension, centre)


class Baseline:
    """A sample of what a question may see: its centre, and the usual cosine of the question.

    Cosines are taken from the centre, because texts of one memory all point one way (J. Mu and P. Viswanath, "All-but-
    the-top", 2018). That finds .73 instead of .72 on CoSQA, .33 instead of .29 on LoCoMo's turns.
    """

    def __init__(self, blobs: Sequence[bytes], dimension: int) -> None:
        rows, counts = unpack([blob for blob in blobs if blob], dimension)
        self.size = len(counts)
        self._dimension = dimension
        self._centre = rows.sum(axis=0) / np.float32(len(rows) + _CENTRE_PRIOR)
        self._rows = unit(rows - self._centre)
        self._starts = _starts(counts)

    def closeness(self, question: Vectors) -> tuple[float, float]:
        """Return the middle of the cosines of the sample's observations, and the deviation of those below it.

        What is near to the question moves neither: another memory about the asked thing makes no other one less near.
        """
        if not self.size:
            return 0.0, 0.0
        best = np.maximum.reduceat(self._rows @ self._seen(question), self._starts)
        middle = float(np.median(best))
        below = best[best <= middle] - middle
        return middle, float(np.sqrt((below**2).mean()))

    def cosines(self, question: Vectors, blobs: Mapping[int, bytes]) -> dict[int, float]:
        """Return the cosine of the nearest passage of each observation that has vectors."""
        ids = [key for key, blob in blobs.items() if blob]
        if not ids:
            return {}
        rows, counts = unpack([blobs[key] for key in ids], self._dimension)
        cosines = unit(rows - self._centre) @ self._seen(question)
        return dict(zip(ids, np.maximum.reduceat(cosines, _starts(counts)).tolist(), strict=True))

    def _seen(self, question: Vectors) -> Vectors:
        seen: Vectors = unit(question - self._centre)[0]
        return seen


def _starts(counts: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return where the passages of each observation begin."""
    starts: NDArray[np.int64] = np.cumsum(counts) - counts
    return starts
