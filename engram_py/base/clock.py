"""The hybrid logical clock: wall time that never runs backwards, with a counter and the device to break ties.

Kulkarni et al., "Logical Physical Clocks and Consistent Snapshots in Globally Distributed Databases" (2014).
"""

from __future__ import annotations

import os
from datetime import UTC, datetime

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex

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
