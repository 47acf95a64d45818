"""From what somebody typed to an FTS5 expression. Nothing typed is ever passed on as syntax."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass

from engram_py.recall.derive import UNSPACED, pairs, segment_terms
from engram_py.recall.stopwords import STOP_WORDS

# A question has a handful of words; a pasted log has thousands, and each is one more list to merge.
MAX_WORDS = 64
MAX_QUERY_CHARS = 8_000
_MAX_WORD_CHARS = 80

_SEGMENT = re.compile(f"[{UNSPACED}]+|[^\\W_{UNSPACED}]+")
_UNSPACED_RUN = re.compile(f"[{UNSPACED}]")
_ID = re.compile(r"\s*#(\d{1,18})\s*\Z")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a query and the FTS5 expression that finds it, whole or by its parts."""

    text: str
    expression: str
    stop: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query. ``observation_id`` is set for ``#12``; ``words`` may be empty (punctuation only)."""

    text: str
    words: tuple[Word, ...]
    observation_id: int | None = None
    shortened: bool = False

    @property
    def content_words(self) -> tuple[Word, ...]:
        """The words that are not stop words, or all of them when there are no others."""
        return tuple(word for word in self.words if not word.stop) or self.words


def parse_query(text: str) -> Query:
    """Read any text as a query: every run of letters and digits is a word, everything else is not."""
    clean = unicodedata.normalize("NFC", text[:MAX_QUERY_CHARS])
    numbered = _ID.match(clean)
    words: dict[str, Word] = {}
    for segment in _SEGMENT.findall(clean):
        key = segment.lower()[:_MAX_WORD_CHARS]
        if key not in words:
            words[key] = Word(key, _expression(segment[:_MAX_WORD_CHARS]), key in STOP_WORDS)
        if len(words) >= MAX_WORDS:
            break
    shortened = len(text) > MAX_QUERY_CHARS or len(words) >= MAX_WORDS
    return Query(text, tuple(words.values()), int(numbered[1]) if numbered else None, shortened)


def match_all(words: Sequence[Word]) -> str:
    return " AND ".join(word.expression for word in words)


def match_any(words: Sequence[Word]) -> str:
    return " OR ".join(word.expression for word in words)


def quote(text: str) -> str:
    """``text`` as an FTS5 string, whatever it holds."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def _expression(segment: str) -> str:
    if _UNSPACED_RUN.match(segment):
        return quote(" ".join(pairs(segment)))  # the pairs stand side by side in the index
    parts = segment_terms(segment)
    if not parts:
        return quote(segment.lower())
    return f"({quote(segment.lower())} OR ({' AND '.join(quote(part) for part in parts)}))"
