"""What lifts a row, and what lets it sink."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from engram_py.ledger.citations import citation_factor
from engram_py.observations.values import Observation
from engram_py.recall.hits import Signals, factors, recency
from engram_py.times import to_text

NOW = datetime(2026, 3, 31, tzinfo=UTC)
OLD = to_text(NOW - timedelta(days=4000))


def observation(**fields: Any) -> Observation:
    row: dict[str, Any] = dict.fromkeys(Observation.__dataclass_fields__)
    row |= {"pinned": False, "salience": 0.5, "access_count": 0, "lifecycle": "active", "updated_at": OLD}
    return Observation(**(row | fields))


def factors_of(row: Observation, signals: Signals | None = None) -> Mapping[str, float]:
    return factors(row, NOW, signals or Signals(), recency(row, NOW))


def test_a_row_of_which_nothing_is_known_keeps_its_relevance() -> None:
    assert factors_of(observation()) == {}


@pytest.mark.parametrize(
    ("name", "fields"),
    [
        pytest.param("recency", {"updated_at": to_text(NOW)}, id="newer"),
        pytest.param("pinned", {"pinned": True}, id="pinned"),
        pytest.param("use", {"access_count": 3}, id="used"),
        pytest.param("salience", {"salience": 0.9}, id="salient"),
    ],
)
def test_what_lifts_a_row_is_named_and_small(name: str, fields: dict[str, Any]) -> None:
    found = factors_of(observation(**fields))
    assert 1 < found[name] <= 1.1


@pytest.mark.parametrize(
    ("name", "fields", "signals"),
    [
        pytest.param("expired", {"expires_at": OLD}, Signals(), id="expired"),
        pytest.param("overdue", {"review_after": OLD}, Signals(), id="overdue"),
        pytest.param("branch", {}, Signals(elsewhere=True), id="on-another-branch"),
        pytest.param("salience", {"salience": 0.1}, Signals(), id="unimportant"),
    ],
)
def test_what_lets_a_row_sink_is_named(name: str, fields: dict[str, Any], signals: Signals) -> None:
    found = factors_of(observation(**fields), signals)
    assert list(found) == [name]
    assert 0 < found[name] < 1


@pytest.mark.parametrize("time", [to_text(NOW + timedelta(days=1)), None, "", "garbage"])
def test_a_time_to_come_or_none_lets_nothing_sink(time: str | None) -> None:
    assert factors_of(observation(review_after=time, expires_at=time)) == {}


@pytest.mark.parametrize("salience", [-5.0, 7.0])
def test_salience_is_held_between_none_and_all(salience: float) -> None:
    [factor] = factors_of(observation(salience=salience)).values()
    assert factor in (0.94, 1.06)


def test_what_was_shown_in_vain_sinks_although_nobody_cited_anything() -> None:
    assert factors_of(observation(), Signals(injected=20)) == {"cited": round(citation_factor(20, 0), 4)}
    assert citation_factor(20, 0) < 1
