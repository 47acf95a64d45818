"""Which words of a query to look up: the rare ones, within a budget of rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime, time

from engram_py.models.times import to_text
from engram_py.recall.dates import dates_in
from engram_py.recall.query import Query, Word, quote
from engram_py.recall.score import K1, Term, idf
from engram_py.store import search, vocabulary
from engram_py.store.database import Store

# Rows that a search may score, two to three microseconds each: with 2,000 a search among 100,000 rows takes a sixth
# less, and of the development sets DPDK loses .013 (recall at 5).
ROW_BUDGET = 3_000
# Without scoring a row costs a tenth: of a word that is everywhere, this many of its newest rows are candidates.
NEWEST_ROWS = 2_000
_COMMON_SHARE = 0.4
_FTS5_LEAST_IDF = 1e-6  # sqlite/ext/fts5/fts5_aux.c


def rarest(store: Store, words: Sequence[Word], *, row_budget: int) -> list[Word]:
    """The rarest of ``words`` whose rows add up to at most ``row_budget``; those nothing holds are left out.

    FTS5 scores every row that any word matches, two to three microseconds each, before it returns the first: the
    frequent words decide what a search costs and say the least (shared/retrieval/README.md). When even the
    rarest word is over the budget it is taken alone. A memory smaller than the budget needs no counting.
    """
    if search.highest_id(store) <= row_budget:
        return list(words)
    counted = [(search.frequency(store, word.expression, cap=row_budget + 1), word) for word in words]
    known = sorted(((rows, word) for rows, word in counted if rows), key=lambda pair: pair[0])
    chosen: list[Word] = []
    spent = 0
    for rows, word in known:
        if chosen and spent + rows > row_budget:
            break
        chosen.append(word)
        spent += rows
    return chosen


def weigh(store: Store, words: Sequence[Word], *, size: int) -> list[Term]:
    """Each word as this memory of ``size`` rows knows it: its stems, how many rows hold it, and its idf."""
    asked_as = [form for word in words if not word.beginning for form in (word.text, *word.forms)]
    stems = vocabulary.stems(store, asked_as) | {word.text: (word.beginning,) for word in words if word.beginning}
    rows = vocabulary.rows_with(store, [stem for found in stems.values() for stem in found], size=size)
    terms = []
    asked: set[tuple[str, ...]] = set()
    for word in words:
        if stems[word.text] and stems[word.text] in asked:  # `tests` beside `test`: one word to the index
            continue
        asked.add(stems[word.text])
        found = tuple(dict.fromkeys(stem for form in (word.text, *word.forms) for stem in stems[form]))
        held = told = min((rows[stem] for stem in stems[word.text]), default=0)
        # `sent` is another word to the index than `sending`, `send` is not: asked for twice, it would count twice.
        others = [form for form in word.forms if stems[form] != stems[word.text]]
        together = min(size, sum(rows[stem] for stem in found))
        partly = 0 < held <= ROW_BUDGET < together
        if partly:  # what is too common to look up only ranks, under any name
            told, others = together, []
        expression = f"({' OR '.join((word.expression, *map(quote, others)))})" if others else word.expression
        if "(" in word.expression or expression.endswith("*"):  # parts, beginnings: the index counts them
            held = told = search.frequency(store, expression, cap=ROW_BUDGET + 1)
        elif others:  # as if no row held two of them: to count those that do costs as much as to score them
            held = told = together
        terms.append(Term(word.text, expression, idf(told, size), held, found, partly=partly))
    return terms


def weigh_dates(store: Store, terms: list[Term], text: str, *, size: int) -> list[Term]:
    """The terms, with one for each date that ``text`` names in the place of the words that name it.

    What changed on that day is about it as much as what says so: both have the term. Days are those of UTC.
    """
    for dated in dates_in(text):
        words = {word.lower() for word in dated.words}
        naming = [term for term in terms if term.text in words]
        since, until = (to_text(datetime.combine(day, time(), UTC)) for day in (dated.start, dated.end))
        then = search.changed_between(store, since, until, limit=NEWEST_ROWS)
        said = [term.expression for term in naming if not _is_year(term.text)]
        expression = " AND ".join(said) if said else ""
        saying = search.newest(store, expression, limit=NEWEST_ROWS) if said else []
        rows = dict.fromkeys([*then, *saying])
        worth = idf(len(rows), size)
        date = Term(dated.name, expression, worth, len(rows), scores=dict.fromkeys(rows, worth), looked_up=True)
        terms = [date, *(term for term in terms if term not in naming)]
    return terms


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit()


def look_up(
    store: Store, query: Query, terms: Sequence[Term], *, size: int, row_budget: int = ROW_BUDGET
) -> list[Term]:
    """Fill ``scores`` of the rarest terms that fit the budget; the ones that were looked up, rarest first.

    When even the rarest is over the budget, its newest rows are candidates without a score of their own, first those
    where every word meets.
    """
    used = [term for term in terms if term.scores]  # dates
    known = sorted((term for term in terms if term.rows and not term.scores), key=lambda term: term.rows)
    spent = 0
    for term in known:
        if spent + term.rows > row_budget:
            break
        spent += term.rows
        term.scores = search.scores(store, query.restricted(term.expression))
        _lift(store, term, size)
        term.looked_up = True
        used.append(term)
    if known and not used:
        _newest(store, query, known)
        used.append(known[0])
    return used


def _lift(store: Store, term: Term, size: int) -> None:
    """Give a word that half of the rows hold its weight here: FTS5 lets its idf fall to a millionth, and in a memory of
    five rows that is every word."""
    if term.partly or "(" in term.expression:
        # Forms and parts, each with an idf of its own that FTS5 adds up: together they tell no more than one word.
        most = (K1 + 1) * term.idf
        term.scores = {row: min(score, most) for row, score in term.scores.items()}
        return
    if term.rows < _COMMON_SHARE * size:
        return
    total = search.count_indexed(store)
    given = math.log((total - term.rows + 0.5) / (term.rows + 0.5)) if total > term.rows else 0.0
    factor = idf(term.rows, total) / max(given, _FTS5_LEAST_IDF)
    if factor > 1:
        term.scores = {row: score * factor for row, score in term.scores.items()}


def _newest(store: Store, query: Query, terms: Sequence[Term]) -> None:
    """What every row is about: where all of its words meet, then where the rarest stands in a title, then anywhere."""
    first = terms[0]
    everywhere = " AND ".join(term.expression for term in terms)
    # In parts of the most that a word can score, k1 + 1 times its idf: about what BM25 gives one mention.
    for expression, worth in ((everywhere, 2.0), (f"title : ({first.expression})", 1.8), (first.expression, 1.0)):
        for row in search.newest(store, query.restricted(expression), limit=NEWEST_ROWS):
            first.scores.setdefault(row, worth * first.idf)
