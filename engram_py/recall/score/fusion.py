"""One ranking out of two: words and vectors, each as far as it has found something. Pure.

Ranks alone (reciprocal rank fusion) and fixed weights both fail where one side is weak: fused by RRF, LoCoMo's turns
fall from .64 to .53; by a weight of 0.3, CoSQA stays at .54 of the .72 that its vectors reach alone. Which case it is
shows in how unlikely each side's best score is by chance, so both are put on that scale, in nats:

- A word that n of N observations hold is worth its idf, ``ln(N / n)``: that is how surprising the match is. A hit of
  the word search carries the idf of the query's words it holds; its rank score says how much of the best hit's: the
  square of its share, since whatever shares a common word with the question scores far above nothing.
- Cosines with what has nothing to do with the question are near to normal, so a cosine ``z`` standard deviations above
  the mean of the memory is worth about ``z² / 2``, the logarithm of the normal tail.

Their sum is Fisher's method of combining independent tests (R. A. Fisher, *Statistical Methods for Research Workers*,
4th ed. 1932, §21.1). Two things temper it. Normality is not given when a model knows nothing of a language: noise
can look as sharp as a find. So vectors count by ``2 * trust²``, where ``trust`` was measured on the memory itself
without anybody's labels (``recall.pairs``). And a side that has found nothing remarkable should not break the other's
ties: each side counts by the root of the best it has to show. The constants are the middle of a plateau: 1.5 to 2.5
with powers of 1.5 to 3 on the trust, powers of 0.3 to 0.5 on the best, and of 1.6 to 3 on the words' share, change no
development figure by more than .01. With that share instead of its square recall at 5 falls on three of four sets, by
.003 to .005.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from engram_py.vectors.values import Nearest

# A cosine is strong when, of N observations that have nothing to do with the question, the nearest would be as near
# in one of a hundred questions: N * exp(-z² / 2) bounds that (Bonferroni, and the normal tail). Of CoSQA's questions
# that words alone would leave unanswered, two in three have such a match, and it is the answer for eight in ten.
CHANCE = 0.01
# Below this trust a model's noise is as sharp as its finds (MiniLM on Russian: .32, on Spanish: .69).
STRONG_TRUST = 0.45
# Copies of one text are all equally near: that is no measure for anything else.
_NO_DEVIATION, _MOST_DEVIATIONS = 1e-6, 50.0


def fuse(lexical: Sequence[tuple[int, float]], nearest: Nearest, *, nats: float) -> list[tuple[int, float]]:
    """The (id, score) of everything either side found, best first; a score is 0..1, 1 being best on both sides.

    ``lexical`` is (id, score) with scores above zero on any scale; ``nats`` the idf, in natural logarithms, of the
    query's words that its best hit holds. An observation without a vector is taken to be as near as its words let
    expect. Equal scores keep the order of the word search, then the newer first.
    """
    words = _word_nats(lexical, nats)
    meanings = vector_nats(nearest)
    if not meanings:
        return _ordered(words, words)
    best_word, best_meaning = max(words.values(), default=0.0), max(0.0, *meanings.values())
    slope = _slope(words, meanings)
    root_word, root_meaning = math.sqrt(best_word), math.sqrt(best_meaning)
    ideal = best_word * root_word + best_meaning * root_meaning
    if ideal <= 0:
        return _ordered(words or meanings, words)
    scores = {
        key: (words.get(key, 0.0) * root_word + meanings.get(key, words.get(key, 0.0) * slope) * root_meaning) / ideal
        for key in {**words, **meanings}
    }
    return _ordered(scores, words)


def vector_nats(nearest: Nearest) -> dict[int, float]:
    """What each cosine is worth beside words: ``2 * trust² * z² / 2``, less than nothing below the mean."""
    weight = nearest.trust**2
    return {key: weight * z * abs(z) for key, z in deviations(nearest).items()}


def deviations(nearest: Nearest) -> dict[int, float]:
    """By how many standard deviations each cosine is above the mean of what the question may see."""
    if nearest.deviation < _NO_DEVIATION:
        return {}
    return {
        key: max(-_MOST_DEVIATIONS, min(_MOST_DEVIATIONS, (cosine - nearest.mean) / nearest.deviation))
        for key, cosine in nearest.hits
    }


def strong(nearest: Nearest) -> frozenset[int]:
    """The observations so near that they answer the question whatever words they share with it.

    They are ``sqrt(2 ln(N / 0.01))`` deviations above the mean or more, by a model that can be trusted with this
    memory. Among a few dozen hardly anything can be.
    """
    if nearest.population < 1 or nearest.trust < STRONG_TRUST:
        return frozenset()
    bar = math.sqrt(2 * math.log(nearest.population / CHANCE))
    return frozenset(key for key, z in deviations(nearest).items() if z >= bar)


def _word_nats(lexical: Sequence[tuple[int, float]], nats: float) -> dict[int, float]:
    best = max((score for _, score in lexical), default=0.0)
    if best <= 0:
        return {}
    return {key: (max(score, 0.0) / best) ** 2 * nats for key, score in lexical}


def _slope(words: Mapping[int, float], meanings: Mapping[int, float]) -> float:
    """How near a hit of the word search is for each nat of words: regression through the origin, never below zero."""
    both = [(words[key], meanings[key]) for key in words if key in meanings]
    square = sum(word * word for word, _ in both)
    return max(0.0, sum(word * meaning for word, meaning in both) / square) if square > 0 else 0.0


def _ordered(scores: Mapping[int, float], words: Mapping[int, float]) -> list[tuple[int, float]]:
    place = {key: number for number, key in enumerate(words)}
    last = len(place)
    ranked = sorted(scores, key=lambda key: (-scores[key], place.get(key, last), -key))
    best = max(scores.values(), default=0.0)
    scale = best if best > 1 else 1.0
    return [(key, max(0.0, scores[key] / scale)) for key in ranked]
