"""Whether a topic key, or what else names a memory, is about a word of a question."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from engram_py.text.normalize import folded
from engram_py.text.segments import is_unspaced, segments
from engram_py.text.stopwords import STOP_WORDS

# Two words are forms of one where they begin alike, and at most so many letters of either follow.
_LEAST_ALIKE, _MOST_ENDING = 4, 3
_LEAST_LONG = 7
# Subjects of topic keys that a prompt may hold without meaning them.
_GENERIC_WORDS = (
    "app bug bugs build code data docs error errors file files list main name notes test tests todo type user"
)
GENERIC = frozenset(_GENERIC_WORDS.split())


def shares_a_word(topic_key: str, words: Iterable[str], *, families: Collection[str]) -> bool:
    """Whether the key holds one of the words, another form of it, its beginning, or a longer word it begins.

    The family of a key (``decision/``) says what kind of thing it names, not which.
    """
    family, slash, subject = topic_key.partition("/")
    key = subject if slash and family in families else topic_key
    parts = segments(folded(key))
    return any(_alike(folded(word), part) for word in words for part in parts)


def begins_topic(words: Iterable[str], topic_key: str) -> bool:
    """Whether the subject of a topic key begins with one of the words: `decision/scan-timeout` with "scan"."""
    first = next(iter(segments(folded(topic_key.rpartition("/")[2]))), "")
    return len(first) >= _LEAST_ALIKE and first not in GENERIC and any(_alike(folded(word), first) for word in words)


def is_form(word: str, name: str) -> bool:
    """Whether two long words begin alike for so long that only their endings differ."""
    shared = _begin_alike(word, name)
    return shared >= _LEAST_LONG and max(len(word), len(name)) - shared <= _MOST_ENDING


def share_held(text: str, words: Sequence[str]) -> float:
    """How many of the words a text holds in one form or another, 0..1."""
    return len(words_held(text, words)) / len(words) if words else 0.0


def words_held(text: str, words: Sequence[str]) -> list[str]:
    """Those of the words that a text holds in one form or another."""
    begins = tuple(folded(word)[:_LEAST_ALIKE] for word in words if not is_unspaced(word))
    spaced = " ".join({part for part in segments(folded(text)) if part.startswith(begins)})
    return [
        word for word in words if (word in text if is_unspaced(word) else shares_a_word(spaced, [word], families=()))
    ]


def _alike(word: str, part: str) -> bool:
    if is_unspaced(word):
        return word in part
    if word == part or part in STOP_WORDS:  # `CI` is a name although `ci` is a word of Italian
        return word == part
    shared = _begin_alike(word, part)
    longest, shortest = max(len(word), len(part)), min(len(word), len(part))
    if shared < _LEAST_ALIKE or _doubles(word, part, shared) or _doubles(part, word, shared):
        return False
    return shared == shortest or longest - shared <= _MOST_ENDING


def _doubles(word: str, part: str, shared: int) -> bool:
    """Whether only one of them doubles its last letter: `stripped` is no form of `stripe`, though `written` of `write`
    is."""
    return word[shared:] == "e" and part[shared : shared + 1] == word[shared - 1] and not part.endswith("en")


def _begin_alike(word: str, part: str) -> int:
    """By how many letters."""
    different = (at for at, (one, other) in enumerate(zip(word, part, strict=False)) if one != other)
    return next(different, min(len(word), len(part)))
