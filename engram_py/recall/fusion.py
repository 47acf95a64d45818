"""One ranking out of two: words and vectors, each weighted by the best that it found.

Ranks alone (reciprocal rank fusion) and fixed shares both fail where one side is weak: on CoSQA vectors alone find .72
and words .44, on conversations .37 and .64. How unlikely each side's best hit is by chance, in nats, tells which case
it is:

- A word that n of N observations hold counts ``ln(N / n)``, its idf. The best hit of the words counts the idf of the
  query's words it holds, the others by their share of its score.
- Cosines with unrelated texts are near to normal, so a cosine z standard deviations above the mean of the memory
  counts z² / 2, the logarithm of the normal tail, times the weight of the kind of model (``vectors.protocol``).

The sentence lane gains .01 to .08 of R@5 on six of nine sets and loses .02 on one (``python -m bench.vectors``).
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence

from engram_py.database.store import Store
from engram_py.dataclass import replace
from engram_py.observations import table
from engram_py.recall.query.parse import Query
from engram_py.recall.retrieval import READ, Retrieved, with_replacements
from engram_py.recall.scope_filter import ScopeFilter, VisibleRows
from engram_py.recall.score.bm25 import Scored
from engram_py.recall.values import LadderStep
from engram_py.vectors.values import Nearest
from engram_py.vectors.vectors import Vectors

# A cosine is strong when, of N observations that have nothing to do with the question, the nearest would be as near
# in one of a hundred questions: N * exp(-z² / 2) bounds that (Bonferroni, and the normal tail). Of CoSQA's questions
# that words alone would leave unanswered, two in three have such a match, and it is the answer for eight in ten.
CHANCE = 0.01
# A model blunter than this never answers a question whose words say nothing.
STRONG_WEIGHT = 0.5
# Copies of one text are all equally near: that is no measure for anything else.
_NO_DEVIATION, _MOST_DEVIATIONS = 1e-6, 50.0


def with_vectors(store: Store, vectors: Vectors, query: Query, scope: ScopeFilter, found: Retrieved) -> Retrieved:
    """Rank ``found`` anew by words and vectors together; a note says when vectors had to be left out."""
    visible = VisibleRows(store, scope)

    def sees(ids: Collection[int]) -> set[int]:
        return visible.among(list(ids))

    by_words = {one.id: one for one in found.scored}
    nearest = vectors.nearest(query.text, projects=scope.projects, sees=sees, limit=READ, also=list(by_words))
    if not nearest.hits:
        return replace(found, notes=(*found.notes, nearest.note)) if nearest.note else found
    lexical = [(one.id, one.relevance) for one in found.scored]
    nats = found.scored[0].coverage * sum(term.idf for term in found.terms) if found.scored else 0.0
    fused = fuse(lexical, nearest, nats=nats)
    if query.phrases or query.excluded:  # vectors cannot tell whether a text has the phrase or the excluded word
        fused = [(row, score) for row, score in fused if row in by_words]
    fused = fused[:READ]
    rows = {**found.rows, **table.by_ids(store, [row for row, _ in fused if row not in found.rows])}
    top = lexical[0][1] if lexical else 1.0
    scored = [replace(by_words.get(row) or Scored(row), relevance=score * top) for row, score in fused if row in rows]
    near = frozenset(row for row, _ in nearest.hits if row in rows)
    merged = replace(found, scored=scored, rows=rows, near=near, strong=strong(nearest) & rows.keys())
    merged = with_replacements(merged, visible)
    added = sum(one.id not in by_words for one in merged.scored)
    step = LadderStep("vectors", added, f"weighed at {nearest.weight:.2f}")
    return replace(merged, rungs=(*found.rungs, step))


def fuse(lexical: Sequence[tuple[int, float]], nearest: Nearest, *, nats: float) -> list[tuple[int, float]]:
    """Return the (id, score) of everything either side found, best first; a score is 0..1, 1 being best on both sides.

    ``lexical`` is (id, score) with scores above zero on any scale; ``nats`` the idf, in natural logarithms, of the
    query's words that its best hit holds. An observation without a vector is taken to be as near as its words let
    expect. Equal scores keep the order of the word search, then the newer first.
    """
    top = max((score for _, score in lexical), default=0.0)
    words = {key: max(score, 0.0) / top * nats for key, score in lexical} if top > 0 else {}
    meanings = vector_nats(nearest)
    best_word, best_meaning = max(words.values(), default=0.0), max(0.0, *meanings.values(), 0.0)
    ideal = best_word**2 + best_meaning**2
    if not meanings or ideal <= 0:
        return _ordered(words or meanings, words)
    slope = _slope(words, meanings)
    scores = {
        key: (words.get(key, 0.0) * best_word + meanings.get(key, words.get(key, 0.0) * slope) * best_meaning) / ideal
        for key in {**words, **meanings}
    }
    return _ordered(scores, words)


def vector_nats(nearest: Nearest) -> dict[int, float]:
    """Return the nats of each cosine, ``weight * z² / 2``; they are negative below the mean."""
    return {key: nearest.weight * z * abs(z) / 2 for key, z in deviations(nearest).items()}


def deviations(nearest: Nearest) -> dict[int, float]:
    """Return by how many standard deviations each cosine is above the mean of what the question may see."""
    if nearest.deviation < _NO_DEVIATION:
        return {}
    return {
        key: max(-_MOST_DEVIATIONS, min(_MOST_DEVIATIONS, (cosine - nearest.mean) / nearest.deviation))
        for key, cosine in nearest.hits
    }


def strong(nearest: Nearest) -> frozenset[int]:
    """Return the observations so near that they answer the question whatever words they share with it.

    They are ``sqrt(2 ln(N / 0.01))`` deviations above the mean or more. Among a few dozen hardly anything can be.
    """
    if nearest.population < 1 or nearest.weight < STRONG_WEIGHT:
        return frozenset()
    bar = math.sqrt(2 * math.log(nearest.population / CHANCE))
    return frozenset(key for key, z in deviations(nearest).items() if z >= bar)


def _slope(words: Mapping[int, float], meanings: Mapping[int, float]) -> float:
    """Return the nats of vectors for each nat of words: regression through the origin, never below zero."""
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
