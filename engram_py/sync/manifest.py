"""Engram's manifest, the list of chunks. It repeats what the chunks say, so it can be lost. Pure."""

from __future__ import annotations

import json
from collections.abc import Mapping

from engram_py.dataclass import asdict
from engram_py.lazy import regex
from engram_py.sync.chunk import About
from engram_py.sync.packing import ID
from engram_py.times import parse_time

# One object without objects in it, whatever is around it: conflict marks, another half, a missing comma.
_ENTRY = regex(r"\{[^{}]*\}")
_NAME_CHARS = 80


def render(chunks: Mapping[str, About]) -> str:
    """Return the manifest, a chunk on each line in the order of their ids, so that git merges it by line."""
    version = max((about.version for about in chunks.values()), default=1)
    lines = [json.dumps(_entry(name, about), ensure_ascii=False) for name, about in sorted(chunks.items())]
    body = "\n" + ",\n".join(lines) + "\n" if lines else ""
    return f'{{"version": {version}, "chunks": [{body}]}}\n'


def recover(text: str) -> dict[str, About]:
    """Return the readable entries of a manifest, whatever is around them. Never raises."""
    found: dict[str, About] = {}
    for match in _ENTRY.finditer(text):
        try:
            entry = json.loads(match[0])
        except (ValueError, RecursionError):
            continue
        name = entry.get("id")
        if isinstance(name, str) and ID.fullmatch(name):
            counts = {kind: _count(entry.get(kind)) for kind in ("sessions", "memories", "prompts")}
            found[name] = About(plain_name(entry.get("created_by")), _time(entry.get("created_at")), **counts)
    return found


def is_whole(text: str) -> bool:
    """Return whether Engram can read it."""
    try:
        document = json.loads(text)
    except (ValueError, RecursionError):
        return False
    return isinstance(document, dict) and isinstance(document.get("chunks"), list)


def plain_name(value: object) -> str:
    """Return a person's name as the manifest may show it, '' for a path."""
    if not isinstance(value, str):
        return ""
    shown = "".join(char for char in value if char.isprintable()).strip()
    return "" if "/" in shown or "\\" in shown else shown[:_NAME_CHARS]


def _entry(name: str, about: About) -> dict[str, object]:
    entry = {"id": name, **asdict(about), "created_by": plain_name(about.created_by)}
    return {key: value for key, value in entry.items() if key != "version"}


def _time(value: object) -> str:
    return value if isinstance(value, str) and len(value) <= 40 and parse_time(value) is not None else ""


def _count(value: object) -> int:
    return value if isinstance(value, int) and 0 <= value < 2**31 else 0
