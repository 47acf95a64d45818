"""Vectors: unit length in memory, signed bytes in the file."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


def unit(rows: Any) -> Vectors:
    """Return the rows as float32 of length one; a row that is zero, or not finite, becomes zero."""
    import numpy as np

    array = np.atleast_2d(np.asarray(rows, dtype=np.float32))
    array = np.where(np.isfinite(array).all(axis=1, keepdims=True), array, np.float32(0))
    length = np.linalg.norm(array, axis=1, keepdims=True)
    result: Vectors = np.divide(array, length, out=np.zeros_like(array), where=length > 1e-12)
    return result


def pack(rows: Vectors) -> bytes:
    """Return one row of signed bytes after the other, without their scale.

    Rounding turns a vector of 384 numbers by about half a degree; on the development sets no figure changes.
    """
    import numpy as np

    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = np.divide(rows * 127, largest, out=np.zeros_like(rows), where=largest > 0)
    return bytes(np.rint(scaled).astype(np.int8).tobytes())


def unpack(blobs: Sequence[bytes], dimension: int) -> tuple[Vectors, NDArray[np.int64]]:
    """Return the unit rows of all blobs, and how many rows each blob has."""
    import numpy as np

    counts = np.array([len(blob) // dimension for blob in blobs], dtype=np.int64)
    raw = np.frombuffer(b"".join(blobs), dtype=np.int8).reshape(-1, dimension)
    return unit(raw) if len(raw) else raw.astype(np.float32), counts
