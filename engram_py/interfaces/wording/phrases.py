"""Phrases that several results share: amounts, ages, handles. ``[#12]`` is an observation wherever it is shown."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engram_py.interfaces.wording.reasons import Door, spelled
from engram_py.observations.values import RelationNote
from engram_py.privacy.provenance import RELAYED
from engram_py.reasons import Told
from engram_py.times import ago, parse_time

if TYPE_CHECKING:
    from engram_py.sessions.values import SessionLine

Words = dict[type, Callable[[Any, datetime], str]]
# Words that name an operation: the door spells it.
SpelledWords = dict[type, Callable[[Any, datetime, Door], str]]

LINE_CHARS = 200
_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_LOOKED_AT = 4  # of a text that begins with blanks and line ends
_DOORS = {"git": "from .engram", "cloud": "from the team's server", "import": "imported"}
_RELATED = {
    "related": "related to",
    "compatible": "compatible with",
    "conflicts": "conflicts with",
    "contested": "may contradict",
}


def plural(thing: str) -> str:
    """Return the name of several of a thing."""
    if thing == "person":
        return "people"
    return f"{thing[:-1]}ies" if thing.endswith("y") and thing[-2:-1] not in "aeiou" else f"{thing}s"


def counted_as(number: float, things: str) -> str:
    """Return a number and the plural name of what was counted, which is singular for one."""
    one = f"{things[:-3]}y" if things.endswith("ies") else things.removesuffix("s")
    return f"{number:,g} {one if number == 1 else things}"


def amount(number: int, thing: str) -> str:
    """``1 question``, ``1,024 questions``."""
    return f"{number:,} {thing}" if number == 1 else f"{number:,} {plural(thing)}"


def joined(parts: Sequence[str]) -> str:
    """``14 observations, 2 prompts and 1 session``."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def plain_line(words: str, limit: int) -> str:
    """Return one line of at most ``limit`` characters without control or direction characters."""
    kept = "".join("\N{REPLACEMENT CHARACTER}" if _moves(char) else char for char in words)
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _moves(char: str) -> bool:
    control = unicodedata.category(char) in ("Cc", "Cs") and not char.isspace()
    return control or unicodedata.bidirectional(char) in _TURNS


def filled(parts: Iterable[str], separator: str = ", ") -> str:
    """Join the parts that are not empty."""
    return separator.join(filter(None, parts))


def beyond_project(scope: str) -> str:
    """Return the scope where it is wider than the project, else ""."""
    return scope if scope != "project" else ""


def age(moment: str | None, now: datetime) -> str:
    parsed = parse_time(moment)
    return ago(parsed, now) if parsed else "?"


def clock(moment: str | None, now: datetime, shape: str = "%Y-%m-%d %H:%M %Z") -> str:
    """Return a time in the zone of ``now``: the reader's own on the command line, else UTC."""
    parsed = parse_time(moment)
    return f"{parsed.astimezone(now.tzinfo):{shape}}" if parsed else "?"


def last_active(line: SessionLine, now: datetime) -> str:
    """Return how long ago a session was active, and when it started where that differs."""
    started = age(line.started_at, now)
    active = age(line.last_activity_at or line.started_at, now)
    return active if active == started else f"{active} (started {started})"


def notes(warnings: Iterable[Told], door: Door) -> list[str]:
    return [f"note: {spelled(warning, door)}" for warning in warnings]


def one_line(text: str, limit: int = LINE_CHARS) -> str:
    """Return the beginning of a text on one line; of a long one, no more is looked at than can be shown."""
    begins = text[: limit * _LOOKED_AT]
    line = " ".join(begins.split())
    return line if len(line) <= limit and len(begins) == len(text) else line[: limit - 1] + "…"


def whence(unchecked: str | None) -> list[str]:
    """Return where a row came from that nobody here trusted: ``from .engram, by alice, not checked``."""
    if unchecked is None:
        return []
    source, _, name = unchecked.partition("\n")
    passed = "passed on " if source.startswith(RELAYED) else ""
    door = source.removeprefix(RELAYED).partition(":")[0]
    return [
        filled(
            (f"{passed}{_DOORS.get(door, 'from elsewhere')}", f"by {one_line(name, 40)}" if name else "", "not checked")
        )
    ]


def end(observation: int | None, title: str | None) -> str:
    """Return one end of a relation: ``[#49] Its title``; without a handle when it was destroyed."""
    if observation is not None:
        return f"[#{observation}] {title}"
    return f"{title} (deleted)" if title else "a deleted observation"


def relation(note: RelationNote) -> str:
    """``superseded_by [#49] Its title``."""
    handle = f"[#{note.id}]" if note.id is not None else "a deleted observation"
    gone = " (deleted)" if note.deleted and note.id else ""
    return f"{_RELATED.get(note.label, note.label)} {handle} {note.title}".rstrip() + gone
