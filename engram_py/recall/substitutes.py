"""Known words that stand in for one that this memory has never seen: synonyms, near spellings, compounds."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from engram_py.database.store import Store
from engram_py.recall.index import vocabulary, word_counts
from engram_py.recall.query.parse import Query, quote
from engram_py.recall.score.bm25 import Term, idf
from engram_py.text.prompt_text import plain
from engram_py.text.segments import is_unspaced
from engram_py.text.spelling import (
    MOST,
    PREFIX_LONGER_BY,
    STEM_FROM,
    may_be,
    may_resemble,
    meant,
    nearest_spelling,
    slips_allowed,
)
from engram_py.text.word_forms import stand_ins

# What a near spelling is worth of the word itself.
NEAR_WORTH = 0.6
_LARGE = 20_000
_LOOKED_AT = 8


def misspelt(store: Store, term: Term, total: int) -> None:
    """Let what begins like an unknown word, or is a slip away from it, stand for it."""
    if not may_resemble(term.text):
        return
    whole = not term.stems or term.expression.endswith("*")  # no stem of the index, only how the word begins
    stem = term.text if whole else term.stems[0]
    if stem.endswith("i") and term.text.endswith("y"):  # as Porter writes it, and no longer word has it
        stem = stem[:-1]
    slips = slips_allowed(stem)
    known = vocabulary.resembling(
        store,
        stem[: _surely_right(total)],
        shortest=min(STEM_FROM, len(stem) - slips),
        longest=len(stem) + PREFIX_LONGER_BY,
    )
    typed = plain(term.text)
    near = [other for other in meant(stem, known, most=_LOOKED_AT) if may_be(typed, stem, other)][:MOST]
    if near:
        spelt, rows = vocabulary.spelt(store, near), dict(known)
        _stand_for(term, [(other, rows[other], spelt[other]) for other in near], total)
        term.read_as = tuple(nearest_spelling(typed, other) for other in near)


def called_otherwise(store: Store, term: Term, total: int) -> bool:
    """Let what this memory knows by another name stand for a word that it has never seen."""
    names = stand_ins(term.text)
    stems = vocabulary.stems(store, names)
    rows = word_counts.rows_with(store, [stem for name in names for stem in stems[name]], {}, size=total)
    known = [(stem, rows[stem], name) for name in names for stem in stems[name] if len(stems[name]) == 1 and rows[stem]]
    if known:
        _stand_for(term, known, total)
    return bool(known)


def _stand_for(term: Term, others: Sequence[tuple[str, int, str]], total: int) -> None:
    """``others`` are terms of the index, how many rows hold each, and a word that the index writes so."""
    term.stands_for = term.indexed = tuple(dict.fromkeys(stem for stem, _, _ in others))
    term.read_as = tuple(dict.fromkeys(spelt for _, _, spelt in others))
    term.worth = NEAR_WORTH
    term.expression = "(" + " OR ".join(quote(spelt) for _, _, spelt in others) + ")"
    term.rows = sum({stem: rows for stem, rows, _ in others}.values())
    term.idf = idf(0, total)


def _surely_right(total: int) -> int:
    """How many first letters of an unknown word are taken as they are: what begins with two is many in a large memory,
    and each is counted by walking its rows (36 ms among 100,000 rows; three letters: 4)."""
    return 2 if total < _LARGE else 3


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
            term.idf, term.mentions, term.titled, term.looked_up = idf(term.rows, total), {}, {}, False
    return [joined for joined, _ in known]


def _halves(word: str) -> Iterator[tuple[str, str]]:
    if len(word) <= _MOST_CHARS and word.isalpha() and not is_unspaced(word):
        for at in range(_LEAST_CHARS, len(word) - _LEAST_CHARS + 1):
            yield word[:at], word[at:]


def _is_half(word: str) -> bool:
    return _LEAST_CHARS <= len(word) <= _MOST_CHARS and word.isalpha() and not is_unspaced(word)
