"""What is read from the full-text index: where words stand, how long rows are, and how many hold a word."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from engram_py.database.store import Store
from engram_py.recall import index, terms

COLUMNS = tuple(index.COLUMN_WEIGHTS)


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
    assert index.mentions(store, "alder", at_most=8) == (texts, {1: 1, 2**40: 1})
    assert index.mentions(store, "cedar", at_most=8) == ({}, {})
    assert index.mentions(store, "alder", at_most=7) is None


def test_of_a_common_word_only_its_rows_are_told(store: Store) -> None:
    for row, column in enumerate(COLUMNS, start=1):
        _index(store, row, **{column: "alder, alder"})
    _index(store, 2**40, title="alder birch", content="alder")
    _index(store, 7, content="birch")
    every, both = [1, 2, 3, 4, 5, 2**40], '("alder" OR "birch")'
    assert index.matching_rows(store, '"alder"') == every
    assert index.matching_rows(store, both) == [1, 2, 3, 4, 5, 7, 2**40]
    assert index.matching_rows(store, '("alder") AND ("birch")') == [2**40]
    assert index.matching_rows(store, '"cedar"') == []


def test_lengths_are_counted_in_words_however_long(store: Store) -> None:
    for row, words in enumerate((1, 127, 128, 16_383, 16_384), start=1):
        _index(store, row, title="birch", content="alder " * words, terms="al der")
    lengths = index.lengths(store, [1, 2, 3, 4, 5, 6])
    assert lengths == {1: (2, 1), 2: (128, 1), 3: (129, 1), 4: (16_384, 1), 5: (16_385, 1)}
    assert index.totals(store) == (5, (2 + 128 + 129 + 16_384 + 16_385) / 5)


def test_an_index_without_rows_has_no_totals(store: Store) -> None:
    assert index.totals(store) == (0, 1.0)
    assert index.lengths(store, [1]) == {}


# --- in how many rows a word stands ------------------------------------------------------------------------------

ROWS = 4_000


@pytest.fixture
def counted(store: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[int]], int]:
    """Counts a word that stands in the given ones of 4,000 rows, with a fifth of them looked at."""
    monkeypatch.setattr(terms, "LARGE", ROWS)
    monkeypatch.setattr(terms, "_SAMPLED", 5)

    def count(rows: Iterable[int]) -> int:
        with store.transaction():
            for row in rows:
                store.insert("observations_fts", {"rowid": row, "content": "alder alder"})
        return terms.rows_with(store, ["alder", "birch"], {"alder": '"alder"', "birch": '"birch"'}, size=ROWS)["alder"]

    return count


def test_what_stands_everywhere_is_estimated(counted: Callable[[Iterable[int]], int]) -> None:
    found = counted(range(1, ROWS, 3))
    assert found == pytest.approx(ROWS / 3, rel=0.02)
    assert found % 5 == 0 != len(range(1, ROWS, 3)) % 5  # each row that was looked at stands for five


def test_an_estimate_is_of_the_rows_that_were_looked_at(counted: Callable[[Iterable[int]], int]) -> None:
    part = ROWS // 4
    assert counted(row for row in range(1, ROWS, 3) if (row % part) < part / 2) == pytest.approx(ROWS / 6, rel=0.05)


@pytest.mark.parametrize(
    "rows",
    [
        range(1, ROWS, 50),
        range(1, 1_000),
        range(3_000, ROWS),
        range(1, 100),
        [*range(400, 600), *range(2_400, 2_600)],
    ],
    ids=["rare", "of the first part", "of the last part", "of the first days", "of two seasons"],
)
def test_what_is_rare_or_of_one_season_is_counted(counted: Callable[[Iterable[int]], int], rows: Iterable[int]) -> None:
    assert counted(rows) == len(list(rows))


def test_a_smaller_memory_is_counted(counted: Callable[[Iterable[int]], int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "LARGE", ROWS + 1)
    assert counted(range(1, ROWS, 7)) == len(range(1, ROWS, 7))
