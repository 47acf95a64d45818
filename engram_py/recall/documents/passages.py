"""Cut a Markdown text into passages at its headings, long sections between paragraphs, items and fences; read its
title, its status and its front matter: YAML, as basic-memory, Obsidian and static sites write it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from engram_py.base.dataclass import dataclass
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex
from engram_py.recall.documents.values import Cut

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token


# The sizes of spec/seed-capabilities.md Q10: of 900 tokens with 135 of the passage before.
MOST_CHARS, OVERLAP_CHARS = 3_600, 540
# A fence stays whole, unless it is a file of its own.
_MOST_FENCED = 10 * MOST_CHARS


@dataclass(frozen=True, slots=True)
class Heading:
    """A heading: its level (1 to 6), its text, and the lines it takes."""

    level: int
    text: str
    first: int
    end: int


@dataclass(frozen=True, slots=True)
class Structure:
    """The lines of a text, its top headings, the lines where a block begins, and the lines of its fences."""

    lines: list[str]
    headings: list[Heading]
    blocks: list[int]
    fences: list[tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Piece:
    """Lines that are not cut apart; of a line that is too long, a part of it."""

    first: int
    last: int
    text: str
    fenced: bool = False


def structure(text: str, *, skip: int = 0) -> Structure:
    """Return the structure of a Markdown text; the first ``skip`` lines are front matter, and no part of it."""
    lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
    tokens = _parser().parse("\n".join([*[""] * skip, *lines[skip:]]))
    headings: list[Heading] = []
    blocks: set[int] = set()
    fences: list[tuple[int, int]] = []
    for token, following in zip(tokens, [*tokens[1:], None], strict=False):
        if token.map is None or token.type == "inline":
            continue
        blocks.add(token.map[0])
        if token.type in ("fence", "code_block"):
            fences.append((token.map[0], token.map[1]))
        elif token.type == "heading_open" and token.level == 0 and following is not None:
            headings.append(_heading(token, following))
    return Structure(lines, headings, sorted(blocks), fences)


def passages(parts: Structure, *, skip: int = 0) -> tuple[Cut, ...]:
    """Return the passages of a text: those of a section stand under its heading, and none reaches into another."""
    cuts: list[Cut] = []
    path: list[Heading] = []
    starts = [*parts.headings, None]
    first = skip
    for heading in starts:
        end = heading.first if heading is not None else len(parts.lines)
        titles = [above.text for above in path]
        for piece in _joined(list(_pieces(parts, first, end))):
            cuts.append(
                Cut(titles[-1] if titles else "", tuple(titles[:-1]), piece.text, piece.first + 1, piece.last + 1)
            )
        if heading is not None:
            path = [*(above for above in path if above.level < heading.level), heading]
            first = heading.end
    return tuple(cuts)


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.disable("inline")  # only blocks are needed
    return parser


def _heading(token: Token, following: Token) -> Heading:
    assert token.map is not None
    return Heading(int(token.tag[1:]), " ".join(following.content.split()), token.map[0], token.map[1])


def _pieces(parts: Structure, first: int, end: int) -> Iterator[_Piece]:
    """Yield the blocks between two lines, what is too long in parts."""
    starts = [first, *(line for line in parts.blocks if first < line < end)]
    for start, after in zip(starts, [*starts[1:], end], strict=True):
        fenced = any(begin <= start < stop for begin, stop in parts.fences)
        last, text = _stripped(parts.lines, start, after)
        if not text:
            continue
        if len(text) <= (_MOST_FENCED if fenced else MOST_CHARS):
            yield _Piece(start, last, text, fenced)
        else:
            yield from _long(parts.lines, start, last)


def _stripped(lines: Sequence[str], start: int, end: int) -> tuple[int, str]:
    """Return the text of lines without the blank ones behind it, and its last line."""
    while end > start and not lines[end - 1].strip():
        end -= 1
    text = "\n".join(lines[start:end])
    return end - 1, text if text.strip() else ""


def _long(lines: Sequence[str], first: int, last: int) -> Iterator[_Piece]:
    """Yield a block that is too long for a passage: line by line, a line that is too long in parts."""
    for number in range(first, last + 1):
        rest = lines[number]
        while len(rest) > MOST_CHARS:
            cut = rest.rfind(" ", MOST_CHARS // 2, MOST_CHARS)
            cut = cut if cut > 0 else MOST_CHARS
            yield _Piece(number, number, rest[:cut])
            rest = rest[cut:]
        if rest.strip():
            yield _Piece(number, number, rest)


def _joined(pieces: list[_Piece]) -> Iterator[_Piece]:
    """Yield pieces joined as long as they fit; each but the first begins with the end of the one before it."""
    held: list[_Piece] = []
    fresh = False
    for piece in pieces:
        if fresh and _size([*held, piece]) > MOST_CHARS:
            yield _whole(held)
            held, fresh = _end_of(held), False
            while held and _size([*held, piece]) > MOST_CHARS:
                held = held[1:]
        held = [*held, piece]
        fresh = True
    if fresh:
        yield _whole(held)


def _size(pieces: Sequence[_Piece]) -> int:
    return len(_whole(pieces).text)


def _end_of(pieces: Sequence[_Piece]) -> list[_Piece]:
    """Return the last pieces that fit into an overlap; a fence is not shown twice."""
    kept: list[_Piece] = []
    for piece in reversed(pieces):
        if piece.fenced or _size([piece, *kept]) > OVERLAP_CHARS:
            break
        kept.insert(0, piece)
    return kept


def _whole(pieces: Sequence[_Piece]) -> _Piece:
    text = pieces[0].text
    for before, piece in pairwise(pieces):
        text += "\n" * (piece.first - before.last) + piece.text
    return _Piece(pieces[0].first, pieces[-1].last, text)


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
    """Return the title of a file: its front matter's, its first heading if that stands above all others, else its name.

    The first heading of a change log may be a version beside the others, or a comment at its end.
    """
    heading = ""
    if parts.headings:
        first, *others = parts.headings
        above_all = first.first < _READ_LINES and all(first.level < other.level for other in others)
        heading = first.text if first.level <= 2 and above_all else ""
    return (head.get("title") or heading or PurePosixPath(path).name)[:_TITLE_CHARS]


def status_of(head: Mapping[str, str], parts: Structure) -> str:
    """Return the status of a file that was replaced or no longer holds, in its own words; else nothing."""
    if by := head.get(_CITED) or head.get("superseded_by"):
        return _plain(f"superseded by {by}")
    stated = [("status", head["status"])] if head.get("status") else []
    for line in parts.lines[:_READ_LINES]:
        if match := _NAMED.match(line):
            stated.append((match[1].lower(), match[2]))
    stated += [("status", text) for text in _under_status(parts)]
    for name, value in stated:
        if name != "status":
            return _plain(f"superseded by {value}")
        if _PAST.search(value):
            return _plain(value)
    return ""


def _under_status(parts: Structure) -> list[str]:
    """Return the first line below each heading `Status`."""
    lines = []
    for heading in parts.headings:
        if heading.text.strip(" :").lower() == "status":
            following = (line for line in parts.lines[heading.end : heading.end + 4] if line.strip())
            lines += [next(following, "")]
    return lines


def _plain(text: str) -> str:
    """Return a status on one line, without its links and marks, as a sentence goes on with it."""
    line = " ".join(_MARKS.sub("", _LINK.sub(r"\1", text)).split()).rstrip(". ")[:_STATUS_CHARS]
    return line[:1].lower() + line[1:]


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
    """Return the values of a head, None for another text. A value that is invalid YAML is kept as its text."""
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
