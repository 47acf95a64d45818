"""The front matter of a Markdown document: YAML, as basic-memory, Obsidian and static sites write it."""

from __future__ import annotations

from typing import Any

from engram_py.files import lines_of
from engram_py.lazy import regex

# What a person or a program writes about one text; a longer head is a document of its own.
_MOST_LINES, _MOST_CHARS = 1_000, 64_000
_NAME = regex(r"([A-Za-z_][\w -]{0,60}?)\s*:(?:\s+(.*))?$")
_NOTHING = ("~", "null", "Null", "NULL")


def front_matter(text: str) -> tuple[dict[str, str], str]:
    """Return the names and values before a document, and the document behind them.

    Names are in lower case, values are text as it stands there: no number, date or switch is made of it. A list is
    its items with commas between; what is nested deeper says nothing. A text that begins with a line of dashes and
    goes on with prose has no front matter.
    """
    lines = lines_of(text.removeprefix("\ufeff"))
    if not lines or lines[0].rstrip() != "---":
        return {}, text
    ends = (number for number, line in enumerate(lines[1:_MOST_LINES], 1) if line.rstrip() in ("---", "..."))
    end = next(ends, 0)
    found = _values(lines[1:end]) if end else None
    return ({}, text) if found is None else (found, "\n".join(lines[end + 1 :]))


def _values(lines: list[str]) -> dict[str, str] | None:
    """Return the values of a head, None where it is none. A value that is not YAML is taken as it stands."""
    head = "\n".join(lines)
    if not head.strip():
        return {}
    try:
        loaded = _loaded(head) if len(head) <= _MOST_CHARS else None
    except ValueError:
        parts = _parts(lines)
        loaded = {name: _value_of(part) for name, part in parts} if parts else None
    if not isinstance(loaded, dict):
        return None
    return {str(name).lower(): _flat(value) for name, value in loaded.items()}


def _loaded(text: str) -> Any:
    """Return YAML as texts, lists and mappings. Raises ValueError."""
    import yaml

    loader = getattr(yaml, "CBaseLoader", yaml.BaseLoader)
    try:
        return yaml.load(text, Loader=loader)  # noqa: S506 (the base loader makes texts, lists and mappings alone)
    except (yaml.YAMLError, RecursionError) as exc:
        raise ValueError("not YAML") from exc


def _parts(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Return the lines of each name, where every line belongs to one."""
    parts: list[tuple[str, list[str]]] = []
    for line in lines:
        if pair := _NAME.match(line):
            parts.append((pair[1], [line]))
        elif parts:
            parts[-1][1].append(line)
        elif line.strip() and not line.startswith("#"):
            return []
    return parts


def _value_of(part: list[str]) -> Any:
    """Return the value of one name. People write ``title: Kiln: the second`` and ``title: [draft] kiln``."""
    try:
        loaded = _loaded("\n".join(part))
    except ValueError:
        loaded = None
    if isinstance(loaded, dict):
        return next(iter(loaded.values()))
    pair = _NAME.match(part[0])
    return " ".join((pair[2] or "" if pair else "", *map(str.strip, part[1:]))).strip()


def _flat(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(one.strip() for one in value if isinstance(one, str) and one.strip())
    return value.strip() if isinstance(value, str) and value not in _NOTHING else ""
