"""Parse a typed query into words, phrases, exclusions and filters. Nothing typed is ever passed on as syntax."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping, Sequence

from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.lazy import regex
from engram_py.base.reasons import Reason, reason
from engram_py.base.text.normalize import folded
from engram_py.base.text.words import (
    forms,
    is_folded,
    is_foreign,
    is_unspaced,
    narrow,
    pairs,
    segment_terms,
    segments,
    stop_words_of,
)

KEYS = ("type", "topic", "project", "scope", "file", "branch", "since", "until", "is", "collection")
STATES = ("pinned", "stale", "superseded", "archived")

# A key right before its value: `net/mlx5: fix` and `std::vector` are words, `http://…` is an address.
_FILTER = regex(r'(?<!\S)([A-Za-z_]{2,20}):(?:"([^"]{0,300})"|(?!:|//|\\)([^\s"]{1,300}))(?!\S)')
_MOST = 16
_LEFT = regex(rf"(?<!\S)({'|'.join(KEYS)}):(?!:)", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Filters:
    """Conditions of a hit, as they were typed: several of one key are alternatives, dates come as given."""

    types: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    scopes: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    since: str | None = None
    until: str | None = None
    states: tuple[str, ...] = ()
    collections: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return self != _NONE


_NONE = Filters()


def cut_filters(text: str) -> tuple[Filters, str, tuple[Reason, ...]]:
    """Return the filters in ``text``, the text without them, and a note on each one that is unknown.

    An unknown filter stays in the text as a word.
    """
    if ":" not in text:
        return _NONE, text, ()
    values: dict[str, list[str]] = {}
    notes: dict[Reason, str] = {}  # with the filter that each is about

    def cut(match: re.Match[str]) -> str:
        key, value = match[1].lower(), (match[2] if match[2] is not None else match[3]).strip()
        if not value or (key in KEYS and sum(map(len, values.values())) >= _MOST):
            return match[0]
        if key not in KEYS:
            notes[reason("unknown_filter", key=match[1])] = match[1]
            return match[0]
        if key == "is" and value.lower() not in STATES:
            notes[reason("unknown_state", value=value[:40])] = "is"
            return match[0]
        values.setdefault(key, []).append(value)
        return " "

    rest = _FILTER.sub(cut, text)
    for left in _LEFT.finditer(rest):  # without a value, or one filter too many
        key = left[1].lower()
        if key not in notes.values():
            notes[reason("unread_filter", key=key)] = key
    return _filters(values), rest, tuple(notes)[:_MOST]


def _filters(values: Mapping[str, Sequence[str]]) -> Filters:
    def split(key: str) -> tuple[str, ...]:
        return tuple(part.strip() for value in values.get(key, ()) for part in value.split(",") if part.strip())

    return Filters(
        types=split("type"),
        topics=split("topic"),
        projects=split("project"),
        scopes=split("scope"),
        files=tuple(values.get("file", ())),
        branches=split("branch"),
        since=next(reversed(values.get("since", ())), None),
        until=next(reversed(values.get("until", ())), None),
        states=tuple(value.lower() for value in values.get("is", ())),
        collections=split("collection"),
    )


# A question has a handful of words; a pasted log has thousands, and each is one more list to merge. Logs of 60 words
# made of three memories each, among 100,000 rows, one of them first: all words .90, the 40 most telling .98, 24 .93.
MAX_WORDS = 40
_ASKED_FIRST = 12
MAX_QUERY_CHARS = 8_000
# What has more words than this was pasted, not asked: its quotes and dashes are its own.
PASTED_WORDS = 30
_MAX_WORD_CHARS = 80
_MAX_PHRASES = 8
_EDGE = 3  # words at either end of a pasted text

_HEAD = regex(rf"(?i)(?:\s*(?:{'|'.join(KEYS)}):(?:\"[^\"]*\"|\S+))*")
_ID = regex(r"\s*\[?#([0-9]{1,18})\]?\s*\Z")
_QUOTED = regex(r"(?<![^\s(])(-?)[\"“”„«]([^\"“”„«»]{1,300})[\"“”»]")
# "What kind of", "how many", "did we decide", "do orders use": the last word asks, it is not what is asked about.
_FRAMING = frozenset({"what", "which", "how", "did", "do", "does", "have", "had", "should"})
_FRAME = regex(
    r"\b(?:what|which)\s+((?:kinds?|types?|sorts?)(?=\s+of\b))|\bhow\s+(many|much|long|often|far|old|soon|big)\b"
    r"|\b(?:did|do|have|had)\s+(?:we|i|you|they)\s+(?:ever\s+|already\s+)?"
    r"(decided?|choose|chosen|agreed?|settled?|pick(?:ed)?|learn(?:ed)?|noted?|saved?|remember(?:ed)?)\b"
    r"|\b(?:do|does|did|should)\s+(?:\w+\s+){1,4}?(use)\b"
)
_ASKS = regex(r"\W*(?:whats?|when|where|why|how|who|which|did|do|does|is|are|can|could|have|has|was|were)\b")
_CYRILLIC = regex("[\u0400-\u052f]+")
_LEAST_OF_A_WORD = 4
_MARKS = '-"“”„«'  # without one of them nothing is quoted or excluded
_EXCLUDED = regex(r"(?<!\S)-(?=[^\W_])([^\s\"]+)")
_LEAST_OF_A_SENTENCE = 2  # stop words
# `error -102`, `-EINVAL`, `-O2` and `-rf` are what somebody saw; nobody leaves a number or two letters out.
_SEEN = regex(r"[0-9]|[A-Z][A-Z0-9_]+\W*\Z|[^\W_]{1,2}(?![^\W_])")
# When a line of a log was written says nothing about what it says.
_MOMENT = regex(
    r"(?<![\w.:-])(?:[0-9]{4}-[0-9]{2}-[0-9]{2}[T ])?[0-9]{2}:[0-9]{2}:[0-9]{2}"
    r"(?:[.,][0-9]+)?(?:Z|[+-][0-9]{2}:?[0-9]{2})?(?!\w)"
)


@dataclass(frozen=True, slots=True)
class Word:
    """A word of a query, the FTS5 expression that finds it, its other forms, and its ``beginning`` if the index does
    not stem it."""

    text: str
    expression: str
    stop: bool
    forms: tuple[str, ...] = ()
    beginning: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """A parsed query: ``text`` is what was read of it; ``words`` may be empty (punctuation only).

    ``phrases`` and ``excluded`` are FTS5 expressions that a hit must, or must not, match. ``observation_id`` is set for
    ``#12``. ``asked`` is the text without filters and exclusions. In a ``pasted`` text quotes and dashes mean nothing.
    """

    text: str
    words: tuple[Word, ...]
    observation_id: int | None = None
    shortened: bool = False
    phrases: tuple[str, ...] = ()
    excluded: tuple[str, ...] = ()
    filters: Filters = field(default_factory=Filters)
    asked: str = ""
    notes: tuple[Reason, ...] = ()
    pasted: bool = False

    @property
    def content_words(self) -> tuple[Word, ...]:
        """The words that are not stop words, or all of them when there are no others."""
        return tuple(word for word in self.words if not word.stop) or self.words

    @property
    def is_question(self) -> bool:
        """Whether it is a question, by a mark or by how English questions begin."""
        return "?" in self.asked or "？" in self.asked or _ASKS.match(self.asked.lower()) is not None

    @property
    def is_foreign(self) -> bool:
        """Whether it is in another language than English, by its small words or its script."""
        words = [word.text for word in self.words]
        return is_foreign(words) or sum(map(is_unspaced, words)) > len(words) / 2

    @property
    def asks(self) -> bool:
        """Whether it says what to look for: by a phrase, or a word that is no stop word."""
        return bool(self.phrases) or not all(word.stop for word in self.words)

    def restricted(self, expression: str) -> str:
        """Return ``expression`` with the phrases, and without the excluded words."""
        required = " AND ".join([f"({expression})", *self.phrases])
        return f"({required}) NOT ({' OR '.join(self.excluded)})" if self.excluded else required

    def unquoted(self) -> Query | None:
        """Return the same question with its phrases as words, or None where it is nothing besides them."""
        quoted = {word for phrase in self.phrases for word in segments(phrase)}
        if not quoted or all(word.stop or word.text in quoted for word in self.words):
            return None
        return replace(self, phrases=())


def parse_query(text: str, *, filters: bool = False) -> Query:
    """Read any text as a query: every run of letters and digits is a word, everything else is not.

    With ``filters``, as in a search box: ``"phrases"``, ``-word`` and ``type:bugfix`` mean something.
    """
    # Half of a surrogate pair cannot be bound to a statement.
    clean = narrow(unicodedata.normalize("NFC", text[:MAX_QUERY_CHARS].encode("utf-8", "replace").decode()))
    shortened = len(text) > MAX_QUERY_CHARS
    pasted = len(clean.split()) > PASTED_WORDS
    numbered = _ID.match(clean) if "#" in clean else None
    observation_id = int(numbered[1]) if numbered else None
    if not filters:
        words, cut = _most_telling(clean)
        return Query(clean, words, observation_id, shortened or cut, asked=clean, pasted=pasted)
    head = _HEAD.match(clean) if pasted else None
    found, rest, notes = cut_filters(clean[: head.end()] if head else clean)
    phrases, excluded, unmarked = _marked(rest)
    if head:
        rest += clean[head.end() :]
        phrases, excluded, notes = (), (), (*notes, *_its_own(rest))
    else:
        rest = unmarked
    words, cut = _most_telling(rest)
    return Query(clean, words, observation_id, shortened or cut, phrases, excluded, found, rest, notes, pasted)


def _its_own(pasted: str) -> tuple[Reason, ...]:
    """Return a note on quotes, a minus or filters at the edges of a pasted text, which are read as words."""
    text = pasted.strip()
    words = text.split(maxsplit=_EDGE)
    edges = " ".join([*words[:_EDGE], *text.rsplit(maxsplit=_EDGE)[-_EDGE:]])
    typed = _QUOTED.match(text) or _EXCLUDED.match(text) or cut_filters(edges)[0]
    return (reason("pasted_marks", limit=PASTED_WORDS),) if typed else ()


def match_all(words: Sequence[Word]) -> str:
    return " AND ".join(word.expression for word in words)


def match_any(words: Sequence[Word]) -> str:
    return " OR ".join(word.expression for word in words)


def quote(text: str) -> str:
    """Return ``text`` as an FTS5 string, whatever it holds."""
    return '"' + text.replace('"', '""').replace("\0", " ") + '"'


def _marked(text: str) -> tuple[tuple[str, ...], tuple[str, ...], str]:
    """Return the expressions of quoted phrases and excluded words, and the text without the excluded ones.

    A phrase stays in the text: its words rank the rows that have it.
    """
    if not any(mark in text for mark in _MARKS):
        return (), (), text
    phrases: list[str] = []
    excluded: list[str] = []

    def quoted(match: re.Match[str]) -> str:
        expression = phrase(match[2])
        if expression and len(phrases) + len(excluded) < _MAX_PHRASES:
            (excluded if match[1] else phrases).append(expression)
        return " " if match[1] else f" {match[2]} "

    # Who asks in a sentence speaks of flags: "why does grep -recursive fail?"
    words = segments(_EXCLUDED.sub(" ", text))
    sentence = _LEAST_OF_A_SENTENCE <= len(stop_words_of(words)) < len(words)

    def minus(match: re.Match[str]) -> str:
        if sentence or _SEEN.match(match[1]):
            return match[0]
        expression = phrase(match[1])
        if expression and len(excluded) < _MAX_PHRASES:
            excluded.append(expression)
        return " "

    rest = _QUOTED.sub(quoted, text)
    rest = _EXCLUDED.sub(minus, rest)
    return tuple(phrases), tuple(excluded), rest


def phrase(text: str) -> str:
    """Return the FTS5 expression of words that stand next to each other; "" when there is no word in ``text``.

    A run of a script without blanks is found by its pairs, one after the other, as the index holds them.
    """
    parts: list[str] = []
    spaced: list[str] = []
    for segment in segments(text):
        if is_unspaced(segment):
            parts.append(quote(" ".join(pairs(segment))) + ("*" if len(segment) == 1 else ""))
        else:
            spaced.append(segment)
    if spaced:
        parts.insert(0, _either(" ".join(spaced)))
    return f"({' AND '.join(parts)})" if parts else ""


def _either(words: str, after: str = "") -> str:
    """Return the FTS5 expression of words as they are written, or as the index has them beside that: without marks."""
    written = [word.lower()[:_MAX_WORD_CHARS] for word in words.split()]
    spellings = dict.fromkeys([" ".join(written)])
    if not all(map(is_folded, written)):
        spellings |= dict.fromkeys([folded(" ".join(written))])
    either = " OR ".join(quote(spelling) + after for spelling in spellings)
    return f"({either})" if len(spellings) > 1 else either


def _most_telling(text: str) -> tuple[tuple[Word, ...], bool]:
    """Return the words of a text in their order, and whether some were left out because there are too many.

    Stop words go first, then words that begin with a digit. The first words stay; of the others the longest do, since
    as a rule they are the rare ones.
    """
    runs = segments(_MOMENT.sub(" ", text) if ":" in text else text) or segments(text)
    distinct = _distinct_words(runs)
    frames = _FRAME.finditer(text.lower()) if _FRAMING & distinct.keys() else ()
    framing = {word for frame in frames for word in frame.groups() if word}
    nothing = stop_words_of(runs)
    stops = {*nothing, *framing}
    if stops.issuperset(distinct):  # "what did we decide": else nothing would be asked
        stops = set(nothing)
    if len(distinct) <= MAX_WORDS:
        return tuple(_word(key, segment, key in stops) for key, segment in distinct.items()), False
    telling = [key for key in distinct if key not in stops] or list(distinct)
    asked = frozenset(telling[:_ASKED_FIRST])
    order = sorted(telling, key=lambda key: (key[0].isdigit(), key not in asked, -len(key)))
    chosen = frozenset(order[:MAX_WORDS])
    words = tuple(_word(key, segment, key in stops) for key, segment in distinct.items() if key in chosen)
    return words, len(telling) > MAX_WORDS


def _distinct_words(runs: Sequence[str]) -> dict[str, str]:
    """Return each word once: the form to look up, and the form that was typed (``userid``, ``userId``)."""
    found: dict[str, str] = {}
    for run in runs:
        # Of a script without blanks a whole question can be one run: its pairs are the words, as in the index.
        for segment in pairs(run) if is_unspaced(run) else (run,):
            found.setdefault(segment.lower()[:_MAX_WORD_CHARS], segment)
    return found


def _word(key: str, segment: str, stop: bool) -> Word:
    if is_unspaced(segment):
        return Word(key, _pair_expression(segment), stop=False)
    if beginning := (key if len(segment) > _MAX_WORD_CHARS else _beginning(key)):
        return Word(key, _either(beginning, "*"), stop, beginning=folded(beginning))
    return Word(key, _expression(segment[:_MAX_WORD_CHARS]), stop, forms(key))


def _beginning(word: str) -> str:
    """Return what other forms of a Cyrillic word begin with, "" for a short one: the index stems English alone.

    XQuAD in Russian: recall at 5 .943 by whole words, .982 so; with one letter less or more cut off .980.
    """
    if len(word) <= _LEAST_OF_A_WORD or word.isascii() or not _CYRILLIC.fullmatch(word):
        return ""
    return word[: max(_LEAST_OF_A_WORD, len(word) - (2 if len(word) > _LEAST_OF_A_WORD + 1 else 1))]


def _pair_expression(pair: str) -> str:
    return quote(pair) if len(pair) > 1 else quote(pair) + "*"  # one character: the pairs that begin with it


def _expression(segment: str) -> str:
    parts = [part for part in segment_terms(segment) if len(part) > 1 and not part.isdigit()]
    # `mlx5` is a name by itself; what stands beside a digit somewhere is not about it.
    if segment.islower() or len(parts) < 2:
        return _either(segment)
    return f"({_either(segment)} OR ({' AND '.join(quote(part) for part in parts)}))"
