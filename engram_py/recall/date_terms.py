"""Dates and days in a question: a term whose rows changed then, in the place of the words that name them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from functools import partial

from engram_py.database.store import Store
from engram_py.dataclass import replace
from engram_py.observations.values import DEFAULT_TYPE
from engram_py.recall.index import table as index
from engram_py.recall.query.days import Days, dates_in, days_in, is_generic_verb, may_name_days
from engram_py.recall.score.bm25 import Term, idf
from engram_py.recall.terms import MOST_WORDS_ASKED, NEWEST_ROWS
from engram_py.text.prompt_text import PromptText, plain
from engram_py.text.segments import segments
from engram_py.text.stopwords import ENGLISH
from engram_py.times import to_text

# Letters of a word that may be a part of a type: `bug` of `bugfix`.
_LEAST_OF_A_TYPE = 3


def days_asked(text: str, terms: Sequence[Term], today: date | None) -> Days | None:
    """Return the days that a question names relative to ``today`` ("last week", "18 November"); none of a pasted text
    or of one with full dates."""
    if today is None or len(terms) > MOST_WORDS_ASKED or dates_in(text) or not may_name_days(segments(text.lower())):
        return None
    return days_in(PromptText(text), today)


def is_day_term(term: Term, days: Days | None) -> bool:
    """Return whether the term stands for the days."""
    return days is not None and term.text == days.words and not term.expression


def names_days(word: str, days: Days | None) -> bool:
    """Return whether a word, or the text of a term, names the days."""
    return days is not None and plain(word) in (days.words, *days.words.split())


def with_dates(
    store: Store, terms: list[Term], text: str, *, size: int, projects: Sequence[str] | None, days: Days | None
) -> list[Term]:
    """Return the terms, with one for each date of ``text`` in the place of the words that name it.

    Its rows are those that changed then and those that say the date; where thousands did, those of ``projects``. Days
    are those of UTC. The rows of ``days`` are only those that changed then; if none did, their words stay words.
    """
    if days is not None:
        return _with_days(store, terms, text, days, size=size, projects=projects)
    dates: list[Term] = []
    for dated in dates_in(text):
        words = set(segments(dated.words.lower()))
        naming = [term for term in terms if term.text in words]
        said = [term.expression for term in naming if not _is_year(term.text)]
        others = [term for term in terms if term not in naming]
        date_term, others, _ = _date_term(store, dated, said, text, others, size=size, projects=projects)
        dates, terms = [date_term, *dates], others
    found = [term for term in dates if term.mentions]
    if not found:
        return [*dates, *terms]
    return [*found, *_without_generic_verbs([*(term for term in dates if not term.mentions), *terms])]


def _with_days(
    store: Store, terms: list[Term], text: str, days: Days, *, size: int, projects: Sequence[str] | None
) -> list[Term]:
    words = set(days.words.split())
    naming = [term for term in terms if plain(term.text) in words]
    said = [term.expression for term in naming] if days.dated and all(term.rows for term in naming) else []
    others = [term for term in terms if term not in naming]
    day, others, changed = _date_term(store, days, said, text, others, size=size, projects=projects)
    return [replace(day, expression=""), *_without_generic_verbs(others)] if changed else terms


def _date_term(
    store: Store,
    days: Days,
    said: Sequence[str],
    text: str,
    others: list[Term],
    *,
    size: int,
    projects: Sequence[str] | None,
) -> tuple[Term, list[Term], int]:
    """Return the term of the days, the other terms without those that name a type, and how many rows changed then."""
    rows, changed = _changed_in(store, days, projects)
    rows, others = _of_types(store, rows, text, others)
    expression = " AND ".join(said)
    if said:
        rows = list(dict.fromkeys([*rows, *index.newest_seen(store, expression, projects=projects, limit=NEWEST_ROWS)]))
    weight = idf(max(changed, len(rows)), size)
    mentions = dict.fromkeys(rows, 1.0)
    term = Term(days.words, expression, weight, len(rows), mentions=mentions, looked_up=True, for_neighbours=False)
    return term, others, changed


def _changed_in(store: Store, days: Days, projects: Sequence[str] | None) -> tuple[list[int], int]:
    """Return the rows that changed then, latest first, and how many did. If these are too many to be all, those of
    the projects are returned, if any changed."""
    since, until = (to_text(datetime.combine(day, time(), UTC)) for day in (days.start, days.end))
    changed = partial(index.changed_between, store, since, until, limit=NEWEST_ROWS)
    found = changed(projects=None)
    own = changed(projects=projects) if len(found) >= NEWEST_ROWS else ()
    return list(own or found), len(found)


def _of_types(store: Store, rows: list[int], text: str, terms: list[Term]) -> tuple[list[int], list[Term]]:
    """Return the rows of the types that the text names ("decisions in October", "what did we decide"), all where it
    names none; and the terms that name no type."""
    types = index.types(store, rows)
    words = {word for word in segments(text.lower()) if word not in ENGLISH}
    known = {type for type in types.values() if type != DEFAULT_TYPE}
    named = {type for type in known if any(_names_type(word, type) for word in words)}
    others = [term for term in terms if not any(_names_type(term.text, type) for type in named)]
    return [row for row in rows if not named or types.get(row) in named], others


def _names_type(word: str, type: str) -> bool:
    """Return whether a word is a type, in another form or in part: ``decisions`` and ``decided``, ``bugs`` and
    ``fixes``."""
    stem = re.sub(r"(?<=..[^s])(?:e?s|e?d|ing)$", "", word)
    part = len(stem) >= _LEAST_OF_A_TYPE and (type.startswith(stem) or type.endswith(stem))
    return part or word.startswith(type[: max(_LEAST_OF_A_TYPE + 1, len(type) // 2)])


def _without_generic_verbs(terms: Sequence[Term]) -> list[Term]:
    """Leave out the words that only say that something was done, where nobody wrote them or all words are such."""
    alone = all(is_generic_verb(term.text) for term in terms)
    return [term for term in terms if not is_generic_verb(term.text) or (term.rows and not alone)]


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit()
