"""How well a ranked list answers a question whose answers are known. Pure; ``engram eval`` and the benchmark ask it."""

from __future__ import annotations

import math
from collections.abc import Collection, Hashable, Iterable, Sequence
from typing import TypeVar

Key = TypeVar("Key", bound=Hashable)


def first_rank(found: Sequence[Key], relevant: Collection[Key]) -> int | None:
    """Return the place of the first relevant one, counted from 1; None when there is none."""
    return next((rank for rank, key in enumerate(found, 1) if key in relevant), None)


def hit_at(rank: int | None, k: int) -> bool:
    """Return whether something relevant was among the first ``k`` (TREC's success@k; the field's hit@k)."""
    return rank is not None and rank <= k


def reciprocal_rank(rank: int | None, k: int = 10) -> float:
    """1 / rank of the first relevant one, 0 beyond ``k``. Its mean over questions is MRR@k.

    E. Voorhees, *The TREC-8 Question Answering Track Report*, 1999.
    """
    return 1 / rank if rank is not None and rank <= k else 0.0


def ndcg_at(found: Sequence[Key], relevant: Collection[Key], k: int = 10) -> float:
    """nDCG@k with gains of 0 and 1: Σ 1 / log2(rank + 1) over the relevant, divided by the best possible sum.

    K. Järvelin, J. Kekäläinen, *Cumulated gain-based evaluation of IR techniques*, ACM TOIS 20(4), 2002, with the
    discount log2(rank + 1) that is usual since C. Burges et al., *Learning to Rank using Gradient Descent*, 2005.
    What is found twice counts once.
    """
    wanted = set(relevant)
    best = sum(_discount(rank) for rank in range(1, min(len(wanted), k) + 1))
    if not best:
        return 0.0
    gained = 0.0
    for rank, key in enumerate(found[:k], 1):
        if key in wanted:
            wanted.discard(key)
            gained += _discount(rank)
    return gained / best


def mean(values: Iterable[float]) -> float:
    """Return the mean, 0 of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)
