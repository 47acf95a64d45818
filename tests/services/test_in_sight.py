"""A search of a small project beside large ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from engram_py import Engram
from engram_py.services import in_sight, retrieval
from engram_py.store import search as index
from tests.services.searching import fill, ids, kept


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many rows each question to the table was about, with pools that forty rows fill."""
    counts: list[int] = []
    passing = index.passing

    def counting(store: Any, rows: Sequence[int], sight: Any) -> set[int]:
        counts.append(len(rows))
        return passing(store, rows, sight)

    monkeypatch.setattr(index, "passing", counting)
    monkeypatch.setattr(in_sight, "_MANY", 10)
    monkeypatch.setattr(retrieval, "_FIRST_POOL", 8)
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


def test_only_its_own_rows_are_looked_at_and_what_is_for_everybody(app: Engram, asked: list[int]) -> None:
    mine = _beside_a_large_one(app)
    assert set(ids(app, "pump", project="small")) == set(mine)
    assert 2 in asked  # of forty-two
    assert max(asked) <= 8


def test_a_larger_project_is_asked_row_by_row(app: Engram, asked: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    mine = _beside_a_large_one(app)
    monkeypatch.setattr(in_sight, "_SMALL", 2)
    assert set(ids(app, "pump", project="small")) == set(mine)
    assert max(asked) == 42


def test_what_a_filter_takes_away_is_counted_among_its_own(app: Engram, asked: list[int]) -> None:
    _beside_a_large_one(app)
    found = app.searches.search("pump type:decision", project="small")
    assert found.silence is not None
    assert found.silence.filtered == 2
