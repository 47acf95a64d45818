"""Rank rows by words and meaning together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram_py.base.dataclass import replace
from engram_py.base.reasons import reason
from engram_py.recall.query import Query
from engram_py.recall.retrieval import READ, Readable, Retrieved, T, with_replacements
from engram_py.recall.score import Scored
from engram_py.recall.values import LadderStep
from engram_py.recall.vectors.values import SENTENCE_WEIGHT, Nearest
from engram_py.recall.vectors.vectors import NearMeaning


def with_vectors(
    vectors: NearMeaning,
    query: Query,
    found: Retrieved[T],
    visible: Readable[T],
    *,
    within: Sequence[object] | None,
    documents: bool = False,
    weighted: bool = False,
) -> Retrieved[T]:
    """Rank ``found`` anew by words and vectors together, ``weighted`` by a fixed sum; a note says when vectors had to
    be left out.

    ``within`` are the projects of memories, or the collections of ``documents``.
    """
    by_words = {one.id: one for one in found.scored}
    nearest = vectors.nearest(
        query.text,
        within=within,
        sees=lambda ids: visible.among(list(ids)),
        limit=round(READ * visible.share),
        also=list(by_words),
        documents=documents,
    )
    if not nearest.hits:
        return replace(found, notes=(*found.notes, nearest.note)) if nearest.note else found
    lexical = [(one.id, one.relevance) for one in found.scored]
    nats = found.scored[0].coverage * sum(term.idf for term in found.terms) if found.scored else 0.0
    fused = weighted_sum(lexical, nearest) if weighted else fuse(lexical, nearest, nats=nats)
    if query.phrases or query.excluded:  # vectors cannot tell whether a text has the phrase or the excluded word
        fused = [(row, score) for row, score in fused if row in by_words]
    fused = fused[:READ]
    rows = {**found.rows, **visible.load([row for row, _ in fused if row not in found.rows])}
    top = lexical[0][1] if lexical else 1.0
    scored = [replace(by_words.get(row) or Scored(row), relevance=score * top) for row, score in fused if row in rows]
    meanings, cosines = nearest.deviations(), dict(nearest.hits)
    for one in scored:
        if one.id in meanings and nearest.weight >= SENTENCE_WEIGHT:  # a table of words tells what words tell
            one.meaning, one.cosine = meanings[one.id] / nearest.chance, cosines[one.id]
    merged = with_replacements(replace(found, scored=scored, rows=rows), visible)
    added = sum(one.id not in by_words for one in merged.scored)
    why = reason("weighted_sum", vectors=OF_VECTORS, words=OF_WORDS)
    step = LadderStep("vectors", added, why if weighted else reason("weighed", weight=nearest.weight))
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


# The weighted hybrid of OpenClaw and QMD (spec/seed-capabilities.md, 2.3), for those who know it: the sum of a cosine
# and of score / (1 + score).
OF_VECTORS, OF_WORDS = 0.7, 0.3


def weighted_sum(lexical: Sequence[tuple[int, float]], nearest: Nearest) -> list[tuple[int, float]]:
    """Return the (id, score) of everything either side found, best first, by a fixed sum; a score is 0..1."""
    words = {key: abs(score) / (1 + abs(score)) for key, score in lexical}
    cosines = {key: max(0.0, cosine) for key, cosine in nearest.hits}
    scores = {key: OF_VECTORS * cosines.get(key, 0.0) + OF_WORDS * words.get(key, 0.0) for key in {**words, **cosines}}
    return _ordered(scores, words)


def vector_nats(nearest: Nearest) -> dict[int, float]:
    """Return the nats of each cosine, ``weight * z² / 2``; they are negative below the mean."""
    return {key: nearest.weight * z * abs(z) / 2 for key, z in nearest.deviations().items()}


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
