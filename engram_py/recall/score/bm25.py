"""BM25 as FTS5's bm25() has it, in its two parts: what a word tells, and what mentioning it in a row counts."""

from __future__ import annotations

import math

# sqlite.org/fts5.html, 5.1.1: "k1 and b are both constants, hard-coded at 1.2 and 0.75".
K1 = 1.2
B = 0.75
_LEAST_IDF = 1e-6  # sqlite/ext/fts5/fts5_aux.c


def idf(rows: int, total: int) -> float:
    """How much a word tells: ``ln(1 + (N - n + 0.5) / (n + 0.5))``, never negative (Robertson and Walker 1997, with
    the 1 that Lucene adds)."""
    rows = min(rows, total)
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


def index_idf(rows: int, total: int) -> float:
    """The same without the 1, as FTS5 has it: a millionth for what half of the rows hold."""
    return max(math.log((total - rows + 0.5) / (rows + 0.5)), _LEAST_IDF) if total > rows else _LEAST_IDF


def norm(longer: float) -> float:
    """What the length of a row, in parts of the average, sets against its mentions."""
    return K1 * (1 - B + B * longer)


def saturated(mentions: float, norm: float = K1) -> float:
    """What ``mentions`` of a word count, each by the weight of its column; k1 + 1 at most."""
    return mentions * (K1 + 1) / (mentions + norm)
