"""The names in a text: what is written as a name inside a sentence, code spans, and what somebody calls theirs. Pure.

Nothing here knows words of a language but its stop words: that a word is a name shows in how the memory writes it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from engram_py.dataclass import dataclass
from engram_py.files import lines_of
from engram_py.lazy import regex
from engram_py.text.words import ENGLISH

# Kinds of things; who calls something theirs by another word ("my colleague Dana Reyes") means a person.
KINDS = ("person", "company", "team", "project", "service", "module", "library", "repository")
MOST_CHARS, LEAST_CHARS, MOST_WORDS = 60, 3, 4
# A text longer than this is a log or a file; its beginning says what it is about.
READ_CHARS = 20_000

_WORD = regex(r"[^\W_](?:[\w’'-]*[^\W_])?")
_SPAN = regex(r"`([^`\n]{2,60})`")
_IDENTIFIER = regex(r"[^\W\d_][\w-]*(?:\.[\w-]+)*")
_BEGINS = regex(r"[.!?:;\n#*>|]")
_INNER_CAPITAL = regex(r"[^\W\d_]*[a-z0-9][A-Z]")


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is written. ``strong``: not only at the beginning of a sentence. ``claimed``: somebody's own."""

    text: str
    strong: bool
    kind: str | None = None
    claimed: bool = False


class _Token(NamedTuple):
    text: str
    begins: bool  # a sentence, a line, a point of a list
    joined: bool  # to the one before, by a blank alone

    @property
    def is_name(self) -> bool:
        letters = self.text[0].isupper() and any(map(str.islower, self.text))
        return letters and len(self.text) >= LEAST_CHARS and self.text.lower() not in ENGLISH


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, as they are compared with names."""
    return [word.lower() for word in re.findall(r"[^\W_]+", text[:READ_CHARS])]


def runs(words: list[str]) -> Iterator[str]:
    """Yield every run of up to four words, as a slug."""
    for first in range(len(words)):
        for many in range(1, min(MOST_WORDS, len(words) - first) + 1):
            yield "-".join(words[first : first + many])


def names_in(text: str) -> list[Name]:
    """Return the names in a text, each as often as it stands there."""
    text = text[:READ_CHARS]
    found = [Name(span, True) for span in _SPAN.findall(text) if _is_identifier(span)]
    for line in lines_of(_SPAN.sub(" ` ", text)):
        found += _in_line(list(_tokens(line)))
    return [name for name in found if LEAST_CHARS <= len(name.text) <= MOST_CHARS]


def _is_identifier(span: str) -> bool:
    return len(span) >= LEAST_CHARS and _IDENTIFIER.fullmatch(span) is not None and span.lower() not in ENGLISH


def _tokens(line: str) -> Iterator[_Token]:
    end = 0
    for match in _WORD.finditer(line):
        between = line[end : match.start()]
        begins = end == 0 or _BEGINS.search(between) is not None
        word = re.sub(r"[’']s$", "", match[0])
        yield _Token(word, begins, between == " ")
        # What belongs to somebody begins another name: "Dana's Falcon".
        end = match.end()


def _in_line(tokens: list[_Token]) -> Iterator[Name]:
    long = [token for token in tokens if len(token.text) > LEAST_CHARS]
    titled = len(long) >= MOST_WORDS and 2 * sum(token.is_name for token in long) > len(long)
    place = 0
    while place < len(tokens):
        run = _run(tokens, place)
        if not run:
            place += 1
            continue
        theirs = _owner(tokens, place)
        name = " ".join(token.text for token in run[:MOST_WORDS])
        inner = _INNER_CAPITAL.match(name) is not None
        kind = None
        if theirs:
            kind = theirs if theirs in KINDS else "person" if len(run) > 1 else None
        yield Name(name, bool(theirs) or inner or not (run[0].begins or titled), kind, bool(theirs))
        place += len(run)


def _run(tokens: list[_Token], first: int) -> list[_Token]:
    """The tokens from here that are written as one name."""
    run: list[_Token] = []
    for token in tokens[first:]:
        if not token.is_name or (run and not token.joined):
            break
        run.append(token)
    return run


def _owner(tokens: list[_Token], place: int) -> str:
    """Return what somebody calls this theirs as: ``colleague`` of "my colleague Dana Reyes"."""
    before = [token.text for token in tokens[max(0, place - 3) : place]]
    for many in (2, 3):
        said = before[-many:]
        if len(said) == many and said[0].lower() == "my" and all(map(str.islower, said[1:])):
            return said[-1]
    return ""
