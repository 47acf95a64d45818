"""The few words of a text that show why it was found."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Sequence

from engram_py.dataclass import dataclass
from engram_py.recall.score.proximity import READ_CHARS, Lens
from engram_py.recall.score.relevance import Term
from engram_py.recall.values import HIT_LINE_CHARS
from engram_py.text.normalize import folded

PREVIEW_CHARS = 300
# A word counts less the further it is behind the place where the line begins, and nothing from here on.
_REACH_CHARS = 200
# How much may stand before the first word: back to where its sentence begins, or else a few words.
_SENTENCE_CHARS, _WORDS_CHARS = 30, 16
_SENTENCE = re.compile(r"[.!?;][\"')\]*_`]*\s+|\n\s*|[。！？]")


@dataclass(frozen=True, slots=True)
class Preview:
    """A piece of a text on one line, whether something was cut, and where in it a shorter line should begin."""

    text: str
    cut: bool = False
    place: int = 0


def preview(
    content: str, terms: Sequence[Term] = (), lens: Lens | None = None, *, limit: int = PREVIEW_CHARS
) -> Preview:
    """At most ``limit`` characters from where the ``terms`` stand together best, by what each of them tells.

    It begins with their sentence or a few words before the first of them, so that what is left of the line goes to
    what follows. ``lens`` is that of the terms. A text that is not longer than ``limit`` is shown whole.
    """
    start = 0
    if len(content) > HIT_LINE_CHARS and lens is not None:
        at = _place(content[:READ_CHARS], terms, lens)
        start = _beginning(content, (_place(content, terms, lens) or 0) if at is None else at)
    piece = _on_one_line(content[start:], limit)
    if len(piece) <= limit:
        whole = _on_one_line(content, limit) if start else piece
        if len(whole) <= limit:
            return Preview(whole, place=len(whole) - len(piece) if len(whole) > HIT_LINE_CHARS else 0)
    room = limit - (1 if start else 0) - 1
    if len(piece) > room + 1:
        piece = piece[:room]
        piece = (piece[: piece.rfind(" ")] if piece.rfind(" ") > room // 2 else piece) + "…"
    return Preview(("…" if start else "") + piece, cut=True)


def _on_one_line(text: str, limit: int) -> str:
    """All of a text that has at most ``limit`` characters; of a longer one more than that of its beginning."""
    first = " ".join(text[: limit * 5 // 4].split())
    return first if len(first) > limit else " ".join(text.split())


def _place(content: str, terms: Sequence[Term], lens: Lens) -> int | None:
    """Where in a text the line should begin; None where no word of it is asked for."""
    seen = folded(content)
    at = _best(seen, terms, lens)
    if at is None or len(seen) == len(content):
        return at
    # Letters and marks apart.
    return bisect_left(range(len(content)), at, key=lambda end: len(folded(content[:end])))


def _best(text: str, terms: Sequence[Term], lens: Lens) -> int | None:
    """Where those words begin that tell most, each counted once and less the later it comes."""
    found = lens.found_in(text)
    if not found:  # parts of names that are written in one word
        return min((at for stem, _ in lens.stems if (at := text.find(stem)) >= 0), default=None)
    worths = [term.idf * term.worth for term in terms]
    next_of: dict[int, int] = {}
    best, most = 0, 0.0
    for here, number in reversed(found):
        next_of[number] = here
        reach = here + _REACH_CHARS
        worth = sum([worths[other] * (reach - at) for other, at in next_of.items() if at < reach])
        if worth >= most:
            best, most = here, worth
    return best


def _beginning(content: str, at: int) -> int:
    """Where to begin so that the word at ``at`` is read in its sentence, and a short end fills the line."""
    if at <= _SENTENCE_CHARS:
        return 0
    sentences = list(_SENTENCE.finditer(content, at - _SENTENCE_CHARS, at))
    start = sentences[-1].end() if sentences else _next_word(content, at - _WORDS_CHARS, at)
    latest = max(1, len(content.rstrip()) - HIT_LINE_CHARS + 1)
    return _next_word(content, latest, start) if start > latest else start


def _next_word(content: str, since: int, until: int) -> int:
    """Where the first word between two places begins, the second place if none does."""
    for at in range(since, until):
        if content[at - 1].isspace() and not content[at].isspace():
            return at
    return until
