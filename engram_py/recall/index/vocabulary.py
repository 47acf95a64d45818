"""The words of the search index: how it writes a word, which resemble it, and in how many rows each stands."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from engram_py.database.store import Store

# The index's own tokenizer tells how it writes a word. Temporary tables live in memory, with the connection.
_TOKENIZER = (
    """
    create virtual table if not exists temp.asked_words
    using fts5(word, content = '', tokenize = 'porter unicode61 remove_diacritics 2')
    """,
    "create virtual table if not exists temp.asked_stems using fts5vocab('temp', 'asked_words', 'instance')",
)

_ASK = "insert into temp.asked_words (rowid, word) select key, value from json_each(:words)"

RESEMBLING = """
select term, doc as rows
from observations_vocab
where term >= :first and term < :after and length(term) between :shortest and :longest
limit :limit
"""

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

# Endings that Porter's steps take off.
_ENDINGS = ("", "e", "es", "s", "ed", "ing", "ion", "al", "y")
# Names that begin with the same letters, in a memory of a million rows.
_MOST_READ = 20_000
# How the tokenizer writes a word never changes; asking it takes .05 ms.
_STEMS: dict[str, tuple[str, ...]] = {}
MOST_REMEMBERED = 4_096
# The count of a common word is kept until the memory grew by this, a small one by so many rows; that of an
# expression, which takes longer to count, from fewer rows on.
_COMMON_ROWS, _MATCHED_ROWS = 500, 20
_GROWN, _GROWN_ROWS = 1.02, 20
# Counting `fix` among a million rows takes 14 ms; looking into four parts, together one row in 200, takes .6. Eighty
# rows of these stand for 16,000, and one in ten of them more or less moves the idf by .1.
LARGE = 200_000
_PARTS = 4
_SAMPLED = 200
_ENOUGH_ROWS = 80
# Three of the parts have at least this share each: else it is a word of one season, or of two.
_PARTS_WITH, _SOME = 3, 0.1


def stems(store: Store, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """Return the index terms of each word; none for what is no word to the index."""
    if len(_STEMS) > MOST_REMEMBERED:
        _STEMS.clear()
    unasked = list(dict.fromkeys(word for word in words if word not in _STEMS))
    if unasked:
        _STEMS.update(_tokenized(store, unasked))
    return {word: _STEMS[word] for word in words}


def _tokenized(store: Store, numbered: Sequence[str]) -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {word: [] for word in numbered}
    with store.connection() as connection:
        for statement in _TOKENIZER:
            connection.execute(statement)
        connection.execute("insert into temp.asked_words (asked_words) values ('delete-all')")
        connection.execute(_ASK, {"words": json.dumps(numbered)})
        for term, row in connection.execute('select term, doc from temp.asked_stems order by doc, "offset"'):
            found[numbered[row]].append(term)
    return {word: tuple(terms) for word, terms in found.items()}


def unstemmed(store: Store, terms: Sequence[str]) -> dict[str, str]:
    """Return for each index term a word that the index holds as that term: ``database`` for ``databas``.

    Stemming a stem again may cut it once more, so a term is not always found by itself.
    """
    words = {term: [term + ending for ending in _ENDINGS] for term in terms}
    held = stems(store, [word for tried in words.values() for word in tried])
    return {term: next((word for word in tried if held[word] == (term,)), term) for term, tried in words.items()}


def resembling(store: Store, prefix: str, *, shortest: int, longest: int) -> list[tuple[str, int]]:
    """Return the index terms of that length that begin with ``prefix``, each with its number of rows."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    return store.tuples(RESEMBLING, first=prefix, after=after, shortest=shortest, longest=longest, limit=_MOST_READ)


def rows_with(store: Store, terms: Sequence[str], expressions: Mapping[str, str], *, size: int) -> dict[str, int]:
    """Return in how many live rows each index term stands; ``size`` is how many rows there are.

    Where that is 200,000 or more, the count of a very common term is estimated, if ``expressions`` has one that finds
    the term alone.
    """
    counts = _remembered(store, terms, size=size)
    unknown = [term for term in terms if term not in counts]
    if not unknown:
        return counts
    if size >= LARGE:
        highest = max(size, int(store.value("select coalesce(max(id), 0) from observations")))
        estimates = {term: _estimated(store, expressions[term], highest) for term in unknown if term in expressions}
        counts |= {term: rows for term, rows in estimates.items() if rows}
    counts |= dict(store.tuples(ROWS_WITH, terms=json.dumps([term for term in unknown if term not in counts])))
    _remember(store, {term: counts[term] for term in unknown if counts[term] >= _COMMON_ROWS}, size=size)
    return counts


def matching(
    store: Store, expressions: Sequence[str], *, cap: int, size: int
) -> tuple[dict[str, int], dict[str, list[int]]]:
    """Return how many rows match each expression, counted up to ``cap``, and the rows of those that were not counted
    shortly before."""
    counts = _remembered(store, expressions, size=size)
    found = newest_matching(store, [one for one in expressions if one not in counts], cap=cap)
    new = {one: len(rows) for one, rows in found.items()}
    _remember(store, {one: rows for one, rows in new.items() if rows >= _MATCHED_ROWS}, size=size)
    return counts | new, found


def newest_matching(store: Store, expressions: Sequence[str], *, cap: int) -> dict[str, list[int]]:
    """Return the newest rows that match each expression, at most ``cap``, newest first."""
    if not expressions:
        return {}
    return {one: json.loads(rows) for one, rows in store.tuples(MATCHING, matches=json.dumps(expressions), cap=cap)}


def _remembered(store: Store, terms: Sequence[str], *, size: int) -> dict[str, int]:
    known = {term: store.common_words[term] for term in terms if term in store.common_words}
    return {term: rows for term, (rows, at) in known.items() if at <= size <= max(at * _GROWN, at + _GROWN_ROWS)}


def _remember(store: Store, counts: Mapping[str, int], *, size: int) -> None:
    if len(store.common_words) + len(counts) > MOST_REMEMBERED:
        store.common_words.clear()
    store.common_words.update({term: (rows, size) for term, rows in counts.items()})


def _estimated(store: Store, match: str, size: int) -> int:
    """Return an estimate, 0 where only counting tells: for few rows in the parts, or most of them in one part."""
    span = size // (_SAMPLED * _PARTS)
    starts = [size * part // _PARTS + (size // _PARTS - span) // 2 for part in range(_PARTS)]
    found = [rows for [rows] in store.tuples(IN_PARTS, match=match, span=span, starts=json.dumps(starts))]
    seasonal = sum(rows >= _SOME * sum(found) for rows in found) < _PARTS_WITH
    return 0 if seasonal or sum(found) < _ENOUGH_ROWS else min(size, sum(found) * _SAMPLED)
