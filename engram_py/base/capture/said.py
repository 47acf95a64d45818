"""Finds what a person says for good in a text of theirs: preferences, who they are, decisions, rules.

The patterns are data: ``said.json``. A sentence has to be one of them whole and plain: no question, no guess, nothing
that points at the moment, and in the person's own words: no code, log, quotation, list of tasks, or words of somebody
else. Silent about languages that the patterns do not know. Pure.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Literal

from engram_py.base.capture.orders import reads_like_an_order
from engram_py.base.dataclass import dataclass
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex

Kind = Literal["preference", "identity", "decision", "rule", "convention", "fact"]

READ_CHARS = 20_000
_LEAST_CHARS, _MOST_CHARS = 10, 240
# A later part of a sentence that begins with the person themselves may state these.
_INNER_KINDS = ("preference", "decision")

# Cheap: most turns hold none.
_HOLDS = regex(
    r"(?i)\b(?:i|i['’]m|im|me|my|we|we['’]ve|our|always|never|remember|mind|note|from now|in future|decision|decided"
    r"|agreed|rule|convention|policy|stop|must|do(?: not|n['’]t)|let['’]s|before|please|when|whenever)\b"
)
_SENTENCE = regex(r"\S.*?(?:(?<!\be\.g)(?<!\bi\.e)(?<!\bvs)(?<!\d)[.!?]+(?=\s|$)|$)")
_INNER = regex(r"(?i), (?:and|but|so) (?=(?:i|i['’]ve|i['’]d|we|we['’]ve)\b)")
_SELF = regex(r"(?i)(?:i|we|my|our)\b")
_FENCE = regex(r"\s{0,3}(`{3,}|~{3,})")
_BULLET = regex(r"\s*(?:[-*+•]|\d{1,3}[.)])\s+")
# A value goes up to its reason or what else is said.
_VALUE_END = regex(r"[,;(]| (?:because|since|and|but|so|as of|for now|now)\b")
_QUOTED = regex(r"[\"“«„].*?[\"”»“]")


@dataclass(frozen=True, slots=True)
class Said:
    """A statement of a text, from ``start`` on."""

    kind: Kind
    text: str
    start: int


def said(text: str) -> Iterator[Said]:
    """Yield what a person says for good in a text, in its order; nothing of a text that reads like an order."""
    text = text[:READ_CHARS]
    if not _HOLDS.search(text) or reads_like_an_order(text):
        return
    for start, line in own_sentences(text):
        if (found := _statement(line)) is not None:
            kind, statement, inner = found
            yield Said(kind, statement, start + inner)


def own_sentences(text: str) -> Iterator[tuple[int, str]]:
    """Yield the sentences of a text that are the person's own words, with where each begins."""
    for start, line in _own_lines(text[:READ_CHARS]):
        quoted = [match.span() for match in _QUOTED.finditer(line)]
        for sentence in _SENTENCE.finditer(line):
            if not any(begin <= sentence.start() < end for begin, end in quoted):
                yield start + sentence.start(), sentence[0]


def subject_of(statement: str) -> tuple[str, str] | None:
    """Return the subject of a statement that may have another value later, and its value: ``my manager`` and
    ``Peter``; of "I prefer A over B" the subject is both."""
    line = " ".join(statement.replace("’", "'").split()).rstrip(" .!")
    for of, pattern in _grammar().subjects:
        if match := pattern.fullmatch(line):
            parts = match.groupdict()
            value = _VALUE_END.split(parts["value"])[0].lower()
            other = _VALUE_END.split(parts.get("other") or "")[0].lower()
            return " or ".join(sorted((value, other))) if other else of or parts["of"].lower(), value
    return None


@dataclass(frozen=True, slots=True)
class _Grammar:
    marks: Mapping[str, re.Pattern[str]]
    says: tuple[tuple[Kind, re.Pattern[str]], ...]
    subjects: tuple[tuple[str, re.Pattern[str]], ...]


@cache
def _grammar() -> _Grammar:
    """Read the patterns, with the parts that these name put in."""
    data = json.loads(Path(__file__).with_name("said.json").read_text(encoding="utf-8"))

    def compiled(pattern: str) -> re.Pattern[str]:
        while (filled := re.sub(r"\{([a-z]+)\}", lambda part: f"(?:{data['parts'][part[1]]})", pattern)) != pattern:
            pattern = filled
        return re.compile(pattern, re.IGNORECASE)

    marks = {name: compiled(pattern) for name, pattern in data["marks"].items()}
    says = tuple((one["kind"], compiled(one["say"])) for one in data["says"])
    subjects = tuple((one.get("of", ""), compiled(one["say"])) for one in data["subjects"])
    return _Grammar(marks, says, subjects)


def _own_lines(text: str) -> Iterator[tuple[int, str]]:
    """Yield the lines outside fences without bullets; what a line with a colon introduces is somebody else's, but for
    a list."""
    marks = _grammar().marks
    fence, introduced, at = "", False, 0
    for line in lines_of(text, ends=True):
        start, at = at, at + len(line)
        if mark := _FENCE.match(line):
            fence = "" if fence and mark[1].startswith(fence) else fence or mark[1]
            continue
        bullet = _BULLET.match(line)
        begin = bullet.end() if bullet else 0
        own = line[begin:].rstrip()
        introduced = introduced and bool(own)
        if marks["letter"].match(line):
            return
        if fence or marks["not own"].match(line) or (line.startswith(("    ", "\t")) and not bullet):
            continue
        if (bullet or not introduced) and not marks["label"].match(own):
            yield start + begin, own.removesuffix(own.rpartition(". ")[2]) if own.endswith(":") else own
        introduced = introduced or own.endswith(":")


def _statement(sentence: str) -> tuple[Kind, str, int] | None:
    """Return the kind of a plain sentence, the words that state it, and where they begin."""
    grammar = _grammar()
    lead = grammar.marks["lead"].match(sentence)
    starts = [lead.end() if lead else 0]
    if _SELF.match(sentence, starts[0]):
        starts += [inner.end() for inner in _INNER.finditer(sentence)]
    for start in starts:
        clause = _clause(sentence, start)
        kind = next((kind for kind, pattern in grammar.says if pattern.fullmatch(clause)), None) if clause else None
        if kind is not None and (start == starts[0] or kind in _INNER_KINDS):
            return kind, clause, start
    return None


def _clause(sentence: str, start: int) -> str:
    """Return what is stated from ``start`` up to where the sentence goes on; "" of a question, a guess, or what is
    about the moment."""
    marks = _grammar().marks
    rest = sentence[start:].replace("’", "'")
    more = marks["goes on"].search(rest)
    if sentence.endswith("?") and not (more and (more["asks"] or more["but"])):
        return ""
    words = " ".join((rest[: more.start()] if more else rest).rstrip(" .!,:").split())
    if not _LEAST_CHARS <= len(words) <= _MOST_CHARS or words[0] in "\"'“«`":
        return ""
    return "" if marks["guess"].search(words) or marks["now"].search(words) else words
