"""What a prompt names: files, topics and entities that memories have."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex
from engram_py.base.text.words import STOP_WORDS
from engram_py.memory.observations.values import Observation
from engram_py.recall.query import parse_query

# Of a text so many words are read, and a name has no more than so many.
_MOST_WORDS, _LONGEST_NAME = 80, 5
_SHORTEST_WORD = 3
_PART = regex(r"[^\W_]+")


@dataclass(frozen=True, slots=True)
class NamedEntities:
    """The summaries of the entities that a text names, those of which it has a word, and the slugs it may mean."""

    named: tuple[Observation, ...]
    near: tuple[Observation, ...]
    slugs: frozenset[str]


def named_in(text: str, summaries: Sequence[Observation]) -> NamedEntities:
    """Find the entities of a text among ``summaries``. A word that names one entity stands for no other."""
    said = slugs_in(text)
    names = {row.id: _names(row) for row in summaries}
    named = [row for row in summaries if not said.isdisjoint(names[row.id])]
    told = {part for row in named for name in said & names[row.id] for part in name.split("-")}
    words = [word.text for word in parse_query(text).content_words if len(word.text) >= _SHORTEST_WORD]
    words = [word for word in words if not told.issuperset(_PART.findall(word))]
    near = [row for row in summaries if row not in named and any(word in _name(row) for word in words)]
    return NamedEntities(tuple(named), tuple(near), said.union(*(names[row.id] for row in named)))


def slugs_in(text: str) -> frozenset[str]:
    """Return the runs of words of a text as slugs, without those that are nothing but small words."""
    words = _parts(text)[:_MOST_WORDS]
    runs = (
        words[start : start + length]
        for start in range(len(words))
        for length in range(1, min(_LONGEST_NAME, len(words) - start) + 1)
    )
    return frozenset("-".join(run) for run in runs if not STOP_WORDS.issuperset(run))


def _names(row: Observation) -> frozenset[str]:
    texts = (_topic(row), row.title, *row.aliases.split(";"))
    return frozenset("-".join(_parts(text)) for text in texts if _parts(text))


def _parts(text: str) -> list[str]:
    return _PART.findall(unicodedata.normalize("NFC", text).lower())


def _name(row: Observation) -> str:
    return f"{_topic(row)} {row.title} {row.aliases}".lower()


def _topic(row: Observation) -> str:
    return (row.topic_key or "").rpartition("/")[2]
