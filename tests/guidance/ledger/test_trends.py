"""Worth week by week, and the citations it is counted from."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.base.times import Calendar
from engram_py.guidance.ledger import citations
from engram_py.guidance.ledger.citations import citation_factor
from engram_py.guidance.ledger.costs import Week, never_used, session_tokens, weekly
from engram_py.memory.sessions.values import Tally
from tests.support import FakeClock, draft, rows_of

# The clock of these tests starts on Sunday, the first of March 2026.
FIRST, SECOND = "2026-02-23", "2026-03-02"


def weeks(app: Engram, clock: FakeClock, project: str | None = None, *, most: int = 8) -> list[Week]:
    return weekly(app.store, project, calendar=Calendar(clock.now), weeks=most)


def hook(app: Engram, session_id: str, event: str, size: int) -> None:
    with app.store.transaction():
        app.ledger.injected(session_id, event, size)


def session(app: Engram, name: str) -> str:
    return app.sessions.start(name, project="widgets").session.id


def test_a_new_memory_has_one_empty_week(app: Engram, clock: FakeClock) -> None:
    assert [one for one in weeks(app, clock) if one != Week(one.monday)] == []


def test_tokens_are_added_up_by_the_week_and_its_sessions(app: Engram, clock: FakeClock) -> None:
    hook(app, session(app, "s1"), "session-start", 400)
    hook(app, session(app, "s2"), "session-start", 800)
    clock.advance(days=1)  # Monday
    hook(app, "s1", "user-prompt", 41)
    found = weeks(app, clock)
    assert [(one.monday, one.sessions, one.tokens, one.tokens_per_session) for one in found] == [
        (FIRST, 2, 300, 150), (SECOND, 1, 11, 11),
    ]  # fmt: skip


def test_the_share_cited_is_known_where_a_session_was_read(app: Engram, clock: FakeClock) -> None:
    rows = [app.save(draft(f"Title {one}", f"Content {one}.")).id for one in ("a", "b", "c", "d")]
    app.citations.inject(session(app, "s1"), dict.fromkeys(rows, 10), "session")
    app.citations.inject("s1", {rows[0]: 10}, "prompt")  # given twice, counted once
    app.citations.inject(session(app, "unread"), dict.fromkeys(rows, 10), "session")
    [found] = weeks(app, clock)
    assert (found.given, found.share_cited) == (8, None)
    app.citations.cite("s1", [rows[0], rows[0]])
    [found] = weeks(app, clock)
    assert (found.given, found.judged, found.cited, found.share_cited) == (8, 4, 1, 0.25)


def test_a_prompt_that_a_hook_gave_nothing_is_a_silent_answer(app: Engram, clock: FakeClock) -> None:
    for text in ("where is the tea?", "where is the cup?", "where is the jug?"):
        app.prompts.save(text, session_id=session(app, "s1"))
    hook(app, "s1", "session-start", 100)
    hook(app, "s1", "user-prompt", 100)
    app.prompts.save("by hand, where no hook runs", session_id=session(app, "s2"))
    [found] = weeks(app, clock)
    assert (found.prompts, found.silent) == (4, 2)  # as `engram stats` counts prompts


def test_growth_counts_what_is_kept_at_the_end_of_each_week(app: Engram, clock: FakeClock) -> None:
    early = app.save(draft("Early", "Early content.")).id
    app.save(draft("Kept", "Kept content."))
    clock.advance(days=14)
    app.save(draft("Late", "Late content."))
    app.observations.delete(early)
    found = weeks(app, clock)
    assert [(one.monday, one.saved, one.kept) for one in found] == [
        (FIRST, 2, 2), (SECOND, 0, 2), ("2026-03-09", 1, 2),
    ]  # fmt: skip
    assert [(one.saved, one.kept) for one in weeks(app, clock, most=2)] == [(0, 2), (1, 2)]


def test_growth_of_what_another_machine_dates_ahead_or_not_at_all(app: Engram, clock: FakeClock) -> None:
    for day in ("2026-04-01T00:00:00.000Z", "long ago"):
        row = app.save(draft(day, f"Content of {day}.")).id
        with app.store.transaction():
            app.store.update("observations", {"id": row}, {"created_at": day})
    assert [(one.saved, one.kept) for one in weeks(app, clock)] == [(1, 1)]  # kept, whatever its machine's clock said


def test_trends_of_one_project_leave_out_the_others(app: Engram, clock: FakeClock) -> None:
    app.save(draft("Ours", "Our content."))
    app.save(Draft("Theirs", "Their content.", "note"), project="gadgets")
    app.sessions.start("other", project="gadgets")
    hook(app, "other", "session-start", 100)
    hook(app, session(app, "s1"), "session-start", 40)
    [all_of_them], [ours] = weeks(app, clock), weeks(app, clock, "widgets")
    assert (all_of_them.tokens, all_of_them.saved) == (35, 2)
    assert (ours.tokens, ours.saved) == (10, 1)
    assert [one.id for one in session_tokens(app.store, "widgets", since=None, limit=10)] == ["s1"]


def test_sessions_come_in_the_order_they_were_given_something(app: Engram, clock: FakeClock) -> None:
    for number in range(4):
        hook(app, session(app, f"s{number}"), "session-start", 100 * number + 4)
        clock.advance(days=1)
    found = session_tokens(app.store, None, since=None, limit=3)
    assert [(one.id, one.day, one.tokens) for one in found] == [
        ("s1", "2026-03-02", 26), ("s2", "2026-03-03", 51), ("s3", "2026-03-04", 76),
    ]  # fmt: skip
    assert [one.id for one in session_tokens(app.store, None, since="2026-03-04", limit=3)] == ["s3"]


@pytest.mark.parametrize("way", ["given", "recalled", "cited", "opened"])
def test_a_memory_that_was_never_used_is_one_nobody_was_shown(app: Engram, clock: FakeClock, way: str) -> None:
    used, unused = (app.save(draft(f"Title {one}", f"Content {one}.")).id for one in ("a", "b"))
    session(app, "s1")
    match way:
        case "given":
            app.citations.inject("s1", {used: 10}, "session")
        case "recalled":
            app.ledger.answered("mcp", "mem_search", 40, caller=lambda: ("s1", "widgets"), shown=[used])
            assert app.ledger.flush()
        case "cited":
            app.citations.cite("s1", [used])
        case _:
            with app.store.transaction():
                app.store.update("observations", {"id": used}, {"access_count": 1})
    assert [one.id for one in never_used(app.store, None, limit=10)] == [unused]
    assert [one.id for one in never_used(app.store, "widgets", limit=10)] == [unused]


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


def test_what_is_of_another_project_is_cited_where_the_session_was_shown_it(app: Engram) -> None:
    foreign, shown = (app.save(draft(name, f"{name} content."), project="gadgets").id for name in ("Foreign", "Shown"))
    own = app.save(draft("Own", "Own content.")).id
    mine = app.save(draft("Mine", "Personal content.", scope="personal"), project="gadgets").id
    session(app, "s1")
    app.citations.inject("s1", {shown: 10}, "session")
    assert app.citations.cite("s1", [foreign, shown, own, mine]) == 3
    assert set(app.citations.tallies([foreign, shown, own, mine])) == {shown, own, mine}


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


def test_citations_make_it_rise_and_many_silent_sessions_make_it_sink() -> None:
    assert all(one < two for one, two in pairwise(citation_factor(9, cited) for cited in range(6)))
    assert citation_factor(1_000, 1) > 1.0
    assert citation_factor(0, 0) == citation_factor(4, 0) == 1.0
    assert citation_factor(5, 0) < 1.0
    assert citation_factor(50, 0) < citation_factor(10, 0)


@given(COUNTS, COUNTS)
def test_it_settles_near_ties_and_no_more(injected: int, cited: int) -> None:
    assert 0.94 <= citation_factor(injected, cited) <= 1.06


def test_weeks_and_days_begin_at_the_users_midnight(tmp_path: Path, clock: FakeClock) -> None:
    """The clocks of New York change on Sunday, 8 March: Mondays begin at five, then at four in UTC."""
    with Engram(
        settings=Settings(tmp_path / "data", clock=clock, timezone="America/New_York"), directory=tmp_path
    ) as app:
        at = {"2026-03-09T03:59": "2026-03-02", "2026-03-09T04:01": "2026-03-09", "2026-03-02T05:01": "2026-03-02",
              "2026-03-02T04:59": "2026-02-23"}  # fmt: skip
        for moment in sorted(at):
            clock.now = datetime.fromisoformat(moment).replace(tzinfo=UTC)
            row = app.save(Draft(f"At {moment}", f"Saved at {moment}."), project="widgets").id
            hook(app, session(app, moment), "session-start", 400)
            app.citations.inject(moment, {row: 10}, "session")
        found = weekly(app.store, None, calendar=app.journal.calendar, weeks=8)
        counts = {monday: [*at.values()].count(monday) for monday in sorted(at.values())}
        assert {one.monday: one.saved for one in found} == counts
        assert {one.monday: one.given for one in found} == counts
        assert {one.monday: one.sessions for one in found} == counts
        last = app.costs.of(days=1)
        assert (last.since, last.session_count, last.injected.observations) == ("2026-03-09", 1, 1)
        assert app.worths.of(days=8).since == "2026-03-02"
