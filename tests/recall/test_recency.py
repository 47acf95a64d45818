"""How new a row is, and the orders of an answer (shared/spec/seed-capabilities.md section 4, rows 22 to 25)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.wording import render
from engram_py.observations.values import Change
from engram_py.settings import Settings
from tests.memory import FakeClock
from tests.recall.searching import ids, kept


@pytest.fixture
def with_half_life(tmp_path: Path, clock: FakeClock) -> Iterator[Callable[[int], Engram]]:
    """Opens a memory whose user set the half-life."""
    with ExitStack() as stack:

        def opened(days: int) -> Engram:
            settings = Settings(tmp_path / f"{days}", clock=clock, recency_half_life_days=days)
            return stack.enter_context(Engram(settings=settings, directory=tmp_path, project="widgets"))

        yield opened


def recency(app: Engram, query: str = "alice acme") -> float:
    explain = app.search(query, explain=True).explain
    assert explain is not None
    return explain.hits[0].recency


@pytest.mark.parametrize(("days", "left"), [(0, 1.0), (1, 0.977), (7, 0.851), (30, 0.5), (60, 0.25), (90, 0.125)])
def test_row_22_recency_is_half_after_thirty_days(app: Engram, clock: FakeClock, days: int, left: float) -> None:
    app.facts.add("alice", "Alice joined Acme as CTO")
    clock.advance(days=days)
    assert recency(app) == pytest.approx(left, abs=0.005)
    said = render.text(app.search("alice acme", explain=True), now=clock(), door="python")
    assert f"{left:.3f}" in said
    assert "recency" in said


def test_row_23_the_half_life_is_a_setting(with_half_life: Callable[[int], Engram], clock: FakeClock) -> None:
    app = with_half_life(10)
    app.facts.add("alice", "Alice joined Acme as CTO")
    clock.advance(days=10)
    assert recency(app) == pytest.approx(0.5, abs=0.005)
    explain = app.search("alice acme", explain=True, as_of=clock().date().isoformat()).explain
    assert explain is not None
    assert explain.hits[0].recency == pytest.approx(0.5, abs=0.005)


@pytest.mark.parametrize("moved", ["back", "unreadable", "pinned"])
def test_row_24_a_date_to_come_or_of_no_calendar_and_a_pinned_row_are_new(
    app: Engram, clock: FakeClock, moved: str
) -> None:
    saved = app.facts.add("alice", "Alice joined Acme as CTO")
    clock.advance(days=-5 if moved == "back" else 50)
    if moved == "unreadable":
        with app.store.transaction():
            app.store.execute("update observations set updated_at = 'yesterday-ish' where id = :id", id=saved.id)
    if moved == "pinned":
        app.observations.pin(saved.id)
    assert recency(app) == 1.0


def three(app: Engram, clock: FakeClock) -> list[int]:
    """Three rows about one thing on three days, the oldest of which answers best."""
    texts = ("Gateway timeout: the gateway times out after 30 s.", "The gateway was moved.", "A gateway was seen.")
    made = []
    for text, days in zip(texts, (5, 4, 0), strict=True):
        made.append(kept(app, text, title=text[:20]))
        clock.advance(days=days)
    return made


def test_row_25_the_newest_first_when_asked_for(app: Engram, clock: FakeClock, others: None) -> None:
    made = three(app, clock)
    assert ids(app, "gateway", sort="recency") == made[::-1]
    assert ids(app, "gateway", sort="relevance") == ids(app, "gateway") != made[::-1]


def test_the_most_salient_first_when_asked_for(app: Engram, clock: FakeClock, others: None) -> None:
    made = three(app, clock)
    for row, weight in zip(made, (0.2, 0.9, 0.6), strict=True):
        app.observations.update(row, Change(salience=weight))
    assert ids(app, "gateway", sort="salience") == [made[1], made[2], made[0]]


@pytest.mark.parametrize("sort", ["recency", "salience"])
def test_another_order_shows_the_same_rows_of_the_same_evidence(
    app: Engram, clock: FakeClock, others: None, sort: str
) -> None:
    for number in range(30):
        clock.advance(hours=1)
        kept(app, f"The gateway has part {number}{number}.", title=f"Part {number}", type="note")
    three(app, clock)
    best, other = (app.search("gateway timeout", limit=5, explain=True, sort=one) for one in (None, sort))
    assert {hit.id for hit in other.results} == {hit.id for hit in best.results}
    assert (other.unsure, other.silence) == (best.unsure, best.silence)
    assert best.explain is not None
    assert other.explain is not None
    assert {one.id: one.score for one in other.explain.hits} == {one.id: one.score for one in best.explain.hits}
    assert [one.id for one in other.explain.hits] == [hit.id for hit in other.results]
    assert app.search("zebra", sort=sort).results == ()


def test_an_order_that_does_not_exist_is_refused_with_those_that_do(app: Engram) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        app.search("gateway", sort="alphabet")
    assert "relevance, recency, salience" in refused.value.hint


def test_the_answer_says_its_order(app: Engram, clock: FakeClock, others: None) -> None:
    three(app, clock)
    heads = [
        render.text(app.search("gateway", sort=one), now=clock(), door="python").splitlines()[0]
        for one in ("recency", "salience")
    ]
    assert "latest change first" in heads[0]
    assert "the most salient first" in heads[1]


def test_a_list_by_type_has_the_same_orders(app: Engram, clock: FakeClock) -> None:
    rows = [app.save(Draft(f"Rule {name}", name, "policy")).id for name in ("one", "two")]
    app.observations.update(rows[0], Change(salience=0.9))
    assert [hit.id for hit in app.search("", type="policy", sort="salience").results] == rows
