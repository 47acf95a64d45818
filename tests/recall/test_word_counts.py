"""In how many rows a word stands."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from engram_py.database.store import Store
from engram_py.recall.index import word_counts

ROWS = 4_000


@pytest.fixture
def counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[int]], int]:
    """Counts a word that stands in the given ones of 4,000 rows, with a fifth of them looked at."""
    monkeypatch.setattr(word_counts, "LARGE", ROWS)
    monkeypatch.setattr(word_counts, "_SAMPLED", 5)
    store = Store.open(tmp_path)

    def count(rows: Iterable[int]) -> int:
        with store.transaction():
            for row in rows:
                store.insert("observations_fts", {"rowid": row, "content": "alder alder"})
        return word_counts.rows_with(store, ["alder", "birch"], {"alder": '"alder"', "birch": '"birch"'}, size=ROWS)[
            "alder"
        ]

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
    monkeypatch.setattr(word_counts, "LARGE", ROWS + 1)
    assert counted(range(1, ROWS, 7)) == len(range(1, ROWS, 7))
