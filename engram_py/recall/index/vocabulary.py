"""The words of the search index: how it writes a word, and which resemble it."""

from __future__ import annotations

import json
from collections.abc import Sequence

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

# What Porter's steps take off.
_ENDINGS = ("", "e", "es", "s", "ed", "ing", "ion", "al", "y")

# Names that begin with the same letters, in a memory of a million rows.
_MOST_READ = 20_000

# How the tokenizer writes a word never changes; asking it takes .05 ms.
_STEMS: dict[str, tuple[str, ...]] = {}
MOST_REMEMBERED = 4_096


def stems(store: Store, words: Sequence[str]) -> dict[str, tuple[str, ...]]:
    """For each word, the terms under which the index holds it; none for what is no word to it."""
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


def spelt(store: Store, terms: Sequence[str]) -> dict[str, str]:
    """A word for each term of the index that the index would hold as that term: ``database`` for ``databas``.

    Stemming a stem again may cut it once more, so a term is not always found by itself.
    """
    words = {term: [term + ending for ending in _ENDINGS] for term in terms}
    held = stems(store, [word for tried in words.values() for word in tried])
    return {term: next((word for word in tried if held[word] == (term,)), term) for term, tried in words.items()}


def resembling(store: Store, prefix: str, *, shortest: int, longest: int) -> list[tuple[str, int]]:
    """Terms that begin with ``prefix`` and have that many characters, each with its number of rows."""
    after = prefix[:-1] + chr(ord(prefix[-1]) + 1)
    rows = store.rows(RESEMBLING, first=prefix, after=after, shortest=shortest, longest=longest, limit=_MOST_READ)
    return [(row["term"], int(row["rows"])) for row in rows]
