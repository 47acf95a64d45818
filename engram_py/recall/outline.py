"""The outline of a text: the headings above a place in it, and how much of a piece is prose.

A heading is one of Markdown, AsciiDoc or an outline, an underlined or a bold line, and the line that a list or an
indented block stands below: change logs in plain text have their versions there.
"""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.base.lazy import regex

SEPARATOR = " › "
_HEADING_CHARS = 100
_MARKED = regex(r"(#{1,6}|={1,6})\s+\S")
_ITEM = regex(r"([*+•-])\1*(?=\s)|(?:\d{1,3}|[a-zA-Z])[.)](?=\s)")
_BOLD = regex(r"(\*\*|__).+\1:?$")
_UNDERLINE = regex(r"\s*([=~^\"'`#*+-])\1{2,}\s*$")
# The order of underlines that reStructuredText and Markdown have in common.
_UNDERLINES = "#*=-~^\"'`+"
_BOLD_LEVEL, _HIGHEST = 7, (0, 1)
_FENCES = ("```", "~~~")
_LINK = regex(r"!?\[([^\]\n]*)\]\([^)\n]*\)")
_MARKS = regex(r"^(?:#+|=+|[*+•-]+)\s|[*_`|]{2,}|[`|]|\s#+$")
# What ends a clause: a mark, a digit, an item, an empty line.
_BREAK = regex(r"[^\w\s,'’-]+|[\d_]+|\n\s*[\n-]")
# Fewer words are a label; a script without blanks has no words to count.
_CLAUSE_WORDS, _UNSPACED_CHARS = 4, 13


def headings(text: str, at: int) -> list[tuple[int, str]]:
    """Return the headings above the line at a place of a text, the highest first, each with the place of its line."""
    lines = text.split("\n")
    last = text.count("\n", 0, at)
    place = text.rfind("\n", 0, at) + 1
    depth = _depth(lines, last)
    fenced = any(fence in text for fence in _FENCES) and sum(map(_is_fence, lines[:last])) % 2 == 1
    found: list[tuple[int, str]] = []
    for number in range(last - 1, -1, -1):
        if depth <= _HIGHEST:
            break
        line = lines[number]
        place -= len(line) + 1
        fence = _is_fence(line)
        if fence:
            fenced = not fenced
        if fenced or fence or not line.strip() or _UNDERLINE.match(line):
            continue
        above = _depth(lines, number)
        if above < depth:
            depth = above
            if _stands_alone(lines, number) and (said := plain(line)):
                found.append((place, said))
    return found[::-1]


def plain(heading: str) -> str:
    """Return a heading without its marks and links."""
    return " ".join(_MARKS.sub("", _LINK.sub(r"\1", heading.strip())).split()).strip(" :")


def path_line(path: Sequence[str], room: int) -> str:
    """Return headings on one line of at most ``room`` characters, long ones shortened."""
    line = SEPARATOR.join(path)
    if len(line) <= room:
        return line
    part = max(1, (room + len(SEPARATOR)) // max(1, len(path)) - len(SEPARATOR))
    spare = sum(max(0, part - len(heading)) for heading in path)
    cuts = []
    for heading in path:
        most = part if len(heading) <= part else part + spare
        spare -= max(0, min(len(heading), most) - part)
        cuts.append(heading if len(heading) <= most else f"{heading[: most - 1].rstrip()}…")
    return SEPARATOR.join(cuts)[:room]


def prose(text: str) -> int:
    """Return how many characters of a text stand in clauses of at least four words: a date, a label or a link has
    none, in any language."""
    found = 0
    for clause in _BREAK.split(text):
        words = clause.split()
        if len(words) >= _CLAUSE_WORDS or (words and len(words[0]) >= _UNSPACED_CHARS):
            found += sum(map(len, words)) + len(words) - 1
    return found


def _is_fence(line: str) -> bool:
    return line.lstrip().startswith(_FENCES)


def _depth(lines: Sequence[str], number: int) -> tuple[int, int]:
    """Return the depth of a line: headings by their level, other lines by their indentation, items below plain ones."""
    line = lines[number].expandtabs()
    if marked := _MARKED.match(line):
        return 0, len(marked[1])
    below = _UNDERLINE.match(lines[number + 1]) if number + 1 < len(lines) else None
    if below is not None and _stands_alone(lines, number) and line.strip():
        return 0, 1 + _UNDERLINES.index(below[1])
    text = line.lstrip()
    if _BOLD.match(line):
        return 0, _BOLD_LEVEL
    item = _ITEM.match(text)
    return 1 + len(line) - len(text), (len(item[0]) if item[1] else 1) if item else 0


def _stands_alone(lines: Sequence[str], number: int) -> bool:
    """Return whether a line is no part of a wrapped paragraph, and short enough for a heading."""
    line, above = lines[number], lines[number - 1] if number else ""
    if len(line) > _HEADING_CHARS:
        return bool(_MARKED.match(line))
    wrapped = above.strip() and _indent(above) == _indent(line) and not _starts_block(above)
    return not wrapped or _starts_block(line)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def _starts_block(line: str) -> bool:
    text = line.strip()
    return bool(_ITEM.match(text) or _MARKED.match(text) or _BOLD.match(text) or _UNDERLINE.match(text))
