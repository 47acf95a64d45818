"""The static lane: a table of word pieces whose mean is the vector of a text. Over numpy, nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.vectors.arrays import unit
from engram_py.vectors.errors import EmbedderFailedError
from engram_py.vectors.protocol import Embedder, library

if TYPE_CHECKING:
    from engram_py.vectors.arrays import Vectors

PIECES, TABLE = "pieces.txt", "table.npy"
_SPACE = "\u2581"
_LONGEST_WORD, _WORDS_KEPT = 64, 50_000


class StaticEmbedder(Embedder):
    """The mean of a table's vectors of word pieces. Raises EmbedderMissingError or EmbedderFailedError when made."""

    def __init__(self, name: str, folder: Path) -> None:
        numpy = library(name, "numpy")
        try:
            pieces = (folder / PIECES).read_bytes().decode().split("\n")
            self._table: Any = numpy.load(folder / TABLE, mmap_mode="r", allow_pickle=False)
        except (OSError, ValueError) as exc:
            raise EmbedderFailedError.loading(name, exc) from exc
        self._numbers = {piece: number for number, piece in enumerate(pieces)}
        self._known: dict[str, list[int]] = {}

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        rows = [self._table[self.numbers(text)].astype(np.float32).sum(axis=0) for text in texts]
        return unit(np.stack(rows))

    def numbers(self, text: str) -> list[int]:
        """Return the numbers of a text's pieces, without what is between its words: of code that would be most."""
        found: list[int] = []
        for word in text.split():
            known = self._known.get(word)
            if known is None:
                known = self._pieces(_SPACE + word)
                if len(self._known) < _WORDS_KEPT:
                    self._known[word] = known
            found += known
        return found

    def _pieces(self, word: str) -> list[int]:
        """Join the neighbours that make the most frequent piece, as long as there are any (byte-pair encoding)."""
        numbers = self._numbers
        parts = list(word[:_LONGEST_WORD])
        while len(parts) > 1:
            joined = [numbers.get(one + other, len(numbers)) for one, other in pairwise(parts)]
            best = min(joined)
            if best == len(numbers):
                break
            place = joined.index(best)
            parts[place : place + 2] = [parts[place] + parts[place + 1]]
        rest = self._pieces(word[_LONGEST_WORD:]) if len(word) > _LONGEST_WORD else []
        return [number for part in parts for number in self._of(part)] + rest

    def _of(self, part: str) -> list[int]:
        known = self._numbers.get(part)
        if known is not None:
            return [known]
        return [self._numbers[f"<0x{byte:02X}>"] for byte in part.encode("utf-8", "replace")]
