"""The vectors of one model as searches see them: bits in memory, kept up by change marks, the nearest read whole."""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.embed.closeness import Closeness, closeness
from engram_py.embed.codes import Codes
from engram_py.errors import EmbedderFailedError
from engram_py.store import vectors as table
from engram_py.store.database import Store

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from engram_py.embed.arrays import Vectors

_READ_AT_ONCE = 20_000
_CENTRE_ROWS = 4_000
# Passages that are looked at whole: the nearest by bits, and as many from all over to know what is usual.
NEAREST, USUAL = 1_000, 1_000
_NEAREST_AT_LAST = 10_000
# Up to here a project's own rows are picked out first; a larger one is a large part of any memory.
_PICKED = 20_000
_LOADING_SECONDS = 1.0

Sees = Callable[[Collection[int]], Collection[int]]


@dataclass(frozen=True, slots=True)
class View:
    """What a search may see. ``sees``, where given, decides instead of type and scope."""

    projects: tuple[str, ...] | None = None
    type: str | None = None
    scope: str | None = None
    sees: Sees | None = None


@dataclass(frozen=True, slots=True)
class Near:
    """What was found: ``hits`` nearest first, those asked about besides among them."""

    hits: tuple[tuple[int, float], ...]
    mean: float
    deviation: float
    population: int


class VectorIndex:
    """Finds the nearest observations. Safe to use from several threads."""

    def __init__(self, store: Store, embedder_id: int, dimension: int) -> None:
        self.embedder_id = embedder_id
        self._store = store
        self._dimension = dimension
        self._lock = threading.Lock()
        self._codes: Codes | None = None
        self._seen = 0
        self._file: tuple[int, int] | None = None

    def refresh(self, store: Store | None = None) -> None:
        """Take in what was computed since. ``store`` is another connection to the same file."""
        with self._lock:
            self._refresh(store or self._store)

    def near(self, question: Vectors, view: View, *, limit: int, also: Iterable[int] = ()) -> Near:
        """The ``limit`` nearest observations that ``view`` shows, and how near those of ``also`` are.

        Raises EmbedderFailedError while another thread reads a large memory in.
        """
        if not self._lock.acquire(timeout=_LOADING_SECONDS):
            raise EmbedderFailedError("vectors", "they are still being read", hint="the next search has them")
        try:
            self._refresh(self._store)
            return self._near(question, view, limit, tuple(also))
        finally:
            self._lock.release()

    def _near(self, question: Vectors, view: View, limit: int, also: tuple[int, ...]) -> Near:
        codes = self._codes
        assert codes is not None
        among = self._picked(view)
        drawn = codes.spread(most=USUAL, among=among)
        usual = self._shown(drawn, view)
        for most in (NEAREST, _NEAREST_AT_LAST):
            by_bits = codes.nearest(question[0], most=most, among=among)
            shown = self._shown(by_bits, view)
            if len(shown) >= limit or len(by_bits) < most // 2:
                break
        candidates = [key for key in by_bits if key in shown][:NEAREST]
        blobs = table.read(self._store, self.embedder_id, {*candidates, *usual, *also})
        self._drop_missing([*candidates, *usual], blobs)
        found = closeness(question, blobs, usual=usual)
        population = round(codes.count(among) * len(usual) / max(1, len(drawn)))
        return Near(_ranked(found, {*candidates, *usual}, limit, also), found.mean, found.deviation, population)

    def _picked(self, view: View) -> NDArray[np.int64] | None:
        """The rows of a project that is small, None where all are looked through."""
        if view.projects is None:
            return None
        import numpy as np

        ids = table.ids_within(self._store, view.projects, limit=_PICKED)
        return None if ids is None else np.asarray(ids, dtype=np.int64)

    def _shown(self, ids: Sequence[int], view: View) -> set[int]:
        if view.sees is not None:
            return set(view.sees(ids))
        return table.seen(self._store, ids, projects=view.projects, type=view.type, scope=view.scope)

    def _drop_missing(self, ids: Sequence[int], blobs: Collection[int]) -> None:
        gone = [key for key in ids if key not in blobs]  # destroyed since: nothing announces that
        if gone and self._codes is not None:
            import numpy as np

            self._codes.drop(np.asarray(gone, dtype=np.int64))

    # --- reading in -----------------------------------------------------------------------------------------

    def _refresh(self, store: Store) -> None:
        file = _identity(store.path)
        if self._codes is None or file != self._file or table.last_seq(store, self.embedder_id) < self._seen:
            self._codes, self._seen, self._file = self._empty(store), 0, file
        while rows := table.changed(store, self.embedder_id, seen=self._seen, limit=_READ_AT_ONCE):
            self._codes.put([row["observation_id"] for row in rows], [row["vectors"] for row in rows])
            self._seen = rows[-1]["seq"]

    def _empty(self, store: Store) -> Codes:
        import numpy as np

        from engram_py.embed.arrays import unpack

        sample, _ = unpack(table.spread(store, self.embedder_id, limit=_CENTRE_ROWS), self._dimension)
        centre = sample.mean(axis=0) if len(sample) else np.zeros(self._dimension, np.float32)
        return Codes(self._dimension, centre)


def _ranked(found: Closeness, own: set[int], limit: int, also: tuple[int, ...]) -> tuple[tuple[int, float], ...]:
    order = sorted(found.cosines, key=lambda key: (-found.cosines[key], -key))
    best = [key for key in order if key in own][:limit]
    kept = {*best, *(key for key in also if key in found.cosines)}
    return tuple((key, found.cosines[key]) for key in order if key in kept)


def _identity(path: Path) -> tuple[int, int] | None:
    try:
        stat = path.stat()
    except OSError:
        return None
    return stat.st_dev, stat.st_ino
