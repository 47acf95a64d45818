"""Which observations a session was shown unasked, and what it cited."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Engram
from engram_py.ledger import citations
from engram_py.ledger.citations import citation_factor
from engram_py.sessions.values import Tally
from tests.memory import draft, rows_of


@pytest.fixture
def ids(app: Engram) -> list[int]:
    for session in ("s1", "s2", "s3"):
        app.sessions.start(session, project="widgets")
    return [app.save(draft(f"Text {number} of several", title=f"Number {number}")).id for number in range(4)]


def test_a_tally_counts_sessions_and_not_how_often(app: Engram, ids: list[int]) -> None:
    one, two, three, none = ids
    for session in ("s1", "s2"):
        app.citations.inject(session, {one: 10, two: 10}, "session")
        app.citations.inject(session, {one: 10}, "prompt")
    app.citations.cite("s1", [one, one, three])
    app.citations.cite("s2", [one])

    assert app.citations.tallies(ids) == {one: Tally(2, 2), two: Tally(2, 0), three: Tally(0, 1)}
    assert none not in app.citations.tallies(ids)


def test_what_names_no_observation_is_no_citation(app: Engram, ids: list[int]) -> None:
    assert app.citations.cite("s1", [ids[0], 999, 0, 2**63 - 1]) == 1


def test_what_is_shown_to_a_session_nobody_started_is_not_recorded(app: Engram, ids: list[int]) -> None:
    app.citations.inject("s9", {ids[0]: 10}, "session")
    assert rows_of(app, "injections") == 0


def test_a_citation_knows_whether_it_was_injected_before(app: Engram, ids: list[int]) -> None:
    app.citations.cite("s1", [ids[0]])
    assert app.store.value("select injected from citations") == 0
    app.citations.inject("s1", {ids[0]: 10}, "prompt")
    app.citations.cite("s1", [ids[0]])
    assert app.store.value("select injected from citations") == 1


def test_a_new_window_forgets_what_is_visible_and_not_that_it_was_shown(app: Engram, ids: list[int]) -> None:
    app.citations.inject("s1", {ids[0]: 10}, "prompt")
    assert app.citations.visible("s1", "prompt") == {ids[0]}
    app.citations.new_window("s1")
    assert app.citations.visible("s1", "prompt") == set()
    assert app.citations.tallies(ids) == {ids[0]: Tally(1, 0)}


def test_what_it_took_adds_up(app: Engram, ids: list[int]) -> None:
    app.citations.inject("s1", {ids[0]: 10}, "prompt")
    app.citations.inject("s1", {ids[0]: 15}, "prompt")
    assert [tuple(row) for row in app.store.rows("select times, bytes from injections")] == [(2, 25)]


def test_both_tables_are_bounded(app: Engram, ids: list[int], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(citations, "MOST_KEPT", 2)
    for row in ids:
        app.citations.inject("s1", {row: 10}, "prompt")
        app.citations.cite("s1", [row])

    assert rows_of(app, "injections") == rows_of(app, "citations") == 2
    assert set(app.citations.tallies(ids)) == set(ids[2:])


def test_what_is_destroyed_takes_its_counts_along(app: Engram, ids: list[int]) -> None:
    app.citations.inject("s1", {ids[0]: 10}, "prompt")
    app.citations.cite("s1", [ids[0]])
    app.observations.delete(ids[0], hard=True)
    assert rows_of(app, "injections") == rows_of(app, "citations") == 0


def test_other_machines_hear_nothing_of_it(app: Engram, ids: list[int]) -> None:
    before = rows_of(app, "sync_mutations")
    app.citations.inject("s1", {ids[0]: 10}, "prompt")
    app.citations.cite("s1", [ids[0]])
    assert rows_of(app, "sync_mutations") == before


# --- what they do to a rank -----------------------------------------------------------------------------------

COUNTS = st.integers(min_value=0, max_value=10**6)


def test_the_more_sessions_cite_it_the_higher_it_rises() -> None:
    assert all(one < two for one, two in pairwise(citation_factor(9, cited) for cited in range(6)))


def test_a_few_silent_sessions_say_nothing_and_many_make_it_sink() -> None:
    assert citation_factor(0, 0) == citation_factor(4, 0) == 1.0
    assert citation_factor(5, 0) < 1.0
    assert citation_factor(50, 0) < citation_factor(10, 0)


def test_one_citation_ends_the_sinking() -> None:
    assert citation_factor(1_000, 1) > 1.0


@given(COUNTS, COUNTS)
def test_it_settles_near_ties_and_no_more(injected: int, cited: int) -> None:
    assert 0.94 <= citation_factor(injected, cited) <= 1.06
