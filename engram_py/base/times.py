"""Time as the memory keeps it: UTC text with milliseconds, from a replaceable clock; and the times that people type."""

from __future__ import annotations

import re
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, date, datetime, time, timedelta, tzinfo

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex

Clock = Callable[[], datetime]
FORMAT_WIDTH = len("2026-01-02T03:04:05.678Z")


def utc_now() -> datetime:
    return datetime.now(UTC)


def fixed_clock(text: str) -> Clock:
    """A clock that stands still at ``text`` (``ENGRAM_NOW``): for tests of everything that depends on a date."""
    moment = parse_time(text)
    if moment is None:
        raise ValueError(f"not a time: {text!r}")
    return lambda: moment


def zone_named(name: str | None) -> tzinfo | None:
    """Return the zone of an IANA name; None, which is the system's, of no name and of a name that nobody knows."""
    if not name:
        return None
    from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        return None


def to_text(moment: datetime) -> str:
    """``2026-01-02T03:04:05.678Z``: text order is time order."""
    return moment.astimezone(UTC).replace(tzinfo=None).isoformat(timespec="milliseconds") + "Z"


def parse_time(text: str | None) -> datetime | None:
    """Return the moment ``text`` names, or None: RFC 3339, ISO 8601 and Engram's ``YYYY-MM-DD HH:MM:SS`` (UTC)."""
    if not text:
        return None
    if len(text) == FORMAT_WIDTH and text[-1] == "Z":  # as the memory keeps it, which is nearly all there are
        with suppress(ValueError):
            return datetime.fromisoformat(text)
    text = text.strip().replace(" ", "T", 1)
    if "." in text:  # Go writes nanoseconds, Python reads microseconds
        head, _, tail = text.partition(".")
        digits = len(tail) - len(tail.lstrip("0123456789"))
        text = f"{head}.{tail[: min(digits, 6)]}{tail[digits:]}"
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):  # the first and the last day there is, seen from another zone
        return None


def passed(since: str | None, now: datetime, *, seconds: float) -> bool:
    """Return whether ``seconds`` have passed since then; a time in the future (a wrong clock) counts as long ago."""
    moment = parse_time(since)
    return moment is None or not 0 <= (now - moment) / timedelta(seconds=1) < seconds


def canonical(text: str | None) -> str | None:
    """``text`` in the memory's own format, or None when it is no time."""
    moment = parse_time(text)
    try:
        return None if moment is None else to_text(moment)
    except OverflowError:  # the last hours of the year 9999, west of Greenwich
        return None


def to_engram(text: str | None) -> str | None:
    """Return a time as Engram writes it: ``YYYY-MM-DD HH:MM:SS`` in UTC; None when ``text`` is none."""
    moment = parse_time(text)
    return None if moment is None else f"{moment:%Y-%m-%d %H:%M:%S}"


def add_months(moment: datetime, months: int) -> datetime:
    """``moment`` moved by calendar months, held at the last day of a shorter month."""
    index = moment.year * 12 + moment.month - 1 + months
    year, month = divmod(index, 12)
    for day in range(moment.day, 27, -1):
        try:
            return moment.replace(year=year, month=month + 1, day=day)
        except ValueError:
            continue
    return moment.replace(year=year, month=month + 1)


def ago(moment: datetime, now: datetime) -> str:
    """``now - moment`` in the largest fitting unit: ``now``, ``5m``, ``3h``, ``2d``, ``6w``, ``3y``."""
    seconds = max(0.0, (now - moment) / timedelta(seconds=1))
    for unit, size in (("y", 31_557_600), ("w", 604_800), ("d", 86_400), ("h", 3_600), ("m", 60)):
        if seconds >= size * (2 if unit == "w" else 1):
            return f"{int(seconds // size)}{unit}"
    return "now"


_AGO = regex(r"([0-9]{1,4})(h|d|w|m|y)", re.IGNORECASE)
_DAY = regex(r"([0-9]{4})(?:-([0-9]{1,2})(?:-([0-9]{1,2}))?)?")
_DAYS = {"today": 0, "yesterday": 1}


def span_of(text: str, now: datetime, zone: tzinfo | None = UTC) -> tuple[datetime, datetime] | None:
    """Return the first moment that ``text`` means and the first after it, or None when it is no time.

    ``2026``, ``2026-03``, ``2026-03-14``, RFC 3339, ``today``, ``yesterday``, and ``12h``, ``7d``, ``2w``, ``3m``
    (months), ``1y`` before now. Days begin in ``zone``; None is the system's.
    """
    text = text.strip().lower()
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
    return _midnight(first, zone), _midnight(first + timedelta(days=count), zone)


def _midnight(day: date, zone: tzinfo | None) -> datetime:
    """Return the moment at which a day begins; of the first and the last days there are, seen from another zone, in
    UTC."""
    local = datetime.combine(day, time())
    try:
        return (local.replace(tzinfo=zone) if zone else local).astimezone(UTC)
    except (OverflowError, ValueError, OSError):
        return local.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Calendar:
    """The days of the user: ``now``, and the ``zone`` in which a day begins; None is the system's."""

    now: datetime
    zone: tzinfo | None = UTC

    @property
    def local(self) -> datetime:
        """Now, in the zone of the user: in which times are shown."""
        return self.now.astimezone(self.zone)

    @property
    def today(self) -> date:
        return self.local.date()

    def day_of(self, moment: str) -> date:
        """Return the day of a UTC text."""
        return (parse_time(moment) or self.now).astimezone(self.zone).date()

    def midnight(self, day: date) -> str:
        """Return when a day begins, as UTC text."""
        return to_text(_midnight(day, self.zone))

    def moments(self, start: date, end: date) -> tuple[str, str]:
        """Return the UTC texts between which the days from ``start`` until before ``end`` lie."""
        return self.midnight(start), self.midnight(end)

    def span(self, text: str) -> tuple[datetime, datetime] | None:
        """Return what a person's ``text`` means: see ``span_of``."""
        return span_of(text, self.now, self.zone)
