"""Find the days that a text names ("yesterday", "last week", "18 May"), and make terms of those in a question."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date, timedelta
from functools import cache, partial

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import folded
from engram_py.base.text.prompt_text import PromptText
from engram_py.base.text.words import ENGLISH, read_words, segments
from engram_py.base.times import Calendar
from engram_py.memory.observations.values import DEFAULT_TYPE
from engram_py.recall import index
from engram_py.recall.score import Term, idf
from engram_py.recall.terms import MOST_WORDS_ASKED, NEWEST_ROWS

# "Before 1 November" is everything until then: from here on.
EARLIEST = date(1970, 1, 1)
# The day of a question whose dates do not depend on it.
_ANY_DAY = date(9999, 12, 1)
_MOST = 4  # dates of one question

_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_MONTHS = (
    "january", "february", "march", "april", "may", "june", "july", "august", "september", "october", "november",
    "december",
)  # fmt: skip
_MONTH_OF = {name[:size]: number for number, name in enumerate(_MONTHS, start=1) for size in (3, len(name))}
_MONTH_OF["sept"] = 9
_UNITS = {"day": 1, "week": 7, "month": 30}
_COUNTED = ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
_COUNTS = {name: count for count, name in enumerate(_COUNTED, start=1)}
_COUNTS |= {"a": 1, "an": 1, "couple": 2, "few": 3}
_GENERIC_VERBS = read_words("generic_verbs")

# What may also be a verb is a month only with a capital or behind one of these.
_VERBS = frozenset({"may", "mar", "march"})
_YEAR = r"(?:19|20)\d\d"
_ISO = regex(r"(?<![\d-])(?P<year>\d{4})-(?P<month>\d\d)(?:-(?P<day>\d\d))?(?![\d-]|[T ]\d\d:\d\d)", re.ASCII)
_EDGE = r"since|after|before|until"
_EDGE_OF_ISO = regex(rf"\b({_EDGE})\s+\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days without ``end``; ``words`` name them in the text.

    ``past`` is false of what may as well be a day to come ("on Tuesday"), ``dated`` set where a text may name the same
    day, ``year`` where its year was said.
    """

    start: date
    end: date
    words: str
    past: bool = True
    dated: bool = False
    year: bool = False

    @property
    def open(self) -> bool:
        """Whether everything before a day is meant."""
        return self.start == EARLIEST

    @property
    def last(self) -> date:
        """The last day that is included."""
        return self.end - timedelta(days=1)

    @property
    def is_span(self) -> bool:
        return self.last != self.start


def may_name_days(words: Iterable[str]) -> bool:
    """Return whether any of the words names a time: a quick look before ``days_in``."""
    return any(word in _TIMES for word in map(folded, words))


_TIMES = {*_MONTH_OF, *_WEEKDAYS, "yesterday", "today", "morning", "week", "month", "year", "ago"}
_TIMES |= {"afternoon", "evening", "tonight"}
_TIMES |= {f"{unit}s" for unit in _UNITS} | {"day"}


def is_generic_verb(word: str) -> bool:
    """Return whether a word only says that something was done or decided."""
    return word.lower() in _GENERIC_VERBS


def dates_in(text: str) -> list[Days]:
    """Return the dates that name their year, at most four: ``2026-03``, ``9 July 2022``."""
    if not re.search(rf"(?<!\d){_YEAR}(?!\d)", text):
        return []
    found = [*_iso(text, _ANY_DAY), *(days for _, days in _dates(PromptText(text), _ANY_DAY) if days.year)]
    return list({days.start: days for days in reversed(found)}.values())[::-1][:_MOST]


def days_in(prompt: PromptText, today: date) -> Days | None:
    """Return the first days that the prompt names, and cut them out of it."""
    for iso in _iso(prompt.text, today):
        first = prompt.word_at(prompt.text.find(iso.words))
        prompt.cut_words(first, first + iso.words.count("-") + 1)
        return iso
    if not may_name_days(prompt.words):
        return None
    said = " ".join(prompt.words)
    found = [*_dates(prompt, today), *_spans(said, today)]
    if not found:
        return None
    at, days = min(found, key=lambda one: one[0])
    first = said.count(" ", 0, at)
    prompt.cut_words(first, first + days.words.count(" ") + 1)
    return days


@cache
def _date() -> re.Pattern[str]:
    month, day = "|".join(sorted(_MONTH_OF, key=len, reverse=True)), r"\d{1,2}(?:st|nd|rd|th)?"
    return re.compile(
        rf"(?:(?P<edge>{_EDGE})\b )?(?:(?P<opener>on|in|by|last)\b )?(?:the )?(?:(?P<before>{day}) (?:of )?)?"
        rf"\b(?P<month>{month})\b(?: (?:the )?(?P<after>{day})(?![\w:]))?(?:,? (?:of )?(?P<year>{_YEAR}))?\b(?! \d)"
    )


@cache
def _span() -> re.Pattern[str]:
    count = "|".join([r"\d{1,3}", *_COUNTS])
    return re.compile(
        rf"\b(?:(?P<edge>{_EDGE}) (?:the )?)?(?:(?P<named>{'|'.join(_NAMED)})(?! of\b)"
        rf"|(?:(?P<opener>on|last) |(?<=since ))(?P<weekday>{'|'.join(_WEEKDAYS)})"
        rf"|(?:last|past) (?:(?P<count>{count}) )?(?:of )?(?P<unit>day|week|month)s?"
        rf"|(?P<ago>{count}) (?:of )?(?P<units>day|week|month)s? ago)\b"
    )


def _from_edge(edge: str | None, days: tuple[date, date], today: date) -> tuple[date, date]:
    """Return the days that lie since, after, before or until some days, or these themselves."""
    start, end = days
    match (edge or "").lower():
        case "since":
            return start, max(end, _tomorrow(today))
        case "after":
            return end, max(end, _tomorrow(today))
        case "before":
            return EARLIEST, start
        case "until":
            return EARLIEST, end
    return days


def _iso(text: str, today: date) -> list[Days]:
    found = []
    for match in _ISO.finditer(text) if "-" in text else ():
        days = _of(int(match["year"]), int(match["month"]), int(match["day"] or 0))
        if days:
            edge = _EDGE_OF_ISO.search(text, 0, match.start())
            start, end = _from_edge(edge and edge[1], days, today)
            found.append(Days(start, end, match[0], year=True))
    return found


def _dates(prompt: PromptText, today: date) -> list[tuple[int, Days]]:
    """Return each date with the name of its month, and where it stands in the words."""
    said, found = " ".join(prompt.words), []
    for match in _date().finditer(said):
        edge, opener, day = (
            match["edge"],
            match["opener"],
            int(re.sub(r"\D", "", match["before"] or match["after"] or "") or 0),
        )
        place = said.count(" ", 0, match.start("month"))
        if match["month"] in _VERBS and not (edge or opener or match["before"] or prompt.begins_with_a_capital(place)):
            continue
        if not (day or match["year"] or opener in ("in", "last") or edge == "before"):
            continue
        month, year = _MONTH_OF[match["month"]], int(match["year"] or 0)
        days = _of(year, month, day) if year else _latest(month, day, today, last=opener == "last")
        if days is None:
            continue
        past = bool(year or edge) or opener in ("last", "in") or (days[0].year == today.year)
        start, end = _from_edge(edge, days, today)
        found.append((match.start(), Days(start, end, match[0], past, dated=bool(day), year=bool(year))))
    return found


def _spans(said: str, today: date) -> list[tuple[int, Days]]:
    """Return each time relative to today, and where it stands in the words."""
    found = []
    for match in _span().finditer(said):
        past = bool(match["edge"]) or (match["opener"] != "on" and match["named"] not in _MAY_BE_TO_COME)
        try:
            if match["named"]:
                days = _NAMED[match["named"]](today)
            elif match["weekday"]:
                start = today - timedelta(days=(today.weekday() - _WEEKDAYS.index(match["weekday"])) % 7 or 7)
                days = start, start + timedelta(days=1)
            elif match["unit"]:
                count = _number(match["count"] or "one")
                days = today - timedelta(days=count * _UNITS[match["unit"]]), _tomorrow(today)
            else:
                days = _back(today, match["units"], _number(match["ago"]))
        except (ValueError, OverflowError):  # a thousand months ago
            continue
        found.append((match.start(), Days(*_from_edge(match["edge"], days, today), match[0], past)))
    return found


def _of(year: int, month: int, day: int) -> tuple[date, date] | None:
    """Return a day, or a whole month where ``day`` is 0; None where no calendar has it."""
    try:
        first = date(year, month, day or 1)
        return first, first + timedelta(days=1) if day else (first + timedelta(days=32)).replace(day=1)
    except (ValueError, OverflowError):
        return None


def _latest(month: int, day: int, today: date, *, last: bool) -> tuple[date, date] | None:
    """Return the latest such day or month that has begun; of 29 February the latest there was."""
    for year in range(today.year, max(0, today.year - 9), -1):
        days = _of(year, month, day)
        if days and days[0] <= today and not (last and not day and days[1] > today):
            return days
    return None


def _number(word: str) -> int:
    return _COUNTS.get(word) or int(word)


def _back(today: date, unit: str, count: int) -> tuple[date, date]:
    """Return the day itself, else the week or the month around it."""
    if unit == "day":
        day = today - timedelta(days=count)
        return day, day + timedelta(days=1)
    if unit == "week":
        monday = _monday(today - timedelta(weeks=count))
        return monday, monday + timedelta(days=7)
    years, month = divmod(today.year * 12 + today.month - 1 - count, 12)
    return _of(years, month + 1, 0) or (today, today)


def _tomorrow(today: date) -> date:
    return min(today, date.max - timedelta(days=1)) + timedelta(days=1)


def _monday(day: date) -> date:
    return day - timedelta(days=day.weekday())


_DAY = timedelta(days=1)
_NAMED: dict[str, Callable[[date], tuple[date, date]]] = {
    "day before yesterday": lambda today: (today - 2 * _DAY, today - _DAY),
    "yesterday": lambda today: (today - _DAY, today),
    **dict.fromkeys(
        ("earlier today", "today", "tonight", "this morning", "this afternoon", "this evening"),
        lambda today: (today, _tomorrow(today)),
    ),
    "this week": lambda today: (_monday(today), _tomorrow(today)),
    "this month": lambda today: (today.replace(day=1), _tomorrow(today)),
    "this year": lambda today: (today.replace(month=1, day=1), _tomorrow(today)),
    # Some mean the week before this one, some the last seven days: both, and the lines are dated.
    "last week": lambda today: (_monday(today - 7 * _DAY), today),
    "last month": lambda today: _back(today, "month", 1),
    "last year": lambda today: (date(today.year - 1, 1, 1), date(today.year, 1, 1)),
}
# A plan may be of these as well.
_MAY_BE_TO_COME = ("today", "tonight", "this afternoon", "this evening")


# Letters of a word that may be a part of a type: `bug` of `bugfix`.
_LEAST_OF_A_TYPE = 3


def days_asked(text: str, terms: Sequence[Term], today: date) -> Days | None:
    """Return the days that a question names relative to ``today`` ("last week", "18 November"); none of a pasted text
    or of one with full dates."""
    if len(terms) > MOST_WORDS_ASKED or dates_in(text) or not may_name_days(segments(text.lower())):
        return None
    return days_in(PromptText(text), today)


def is_day_term(term: Term, days: Days | None) -> bool:
    """Return whether the term stands for the days."""
    return days is not None and term.text == days.words and not term.expression


def names_days(word: str, days: Days | None) -> bool:
    """Return whether a word, or the text of a term, names the days."""
    return days is not None and folded(word) in (days.words, *days.words.split())


def with_dates(
    store: Store,
    terms: list[Term],
    text: str,
    *,
    size: int,
    projects: Sequence[str] | None,
    days: Days | None,
    calendar: Calendar,
) -> list[Term]:
    """Return the terms, with one for each date of ``text`` in the place of the words that name it.

    Its rows are those that changed then and those that say the date; where thousands did, those of ``projects``. The
    rows of ``days`` are only those that changed then; if none did, their words stay words.
    """
    look_up = partial(_date_term, store, text=text, size=size, projects=projects, calendar=calendar)
    if days is not None:
        return _with_days(terms, days, look_up)
    dates: list[Term] = []
    for dated in dates_in(text):
        words = set(segments(dated.words.lower()))
        naming = [term for term in terms if term.text in words]
        said = [term.expression for term in naming if not _is_year(term.text)]
        others = [term for term in terms if term not in naming]
        date_term, others, _ = look_up(dated, said, others)
        dates, terms = [date_term, *dates], others
    found = [term for term in dates if term.mentions]
    if not found:
        return [*dates, *terms]
    return [*found, *_without_generic_verbs([*(term for term in dates if not term.mentions), *terms])]


def _with_days(
    terms: list[Term], days: Days, look_up: Callable[[Days, Sequence[str], list[Term]], tuple[Term, list[Term], int]]
) -> list[Term]:
    words = set(days.words.split())
    naming = [term for term in terms if folded(term.text) in words]
    said = [term.expression for term in naming] if days.dated and all(term.rows for term in naming) else []
    others = [term for term in terms if term not in naming]
    day, others, changed = look_up(days, said, others)
    return [replace(day, expression=""), *_without_generic_verbs(others)] if changed else terms


def _date_term(
    store: Store,
    days: Days,
    said: Sequence[str],
    others: list[Term],
    *,
    text: str,
    size: int,
    projects: Sequence[str] | None,
    calendar: Calendar,
) -> tuple[Term, list[Term], int]:
    """Return the term of the days, the other terms without those that name a type, and how many rows changed then."""
    rows, changed = _changed_in(store, calendar.moments(days.start, days.end), projects)
    rows, others = _of_types(store, rows, text, others)
    expression = " AND ".join(said)
    if said:
        rows = list(dict.fromkeys([*rows, *index.newest_seen(store, expression, projects=projects, limit=NEWEST_ROWS)]))
    weight = idf(max(changed, len(rows)), size)
    mentions = dict.fromkeys(rows, 1.0)
    term = Term(days.words, expression, weight, len(rows), mentions=mentions, looked_up=True, for_neighbours=False)
    return term, others, changed


def _changed_in(store: Store, moments: tuple[str, str], projects: Sequence[str] | None) -> tuple[list[int], int]:
    """Return the rows that changed then, latest first, and how many did. If these are too many to be all, those of
    the projects are returned, if any changed."""
    changed = partial(index.changed_between, store, *moments, limit=NEWEST_ROWS)
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
