"""The sections of Markdown notes, without the parts that programs wrote into them."""

from __future__ import annotations

from engram_py.dataclass import dataclass
from engram_py.files import lines_of
from engram_py.lazy import regex

_FENCE = regex(r"\s{0,3}(`{3,}|~{3,})")
_HEADING = regex(r"(#{1,3})\s+(\S.*)$")
_BEGIN = regex(r"\s*(?:engram:\w+|[\w-]+:(?:begin|start))\b")
_END = regex(r"\s*[\w-]*:?end\b")


@dataclass(frozen=True, slots=True)
class Section:
    """A part of a document: the headings it stands under, and its own text without that of the sections in it."""

    headings: tuple[str, ...]
    text: str


def sections(text: str) -> list[Section]:
    """Return the sections of a document with text of their own; headings inside code are code."""
    found: list[Section] = []
    path: list[tuple[int, str]] = []
    body: list[str] = []
    fence = ""

    def close() -> None:
        own = "\n".join(body).strip()
        if own:
            found.append(Section(tuple(title for _, title in path), own))
        body.clear()

    for line in lines_of(_without_marked(text)):
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
        heading = None if fence else _HEADING.match(line)
        if heading is None:
            body.append(line)
            continue
        close()
        level = len(heading[1])
        path = [*(one for one in path if one[0] < level), (level, _title(heading[2]))]
    close()
    return found


def _title(heading: str) -> str:
    """Return a heading without the marks that close it, unless it is nothing else."""
    return heading.rstrip().rstrip("#").rstrip() or heading.rstrip()


def _without_marked(text: str) -> str:
    """Return a document without the parts between two comments of a program, looking at each comment once."""
    kept: list[str] = []
    done, opened, at = 0, -1, text.find("<!--")
    while at >= 0 and (end := text.find("-->", at + 4)) >= 0:
        comment, end = text[at + 4 : end], end + 3
        if _END.match(comment):
            if opened >= 0:
                kept.append(text[done:opened])
                done, opened = end, -1
        elif opened < 0 and _BEGIN.match(comment):
            opened = at
        at = text.find("<!--", end)
    return "".join((*kept, text[done:]))
