"""What a file says of itself: its title, and whether it was superseded."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePosixPath

from engram_py.documents.passages import Structure
from engram_py.files import lines_of
from engram_py.lazy import regex
from engram_py.text.front_matter import front_matter

_TITLE_CHARS, _STATUS_CHARS = 200, 120
_READ_LINES = 60
# `Status: Superseded by ADR-12`, also as an item, a cell of a table or in bold; `Superseded-By: 0012`.
_NAMED = regex(r"[\s>|*_-]*(status|(?:superseded|replaced)[ -]by)\s*[*_]*\s*[:|][\s*_|]*(\S.*)", re.IGNORECASE)
_PAST = regex(r"\b(?:superseded|supersed|deprecated|obsolete[d]?|replaced|rejected|withdrawn)", re.IGNORECASE)
_LINK = regex(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_MARKS = regex(r"[*_`|]+")
_CITED = "superseded-by"


def split_front_matter(text: str) -> tuple[dict[str, str], int]:
    """Return the front matter of a text, and how many lines it takes."""
    values, body = front_matter(text)
    if not values and body == text:
        return {}, 0
    return values, len(lines_of(text)) - len(lines_of(body))


def title_of(path: str, head: Mapping[str, str], parts: Structure) -> str:
    """Return the title of a file: its front matter's, its first heading, else its name."""
    heading = next((one.text for one in parts.headings if one.level <= 2 and one.text), "")
    return (head.get("title") or heading or PurePosixPath(path).name)[:_TITLE_CHARS]


def status_of(head: Mapping[str, str], parts: Structure) -> str:
    """Return what took a file's place or that it no longer holds, in its own words; empty for one that stands."""
    if by := head.get(_CITED) or head.get("superseded_by"):
        return _plain(f"superseded by {by}")
    said = [("status", head["status"])] if head.get("status") else []
    for line in parts.lines[:_READ_LINES]:
        if found := _NAMED.match(line):
            said.append((found[1].lower(), found[2]))
    said += [("status", text) for text in _under_status(parts)]
    for name, value in said:
        if name != "status":
            return _plain(f"superseded by {value}")
        if _PAST.search(value):
            return _plain(value)
    return ""


def _under_status(parts: Structure) -> list[str]:
    """Return the first line below each heading `Status`."""
    found = []
    for heading in parts.headings:
        if heading.text.strip(" :").lower() == "status":
            following = (line for line in parts.lines[heading.end : heading.end + 4] if line.strip())
            found += [next(following, "")]
    return found


def _plain(text: str) -> str:
    """Return a status on one line, without its links and marks, as a sentence goes on with it."""
    line = " ".join(_MARKS.sub("", _LINK.sub(r"\1", text)).split()).rstrip(". ")[:_STATUS_CHARS]
    return line[:1].lower() + line[1:]
