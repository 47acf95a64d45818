"""Time as the memory keeps it: UTC text with milliseconds, from a clock that can be replaced."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo

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
