"""Finds the files a memory is about: those somebody lists, and those its **Where** line names. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import islice

from engram_py.anchors.values import LINE_LIMIT, MOST_ANCHORS, AnchorOrigin
from engram_py.dataclass import dataclass, field
from engram_py.lazy import regex

_READ_CHARS = 4_000  # of a Where section
_MOST_WORDS = 400  # of it
_MOST_GIVEN = 4 * MOST_ANCHORS

# `**Where**:`, `**Where:**`, `## Where` anywhere a label may stand; a bare `Where:` only at the start of a line.
_BOLD = r"(?:\*\*|__)\s*where\s*(?:\([^)\n]{0,40}\))?\s*:?\s*(?:\*\*|__)\s*:?"
_PLAIN = r"^[ \t]*(?:[-*+>]\s+)?where\s*(?:\([^)\n]{0,40}\))?\s*:"
_HEADING = r"^[ \t]*#{1,6}[ \t]+where[ \t]*:?[ \t]*$"
_WHERE = regex(f"{_BOLD}|{_PLAIN}|{_HEADING}", re.IGNORECASE | re.MULTILINE)
# What ends it: the next label, or a line that is neither indented nor an item of a list.
_LABEL = regex(
    r"(?:\*\*|__)\s*[A-Z][\w /-]{1,40}:?\s*(?:\*\*|__)|^[ \t]*(?:[-*+>]\s+)?[A-Z][a-z]{2,20}:(?=\s|$)|^#", re.MULTILINE
)
_ITEM = regex(r"[ \t]+\S|[ \t]*(?:[-*+>]|\d{1,2}[.)])\s|[ \t]*`")

_WORD = regex(r"`([^`\n]{1,1100})`|([^\s,;()\[\]<>\"'`|]{1,1100})")
# `:10`, `:10-20`, `:10-` (to the end), `:10:5` (a column), `#L10-L20`
_LINES = regex(r"[:#]L?(\d{1,20})(?:[-–](?:L?(\d{1,20})|(?P<open>))|:\d{1,6})?$")
_LINES_AFTER = regex(
    r"`?[ \t]*[,:]?[ \t]*\(?(?:lines?|l\.|ll\.)[ \t]*(\d{1,20})(?:[ \t]*(?:[-–]|to)[ \t]*(\d{1,20}))?", re.IGNORECASE
)
_SYMBOL = regex(r"(::|#(?!$)|(?<=[\w)]):(?=[A-Za-z_])).*$", re.DOTALL)
_EXTENSION = regex(r"\.[A-Za-z][\w+-]{0,9}$")
_FILE_NAME = regex(r"[\w@+.~-]+(?: [\w@+.~-]+)*$")
_NO_PATH = regex(r"://|[*?{}$]|^-|^\w+@")


@dataclass(frozen=True, slots=True)
class Reference:
    """A file as somebody named it; without ``start`` the whole of it is meant. ``sure`` is false for what merely
    looks like a path, and is worth no word when there is no such file. ``asked`` is the name as it was written, with
    its lines; ``odd`` when these were read as something else."""

    path: str
    start: int | None = None
    end: int | None = None
    origin: AnchorOrigin = "given"
    sure: bool = True
    asked: str = field(default="", compare=False)
    odd: bool = field(default=False, compare=False)


def references(files: Sequence[str], content: str) -> tuple[Reference, ...]:
    """Return the files given, then those of the content's Where line, each once.

    A Where line's file without lines is left out where the same file is given with lines.
    """
    given = [reference for text in files[:_MOST_GIVEN] if (reference := parse_reference(text))]
    found = dict.fromkeys((*given, *where_references(content)))
    spans = {one.path for one in found if one.start is not None}
    kept: dict[tuple[str, int | None, int | None], Reference] = {}
    for one in found:
        if one.origin == "where" and one.start is None and one.path in spans:
            continue
        kept.setdefault((one.path, one.start, one.end), one)
    return tuple(kept.values())


def parse_reference(text: str, origin: AnchorOrigin = "given") -> Reference | None:
    """``path``, ``path:line``, ``path:start-end`` (also ``#L10-L20``), ``path:start-``; None for a blank.

    Lines that make no sense are read as the whole file, a range that runs backwards as its reverse.
    """
    path = text.strip().strip("`").strip()
    if not path:
        return None
    lines = _LINES.search(path)
    if lines is None:
        return Reference(path, origin=origin, asked=path)
    start, end, odd = _range(lines[1], _last(lines))
    return Reference(path[: lines.start()], start, end, origin, asked=path, odd=odd)


def where_references(content: str) -> list[Reference]:
    """Return the files that the Where line names. ``sure`` is false for what may be no path at all, as ``and/or``."""
    found: list[Reference] = []
    for text in _sections(content):
        for match in islice(_WORD.finditer(text), _MOST_WORDS):
            quoted = match[1] is not None
            if reference := _named(match[1] or match[2], text[match.end() : match.end() + 60], quoted=quoted):
                found.append(reference)
    return found[:_MOST_GIVEN]


def _sections(content: str) -> Iterator[str]:
    for label in _WHERE.finditer(content):
        rest = content[label.end() : label.end() + _READ_CHARS]
        ending = _LABEL.search(rest)
        if ending:
            rest = rest[: ending.start()]
        head, *more = rest.split("\n")
        lines = [head]
        for line in more:
            if not _ITEM.match(line) and (line.strip() or any(map(str.strip, lines))):
                break
            lines.append(line)
        yield "\n".join(lines)


def _named(word: str, after: str, *, quoted: bool) -> Reference | None:
    text = word.strip().strip("*_").rstrip(".:!?,…")
    lines = _LINES.search(text)
    path = text[: lines.start()] if lines else _SYMBOL.sub("", text)
    if not path or _NO_PATH.search(path) or not _FILE_NAME.search(path):
        return None
    first, last = (lines[1], _last(lines)) if lines else (None, None)
    if lines is None and (said := _LINES_AFTER.match(after)):
        first, last = said[1], said[2]
    extension = _EXTENSION.search(path) is not None
    slash = "/" in path or "\\" in path
    if not (slash or extension or quoted or first):
        return None
    start, end, odd = _range(first, last) if first else (None, None, False)
    sure = extension and (slash or start is not None)
    asked = text if lines or not first else f"{path}:{first}-{last}" if last else f"{path}:{first}"
    return Reference(path, start, end, "where", sure=sure, asked=asked, odd=odd)


def _last(lines: re.Match[str]) -> str | None:
    return str(LINE_LIMIT) if lines["open"] is not None else lines[2]


def _range(first: str, last: str | None) -> tuple[int | None, int | None, bool]:
    """Return the lines, and whether they differ from those written."""
    start = int(first)
    end = int(last) if last else start
    if min(start, end) < 1 or max(start, end) > LINE_LIMIT:
        return None, None, True
    return (start, end, False) if start <= end else (end, start, True)
