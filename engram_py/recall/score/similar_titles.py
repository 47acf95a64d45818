"""Which older titles are close enough to a new one to ask whether they contradict it."""

from __future__ import annotations

import re

from engram_py.text.stopwords import STOP_WORDS

# Verbs every other title starts with; `+` and `#` belong to names such as C++ and C#.
_COMMON = frozenset(
    [
        "use",
        "uses",
        "used",
        "using",
        "add",
        "adds",
        "added",
        "adding",
        "update",
        "updates",
        "updated",
        "updating",
        "fix",
        "fixes",
        "fixed",
        "fixing",
        "implement",
        "implements",
        "implemented",
        "implementing",
        "session",
        "summary",
    ]
)
_WORD = re.compile(r"[^\W_]+[+#]*")
# `locks` and `locked` are `lock` to the index as well, where candidates are looked for.
_ENDING = re.compile(r"(?<=[^\W\d_]{3})(?:ing|ed|es|s|e)\Z")
SHARED_WORDS_NEEDED = 2
# A title that says so names in one word what it takes the place of: "Replaced Unleash with a config table".
_REPLACES = re.compile(
    r"\b(?:replac(?:e[sd]?|ing)|switch(?:ed|es|ing)?|migrat(?:e[sd]?|ing)|swap(?:ped|s|ping)?|drop(?:ped|s|ping)?"
    r"|retir(?:e[sd]?|ing)|abandon(?:ed|s|ing)?|deprecat(?:e[sd]?|ing)|instead of|no longer|ersetz\w*|umgestellt"
    r"|remplac\w*|reemplaz\w*|sustitu\w*|substitu\w*|замен\w*)\b",
    re.IGNORECASE,
)


def written_words(title: str) -> list[str]:
    """The words of a title that tell it from others, lower case, each once."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(title))
    return [word for word in words if word not in STOP_WORDS and word not in _COMMON]


def title_words(title: str) -> frozenset[str]:
    """The same without the commonest English endings: what two titles are compared by."""
    return frozenset(_ENDING.sub("", word) for word in written_words(title))


def replaces(title: str) -> bool:
    """Whether a title says that something takes the place of something."""
    return _REPLACES.search(title) is not None


def may_contradict(new: frozenset[str], old: frozenset[str]) -> bool:
    """Whether the words of two titles share enough: two, or one where both have no more than two.

    Engram asks for two shared words, or for the only one (spec/engram-behaviour.md 7.1); that misses the plainest
    contradiction, "Use RS256 for tokens" and "Use HS256 for tokens".
    """
    needed = 1 if max(len(new), len(old)) <= SHARED_WORDS_NEEDED else SHARED_WORDS_NEEDED
    return len(new & old) >= needed


def overlap(new: frozenset[str], old: frozenset[str]) -> float:
    """Jaccard similarity of the words of two titles, 0..1."""
    union = new | old
    return len(new & old) / len(union) if union else 0.0
