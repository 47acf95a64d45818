"""A context in mode ``full``, as the files a vault would hold (spec/seed-capabilities.md A18, A20)."""

from __future__ import annotations

from collections.abc import Iterator

from engram_py.context.values import Context, Item, OwnFile, Section
from engram_py.files import lines_of
from engram_py.interfaces.wording.context import PREVIEW_CHARS, day, source
from engram_py.interfaces.wording.phrases import one_line
from engram_py.observations.values import Observation

_FILES = {"identity": "identity.md", "observations": "observations.md"}


def file_lines(section: Section, items: list[Item], context: Context) -> Iterator[str]:
    """Yield a section as files: the log by day, everything else whole under its own name."""
    if section.name == "files":
        for item in items:
            if isinstance(item, OwnFile):
                yield f"### {one_line(item.path)}"
                yield from lines_of(item.content)
        return
    if not section.lines:
        yield f"### {_FILES.get(section.name, section.name)}"
        before = ""
        for item in items:
            if isinstance(item, Observation):
                if day(item.updated_at, context) != before:
                    before = day(item.updated_at, context)
                    yield f"## {before}"
                yield _logged(item, context)
        return
    if section.name in _FILES:
        yield f"### {_FILES[section.name]}"
    for item in items:
        if isinstance(item, Observation):
            if section.name not in _FILES:
                yield f"### {one_line(item.topic_key or item.title)}"
            first, *more = lines_of(item.content)[: section.lines] or [""]
            yield f"[#{item.id}] {first}"
            yield from more


def _logged(row: Observation, context: Context) -> str:
    marks = ", ".join([row.type, *source(row, context)])
    return f"- [#{row.id}] {one_line(row.title)} ({marks}): {one_line(row.content, PREVIEW_CHARS)}"
