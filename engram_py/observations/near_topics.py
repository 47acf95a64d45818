"""Whether two topic keys name the same answer: the same words, in whatever order and number, or one word more."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping

from engram_py.text.normalize import folded
from engram_py.text.stopwords import STOP_WORDS

# What a key belongs to that nobody chose: a session, an entity, the profile.
RESERVED = frozenset({"session", "entity", "identity"})
# Two keys of which one has a word more share at least so many: `auth/login` is not `auth`.
_LEAST_SHARED = 2
_WORD = re.compile(r"[^\W_]+")
_MOST_BEGINNINGS, _LEAST_LETTERS = 6, 3


def nearest(key: str, others: Iterable[str], *, families: Mapping[str, str]) -> str | None:
    """Which of the others names the same as ``key``: itself, else one with its words, else with one more or less.

    Keys of two families, a bug and a decision, are about two things whatever their words. ``families`` are their names,
    each with what it is a name of, "" for one that says nothing.
    """
    own = _read(key, families)
    letters = [_first_letters(word) for word in own[1]]
    near: list[tuple[int, bool, str]] = []
    for other in others:
        # To read a key takes longer than to see that it cannot be near.
        if sum(one not in other for one in letters) <= 1:
            beyond = _difference(own, _read(other, families))
            near += [] if beyond is None else [(beyond, other != key, other)]
    return min(near)[2] if near else None


def beginnings(key: str, *, families: Mapping[str, str]) -> tuple[str, ...]:
    """How keys that are near this one may begin: with its family, without one or with one that says nothing, and then
    one of its words; last whatever has its family."""
    family, slash, _ = key.partition("/")
    letters = [_first_letters(word) for word in _read(key, families)[1][:_MOST_BEGINNINGS]]
    own = [f"{family}/"] if slash and family in families else []
    heads = [*own, "", *(f"{name}/" for name, meant in families.items() if not meant)]
    return tuple(dict.fromkeys([*(head + one for head in heads for one in letters), *own]))


def _read(key: str, families: Mapping[str, str]) -> tuple[str, list[str]]:
    """The family, "" where the first part is a word like the others, and the telling words."""
    first, slash, subject = key.partition("/")
    known = bool(slash) and (first in families or first in RESERVED)
    words = list(dict.fromkeys(_WORD.findall(folded(subject if known else key))))
    return families.get(first, first) if known else "", [word for word in words if word not in STOP_WORDS] or words


def _difference(one: tuple[str, list[str]], other: tuple[str, list[str]]) -> int | None:
    """How many words one of two keys has that the other has not, 0 or 1; None where they are not near."""
    (family, words), (other_family, others) = one, other
    if other_family in RESERVED or (family and other_family and family != other_family):
        return None
    fewer, more = sorted((words, others), key=len)
    beyond = len(more) - len(fewer)
    if not fewer or beyond > 1 or (beyond and len(fewer) < _LEAST_SHARED):
        return None
    return beyond if all(any(_same(word, one) for one in more) for word in fewer) else None


def _first_letters(word: str) -> str:
    """As many as its plural has as well."""
    return word[: max(_LEAST_LETTERS, len(word) - 3)]


def _same(one: str, other: str) -> bool:
    """The same word, or its plural."""
    short, long = sorted((one, other), key=len)
    return short == long or long in (f"{short}s", f"{short}es") or (short[-1] == "y" and long == f"{short[:-1]}ies")
