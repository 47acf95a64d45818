"""The dates that a question names with their year: ``9 July, 2022``, ``July 9 2022``, ``March 2026``, ``2026-03``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from functools import cache

from engram_py.text import cues
from engram_py.text.prompt_text import listed, plain

_YEAR = re.compile(r"(?<![0-9])(?:19|20)[0-9]{2}(?![0-9])")
# With a time of day behind it, it is the moment of a log's line; nobody asks for that.
_ISO = re.compile(r"(?<![0-9])([0-9]{4})-([0-9]{1,2})(?:-([0-9]{1,2}))?(?![0-9-]|[T ][0-9]{2}:[0-9]{2})")
_MOST = 4
# "Before 1 November" is everything until then: from here on.
EARLIEST = date(1970, 1, 1)
BEFORE = frozenset(["before", "vor", "avant", "antes", "prima", "voor", "до"])
ARTICLES = frozenset(["the", "dem", "le", "del", "de", "el", "do", "il", "den", "to"])
_SAID_BEFORE = re.compile(
    rf"(?<!\w)(?:{'|'.join(sorted(BEFORE))})\s+(?:(?:{'|'.join(sorted(ARTICLES))})\s+)?\Z", re.IGNORECASE
)
_LOOKED_BACK = 30


@dataclass(frozen=True, slots=True)
class Dated:
    """Whole days, ``end`` not included; ``words`` are those of the question that name them, as they stand in it."""

    start: date
    end: date
    words: tuple[str, ...]

    @property
    def name(self) -> str:
        return " ".join(self.words)


def dates_in(text: str) -> list[Dated]:
    """At most four; what is no date of the calendar is none."""
    if not _YEAR.search(text):
        return []
    found: list[Dated] = []
    for dated in (*_iso(text), *_spelt(text)):
        if all(dated.start != other.start for other in found):
            found.append(dated)
    return found[:_MOST]


def _iso(text: str) -> Iterator[Dated]:
    for match in _ISO.finditer(text):
        day = int(match[3]) if match[3] else None
        dated = _days(int(match[1]), int(match[2]), day, tuple(part for part in match.groups() if part))
        if dated is not None:
            yield _until(dated, text, match.start())


def _spelt(text: str) -> Iterator[Dated]:
    for match in _patterns().finditer(text):
        before, month, after, year = match["before"], match["month"], match["after"], match["year"]
        day = before or after
        words = tuple(part for part in (before, month, after, year) if part)
        number = months()[plain(month)]
        dated = _days(int(year), number, int(day) if day else None, words)
        if dated is not None:
            yield _until(dated, text, match.start())


def _until(dated: Dated, text: str, at: int) -> Dated:
    if not _SAID_BEFORE.search(text, max(0, at - _LOOKED_BACK), at):
        return dated
    return Dated(EARLIEST, dated.start, dated.words)


def _days(year: int, month: int, day: int | None, words: tuple[str, ...]) -> Dated | None:
    try:
        first = date(year, month, day or 1)
        end = first + timedelta(days=1) if day else date(year + month // 12, month % 12 + 1, 1)
    except (ValueError, OverflowError):
        return None
    return Dated(first, end, words)


@cache
def months() -> dict[str, int]:
    """From 1 on, by their names without accents; the English ones in short as well."""
    found = {name: number for names in cues.MONTHS for number, name in enumerate(listed(names), start=1)}
    english = {name[:3]: number for number, name in enumerate(listed(cues.MONTHS[0]), start=1)}
    return {"sept": 9, **english, **found}


@cache
def _patterns() -> re.Pattern[str]:
    names = "|".join(sorted((re.escape(name) for name in months()), key=len, reverse=True))
    ordinal = r"(?:st|nd|rd|th|\.|º)?"
    return re.compile(
        rf"(?:(?<![0-9])(?P<before>[0-9]{{1,2}}){ordinal}\s+(?:of\s+|de\s+)?)?(?<!\w)(?P<month>{names})\.?"
        rf"(?:\s+(?P<after>[0-9]{{1,2}}){ordinal}(?![0-9]))?,?\s+(?:of\s+|de\s+)?(?P<year>(?:19|20)[0-9]{{2}})(?![0-9])",
        re.IGNORECASE,
    )
