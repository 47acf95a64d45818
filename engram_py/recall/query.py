"""From what somebody typed to an FTS5 expression. Nothing typed is ever passed on as syntax."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engram_py.recall.derive import pairs, segment_terms
from engram_py.recall.segments import is_unspaced, segments
from engram_py.recall.stopwords import STOP_WORDS

# A question has a handful of words; a pasted log has thousands, and each is one more list to merge.
MAX_WORDS = 64
MAX_QUERY_CHARS = 8_000
_MAX_WORD_CHARS = 80

_ID = re.compile(r"\s*\[?#([0-9]{1,18})\]?\s*\Z")


@dataclass(frozen=True, slots=True)
class Word:
    """One word of a query and the FTS5 expression that finds it, whole or by its parts."""

    text: str
    expression: str
    stop: bool


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: ``text`` is what was read of it; ``words`` may be empty (punctuation only).

    ``observation_id`` is set for ``#12``.
    """

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
    # Half of a surrogate pair cannot be bound to a statement.
    clean = unicodedata.normalize("NFC", text[:MAX_QUERY_CHARS].encode("utf-8", "replace").decode())
    numbered = _ID.match(clean)
    words: dict[str, Word] = {}
    for word in _words(clean):
        words.setdefault(word.text, word)
        if len(words) >= MAX_WORDS:
            break
    shortened = len(text) > MAX_QUERY_CHARS or len(words) >= MAX_WORDS
    return Query(clean, tuple(words.values()), int(numbered[1]) if numbered else None, shortened)


def match_all(words: Sequence[Word]) -> str:
    return " AND ".join(word.expression for word in words)


def match_any(words: Sequence[Word]) -> str:
    return " OR ".join(word.expression for word in words)


def quote(text: str) -> str:
    """``text`` as an FTS5 string, whatever it holds."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def _words(text: str) -> Iterator[Word]:
    for segment in segments(text):
        if is_unspaced(segment):
            # A whole question can be one run: its pairs are the words, as in the index.
            yield from (Word(pair, _pair_expression(pair), stop=False) for pair in pairs(segment))
        else:
            key = segment.lower()[:_MAX_WORD_CHARS]
            yield Word(key, _expression(segment[:_MAX_WORD_CHARS]), stop=key in STOP_WORDS)


def _pair_expression(pair: str) -> str:
    return quote(pair) if len(pair) > 1 else quote(pair) + "*"  # one character: the pairs that begin with it


def _expression(segment: str) -> str:
    parts = segment_terms(segment)
    if not parts:
        return quote(segment.lower())
    return f"({quote(segment.lower())} OR ({' AND '.join(quote(part) for part in parts)}))"
