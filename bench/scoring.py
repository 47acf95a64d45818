"""From ranked answers to figures: pure functions over keys, as retrieval/README.md defines them."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

from bench.datasets import Question
from bench.report import percentile

DEPTH = 10
_DRAWS = 1_000


@dataclass(frozen=True, slots=True)
class Answer:
    """The keys a question was shown, best first, and the seconds that took; ``quoted`` are those with a passage.
    ``refused``: an error came back."""

    question: Question
    keys: Sequence[str]
    seconds: float
    quoted: Sequence[str] = ()
    refused: bool = False

    @property
    def first_quoted(self) -> list[str]:
        """The keys among the first five that have a passage."""
        return [key for key in self.keys[:5] if key in self.quoted]


def recall(keys: Sequence[str], gold: Collection[str], k: int) -> float:
    """The share of the evidence in the first ``k``."""
    return len(set(keys[:k]) & set(gold)) / len(set(gold))


def hit(keys: Sequence[str], gold: Collection[str], k: int) -> float:
    """1 when any of the evidence is in the first ``k``."""
    return float(not set(keys[:k]).isdisjoint(gold))


def reciprocal_rank(keys: Sequence[str], gold: Collection[str]) -> float:
    """1 / the place of the first evidence in the first ten, 0 without any."""
    return next((1 / place for place, key in enumerate(keys[:DEPTH], 1) if key in gold), 0.0)


def ndcg(keys: Sequence[str], gold: Collection[str]) -> float:
    """Discounted cumulative gain of the first ten over that of the best order (Järvelin and Kekäläinen 2002)."""
    gained = sum(1 / math.log2(place + 1) for place, key in enumerate(keys[:DEPTH], 1) if key in gold)
    ideal = sum(1 / math.log2(place + 1) for place in range(1, min(len(set(gold)), DEPTH) + 1))
    return gained / ideal


def figures(answers: Sequence[Answer]) -> dict[str, float]:
    """What is printed and kept of a set."""
    pairs = [(answer.keys, answer.question.gold) for answer in answers]
    times = [answer.seconds * 1000 for answer in answers]
    return {
        "questions": len(answers),
        "recall@1": _mean(recall(keys, gold, 1) for keys, gold in pairs),
        "recall@5": _mean(recall(keys, gold, 5) for keys, gold in pairs),
        "recall@10": _mean(recall(keys, gold, 10) for keys, gold in pairs),
        "hit@5": _mean(hit(keys, gold, 5) for keys, gold in pairs),
        "mrr@10": _mean(reciprocal_rank(keys, gold) for keys, gold in pairs),
        "ndcg@10": _mean(ndcg(keys, gold) for keys, gold in pairs),
        "empty": _mean(not keys for keys, _ in pairs),
        "quoted@5": _mean(recall(answer.first_quoted, answer.question.gold, 5) for answer in answers),
        "refused": sum(answer.refused for answer in answers),
        "p50_ms": round(statistics.median(times), 2),
        "p95_ms": round(percentile(times, 95), 2),
    }


def by_part(answers: Sequence[Answer]) -> dict[str, float]:
    """Recall at 5 of each category or language."""
    parts = sorted({answer.question.part for answer in answers})
    if len(parts) < 2:
        return {}
    return {
        part: _mean(recall(one.keys, one.question.gold, 5) for one in answers if one.question.part == part)
        for part in parts
    }


def answered(answers: Sequence[Answer]) -> float:
    """The share that was answered with a passage."""
    return _mean(bool(answer.quoted) for answer in answers)


def some(questions: Sequence[Question], limit: int | None) -> Sequence[Question]:
    """``limit`` of them, evenly spread, the same ones in every run."""
    if limit is None or limit >= len(questions):
        return questions
    return [questions[number * len(questions) // limit] for number in range(limit)]


def interval(values: Sequence[float]) -> tuple[float, float]:
    """Between what 95 % of the means lie of as many values drawn with replacement (bootstrap)."""
    chance = random.Random(0)
    means = sorted(statistics.fmean(chance.choices(values, k=len(values))) for _ in range(_DRAWS))
    return means[_DRAWS // 40], means[-_DRAWS // 40]


def _mean(values: Iterable[float]) -> float:
    return round(statistics.fmean(values), 4)
