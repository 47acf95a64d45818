"""Days told by their month: "18 November", "May 3rd", "the first week of March", "Friday the 13th". Without a year they
are the latest such days that have begun."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from functools import cache
from typing import NamedTuple

from engram_py.recall.query.dates import months
from engram_py.text import cues
from engram_py.text.prompt_text import listed

_DAY = re.compile(r"(0?[1-9]|[12][0-9]|3[01])(st|nd|rd|th|o|a|er)?")
_YEAR = re.compile(r"(?:19|20)[0-9]{2}")
_LEAP_YEAR = 2024
_MOST_YEARS = 8  # from one leap year to the next, at most
_MOST_MONTHS = 14  # a Friday is the 13th at least once in so many
_DAYS_OF_A_WEEK = 7


class Said(NamedTuple):
    """Whole days, ``end`` not included, and the words that say so, ``stop`` not included; ``past`` as in ``Days``."""

    start: date
    end: date
    first: int
    stop: int
    past: bool


class _Named(NamedTuple):
    day: int
    month: int
    year: int | None
    first: int
    stop: int


def day_of_month(words: Sequence[str], today: date) -> Said | None:
    """The words are those of a ``PromptText``."""
    for named in _days_named(words):
        day = _latest(named.month, named.day, today) if named.year is None else _there(*_parts(named))
        if day is not None:
            first = _opened(words, named.first)
            since = not listed(cues.SINCE).keys().isdisjoint(words[first : named.first])
            end = max(day, today if since else day) + timedelta(days=1)
            return Said(day, end, first, named.stop, since or (named.year is not None and day <= today))
    return None


def week_of_month(words: Sequence[str], today: date) -> Said | None:
    """Seven days from the first, the eighth, … of the month on, and what is left of the week that the last is in."""
    weeks = listed(cues.UNITS["week"])
    for at in range(1, len(words)):
        number = _ordinals().get(words[at - 1])
        if number is None or words[at] not in weeks:
            continue
        month_at = next((i for i in range(at + 1, min(at + 4, len(words))) if words[i] in months()), None)
        if month_at is None or not listed(cues.OF_MONTH).keys() >= set(words[at + 1 : month_at]):
            continue
        year, stop = year_at(words, month_at + 1)
        start, end = _week(year or today.year, months()[words[month_at]], number)
        if year is None and start > today:
            start, end = _week(today.year - 1, months()[words[month_at]], number)
        return Said(start, end, _opened(words, at - 1), stop, past=True)
    return None


def weekday_of_month(words: Sequence[str], today: date) -> Said | None:
    """ "Friday the 13th"."""
    weekdays = {name: number for names in cues.WEEKDAYS for number, name in enumerate(listed(names))}
    for at in range(len(words) - 1):
        number = weekdays.get(words[at])
        article = words[at + 1] in listed(cues.BEFORE_DAY)
        match = _DAY.fullmatch(words[at + 1 + article]) if at + 1 + article < len(words) else None
        if number is None or match is None or not (article or match[2]):
            continue
        month = today.year * 12 + today.month - 1
        for back in range(_MOST_MONTHS + 1):
            day = _there((month - back) // 12, (month - back) % 12 + 1, int(match[1]))
            if day is not None and day <= today and day.weekday() == number:
                return Said(day, day + timedelta(days=1), _opened(words, at), at + 2 + article, past=False)
    return None


def days_there_are_not(words: Sequence[str]) -> list[str]:
    """As they were said: ``31 february``."""
    return [
        " ".join(words[named.first : named.stop])
        for named in _days_named(words)
        if _there(named.year or _LEAP_YEAR, named.month, named.day) is None
    ]


def _days_named(words: Sequence[str]) -> Iterator[_Named]:
    """Each month with a day before it, or behind it."""
    for at, word in enumerate(words):
        month = months().get(word)
        if month is None:
            continue
        day_at = at - 2 if at > 1 and words[at - 1] in listed(cues.OF_MONTH) else at - 1
        match = _DAY.fullmatch(words[day_at]) if day_at >= 0 else None
        first, last = day_at, at
        if match is None:
            last = at + 2 if words[at + 1 : at + 2] == ["the"] else at + 1
            match = _DAY.fullmatch(words[last]) if last < len(words) else None
            first = at
            verb = word == "may" and not (at and words[at - 1] in listed(cues.BEFORE_DAY))
            if match is None or (verb and not match[2]):
                continue
        if all(other.isdigit() for other in words[last + 1 : last + 3]) and len(words) > last + 2:
            continue  # the moment of a log's line
        year, stop = year_at(words, last + 1)
        yield _Named(int(match[1]), month, year, first, stop)


def _parts(named: _Named) -> tuple[int, int, int]:
    assert named.year is not None
    return named.year, named.month, named.day


def year_at(words: Sequence[str], at: int) -> tuple[int | None, int]:
    """The year that stands there, and the place behind it."""
    if at < len(words) and words[at] in listed(cues.OF_MONTH):
        year, stop = year_at(words, at + 1)
        return (year, stop) if year is not None else (None, at)
    found = at < len(words) and _YEAR.fullmatch(words[at]) is not None
    return (int(words[at]), at + 1) if found else (None, at)


def _opened(words: Sequence[str], first: int) -> int:
    """Where the words begin that lead to a day: "since Friday, the"."""
    weekdays = {name for names in cues.WEEKDAYS for name in listed(names)}
    opening = {*listed(cues.BEFORE_DAY), *listed(cues.BEFORE_MONTH), *weekdays}
    begin = first
    while begin and first - begin < 3 and words[begin - 1] in opening:
        begin -= 1
    return begin


def _latest(month: int, day: int, today: date) -> date | None:
    found = (_there(today.year - back, month, day) for back in range(_MOST_YEARS + 1))
    return next((one for one in found if one is not None and one <= today), None)


def _there(year: int, month: int, day: int) -> date | None:
    try:
        return date(year, month, day)
    except ValueError:
        return None


def _week(year: int, month: int, number: int) -> tuple[date, date]:
    if number < 0:
        end = date(year + month // 12, month % 12 + 1, 1)
        start = end - timedelta(days=_DAYS_OF_A_WEEK)
        return start - timedelta(days=start.weekday()), end
    start = date(year, month, 1) + timedelta(days=_DAYS_OF_A_WEEK * (number - 1))
    end = start + timedelta(days=_DAYS_OF_A_WEEK)
    return start, end + timedelta(days=-end.weekday() % _DAYS_OF_A_WEEK)


@cache
def _ordinals() -> dict[str, int]:
    return {name: int(number) for name, _, number in (one.partition(":") for one in cues.ORDINALS.split("|"))}
