"""The filters of a query, ``type:bugfix`` and the like, cut out of what somebody typed."""

from __future__ import annotations

import re
from typing import Any

from engram_py.dataclass import dataclass, replace

KEYS = ("type", "topic", "project", "scope", "file", "branch", "since", "until", "is")
STATES = ("pinned", "stale", "superseded", "archived")

# A key right before its value: `net/mlx5: fix` and `std::vector` are words, `http://…` is an address.
_FILTER = re.compile(r'(?<!\S)([A-Za-z_]{2,20}):(?:"([^"]{0,300})"|(?!:|//|\\)([^\s"]{1,300}))(?!\S)')
_MOST = 16
_LEFT = re.compile(rf"(?<!\S)({'|'.join(KEYS)}):(?!:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Filters:
    """What a hit must be, as it was typed: several of one key are alternatives, dates come as given."""

    types: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    states: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != _NONE


_NONE = Filters()
_PLURAL = {"type": "types", "topic": "topics", "project": "projects", "scope": "scopes", "file": "files",
           "branch": "branches"}  # fmt: skip


def cut_filters(text: str) -> tuple[Filters, str, tuple[str, ...]]:
    """The filters in ``text``, the text without them, and a sentence for each one that is unknown.

    An unknown filter stays in the text as a word.
    """
    if ":" not in text:
        return _NONE, text, ()
    found = _NONE
    notes: list[str] = []
    taken = 0

    def cut(match: re.Match[str]) -> str:
        nonlocal found, taken
        key, value = match[1].lower(), (match[2] if match[2] is not None else match[3]).strip()
        if key not in KEYS or not value or taken >= _MOST:
            if key not in KEYS and value:
                notes.append(f"{match[1]}: is not a filter ({', '.join(KEYS)}); it was searched as a word")
            return match[0]
        if key == "is" and value.lower() not in STATES:
            notes.append(f"is:{value[:40]} is not one of {', '.join(STATES)}; it was searched as a word")
            return match[0]
        taken += 1
        found = _with(found, key, value)
        return " "

    rest = _FILTER.sub(cut, text)
    for left in _LEFT.finditer(rest):  # without a value, or one filter too many
        key = left[1].lower()
        if not any(note.startswith(f"{key}:") for note in notes):
            notes.append(f"{key}: was not read as a filter here; it was searched as a word")
    return found, rest, tuple(dict.fromkeys(notes))[:_MOST]


def _with(filters: Filters, key: str, value: str) -> Filters:
    if key == "is":
        return replace(filters, states=(*filters.states, value.lower()))
    if key in ("since", "until"):
        return replace(filters, since=value) if key == "since" else replace(filters, until=value)
    values = tuple(part.strip() for part in value.split(",") if part.strip()) if key != "file" else (value,)
    name = _PLURAL[key]
    wanted: dict[str, Any] = {name: (*getattr(filters, name), *values)}
    return replace(filters, **wanted)
