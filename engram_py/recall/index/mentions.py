"""The rows in which a term of the full-text index stands, with counts: a third of the cost of FTS5's bm25()."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Mapping
from typing import NamedTuple, cast

from engram_py.database.errors import IndexDamagedError
from engram_py.database.store import Store

# The weight of a mention in each column of the index, in their order; in a title it depends on the length of the title
# (``score.bm25``).
COLUMN_WEIGHTS = {"title": 1.0, "topic_key": 2.0, "aliases": 2.0, "content": 1.0, "terms": 0.5}

# Nearly all mentions are in texts, which count one each: those are counted as rows alone.
_TEXT, _TITLE = "content", "title"
_OTHERS = tuple(column for column in COLUMN_WEIGHTS if column not in (_TEXT, _TITLE))
_BITS = 3
_NUMBERS = " ".join(f"when '{column}' then {number}" for number, column in enumerate(_OTHERS))
# Three values, each mention a number: a row each costs three times as much.
MENTIONS = f"""
select
    json_group_array(doc) filter (where col = '{_TEXT}') as texts,
    json_group_array(doc) filter (where col = '{_TITLE}') as titles,
    json_group_array((doc << {_BITS}) + case col {_NUMBERS} end)
        filter (where col not in ('{_TEXT}', '{_TITLE}')) as others
from (select doc, col from observations_mentions where term = :term limit :most)
"""

ROWS = """
select json_group_array(rowid) from observations_fts
where observations_fts match :match and rowid between :first and :last
"""

LENGTHS = """
select id, sz from observations_fts_docsize where id in (select value from json_each(:ids))
"""

# The record of the index's totals: how many rows, and how many tokens each column has (sqlite/ext/fts5/fts5_index.c).
TOTALS = "select block from observations_fts_data where id = 1"


class Span(NamedTuple):
    """The rows from one id to another, both included."""

    first: int
    last: int

    @classmethod
    def around(cls, rows: Collection[int]) -> Span:
        return cls(min(rows, default=0), max(rows, default=0))


EVERYWHERE = Span(0, (1 << 63) - 1)


class Totals(NamedTuple):
    """How many rows the index has, and how many words a row has on average."""

    rows: int
    average: float


class Length(NamedTuple):
    """How many words a row has, and its title; derived terms are not counted."""

    words: int
    title: int


def mentions(store: Store, term: str, *, at_most: int) -> tuple[Mapping[int, float], Mapping[int, float]] | None:
    """Return how often each row mentions a term of the index, by the weight of the columns, and how often its title
    does; None of more than ``at_most`` mentions. A row whose title alone has the term is in both, first with 0."""
    [row] = store.tuples(MENTIONS, term=term, most=at_most + 1)
    texts, titles, others = map(json.loads, row)
    if len(texts) + len(titles) + len(others) > at_most:
        return None
    weights = [COLUMN_WEIGHTS[column] for column in _OTHERS]
    titled = cast("dict[int, float]", Counter(titles))
    found = dict.fromkeys(titled, 0.0) | cast("dict[int, float]", Counter(texts))
    for mention in others:
        doc = mention >> _BITS
        found[doc] = found.get(doc, 0.0) + weights[mention & (1 << _BITS) - 1]
    return found, titled


def matching_rows(store: Store, match: str, *, span: Span = EVERYWHERE) -> list[int]:
    """Return the rows of ``span`` that match an expression, each once."""
    found: list[int] = json.loads(store.value(ROWS, match=match, first=span.first, last=span.last))
    return found


def lengths(store: Store, ids: Collection[int]) -> dict[int, Length]:
    """Return the length of each row."""
    if not ids:
        return {}
    found = {row: _varints(sizes) for row, sizes in store.tuples(LENGTHS, ids=json.dumps(list(ids)))}
    return {row: Length(sum(sizes[:-1]), sizes[0]) for row, sizes in found.items() if sizes}


def totals(store: Store) -> Totals:
    """Return the figures of the whole index that BM25 needs."""
    found = store.value(TOTALS)
    if found is None:
        raise IndexDamagedError(str(store.path), "it does not say how many rows it has")
    rows, *tokens = _varints(found) or [0]
    return Totals(rows, max(1, sum(tokens[:-1])) / max(1, rows))


def _varints(blob: bytes) -> list[int]:
    """Read SQLite's numbers of seven bits a byte, the highest first (sqlite.org/fileformat2.html, 1.6)."""
    if blob.isascii():  # a byte each
        return list(blob)
    numbers = []
    number = 0
    for byte in blob:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers
