"""Time as the memory keeps it: UTC text with milliseconds, from a replaceable clock; the times that people type; and
the hybrid logical clock, wall time that never runs backwards, with a counter and the device to break ties.

Kulkarni et al., "Logical Physical Clocks and Consistent Snapshots in Globally Distributed Databases" (2014).
"""

from __future__ import annotations

import os
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


# --- the hybrid logical clock ---------------------------------------------------------------------------------

# A stamp is text: 12 hex digits of Unix milliseconds, 4 of counter, the device; text order is clock order.
ZERO = "000000000000-0000-"
_MAX_COUNTER = 0xFFFF
_DEVICE_CHARS = 16
# The last moment of the year 9999: no clock shows more, and what follows from it still has twelve digits.
LAST_MILLISECOND = 253_402_300_799_999
MOST_DEVICE_CHARS = 32
_SHAPE = regex(r"([0-9a-f]{12})-([0-9a-f]{4})-([0-9a-f]{0,64})\Z")

# How far a stamp may run ahead before it has to wait for its time: a day is a wrong time zone, more is a clock that was
# never set. The paper bounds the drift in the same way, by what the machines' clocks can be trusted for.
MOST_AHEAD_MILLISECONDS = 24 * 60 * 60 * 1000


@dataclass(frozen=True, slots=True, order=True)
class Stamp:
    milliseconds: int
    counter: int
    device: str

    def __str__(self) -> str:
        return f"{self.milliseconds:012x}-{self.counter:04x}-{self.device}"


def parse_stamp(text: str) -> Stamp:
    """Raises ValueError when ``text`` is no stamp."""
    match = _SHAPE.match(text)
    if match is None:
        raise ValueError(f"not a clock stamp: {text!r}")
    return Stamp(int(match[1], 16), int(match[2], 16), match[3])


def next_stamp(last: str, *, now_milliseconds: int, device: str) -> str:
    """Return the stamp of an event that comes after ``last``, even when the wall clock was set back."""
    seen = parse_stamp(last or ZERO)
    if now_milliseconds > seen.milliseconds:
        return str(Stamp(now_milliseconds, 0, device))
    if seen.counter < _MAX_COUNTER:
        return str(Stamp(seen.milliseconds, seen.counter + 1, device))
    return str(Stamp(seen.milliseconds + 1, 0, device))


def is_ahead(stamp: str, *, now_milliseconds: int) -> bool:
    """Return whether a stamp lies so far in the future that it has to wait: it is no time to set a clock by."""
    return parse_stamp(stamp).milliseconds > now_milliseconds + MOST_AHEAD_MILLISECONDS


def due_before(now_milliseconds: int) -> str:
    """Return the stamp below which nothing has to wait any more."""
    return f"{max(0, now_milliseconds + MOST_AHEAD_MILLISECONDS + 1):012x}"


def dated(stamp: str) -> str:
    """Return the day of a stamp, for a person."""
    moment = datetime.fromtimestamp(min(parse_stamp(stamp).milliseconds, LAST_MILLISECOND) / 1000, UTC)
    return f"{moment:%Y-%m-%d}"


def just_after(stamp: str, *, device: str) -> str:
    """Return the first stamp of ``device`` after ``stamp``, whatever the time is."""
    return next_stamp(stamp, now_milliseconds=0, device=device)


def consequence(stamp: str, of: str) -> str:
    """Return the stamp of what follows from the change at ``stamp`` on every machine alike: right after it, before any
    other.

    ``of`` says what it follows from; of something else it is another stamp. Its device is that of ``stamp`` with how
    many consequences came one after another and eight digits of a hash, so no machine gives such a stamp by itself.
    """
    import hashlib

    seen = parse_stamp(stamp)
    device, level = seen.device[:_DEVICE_CHARS].ljust(_DEVICE_CHARS, "0"), seen.device[_DEVICE_CHARS:][:1]
    if level == "f":
        seen, level = parse_stamp(just_after(stamp, device=device)), ""
    step = f"{int(level, 16) + 1:x}" if level else "0"
    digest = hashlib.sha256(of.encode("utf-8", "surrogatepass")).hexdigest()[:8]
    return str(Stamp(seen.milliseconds, seen.counter, f"{device}{step}{digest}"))


def new_device_id() -> str:
    return os.urandom(8).hex()
