"""Tokenise a prompt, find phrases in it, and cut them out."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterable
from functools import cache

from engram_py.base.lazy import regex
from engram_py.base.text.normalize import folded

# What a person asks stands at the beginning of a prompt, or after what was pasted.
HEAD_CHARS, TAIL_CHARS = 2_000, 500

_WORD = regex(r"[^\W_]+")
UNSPACED_FROM = "\u0e00"
_CODE = "```"


class PromptText:
    """The words of a prompt without fenced code: lower case, without accents, each with its place in the text."""

    def __init__(self, prompt: str) -> None:
        self.text = _readable(prompt)
        found = list(_WORD.finditer(self.text))
        self.words = [folded(match[0]) for match in found]
        self._spans = [match.span() for match in found]
        self._known = frozenset(self.words)
        self._joined = f" {' '.join(self.words)} "
        self._starts: list[int] = []
        at = 1
        for word in self.words:
            self._starts.append(at)
            at += len(word) + 1
        self._lowered = self.text.lower()
        self._cut: set[int] = set()
        self._cut_raw: list[str] = []

    def find(self, phrase: str) -> int | None:
        """Return the number of the first word of ``phrase``, or None."""
        if phrase[0] >= UNSPACED_FROM:
            return 0 if phrase in self._lowered else None
        if phrase.removeprefix("^ ").partition(" ")[0] not in self._known:
            return None
        at_start, at_end = phrase.startswith("^ "), phrase.endswith(" $")
        sought = f" {phrase.removeprefix('^ ').removesuffix(' $')} "
        place = self._joined.rfind(sought) if at_end else self._joined.find(sought)
        if place < 0 or (at_start and place > 0) or (at_end and place + len(sought) < len(self._joined)):
            return None
        return bisect_left(self._starts, place + 1)

    def first(self, phrases: Iterable[str]) -> str | None:
        """Return the first of ``phrases`` that occurs."""
        return next((phrase for phrase in phrases if self.find(phrase) is not None), None)

    def cut(self, phrase: str) -> None:
        """Leave the phrase out of ``rest``."""
        if phrase[0] >= UNSPACED_FROM:
            self._cut_raw.append(phrase)
            return
        start = self.find(phrase)
        if start is not None:
            self.cut_words(start, start + len(phrase.removeprefix("^ ").removesuffix(" $").split()))

    def cut_words(self, start: int, stop: int) -> None:
        self._cut.update(range(start, stop))

    def begins_with_a_capital(self, at: int) -> bool:
        """Return whether a word may be a name by how it is written: ``Ines`` is, ``I`` and a word of a shouted prompt
        not."""
        start, stop = self._spans[at]
        return stop - start > 1 and self.text[start].isupper() and not self.text.isupper()

    @property
    def rest(self) -> str:
        """The text without what was cut out, as it was typed."""
        pieces, at = [], 0
        for number in sorted(self._cut):
            start, stop = self._spans[number]
            pieces.append(self.text[at:start])
            at = stop
        rest = "".join([*pieces, self.text[at:]])
        for phrase in self._cut_raw:
            rest = rest.replace(phrase, " ")
        return " ".join(rest.split())

    def word_at(self, offset: int) -> int:
        """Return the number of the word at or before a place of the text."""
        return max(0, bisect_right(self._spans, (offset, len(self.text))) - 1)


@cache
def listed(text: str) -> dict[str, None]:
    """Return the phrases of a list, separated by ``|`` or line ends, in its order."""
    phrases = (folded(phrase.strip()) for line in text.strip().split("\n") for phrase in line.split("|"))
    return dict.fromkeys(filter(None, phrases))


def _readable(prompt: str) -> str:
    if len(prompt) > HEAD_CHARS + TAIL_CHARS:
        prompt = f"{prompt[:HEAD_CHARS]}\n{prompt[-TAIL_CHARS:]}"
    if _CODE in prompt:
        prompt = "\n".join(prompt.split(_CODE)[::2])
    return prompt
