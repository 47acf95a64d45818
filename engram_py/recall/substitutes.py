"""Known words that stand in for one that this memory has never seen: other names, beginnings, near spellings."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.recall.index import vocabulary, word_counts
from engram_py.recall.query.parse import quote
from engram_py.recall.score.bm25 import idf
from engram_py.recall.score.relevance import Term
from engram_py.text.irregular_forms import stand_ins
from engram_py.text.prompt_text import plain
from engram_py.text.spelling import (
    MOST,
    PREFIX_LONGER_BY,
    STEM_FROM,
    may_be,
    meant,
    nearest_spelling,
    slips_allowed,
)

# What a near spelling is worth of the word itself.
NEAR_WORTH = 0.6
_LARGE = 20_000
_LOOKED_AT = 8


def misspelt(store: Store, term: Term, total: int) -> None:
    """Let what begins like an unknown word, or is a slip away from it, stand for it."""
    if not slips_allowed(term.text):
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
