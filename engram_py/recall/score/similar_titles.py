"""Titles that are alike enough to ask whether one contradicts the other."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from itertools import takewhile

from engram_py.text.stopwords import STOP_WORDS
from engram_py.text.word_lists import read_words

_COMMON = read_words("title_verbs")
# `+` and `#` belong to names such as C++ and C#.
_WORD = re.compile(r"[^\W_]+[+#]*")
# `locks` and `locked` are `lock` to the index as well, where candidates are looked for.
_ENDING = re.compile(r"(?<=[^\W\d_]{3})(?:ing|ed|es|s|e)\Z")
SHARED_WORDS_NEEDED, ENOUGH = 2, 0.4
_BACKGROUND = 50  # titles that a small memory would have besides: three of four say little yet
_ALL_RARE: Mapping[str, float] = {}
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)*")
# A title that says so names in one word what it takes the place of: "Replaced Unleash with a config table".
_REPLACES = re.compile(
    r"\b(?:replac(?:e[sd]?|ing)|switch(?:ed|es|ing)?|migrat(?:e[sd]?|ing)|swap(?:ped|s|ping)?|drop(?:ped|s|ping)?"
    r"|retir(?:e[sd]?|ing)|abandon(?:ed|s|ing)?|deprecat(?:e[sd]?|ing)|instead of|no longer|ersetz\w*|umgestellt"
    r"|remplac\w*|reemplaz\w*|sustitu\w*|substitu\w*|замен\w*)\b",
    re.IGNORECASE,
)


def written_words(title: str) -> list[str]:
    """Return the words of a title that tell it from others, lower case, each once."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(title))
    return [word for word in words if word not in STOP_WORDS and word not in _COMMON]


def title_words(title: str) -> frozenset[str]:
    """Return the same without the commonest English endings, to compare two titles by."""
    return frozenset(stem(word) for word in written_words(title))


def stem(word: str) -> str:
    """Return a word without the commonest English endings."""
    return _ENDING.sub("", word)


def replaced_by(title: str) -> list[str]:
    """Return the words that name what a title says is replaced: those right behind the verb, else all before it."""
    verb = _REPLACES.search(title)
    if verb is None:
        return []
    words = [word.lower() for word in _WORD.findall(title[verb.end() :])]
    telling = [word not in STOP_WORDS and word not in _COMMON for word in words]
    behind = words[telling.index(True) :] if True in telling else []
    named = list(takewhile(lambda word: word not in STOP_WORDS, behind))
    return named or written_words(title[: verb.start()])


def may_contradict(new: frozenset[str], old: frozenset[str], rarity: Mapping[str, float] = _ALL_RARE) -> bool:
    """Whether the words of two titles share enough: two, and two fifths of them all; or one that only these two have,
    where neither has more than two.

    Engram asks for two shared words, or for the only one (spec/engram-behaviour.md 7.1). That misses the plainest
    contradiction, "Use RS256 for tokens" and "Use HS256 for tokens", and asks about whatever has the same subject.
    Measured: bench/README.md.
    """
    shared = new & old
    short = max(len(new), len(old)) <= SHARED_WORDS_NEEDED
    if short and any(rarity.get(word, 1.0) >= 1 for word in shared):
        return True
    return len(shared) >= SHARED_WORDS_NEEDED and overlap(new, old, rarity) >= ENOUGH


def overlap(new: frozenset[str], old: frozenset[str], rarity: Mapping[str, float] = _ALL_RARE) -> float:
    """Return the Jaccard similarity of the words of two titles; a shared one counts by its ``rarity``."""
    shared = sum(rarity.get(word, 1.0) for word in new & old)
    apart = len(new ^ old)
    return shared / (shared + apart) if shared else 0.0


def rarity(rows: int, total: int) -> float:
    """Return the weight of a shared word that so many of all titles have: 1 where only two have it."""
    return min(1.0, math.log1p((total + _BACKGROUND) / max(rows, 1)) / math.log1p((total + _BACKGROUND) / 2))


def frame(title: str) -> tuple[str, tuple[str, ...]]:
    """Return a title without its numbers, and these: "Release 1.2" and "Release 1.3" are of one series."""
    return _NUMBER.sub("#", title.lower()).strip(), tuple(_NUMBER.findall(title.lower()))


def is_next(one: Sequence[str], other: Sequence[str]) -> bool:
    """Whether the numbers of two titles differ in one of them, and there by one step: 7 and 8, 1.9 and 1.10 or 2.0."""
    differing = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    if len(one) != len(other) or len(differing) != 1:
        return False
    first, last = sorted([int(part) for part in number.split(".")] for number in differing[0])
    at = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    rest = last[at + 1 :]
    return first[:at] == last[:at] and last[at] - first[at] == 1 and not any(rest)
