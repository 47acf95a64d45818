"""Values of ``since:`` and ``until:``: a day, a month, a year, a time, or how long ago."""

from __future__ import annotations

import re
from datetime import date, datetime, time, timedelta, tzinfo

from engram_py.times import add_months, parse_time

_AGO = re.compile(r"([0-9]{1,4})(h|d|w|m|y)", re.IGNORECASE)
_DAY = re.compile(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_DAYS = {"today": 0, "yesterday": 1}


def span_of(text: str, now: datetime, zone: tzinfo | None = None) -> tuple[datetime, datetime] | None:
    """Return the first moment that ``text`` means and the first after it, or None when it is no time.

    ``2026``, ``2026-03``, ``2026-03-14``, RFC 3339, ``today``, ``yesterday``, and ``12h``, ``7d``, ``2w``, ``3m``
    (months), ``1y`` before now. Days begin in ``zone``, by default UTC.
    """
    text = text.strip().lower()
    zone = zone or now.tzinfo
    try:
        if text in _DAYS:
            return _days(now.astimezone(zone).date() - timedelta(days=_DAYS[text]), 1, zone)
        if ago := _AGO.fullmatch(text):
            moment = _before(now, int(ago[1]), ago[2].lower())
            return moment, moment
        if day := _DAY.fullmatch(text):
            return _calendar(day, zone)
    except (ValueError, OverflowError):  # the 30th of February, a thousand years ago
        return None
    exact = parse_time(text.upper())
    return None if exact is None else (exact, exact)


def _before(now: datetime, number: int, unit: str) -> datetime:
    if unit in "my":
        return add_months(now, -number * (12 if unit == "y" else 1))
    return now - timedelta(hours=number * {"h": 1, "d": 24, "w": 168}[unit])


def _calendar(day: re.Match[str], zone: tzinfo | None) -> tuple[datetime, datetime]:
    year, month, number = int(day[1]), int(day[2] or 1), int(day[3] or 1)
    first = date(year, month, number)
    if day[3]:
        return _days(first, 1, zone)
    after = date(year + 1, 1, 1) if not day[2] or month == 12 else date(year, month + 1, 1)
    return _days(first, (after - first).days, zone)


def _days(first: date, count: int, zone: tzinfo | None) -> tuple[datetime, datetime]:
    start = datetime.combine(first, time(), zone)
    return start, datetime.combine(first + timedelta(days=count), time(), zone)
