"""Which words of a query to look up: the rare ones, within a budget of rows."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, date, datetime, time
from functools import partial

from engram_py.database.store import Store
from engram_py.observations.values import DEFAULT_TYPE
from engram_py.recall.index import table as search
from engram_py.recall.index import vocabulary, word_counts
from engram_py.recall.postings import NEWEST_ROWS, ROW_BUDGET
from engram_py.recall.query.days import Days, dates_in, days_in, is_deed, may_name_days
from engram_py.recall.query.parse import Word, quote
from engram_py.recall.score.bm25 import Term, idf
from engram_py.text.prompt_text import PromptText, plain
from engram_py.text.segments import segments
from engram_py.text.stopwords import ENGLISH
from engram_py.times import to_text

# A pasted log has more words than this, and many that nobody ever saw.
MOST_WORDS_ASKED = 12
# Letters of a word that may be a part of a type: `bug` of `bugfix`.
_LEAST_OF_A_KIND = 3
_MEASURED = re.compile(r"[0-9]{2,}[a-z]{0,3}|0x[0-9a-f]+|(?=[a-f]*[0-9])[0-9a-f]{7,}")


def weigh(store: Store, words: Sequence[Word], *, size: int) -> list[Term]:
    """Each word as this memory of ``size`` rows knows it: its stems, how many rows hold it, and its idf."""
    asked_as = [form for word in words if not word.beginning for form in (word.text, *word.forms)]
    stems = vocabulary.stems(store, asked_as) | {word.text: (word.beginning,) for word in words if word.beginning}
    spelt = {stems[word][0]: quote(word) for word in asked_as if len(stems[word]) == 1}
    known = [stem for found in stems.values() for stem in found]
    rows = word_counts.rows_with(store, known, spelt, size=size)
    terms = []
    asked: set[tuple[str, ...]] = set()
    for word in words:
        if stems[word.text] and stems[word.text] in asked:  # `tests` beside `test`: one word to the index
            continue
        asked.add(stems[word.text])
        found = tuple(dict.fromkeys(stem for form in (word.text, *word.forms) for stem in stems[form]))
        # `sent` is another word to the index than `sending`, `send` is not: asked for twice, it would count twice.
        others = [form for form in word.forms if stems[form] != stems[word.text]]
        expression = f"({' OR '.join((word.expression, *map(quote, others)))})" if others else word.expression
        whole = word.expression.startswith('"') and not word.expression.endswith("*")
        if whole and all(len(stems[form]) == 1 for form in (word.text, *others)):
            # As if no row held two of them: to count those that do costs as much as to read them.
            held = min(size, sum(rows[stem] for stem in found))
            terms.append(Term(word.text, expression, idf(held, size), held, found, found))
        else:  # several tokens, each of which many words have, or beginnings: the index counts them
            held = search.frequency(store, expression, cap=ROW_BUDGET + 1)
            marked = len(stems[word.text]) > 1
            terms.append(Term(word.text, expression, idf(held, size), held, (word.text,) if marked else found))
    return _telling(terms) if len(terms) > MOST_WORDS_ASKED else terms


def _telling(terms: Sequence[Term]) -> list[Term]:
    """The words of a pasted log without the times, counts and addresses that nobody ever saw; `v2` and `h100` are
    names."""
    return [term for term in terms if term.rows or not _MEASURED.fullmatch(term.text)]


def weigh_dates(
    store: Store,
    terms: list[Term],
    text: str,
    *,
    size: int,
    projects: Sequence[str] | None = None,
    today: date | None = None,
) -> list[Term]:
    """The terms, with one for each date that ``text`` names in the place of the words that name it.

    What changed on that day is about it as much as what says so: both have the term; of a day on which thousands of
    rows changed, those of ``projects``. Days are those of UTC. Days that are told from ``today`` ("last week") are what
    changed in them alone; where nothing did, their words are words.
    """
    dates = dates_in(text)
    if not dates and today is not None and len(terms) <= MOST_WORDS_ASKED and may_name_days(segments(text.lower())):
        return _weigh_days(store, terms, text, size=size, projects=projects, today=today)
    for dated in dates:
        words = set(segments(dated.words.lower()))
        naming = [term for term in terms if term.text in words]
        then, changed = _changed_in(store, dated, projects)
        then, kinds = _of_kinds(store, then, text, [term for term in terms if term not in naming])
        said = [term.expression for term in naming if not _is_year(term.text)]
        expression = " AND ".join(said) if said else ""
        rows = dict.fromkeys([*then, *_saying(store, said, projects)])
        worth = idf(max(changed, len(rows)), size)
        date = Term(
            dated.words, expression, worth, len(rows), mentions=dict.fromkeys(rows, 1.0), looked_up=True, lends=False
        )
        terms = [date, *(term for term in terms if term not in naming and term not in kinds)]
    named = [term for term in terms if term.looked_up and term.mentions]
    return [*named, *_without_deeds([term for term in terms if term not in named])] if named else terms


def _weigh_days(
    store: Store, terms: list[Term], text: str, *, size: int, projects: Sequence[str] | None, today: date
) -> list[Term]:
    heard = PromptText(text)
    days = days_in(heard, today)
    if days is None:
        return terms
    then, changed = _changed_in(store, days, projects)
    if not changed:
        return terms
    words = set(days.words.split())
    naming = [term for term in terms if plain(term.text) in words]
    then, kinds = _of_kinds(store, then, text, [term for term in terms if term not in naming])
    said = [term.expression for term in naming] if days.dated and all(term.rows for term in naming) else []
    rows = dict.fromkeys([*then, *_saying(store, said, projects)])
    worth = idf(max(changed, len(rows)), size)
    day = Term(days.words, "", worth, len(rows), mentions=dict.fromkeys(rows, 1.0), looked_up=True, lends=False)
    return [day, *_without_deeds([term for term in terms if term not in naming and term not in kinds])]


def _of_kinds(store: Store, then: list[int], text: str, terms: Sequence[Term]) -> tuple[list[int], list[Term]]:
    """Of the rows of those days those of the kinds that are asked for ("decisions in October", "what did we decide"),
    and the terms that name a kind; all rows where no word does."""
    types = search.types(store, then)
    known = {kind for kind in types.values() if kind != DEFAULT_TYPE}
    words = {word for word in segments(text.lower()) if word not in ENGLISH}
    kinds = {kind for kind in known if any(_names(word, kind) for word in words)}
    naming = [one for one in terms if any(_names(one.text, kind) for kind in kinds)]
    return [row for row in then if not kinds or types.get(row) in kinds], naming


def _names(word: str, kind: str) -> bool:
    """Whether a word is a type, in another form or in part: ``decisions`` and ``decided``, ``bugs`` and ``fixes``."""
    stem = re.sub(r"(?<=..[^s])(?:e?s|e?d|ing)$", "", word)
    part = len(stem) >= _LEAST_OF_A_KIND and (kind.startswith(stem) or kind.endswith(stem))
    return part or word.startswith(kind[: max(_LEAST_OF_A_KIND + 1, len(kind) // 2)])


def _without_deeds(terms: Sequence[Term]) -> list[Term]:
    """What is asked of days without what only says that something was done, where nobody wrote it or all are such."""
    alone = all(is_deed(term.text) for term in terms)
    return [term for term in terms if not is_deed(term.text) or (term.rows and not alone)]


def days_meant(text: str, today: date) -> Days | None:
    """The days a question tells from ``today``: "last Wednesday", "18 November"."""
    return days_in(PromptText(text), today) if not dates_in(text) and may_name_days(segments(text.lower())) else None


def day_note(days: Days) -> str:
    """How days were read: ``last wednesday: 2026-11-18``."""
    return f"{days.words}: {days.start}" + (f" to {days.last}" if days.last != days.start else "")


def _saying(store: Store, words: Sequence[str], projects: Sequence[str] | None) -> list[int]:
    """The newest rows that have all of these expressions."""
    return search.newest_seen(store, " AND ".join(words), projects=projects, limit=NEWEST_ROWS) if words else []


def _changed_in(store: Store, days: Days, projects: Sequence[str] | None) -> tuple[list[int], int]:
    """The rows that changed then, latest first, and how many did. Where these are too many to be all, those of the
    projects, if any did."""
    since, until = (to_text(datetime.combine(day, time(), UTC)) for day in (days.start, days.end))
    changed = partial(search.changed_between, store, since, until, limit=NEWEST_ROWS)
    found = changed(projects=None)
    own = changed(projects=projects) if len(found) >= NEWEST_ROWS else ()
    return list(own or found), len(found)


def _is_year(text: str) -> bool:
    return len(text) == 4 and text.isdigit()
