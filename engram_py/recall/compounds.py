"""What one person writes in one word and another in two: ``timezone`` and ``time zone``, ``hardfault`` and ``hard
fault``."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from engram_py.database.store import Store
from engram_py.recall.index import vocabulary, word_counts
from engram_py.recall.query.parse import Query, quote
from engram_py.recall.score.bm25 import idf
from engram_py.recall.score.relevance import Term
from engram_py.text.segments import is_unspaced

# Each half, in letters; what is longer than a word is a name with parts of its own.
_LEAST_CHARS = 3
_MOST_CHARS = 30
_COUNTED_TO = 200


def in_two(store: Store, term: Term, total: int) -> bool:
    """Let the two words that an unknown one is made of stand for it, where this memory has them side by side."""
    halves = {quote(f"{one} {other}"): f"{one} {other}" for one, other in _halves(term.text)}
    found = word_counts.newest_matching(store, list(halves), cap=_COUNTED_TO)
    written = max(halves, key=lambda one: len(found[one]), default=None)
    if written is None or not found[written]:
        return False
    term.stands_for, term.indexed, term.expression = (halves[written],), (), written
    term.read_as = term.stands_for
    term.rows = len(found[written])
    term.idf = idf(term.rows, total)
    return True


def in_one(store: Store, query: Query, terms: Sequence[Term], total: int, *, unknown: bool = False) -> list[str]:
    """Let each two words that stand side by side in the query be found in one as well; those that this memory has.
    With ``unknown`` only where it never saw one of the two."""
    by_text = {term.text: term for term in terms}
    beside = {
        one.text + other.text: (by_text[one.text], by_text[other.text])
        for one, other in pairwise(query.words)
        if one.text in by_text and other.text in by_text and _is_half(one.text) and _is_half(other.text)
        if not (unknown and by_text[one.text].rows and by_text[other.text].rows)
    }
    stems = {joined: found for joined, found in vocabulary.stems(store, list(beside)).items() if len(found) == 1}
    rows = word_counts.rows_with(store, [stem for [stem] in stems.values()], {}, size=total)
    known = [(joined, stem) for joined, [stem] in stems.items() if rows[stem] and stem not in beside[joined][0].stems]
    for joined, stem in known:
        for term in beside[joined]:
            term.expression = f"({term.expression} OR {quote(joined)})"
            term.stems, term.indexed = (*term.stems, stem), ()
            term.rows = min(total, term.rows + rows[stem])
            term.idf, term.scores, term.looked_up = idf(term.rows, total), {}, False
    return [joined for joined, _ in known]


def _halves(word: str) -> Iterator[tuple[str, str]]:
    if len(word) <= _MOST_CHARS and word.isalpha() and not is_unspaced(word):
        for at in range(_LEAST_CHARS, len(word) - _LEAST_CHARS + 1):
            yield word[:at], word[at:]


def _is_half(word: str) -> bool:
    return _LEAST_CHARS <= len(word) <= _MOST_CHARS and word.isalpha() and not is_unspaced(word)
