"""Patterns that read a text once, a character at a time, whatever the pattern and the text are.

A hook may not wait for a pattern that backtracks, and a time limit does not hold where another thread runs the hook
(``re`` keeps the interpreter to itself). google-re2 is bounded, but has no wheels for musl, and a guard must mean the
same on every machine it is synced to. So a pattern is an automaton (Glushkov's): its states are bits of a number, and
each step that was taken once is remembered.

What it knows: characters, ``.``, classes, ``\\d \\w \\s`` and their opposites, groups, ``|``, ``* + ?`` and ``{2,5}``,
``^`` and ``$``, ``\\b`` at the beginning or the end of an alternative, and ``(?i)`` in front.
"""

from __future__ import annotations

import re
from functools import lru_cache

from engram_py.base.errors import InvalidArgumentError

MOST_CHARS = 300
_MOST_PLACES = 400
_MOST_REPEATS = 60
_MOST_STEPS = 20_000
_MOST_DEPTH = 20
_EDGE = "\n"  # stands before and after each line that is searched
_ENDING = {"^": r"\n", "$": r"\n", r"\b": r"\W"}
_CLASSES, _LETTERS = frozenset("dDwWsS"), frozenset("nt")


class Expression:
    """A pattern, ready to be asked of many texts. Raises InvalidArgumentError: it is none, or too large."""

    def __init__(self, pattern: str) -> None:
        self._pattern, self._at, self._depth = pattern, 0, 0
        ignoring = pattern.startswith("(?i)")
        self._flags = re.IGNORECASE if ignoring else 0
        self._at = 4 if ignoring else 0
        self._atoms: list[re.Pattern[str]] = []
        self._follow: list[int] = []
        self._edges = 0  # the places that stand for an end of the line
        if len(pattern) > MOST_CHARS:
            raise self._refused(f"at most {MOST_CHARS} characters")
        self.nullable, self._first, self._last = self._either()
        if self._at < len(pattern):
            raise self._refused("a regular expression with its brackets in pairs")
        self._anywhere: dict[tuple[int, str], int] = {}
        self._onward: dict[tuple[int, str], int] = {}
        self._kinds: dict[str, int] = {}

    def within(self, line: str) -> bool:
        """Return whether a part of the line matches."""
        state, last = 0, self._last
        for char in f"{_EDGE}{line}{_EDGE}":
            after = self._anywhere.get((state, char))
            state = self._step(self._anywhere, state, self._first, char) if after is None else after
            if state & last:
                return True
        return self.nullable

    def whole(self, text: str) -> bool:
        """Return whether all of the text matches."""
        if not text:
            return self.nullable
        state = self._step({}, 0, self._first, text[0])
        for char in text[1:]:
            if not state:
                return False
            after = self._onward.get((state, char))
            state = self._step(self._onward, state, 0, char) if after is None else after
        return bool(state & self._last)

    def _step(self, known: dict[tuple[int, str], int], state: int, begin: int, char: str) -> int:
        reach, rest = begin, state
        while rest:
            low = rest & -rest
            reach |= self._follow[low.bit_length() - 1]
            rest ^= low
        kind = self._kinds.get(char)
        if kind is None:
            places = (1 << place for place, atom in enumerate(self._atoms) if atom.fullmatch(char))
            kind = self._edges if char == _EDGE else sum(places)
            if len(self._kinds) < _MOST_STEPS:
                self._kinds[char] = kind
        after = reach & kind
        if len(known) < _MOST_STEPS:
            known[state, char] = after
        return after

    # --- reading the pattern: each part is whether it may be empty, and where it begins and ends ---------------------

    def _either(self) -> tuple[bool, int, int]:
        nullable, first, last = self._sequence()
        while self._take("|"):
            also, begins, ends = self._sequence()
            nullable, first, last = nullable or also, first | begins, last | ends
        return nullable, first, last

    def _sequence(self) -> tuple[bool, int, int]:
        nullable, first, last, begun = True, 0, 0, self._at
        while self._at < len(self._pattern) and self._pattern[self._at] not in "|)":
            empty, begins, ends = self._repeated(begun)
            self._join(last, begins)
            first |= begins if nullable else 0
            last = ends | (last if empty else 0)
            nullable = nullable and empty
        return nullable, first, last

    def _join(self, ends: int, begins: int) -> None:
        while ends:
            low = ends & -ends
            self._follow[low.bit_length() - 1] |= begins
            ends ^= low

    def _repeated(self, begun: int) -> tuple[bool, int, int]:
        start = self._at
        part = self._atom(begun)
        end = self._at
        least, most = self._times()
        if (least, most) == (1, 1):
            return part
        if self._at < len(self._pattern) and self._pattern[self._at] in "*+":
            raise self._refused("a regular expression without two repeats in a row")
        self._take("?")  # how much it takes does not matter to whether it matches
        if most is None:
            self._join(part[2], part[1])
        nullable, first, last = part[0] or not least, part[1], part[2]
        for number in range(1, max(least, most or 1)):
            empty, begins, ends = self._copy(start, end, begun)
            if most is None:
                self._join(ends, begins)
            self._join(last, begins)
            empty = empty or number >= least
            first |= begins if nullable else 0
            last = ends | (last if empty else 0)
            nullable = nullable and empty
        return (nullable or most == 0), (first if most != 0 else 0), (last if most != 0 else 0)

    def _copy(self, start: int, end: int, begun: int) -> tuple[bool, int, int]:
        here, self._at = self._at, start
        part = self._atom(begun)
        assert self._at == end
        self._at = here
        return part

    def _times(self) -> tuple[int, int | None]:
        if self._take("*"):
            return 0, None
        if self._take("+"):
            return 1, None
        if self._take("?"):
            return 0, 1
        found = re.compile(r"\{(\d{1,3})(,?)(\d{0,3})\}").match(self._pattern, self._at)
        if found is None:
            return 1, 1
        self._at = found.end()
        least = int(found[1])
        most = int(found[3]) if found[3] else None if found[2] else least
        if max(least, most or 0) > _MOST_REPEATS or (most is not None and most < least):
            raise self._refused(f"a regular expression that repeats at most {_MOST_REPEATS} times")
        return least, most

    def _atom(self, begun: int) -> tuple[bool, int, int]:
        char = self._pattern[self._at]
        if char == "(":
            return self._group()
        if char in "*+?":
            raise self._refused("a regular expression with something before each repeat")
        start = self._at
        if char == "\\":
            text = self._escaped(begun)
        elif char == "[":
            text = self._class()
        else:
            self._at += 1
            text = _ENDING.get(char, char if char == "." else re.escape(char))
        said = self._pattern[start : self._at]
        part = self._place(text, said)
        self._edges |= part[1] if said in _ENDING else 0
        return part

    def _group(self) -> tuple[bool, int, int]:
        self._at += 1
        if self._take("?") and not self._take(":"):
            raise self._refused("a regular expression without look-around and named groups")
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            raise self._refused(f"a regular expression of at most {_MOST_DEPTH} groups in each other")
        part = self._either()
        self._depth -= 1
        if not self._take(")"):
            raise self._refused("a regular expression with its brackets in pairs")
        return part

    def _escaped(self, begun: int) -> str:
        start, named = self._at, self._pattern[self._at + 1 : self._at + 2]
        self._at += 2
        if named == "b":
            ends = self._pattern[self._at : self._at + 1] in ("", "|", ")")
            if start != begun and not ends:
                raise self._refused(r"a regular expression with \b only at the beginning or the end")
            return _ENDING[r"\b"]
        if not named or (named.isalnum() and named not in _CLASSES | _LETTERS):
            raise self._refused(rf"a regular expression without \{named}")
        return f"\\{named}" if named.isalnum() else re.escape(named)

    def _class(self) -> str:
        start = self._at
        found = re.compile(r"\[\^?\]?(?:[^\]\\]|\\.)*\]").match(self._pattern, start)
        if found is None:
            raise self._refused("a regular expression with its brackets in pairs")
        self._at = found.end()
        return "[" + found[0][1:-1].replace("[", r"\[").replace("--", r"-\-").replace("&&", r"&\&") + "]"

    def _place(self, text: str, said: str) -> tuple[bool, int, int]:
        if len(self._atoms) >= _MOST_PLACES:
            raise self._refused("a shorter regular expression")
        try:
            self._atoms.append(_compiled(text, self._flags))
        except re.error as exc:
            raise self._refused(f"a regular expression in which {said} is valid: {exc.msg}") from exc
        self._follow.append(0)
        bit = 1 << (len(self._atoms) - 1)
        return False, bit, bit

    def _take(self, char: str) -> bool:
        found = self._pattern.startswith(char, self._at)
        self._at += len(char) * found
        return found

    def _refused(self, expected: str) -> InvalidArgumentError:
        return InvalidArgumentError("pattern", self._pattern, expected=expected)


@lru_cache(maxsize=500)
def _compiled(atom: str, flags: int) -> re.Pattern[str]:
    return re.compile(atom, flags)


@lru_cache(maxsize=200)
def expression(pattern: str) -> Expression:
    return Expression(pattern)


@lru_cache(maxsize=500)
def glob(pattern: str) -> Expression:
    """Return a glob as an expression: as ``.gitignore`` reads it, with ``{a,b}`` for either.

    A glob without a slash means a name in any folder, and one that matches a folder means all that is in it.
    """
    inner = pattern.removeprefix("./").rstrip("/")
    text = "" if "/" in inner else "(?:.*/)?"
    inner, depth = inner.lstrip("/"), 0
    for part in re.findall(r"\*\*/|/\*\*$|\*+|\[[^\]/]+\]|\\.|.", inner):
        depth += (part == "{") - (part == "}")
        text += _GLOB.get(part) or _other(part, inside=depth > 0)
    return Expression(f"{text}(?:/.*)?")


_GLOB = {"**/": "(?:.*/)?", "/**": "/.*", "**": ".*", "*": "[^/]*", "?": "[^/]", "{": "(?:", "}": ")"}


def _other(part: str, *, inside: bool) -> str:
    if part == "," and inside:
        return "|"
    if len(part) > 1 and part[0] == "[":
        return part.replace("[!", "[^")
    return ".*" if part[0] == "*" else re.escape(part[-1])
