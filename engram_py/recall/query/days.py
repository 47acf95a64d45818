"""The days a prompt means: "yesterday", "last week", "on Monday", "in March", "3 days ago", "2026-01-31", "18 May"."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from engram_py.recall.query.dates import ARTICLES, BEFORE, EARLIEST, months
from engram_py.recall.query.month_days import Said, day_of_month, week_of_month, weekday_of_month, year_at
from engram_py.text import cues
from engram_py.text.prompt_text import PromptText, listed, plain

_DATE = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{2})-([0-9]{2})(?![0-9])", re.ASCII)


@dataclass(frozen=True, slots=True)
class Days:
    """Whole days, ``end`` not included; ``words`` is how the prompt said it. ``past`` is false of what may as well be a
    day to come ("on Tuesday"); ``dated`` is set where a text may name the same day ("18 November")."""

    start: date
    end: date
    words: str
    past: bool = True
    dated: bool = False

    @property
    def open(self) -> bool:
        """Whether everything before a day is meant."""
        return self.start == EARLIEST

    @property
    def last(self) -> date:
        """The last day that is included."""
        return self.end - timedelta(days=1)


def may_name_days(words: Iterable[str]) -> bool:
    """Whether any of the words names a time: to find out which takes much longer."""
    return not _time_words().isdisjoint(map(plain, words))


@cache
def _time_words() -> frozenset[str]:
    spans = (phrase for phrases in cues.SPANS.values() for phrase in listed(phrases))
    names = (name for lists in (cues.WEEKDAYS, cues.MONTHS) for names in lists for name in listed(names))
    return frozenset((*(phrase.split()[-1] for phrase in spans), *names, *months(), *_units()))


def is_deed(word: str) -> bool:
    """Whether a word only says that something was done or decided: asked of days, it says nothing of what."""
    return plain(word) in listed(cues.DEEDS)


def days_in(heard: PromptText, today: date) -> Days | None:
    """The first days that the prompt names, cut out of what is left of it. Days are the reader's own."""
    for found in (_dated, _day_of_month, _week_of_month, _weekday_of_month, _named, _weekday, _month, _lately, _ago):
        try:
            days = found(heard, today)
        except (ValueError, OverflowError):  # the 31st of February, a thousand months ago
            continue
        if days is not None:
            return days
    return None


def _dated(heard: PromptText, today: date) -> Days | None:
    for match in _DATE.finditer(heard.text):
        try:
            day = date(*map(int, match.groups()))
            days = Days(day, day + timedelta(days=1), match[0])
        except (ValueError, OverflowError):
            continue
        first = heard.word_at(match.start())
        heard.cut_words(first, first + 3)
        return days
    return None


def _day_of_month(heard: PromptText, today: date) -> Days | None:
    said = day_of_month(heard.words, today)
    if said is None:
        return None
    at = said.first - 2 if said.first > 1 and heard.words[said.first - 1] in ARTICLES else said.first - 1
    if at < 0 or heard.words[at] not in BEFORE:
        return _cut(heard, said, dated=True)
    return _cut(heard, said._replace(start=EARLIEST, end=said.start, first=at))


def _week_of_month(heard: PromptText, today: date) -> Days | None:
    return _cut(heard, week_of_month(heard.words, today))


def _weekday_of_month(heard: PromptText, today: date) -> Days | None:
    return _cut(heard, weekday_of_month(heard.words, today))


def _cut(heard: PromptText, said: Said | None, *, dated: bool = False) -> Days | None:
    if said is None:
        return None
    heard.cut_words(said.first, said.stop)
    return Days(said.start, said.end, " ".join(heard.words[said.first : said.stop]), said.past, dated)


def _named(heard: PromptText, today: date) -> Days | None:
    for name, phrases in cues.SPANS.items():
        phrase = heard.first(listed(phrases))
        if phrase is not None:
            heard.cut(phrase)
            start, end = _NAMED[name](today)
            return Days(start, end, phrase)
    return None


def _weekday(heard: PromptText, today: date) -> Days | None:
    for _, number, said in _calendar(heard, cues.WEEKDAYS, cues.BEFORE_WEEKDAY):
        day = today - timedelta(days=(today.weekday() - number) % 7 or 7)
        opener = said.partition(" ")[0]
        end = _tomorrow(today) if opener in listed(cues.SINCE) else day + timedelta(days=1)
        return Days(day, end, said, past=opener not in listed(cues.MAYBE_TO_COME))
    return None


def _month(heard: PromptText, today: date) -> Days | None:
    for at, number, said in _calendar(heard, cues.MONTHS, cues.BEFORE_MONTH):
        year, stop = year_at(heard.words, at + 1)
        if year is not None:
            heard.cut_words(at + 1, stop)
            return Days(*_month_of(date(year, number + 1, 1)), f"{said} {year}")
        past = number + 1 > today.month or (number + 1 == today.month and said.startswith("last"))
        return Days(*_month_of(date(today.year - past, number + 1, 1)), said)
    return None


def _calendar(heard: PromptText, lists: tuple[str, ...], before: str) -> Iterator[tuple[int, int, str]]:
    """(its place, 0 for Monday or January, how it was said), for each that follows one of the words that may stand
    before it."""
    numbers, openers = _numbered(lists), listed(before)
    for at, word in enumerate(heard.words):
        number = numbers.get(word)
        if number is not None and at and heard.words[at - 1] in openers:
            heard.cut_words(at - 1, at + 1)
            yield at, number, f"{heard.words[at - 1]} {word}"


def _lately(heard: PromptText, today: date) -> Days | None:
    """ "The last 3 days", "the past week": up to now."""
    units, openers = _units(), listed(cues.LATELY)
    for at, word in enumerate(heard.words):
        if word not in units or at == 0:
            continue
        count = _number(heard.words[at - 1])
        first = at - 1 if count is None else at - 2
        if first < 0 or heard.words[first] not in openers:
            continue
        days = (count or 1) * _DAYS_OF[units[word]]
        said = " ".join(heard.words[first : at + 1])
        heard.cut_words(first, at + 1)
        return Days(today - timedelta(days=days), _tomorrow(today), said)
    return None


def _ago(heard: PromptText, today: date) -> Days | None:
    """A number and a unit beside "ago"; the day itself, else the week or the month around it."""
    units, words = _units(), heard.words
    for at, word in enumerate(words):
        unit, count = units.get(word), _number(words[at - 1]) if at else None
        if unit is None or count is None:
            continue
        before, after = " ".join(words[max(0, at - 4) : at - 1]), words[at + 1 : at + 2]
        if after and after[0] in listed(cues.AGO_AFTER):
            start, stop = at - 1, at + 2
        elif any(before.endswith(opener) for opener in listed(cues.AGO_BEFORE)):
            start, stop = at - 2, at + 1
        else:
            continue
        said = " ".join(words[start:stop])
        heard.cut_words(start, stop)
        return Days(*_back(today, unit, count), said)
    return None


def _back(today: date, unit: str, count: int) -> tuple[date, date]:
    if unit == "day":
        day = today - timedelta(days=count)
        return day, day + timedelta(days=1)
    if unit == "week":
        return _week_of(today - timedelta(weeks=count))
    years, month = divmod(today.year * 12 + today.month - 1 - count, 12)
    return _month_of(date(years, month + 1, 1))


def _number(word: str) -> int | None:
    if word.isascii() and word.isdecimal():
        return int(word) if len(word) <= 3 else None
    return _spelt_numbers().get(word)


@cache
def _spelt_numbers() -> dict[str, int]:
    return {name: int(value) for name, _, value in (one.partition(":") for one in cues.NUMBERS.split("|"))}


@cache
def _units() -> dict[str, str]:
    return {word: unit for unit, words in cues.UNITS.items() for word in listed(words)}


@cache
def _numbered(lists: tuple[str, ...]) -> dict[str, int]:
    return {name: number for names in lists for number, name in enumerate(listed(names))}


def _week_of(day: date) -> tuple[date, date]:
    monday = day - timedelta(days=day.weekday())
    return monday, monday + timedelta(days=7)


def _month_of(day: date) -> tuple[date, date]:
    first = day.replace(day=1)
    return first, (first + timedelta(days=32)).replace(day=1)


def _last_week(today: date) -> tuple[date, date]:
    # Some mean the week before this one, some the last seven days: both, and the lines are dated.
    monday, _ = _week_of(today - timedelta(days=7))
    return monday, today


def _tomorrow(today: date) -> date:
    return today + timedelta(days=1)


_DAYS_OF = {"day": 1, "week": 7, "month": 30}

_NAMED: dict[str, Callable[[date], tuple[date, date]]] = {
    "before_yesterday": lambda today: (today - timedelta(days=2), today - timedelta(days=1)),
    "yesterday": lambda today: (today - timedelta(days=1), today),
    "today": lambda today: (today, _tomorrow(today)),
    "this_week": lambda today: (_week_of(today)[0], _tomorrow(today)),
    "last_week": _last_week,
    "last_month": lambda today: _month_of(today.replace(day=1) - timedelta(days=1)),
    "last_year": lambda today: (date(today.year - 1, 1, 1), date(today.year, 1, 1)),
}
