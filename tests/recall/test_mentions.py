"""What is read from the full-text index: where words stand, and how long rows are."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py.database.store import Store
from engram_py.recall.index import mentions

COLUMNS = tuple(mentions.COLUMN_WEIGHTS)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return Store.open(tmp_path)


def _index(store: Store, row: int, **columns: str) -> None:
    with store.transaction():
        store.insert("observations_fts", {"rowid": row} | dict.fromkeys(COLUMNS, "") | columns)


def test_a_mention_weighs_what_its_column_does(store: Store) -> None:
    for row, column in enumerate(COLUMNS, start=1):
        _index(store, row, **{column: "alder"})
    _index(store, 2**40, title="alder birch", content="alder, alder: birch")
    texts = {1: 0.0, 2: 2.0, 3: 2.0, 4: 1.0, 5: 0.5, 2**40: 2.0}
    assert mentions.mentions(store, "alder", at_most=8) == (texts, {1: 1, 2**40: 1})
    assert mentions.mentions(store, "cedar", at_most=8) == ({}, {})
    assert mentions.mentions(store, "alder", at_most=7) is None


def test_of_a_common_word_only_its_rows_and_titles_are_told(store: Store) -> None:
    for row, column in enumerate(COLUMNS, start=1):
        _index(store, row, **{column: "alder, alder"})
    _index(store, 2**40, title="alder birch", content="alder")
    _index(store, 7, content="birch")
    assert mentions.once(store, '"alder"', title='"alder"') == ({1, 2, 3, 4, 5, 2**40}, {1, 2**40})
    both = '("alder" OR "birch")'
    assert mentions.once(store, both, title=both) == ({1, 2, 3, 4, 5, 7, 2**40}, {1, 2**40})
    assert mentions.once(store, '("alder") AND ("birch")', title='"alder"') == ({2**40}, {1, 2**40})
    assert mentions.once(store, '"cedar"', title='"cedar"') == (set(), set())


def test_lengths_are_counted_in_words_however_long(store: Store) -> None:
    for row, words in enumerate((1, 127, 128, 16_383, 16_384), start=1):
        _index(store, row, title="birch", content="alder " * words, terms="al der")
    lengths = mentions.lengths(store, [1, 2, 3, 4, 5, 6])
    assert lengths == {1: (2, 1), 2: (128, 1), 3: (129, 1), 4: (16_384, 1), 5: (16_385, 1)}
    assert mentions.totals(store) == (5, (2 + 128 + 129 + 16_384 + 16_385) / 5)


def test_an_index_without_rows_has_no_totals(store: Store) -> None:
    assert mentions.totals(store) == (0, 1.0)
    assert mentions.lengths(store, [1]) == {}
