"""Mentions and counts read from the full-text index, and searches of a small project beside large ones."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.database.store import Store
from engram_py.memory.observations import visible
from engram_py.recall import index, retrieval, scope_filter, score, terms
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score import Term
from engram_py.recall.terms import ProjectRows
from tests.recall.searching import fill, ids, kept, silence

COLUMNS = tuple(index.COLUMN_WEIGHTS)


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[Store]:
    with contextlib.closing(Store.open(tmp_path)) as store:
        yield store


def _index(store: Store, row: int, **columns: str) -> None:
    with store.transaction():
        store.insert("observations_fts", {"rowid": row} | dict.fromkeys(COLUMNS, "") | columns)


def test_a_mention_weighs_what_its_column_does(filled: Store) -> None:
    for row, column in enumerate(COLUMNS, start=1):
        _index(filled, row, **{column: "alder"})
    _index(filled, 2**40, title="alder birch", content="alder, alder: birch")
    texts = {1: 0.0, 2: 2.0, 3: 2.0, 4: 1.0, 5: 0.5, 2**40: 2.0}
    assert index.mentions(filled, "alder", at_most=8) == (texts, {1: 1, 2**40: 1})
    assert index.mentions(filled, "cedar", at_most=8) == ({}, {})
    assert index.mentions(filled, "alder", at_most=7) is None


def test_of_a_common_word_only_its_rows_are_told(filled: Store) -> None:
    for row, column in enumerate(COLUMNS, start=1):
        _index(filled, row, **{column: "alder, alder"})
    _index(filled, 2**40, title="alder birch", content="alder")
    _index(filled, 7, content="birch")
    every, both = [1, 2, 3, 4, 5, 2**40], '("alder" OR "birch")'
    assert index.matching_rows(filled, '"alder"') == every
    assert index.matching_rows(filled, both) == [1, 2, 3, 4, 5, 7, 2**40]
    assert index.matching_rows(filled, '("alder") AND ("birch")') == [2**40]
    assert index.matching_rows(filled, '"cedar"') == []


def test_lengths_are_counted_in_words_however_long(filled: Store) -> None:
    assert (index.totals(filled), index.lengths(filled, [1])) == (index.Totals(0, 1.0), {})
    for row, words in enumerate((1, 127, 128, 16_383, 16_384), start=1):
        _index(filled, row, title="birch", content="alder " * words, terms="al der")
    lengths = index.lengths(filled, [1, 2, 3, 4, 5, 6])
    assert lengths == {row: index.Length(words, 1) for row, words in enumerate((2, 128, 129, 16_384, 16_385), start=1)}
    assert index.totals(filled) == index.Totals(5, (2 + 128 + 129 + 16_384 + 16_385) / 5)


# --- in how many rows a word stands ------------------------------------------------------------------------------

ROWS = 4_000


@pytest.fixture
def counted(filled: Store, monkeypatch: pytest.MonkeyPatch) -> Callable[[Iterable[int]], int]:
    """Counts a word that stands in the given ones of 4,000 rows, with a fifth of them looked at."""
    monkeypatch.setattr(terms, "LARGE", ROWS)
    monkeypatch.setattr(terms, "_SAMPLED", 5)

    def count(rows: Iterable[int]) -> int:
        with filled.transaction():
            for row in rows:
                filled.insert("observations_fts", {"rowid": row, "content": "alder alder"})
        return terms.rows_with(filled, ["alder", "birch"], {"alder": '"alder"', "birch": '"birch"'}, size=ROWS)["alder"]

    return count


def test_what_stands_everywhere_is_estimated(counted: Callable[[Iterable[int]], int]) -> None:
    found = counted(range(1, ROWS, 3))
    assert found == pytest.approx(ROWS / 3, rel=0.02)
    assert found % 5 == 0 != len(range(1, ROWS, 3)) % 5  # each row that was looked at stands for five


def test_an_estimate_is_of_the_rows_that_were_looked_at(counted: Callable[[Iterable[int]], int]) -> None:
    part = ROWS // 4
    assert counted(row for row in range(1, ROWS, 3) if (row % part) < part / 2) == pytest.approx(ROWS / 6, rel=0.05)


@pytest.mark.parametrize("rows", [
    range(1, ROWS, 50), range(1, 1_000), range(3_000, ROWS), range(1, 100), [*range(400, 600), *range(2_400, 2_600)],
], ids=["rare", "of the first part", "of the last part", "of the first days", "of two seasons"])  # fmt: skip
def test_what_is_rare_or_of_one_season_is_counted(counted: Callable[[Iterable[int]], int], rows: Iterable[int]) -> None:
    assert counted(rows) == len(list(rows))


def test_a_smaller_memory_is_counted(counted: Callable[[Iterable[int]], int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(terms, "LARGE", ROWS + 1)
    assert counted(range(1, ROWS, 7)) == len(range(1, ROWS, 7))


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each question to the table was about, with pools that forty rows fill."""
    counts: list[int] = []
    passing = index.passing

    def counting(store: Any, rows: Sequence[int], filters: Any) -> set[int]:
        counts.append(len(rows))
        return passing(store, rows, filters)

    monkeypatch.setattr(index, "passing", counting)
    monkeypatch.setattr(scope_filter, "_MANY", 10)
    monkeypatch.setattr(retrieval, "_POOL", 8)
    return counts


def _beside_a_large_one(app: Engram) -> list[int]:
    fill(app)
    mine = [
        kept(app, "The pump leaks, and leaks.", project="small"),
        kept(app, "Every pump leaks.", project="large", scope="global"),
    ]
    for number in range(40):
        kept(app, f"Pump {number}.", title="Pump", project="large")
    return mine


def test_only_its_own_rows_are_looked_up_and_what_is_for_everybody(
    app: Engram, asked: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = _beside_a_large_one(app)
    pools: list[set[int]] = []

    def best_of(own: Mapping[int, float], count: int) -> list[int]:
        pools.append(set(own))
        return score.best_of(own, count)

    monkeypatch.setattr(retrieval, "best_of", best_of)

    assert set(ids(app, "pump", project="small")) == set(mine)

    assert pools[0] == set(mine)  # of forty-two
    assert max(asked, default=0) <= 2


def test_a_larger_project_is_asked_row_by_row(app: Engram, asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    mine = _beside_a_large_one(app)
    monkeypatch.setattr(scope_filter, "SMALL", 2)
    assert set(ids(app, "pump", project="small")) == set(mine)
    assert max(asked) == 42


def test_what_a_filter_takes_away_is_counted_among_its_own(app: Engram, asked: list[int]) -> None:
    _beside_a_large_one(app)
    assert silence(app, "pump type:decision", project="small").filtered == 2


def _words_of_everybody(app: Engram) -> int:
    """Pump and leak are in every memory of the large project; one of the small one, older than all of these, too."""
    fill(app)
    mine = kept(app, "The pump of the ferry leaks.", project="small")
    for number in range(30):
        kept(app, f"Pump {number} leaks.", project="large")
    return mine


@pytest.mark.parametrize("query", ["which pump leaks", "pumpp leakks"], ids=["spelt", "misspelt"])
def test_words_that_are_everywhere_else_find_what_a_small_project_says(
    app: Engram, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    mine = _words_of_everybody(app)
    monkeypatch.setattr(terms, "ROW_BUDGET", 5)
    monkeypatch.setattr(terms, "CANDIDATES", 5)
    assert ids(app, query, project="small") == [mine]


@pytest.mark.parametrize("query", ["which pump leaks", "pump leaks barn"], ids=["common", "beside-a-word-of-others"])
def test_where_even_walking_is_too_long_the_newest_of_the_small_project_are_candidates(
    app: Engram, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    mine = _words_of_everybody(app)
    kept(app, "Another pump.", project="small")  # behind the others: all of them lie between
    kept(app, "The barn leaks.", project="large")
    monkeypatch.setattr(terms, "WALKED_ROWS", 5)
    monkeypatch.setattr(terms, "CANDIDATES", 5)
    assert ids(app, query, project="small")[0] == mine


def test_where_every_word_is_common_a_row_with_all_of_them_comes_before_newer_ones_with_one(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = kept(app, "The pump of the ferry leaks.", project="large")
    for number in range(70):
        kept(app, f"Pump {number} works.", project="large")
        kept(app, f"Barn {number} leaks.", project="large")
    monkeypatch.setattr(terms, "ROW_BUDGET", 5)
    assert ids(app, "pump leaks", project="large")[0] == mine


def test_a_project_with_half_of_the_memory_is_asked_like_all_of_it(app: Engram) -> None:
    _words_of_everybody(app)
    scopes = ScopeFilter.of_projects(("small",)), ScopeFilter.of_projects(("large",))
    small, large = (scope_filter.VisibleRows(app.store, one).project_rows(41) for one in scopes)
    assert (len(small.rows or ()), large.rows) == (1, None)


def test_only_what_lies_between_the_first_and_the_last_of_the_rows_is_walked() -> None:
    words = [Term(text, text, 1.0, rows) for text, rows in (("rare", 10), ("known", 1_000), ("common", 30_000))]
    assert ProjectRows(frozenset({5, 900}), 100_000).affordable(words) == 3
    assert ProjectRows(frozenset({5, 90_000}), 100_000).affordable(words) == 2
    assert ProjectRows().affordable(words) == 2


def test_the_rows_of_a_project_are_read_again_only_after_a_write(app: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    mine = _beside_a_large_one(app)
    reads: list[int] = []

    read = visible.live_ids

    def live_ids(store: Store, projects: Sequence[str], *, cap: int) -> frozenset[int] | None:
        reads.append(cap)
        return read(store, projects, cap=cap)

    monkeypatch.setattr(visible, "live_ids", live_ids)
    for _ in range(3):
        ids(app, "pump", project="small")
    assert len(reads) == 1
    new = kept(app, "A pump again.", project="small")
    assert set(ids(app, "pump", project="small")) == {*mine, new}
    assert len(reads) == 2


class _Undone(Exception):
    """Takes back what was saved."""


def test_what_is_rolled_back_is_not_remembered(app: Engram) -> None:
    mine = _beside_a_large_one(app)
    assert set(ids(app, "pump", project="small")) == set(mine)
    with contextlib.suppress(_Undone), app.store.transaction():
        new = kept(app, "A pump that never was.", project="small")
        assert set(ids(app, "pump", project="small")) == {*mine, new}
        raise _Undone
    assert set(ids(app, "pump", project="small")) == set(mine)


def test_only_a_few_projects_are_known_by_heart(app: Engram) -> None:
    _beside_a_large_one(app)
    for number in range(30):
        ids(app, "pump", project=f"project-{number}")
    assert len(app.store.visible[1]) <= 8
