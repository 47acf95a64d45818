"""The filters of a query, ``type:bugfix`` and the like, cut out of the typed text."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engram_py.dataclass import dataclass

KEYS = ("type", "topic", "project", "scope", "file", "branch", "since", "until", "is")
STATES = ("pinned", "stale", "superseded", "archived")

# A key right before its value: `net/mlx5: fix` and `std::vector` are words, `http://…` is an address.
_FILTER = re.compile(r'(?<!\S)([A-Za-z_]{2,20}):(?:"([^"]{0,300})"|(?!:|//|\\)([^\s"]{1,300}))(?!\S)')
_MOST = 16
_LEFT = re.compile(rf"(?<!\S)({'|'.join(KEYS)}):(?!:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions of a hit, as they were typed: several of one key are alternatives, dates come as given."""

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


def cut_filters(text: str) -> tuple[Filters, str, tuple[str, ...]]:
    """Return the filters in ``text``, the text without them, and a sentence for each one that is unknown.

    An unknown filter stays in the text as a word.
    """
    if ":" not in text:
        return _NONE, text, ()
    values: dict[str, list[str]] = {}
    notes: list[str] = []

    def cut(match: re.Match[str]) -> str:
        key, value = match[1].lower(), (match[2] if match[2] is not None else match[3]).strip()
        if not value or (key in KEYS and sum(map(len, values.values())) >= _MOST):
            return match[0]
        if key not in KEYS:
            notes.append(f"{match[1]}: is not a filter ({', '.join(KEYS)}); it was searched as a word")
            return match[0]
        if key == "is" and value.lower() not in STATES:
            notes.append(f"is:{value[:40]} is not one of {', '.join(STATES)}; it was searched as a word")
            return match[0]
        values.setdefault(key, []).append(value)
        return " "

    rest = _FILTER.sub(cut, text)
    for left in _LEFT.finditer(rest):  # without a value, or one filter too many
        key = left[1].lower()
        if not any(note.startswith(f"{key}:") for note in notes):
            notes.append(f"{key}: was not read as a filter here; it was searched as a word")
    return _filters(values), rest, tuple(dict.fromkeys(notes))[:_MOST]


def _filters(values: Mapping[str, Sequence[str]]) -> Filters:
    def split(key: str) -> tuple[str, ...]:
        return tuple(part.strip() for value in values.get(key, ()) for part in value.split(",") if part.strip())

    return Filters(
        types=split("type"),
        topics=split("topic"),
        projects=split("project"),
        scopes=split("scope"),
        files=tuple(values.get("file", ())),
        branches=split("branch"),
        since=next(reversed(values.get("since", ())), None),
        until=next(reversed(values.get("until", ())), None),
        states=tuple(value.lower() for value in values.get("is", ())),
    )
