"""In how many rows a word stands: counted, or in a large memory, where to walk its rows takes long, estimated."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from engram_py.database.store import Store
from engram_py.recall.index.table import highest_id
from engram_py.recall.index.vocabulary import MOST_REMEMBERED

ROWS_WITH = """
select value as term, coalesce((select doc from observations_vocab where term = value), 0) as rows
from json_each(:terms)
"""

MATCHING = """
select value, (
    select json_group_array(rowid)
    from (select rowid from observations_fts where observations_fts match value order by rowid desc limit :cap)
)
from json_each(:matches)
"""

IN_PARTS = """
select (
    select count(*) from observations_fts
    where observations_fts match :match and rowid > value and rowid <= value + :span
)
from json_each(:starts)
"""

# What stands in many rows is counted again when the memory grew by this, a small one by so many rows; and what an
# expression matches, which takes longer, already in these.
_COMMON_ROWS, _MATCHED_ROWS = 500, 20
_GROWN, _GROWN_ROWS = 1.02, 20
# To count `fix` among a million rows takes 14 ms; to look into four parts, together one row in 200, takes .6. Eighty
# rows of these stand for 16,000, and one in ten of them more or less moves the idf by .1.
LARGE = 200_000
_PARTS = 4
_SAMPLED = 200
_ENOUGH_ROWS = 80
# Of these three parts have some each: else it is a word of one season, or of two.
_PARTS_WITH, _SOME = 3, 0.1


def rows_with(store: Store, terms: Sequence[str], spelt: Mapping[str, str], *, size: int) -> dict[str, int]:
    """In how many live rows each term of the index stands; ``size`` is how many rows there are.

    Where that is 200,000 or more, what stands in many thousands is estimated, if ``spelt`` has an expression that
    finds the term alone.
    """
    counts = _remembered(store, terms, size=size)
    unknown = [term for term in terms if term not in counts]
    if not unknown:
        return counts
    if size >= LARGE:
        highest = max(size, highest_id(store))
        estimates = {term: _estimated(store, spelt[term], highest) for term in unknown if term in spelt}
        counts |= {term: rows for term, rows in estimates.items() if rows}
    for row in store.rows(ROWS_WITH, terms=json.dumps([term for term in unknown if term not in counts])):
        counts[row["term"]] = int(row["rows"])
    _remember(store, {term: counts[term] for term in unknown if counts[term] >= _COMMON_ROWS}, size=size)
    return counts


def matching(
    store: Store, expressions: Sequence[str], *, cap: int, size: int
) -> tuple[dict[str, int], dict[str, list[int]]]:
    """How many rows match each expression, counted up to ``cap``; of what many match, as it was a little ago. And the
    rows, newest first, of those that were not remembered."""
    counts = _remembered(store, expressions, size=size)
    found = newest_matching(store, [one for one in expressions if one not in counts], cap=cap)
    new = {one: len(rows) for one, rows in found.items()}
    _remember(store, {one: rows for one, rows in new.items() if rows >= _MATCHED_ROWS}, size=size)
    return counts | new, found


def newest_matching(store: Store, expressions: Sequence[str], *, cap: int) -> dict[str, list[int]]:
    """The newest rows that match each expression, at most ``cap``, newest first."""
    if not expressions:
        return {}
    return {one: json.loads(rows) for one, rows in store.tuples(MATCHING, matches=json.dumps(expressions), cap=cap)}


def _remembered(store: Store, terms: Sequence[str], *, size: int) -> dict[str, int]:
    known = {term: store.common_words[term] for term in terms if term in store.common_words}
    return {term: rows for term, (rows, at) in known.items() if at <= size <= max(at * _GROWN, at + _GROWN_ROWS)}


def _remember(store: Store, counts: Mapping[str, int], *, size: int) -> None:
    """What walks all rows of a common term takes long, and is not done again before there are more, or fewer."""
    if len(store.common_words) + len(counts) > MOST_REMEMBERED:
        store.common_words.clear()
    store.common_words.update({term: (rows, size) for term, rows in counts.items()})


def _estimated(store: Store, match: str, size: int) -> int:
    """0 where only counting tells: what stands in few of the rows that are looked at, or mostly in one part."""
    span = size // (_SAMPLED * _PARTS)
    starts = [size * part // _PARTS + (size // _PARTS - span) // 2 for part in range(_PARTS)]
    found = [int(row[0]) for row in store.rows(IN_PARTS, match=match, span=span, starts=json.dumps(starts))]
    seasonal = sum(rows >= _SOME * sum(found) for rows in found) < _PARTS_WITH
    return 0 if seasonal or sum(found) < _ENOUGH_ROWS else min(size, sum(found) * _SAMPLED)
