"""Words that say nothing about the subject of a text, in the languages questions most often come in."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from engram_py.text.word_lists import read_words

ENGLISH = read_words("english")
FOREIGN = read_words("foreign") - ENGLISH
STOP_WORDS = ENGLISH | FOREIGN
_AMONG_FOREIGN = read_words("foreign_among_others") - ENGLISH
_EITHER = read_words("english_among_foreign")
# Typed as operators more often than as names.
_OPERATORS = ("AND", "OR", "NOT")


def stop_words_of(words: Sequence[str]) -> Collection[str]:
    """Return the lower-case words of a question, given as it was typed, that say nothing about its subject.

    A foreign word counts where the question is in a foreign language: two of them, and more than English ones. Else
    `nas`, `war` and `come` are names and words. In capitals among others, a word is a name: `IT`, `WHO`.
    """
    mixed = any(not word.isupper() for word in words)
    names = {word.lower() for word in words if mixed and len(word) > 1 and word.isupper() and word not in _OPERATORS}
    plain = {word.lower() for word in words} - names
    foreign, english = plain & (FOREIGN | _AMONG_FOREIGN), plain & ENGLISH
    ascii_too = is_foreign(words)
    return english | {word for word in foreign if ascii_too or not word.isascii()}


def is_foreign(words: Sequence[str]) -> bool:
    """Return whether a question is in one of the languages known here other than English."""
    plain = {word.lower() for word in words}
    foreign = len(plain & FOREIGN)
    foreign += len(plain & _AMONG_FOREIGN) if foreign else 0
    return foreign > max(1, len((plain & ENGLISH) - _EITHER))
