"""The preview of a text: the passage that has most of the words of a query, and how many characters each hit gets."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from itertools import accumulate, pairwise

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import folded
from engram_py.recall.outline import headings, path_line, prose
from engram_py.recall.reading import TermFinder
from engram_py.recall.score import Term

PREVIEW_CHARS = 300
# What decides stands behind what raises the question, so a word of the query counts for the text that follows it as
# far as a passage reaches, less the further it is; for what is before it a quarter as far, and less.
_BEFORE, _BEFORE_REACH = 0.7, 0.25
# Evidence to the power of this is a hit's part of the room: of two hits, one half as good gets a fifth.
_POWER, _NOTHING = 2, 0.01
# Headings take at most this part of a preview.
_PATH_SHARE = 0.4
# A shorter passage of a longer text says nothing: its title stands alone.
_LEAST_CHARS = 140
_READ_CHARS = 16_000
# Of an opening that stands before a passage; and how many characters tell where a passage begins.
_FIRST_CHARS, _FOUND_BY = 140, 30
_SENTENCE = regex(r"[.!?;][\"')\]*_`]*\s+|\n\s*|[。！？]")


@dataclass(frozen=True, slots=True)
class Preview:
    """A piece of a text on one line, and whether something was cut."""

    text: str
    cut: bool = False


def shares(scores: Sequence[float], lengths: Sequence[int], room: int) -> list[int]:
    """Return how many of ``room`` characters each passage gets, by its falling score.

    The last get none where it would be too few; the room that a short text leaves goes to the others.
    """
    for shown in range(len(scores), 0, -1):
        given = _shared([max(score, _NOTHING) ** _POWER for score in scores[:shown]], lengths, room)
        if all(part >= min(_LEAST_CHARS, length) for part, length in zip(given, lengths, strict=False)):
            return given + [0] * (len(scores) - shown)
    return [0] * len(scores)


def _shared(weights: Sequence[float], lengths: Sequence[int], room: int) -> list[int]:
    given = [0] * len(weights)
    rest = sum(weights)
    # What needs least of its part comes first, so that it is known what the others can have.
    for at in sorted(range(len(weights)), key=lambda at: lengths[at] / weights[at]):
        given[at] = min(lengths[at], int(room * weights[at] / rest))
        room -= given[at]
        rest -= weights[at]
    return given


def preview(
    content: str,
    terms: Sequence[Term] = (),
    finder: TermFinder | None = None,
    *,
    limit: int = PREVIEW_CHARS,
    above: str = "",
) -> Preview:
    """Return the ``limit`` characters that have most of the ``terms`` and of the text that follows them, else of prose.

    It begins with the headings above it, then a sentence, or a piece of a long one. A text that is not longer than
    ``limit`` is shown whole. ``above`` is the text before the content, of which only headings are shown.
    """
    if not limit:
        return Preview("", cut=bool(content))
    if not above and len(piece := _on_one_line(content, limit)) <= limit:
        return Preview(piece)
    start = _start(content, terms, finder, limit) if len(content) > limit else 0
    start, path = _with_headings(above, content, start)
    before = f"{path_line(path, int(limit * _PATH_SHARE))}: " if path else ""
    before = f"…{before}" if start or path else ""
    rest = _on_one_line(content[start:], limit)
    return Preview(before + _cut(rest, limit - len(before)), cut=bool(start) or len(before) + len(rest) > limit)


def _with_headings(above: str, content: str, start: int) -> tuple[int, list[str]]:
    """Return where the headings right above a place begin, and the headings above those."""
    whole, start = above + content, len(above) + start
    start = max(len(above), _heading_of(whole, start))
    path = headings(whole, start)
    while path and path[-1][0] >= len(above) and _is_blank(whole, path[-1][0], start):
        start = path.pop()[0]
    # A heading of the first level in the first line is the title, which stands beside the preview.
    title = _text_from(whole, 0) if whole.lstrip().startswith("# ") else -1
    return start - len(above), [heading for at, heading in path if at != title]


def _heading_of(text: str, at: int) -> int:
    """Return where the line of a place begins that was cut after a mark, if it is a heading; else the place."""
    line, end = text.rfind("\n", 0, at) + 1, text.find("\n", at)
    if line == at or end < 0:
        return at
    above = headings(text, _text_from(text, end))
    return line if above and above[-1][0] == line else at


def _text_from(text: str, at: int) -> int:
    """Return the place of the first character from a place on that is no blank; the last of all where there is none."""
    return min(len(text) - len(text[at:].lstrip()), len(text) - 1)


def _is_blank(text: str, heading: int, at: int) -> bool:
    """Return whether there is nothing but an underline between a heading and a place."""
    end = text.find("\n", heading)
    return end < at and not any(char.isalnum() for char in text[end:at])


def with_opening(content: str, passage: str, *, limit: int = PREVIEW_CHARS) -> str:
    """Return at most ``limit`` characters: the first sentence of ``content`` before a ``passage`` from further down.

    A line without prose, as a date or a heading, is no sentence where another line is one.
    """
    if not passage.startswith("…"):
        return passage
    whole, found = _on_one_line(content, limit), passage.strip("… ")
    if found[:_FOUND_BY] in whole[: limit - _FOUND_BY]:
        return _cut(whole, limit)
    lines = content[:_READ_CHARS].split("\n")
    prosaic = next((number for number, line in enumerate(lines) if prose(line)), 0)
    opening = "\n".join(lines[prosaic:]).lstrip()
    end = _SENTENCE.search(opening, 1, _FIRST_CHARS)
    first = " ".join(opening[: end.end()].split()) if end else one_line(opening, _FIRST_CHARS)
    first = first.removesuffix("…")
    return passage if first in found else _cut(f"{first} …{found}", limit)


def one_line(text: str, limit: int) -> str:
    """Return a text on one line of at most ``limit`` characters."""
    return _cut(_on_one_line(text, limit), limit)


def _cut(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    piece = text[: limit - 1]
    return (piece[: piece.rfind(" ")] if piece.rfind(" ") > limit // 2 else piece) + "…"


def _on_one_line(text: str, limit: int) -> str:
    """Return a text of at most ``limit`` characters whole, of a longer one more than that of its beginning."""
    first = " ".join(text[: limit * 5 // 4].split())
    return first if len(first) > limit else " ".join(text.split())


def _start(content: str, terms: Sequence[Term], finder: TermFinder | None, limit: int) -> int:
    """Return where the passage of ``limit`` characters begins that is nearest to the terms.

    Where none is found it is the first with most prose. Beside found terms prose does not count: records asked by their
    titles would show more of the context and less of the decision.
    """
    pieces = _read(content, 0, limit, finder)
    if finder is not None and not pieces.held and len(content) > _READ_CHARS:
        seen = folded(content)
        at = min((at for at, _ in _found(seen, finder)), default=0) * len(content) // len(seen)
        pieces = _read(content, max(0, at - _READ_CHARS // 4), limit, finder)
    first = pieces.first
    ends = [*first[1:], min(len(content), first[0] + _READ_CHARS)]
    near = [0.0] * len(first)
    if not pieces.held:
        near = [float(prose(content[at:end]) > 0) for at, end in zip(first, ends, strict=True)]
    for number, places in pieces.held.items():
        weight = terms[number].weight
        for at, nearness in _nearness(first, ends, places, limit).items():
            near[at] += weight * nearness
    worth = [0.0, *accumulate(value * (end - at) for value, at, end in zip(near, first, ends, strict=True))]

    def passage(at: int) -> float:
        end = min(first[at] + limit, ends[-1])
        last = bisect_left(ends, end)
        return worth[last] + near[last] * (end - first[last]) - worth[at]

    latest = bisect_left(first, len(content.rstrip()) - limit, hi=len(first) - 1)
    begins = pieces.sentences.union(*pieces.held.values())
    return first[max((at for at in range(latest + 1) if at in begins or at == latest), key=passage)]


@dataclass(frozen=True, slots=True)
class _Pieces:
    """The pieces of a text: where sentences and parts of long ones begin, the numbers of sentences, and the pieces of
    each
    term."""

    first: list[int]
    sentences: set[int]
    held: dict[int, list[int]]


def _read(content: str, since: int, limit: int, finder: TermFinder | None) -> _Pieces:
    """Return the pieces of 16,000 characters of a text from a place on."""
    text = content[since : since + _READ_CHARS]
    longest = max(_LEAST_CHARS, limit) // 3
    first, sentences = [0], {0}
    for end in [*(one.end() for one in _SENTENCE.finditer(text)), len(text)]:
        while end - first[-1] > longest:
            blank = text.rfind(" ", first[-1], first[-1] + longest)
            first.append(blank + 1 if blank > first[-1] else first[-1] + longest)
        if first[-1] < end < len(text):
            sentences.add(len(first))
            first.append(end)
    texts = [folded(text[at:end]) for at, end in pairwise([*first, len(text)])]
    starts = [0, *accumulate(len(one) + 1 for one in texts)]
    held: dict[int, list[int]] = {}
    for at, number in _found("\n".join(texts), finder) if finder is not None else ():
        held.setdefault(number, []).append(bisect_right(starts, at) - 1)
    return _Pieces([since + at for at in first], sentences, held)


def _found(text: str, finder: TermFinder) -> list[tuple[int, int]]:
    # Or else parts of names that are written in one word.
    return finder.found_in(text) or [(at, number) for stem, number in finder.stems if (at := text.find(stem)) >= 0]


def _nearness(first: Sequence[int], ends: Sequence[int], places: Sequence[int], reach: int) -> dict[int, float]:
    """Return how near each piece is to a term that these pieces have: 1 with it, and less the further from it."""
    near: dict[int, float] = {}
    for place, following in pairwise([*places, len(first)]):
        near[place] = 1.0
        for at in range(place + 1, min(following, bisect_left(first, ends[place] + reach))):
            near[at] = 1 - (first[at] - ends[place]) / reach
    back = reach * _BEFORE_REACH
    for place in places:
        for at in range(bisect_right(ends, first[place] - back), place):
            near[at] = max(near.get(at, 0.0), _BEFORE * (1 - (first[place] - ends[at]) / back))
    return near
