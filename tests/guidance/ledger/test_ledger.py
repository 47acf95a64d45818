"""What an answer costs is counted, by session, day and door; and counting is in nobody's way."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.database.connection import connect
from engram_py.base.reasons import reason
from engram_py.guidance.ledger import ledger as module
from engram_py.guidance.ledger.costs import Cost, Share, tokens_of
from engram_py.guidance.ledger.ledger import LONGEST_WAIT_SECONDS, MOST_KEPT, MOST_WAITING, Ledger
from engram_py.memory.projects.values import UnknownProjectError
from engram_py.memory.sessions.values import SessionNotFoundError
from tests.support import Alarms, FakeClock, Opener, draft, locked, rows_of

WORD = "zyxwvutsecretword"
SECRET = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"


@pytest.fixture
def ledger(app: Engram, alarms: Alarms) -> Ledger:
    return Ledger(app.store, app.journal, later=alarms)


def caller(session_id: str, project: str) -> Callable[[], tuple[str, str]]:
    return lambda: (session_id, project)


in_widgets, in_gadgets = caller("s1", "widgets"), caller("s2", "gadgets")


def told(app: Engram, columns: str = "session_id, project, day, door, name, calls, bytes") -> list[tuple[object, ...]]:
    return [tuple(row) for row in app.store.rows(f"select {columns} from ledger order by id")]


def doors(cost: Cost) -> dict[str, tuple[int, int]]:
    return {f"{one.door} {one.name}": (one.calls, one.bytes) for one in cost.doors}


# --- counting -------------------------------------------------------------------------------------------------


def test_answers_are_added_up_by_session_day_and_door(app: Engram, ledger: Ledger, clock: FakeClock) -> None:
    ledger.answered("mcp", "mem_search", 100, caller=in_widgets)
    ledger.answered("mcp", "mem_search", 11, caller=in_widgets)
    ledger.answered("http", "GET /search", 7, caller=in_widgets)
    ledger.answered("mcp", "mem_search", 3, caller=in_gadgets)
    assert ledger.flush()
    clock.advance(days=1)
    ledger.answered("mcp", "mem_search", 1, caller=in_widgets)
    assert ledger.flush()
    ledger.answered("mcp", "mem_search", 1, caller=in_widgets)
    assert ledger.flush()

    assert told(app) == [
        ("s1", "widgets", "2026-03-01", "mcp", "mem_search", 2, 111),
        ("s1", "widgets", "2026-03-01", "http", "GET /search", 1, 7),
        ("s2", "gadgets", "2026-03-01", "mcp", "mem_search", 1, 3),
        ("s1", "widgets", "2026-03-02", "mcp", "mem_search", 2, 2),
    ]


def test_an_answer_is_noted_without_asking_whose_it_is_and_without_a_write(
    app: Engram, ledger: Ledger, alarms: Alarms
) -> None:
    def nobody_asks() -> tuple[str, str]:
        raise AssertionError

    ran: list[str] = []
    with app.store.connection() as connection:
        connection.set_trace_callback(ran.append)
        ledger.answered("mcp", "mem_search", 100, caller=nobody_asks)
        connection.set_trace_callback(None)

    assert ran == []
    assert [seconds for seconds, _ in alarms.set] == [LONGEST_WAIT_SECONDS]


def test_few_answers_wait_some_seconds_and_many_not_at_all(app: Engram, ledger: Ledger, alarms: Alarms) -> None:
    for _ in range(MOST_WAITING + 5):
        ledger.answered("mcp", "mem_search", 1, caller=in_widgets)
    assert [seconds for seconds, _ in alarms.set] == [LONGEST_WAIT_SECONDS, 0.0]

    alarms.set[-1][1]()
    assert told(app, "calls") == [(MOST_WAITING + 5,)]
    ledger.answered("mcp", "mem_search", 1, caller=in_widgets)
    assert [seconds for seconds, _ in alarms.set][2:] == [LONGEST_WAIT_SECONDS]


def test_a_session_that_the_caller_names_is_the_one_that_pays(app: Engram, ledger: Ledger) -> None:
    app.sessions.start("s9", project="gadgets")
    for name in ("s9", " ", None, "x" * 10_000, "half \ud800 a pair", "a\0b"):
        ledger.answered("mcp", "mem_save", 1, caller=in_widgets, session_id=name)
    ledger.flush()
    assert told(app, "session_id, project, calls") == [("s9", "gadgets", 1), ("s1", "widgets", 5)]


def test_a_secret_in_the_name_of_a_session_is_not_written(app: Engram, ledger: Ledger, data_dir: Path) -> None:
    ledger.answered("mcp", "mem_save", 1, caller=in_widgets, session_id=f"run {SECRET}")
    ledger.flush()
    with app.store.transaction():
        app.ledger.injected(f"hook {SECRET}", "session-start", 100)
    assert rows_of(app, "ledger") == 2
    assert not any(SECRET.encode() in file.read_bytes() for file in data_dir.glob("engram.db*"))


def test_who_cannot_be_told_any_more_is_counted_all_the_same(app: Engram, ledger: Ledger) -> None:
    def gone() -> tuple[str, str]:
        raise FileNotFoundError

    ledger.answered("mcp", "mem_search", 10, caller=gone)
    assert ledger.flush()
    assert told(app, "session_id, project, bytes") == [("", "", 10)]


def test_an_answer_belongs_to_the_session_it_was_given_in_though_that_ends(open_memory: Opener) -> None:
    server = open_memory(mode="process")
    session_id = server.save(draft("One.")).session_id
    server.ledger.answered("mcp", "mem_save", 10, caller=server.own_session)
    server.close()
    assert told(open_memory(), "session_id, bytes") == [(session_id, 10)]


def test_what_several_callers_of_one_server_were_answered_goes_into_one_ledger(app: Engram) -> None:
    one, two = (app.for_caller(project=name, session_mode="process") for name in ("gadgets", "gizmos"))
    assert one.ledger is app.ledger
    sessions = []
    for caller in (one, two):
        caller.ledger.flush()
        sessions.append(caller.save(draft("One.")).session_id)
        caller.ledger.answered("mcp", "mem_save", 10, caller=caller.own_session)
        caller.close()
    app.ledger.flush()

    assert told(app, "session_id, project") == [(sessions[0], "gadgets"), (sessions[1], "gizmos")]


def test_a_busy_database_is_not_waited_for_and_nothing_is_lost(app: Engram, ledger: Ledger, alarms: Alarms) -> None:
    saved = app.save(draft("One."))
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets, shown=[saved.id])
    with locked(app.store.path):
        assert not ledger.flush()
        for _ in range(2 * MOST_WAITING):
            ledger.answered("mcp", "mem_search", 10, caller=in_widgets)
        assert [seconds for seconds, _ in alarms.set] == [LONGEST_WAIT_SECONDS] * 2, "not tried again at once"

    assert ledger.flush()
    assert told(app, "calls, bytes") == [(401, 4_010)]
    assert app.costs.of().recalled == Share(1, 10, 3)
    assert app.store.value("pragma busy_timeout") > 0


def test_in_the_middle_of_a_write_counting_waits(app: Engram, ledger: Ledger) -> None:
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets)
    with app.store.transaction():
        assert not ledger.flush()
    assert ledger.flush()
    assert told(app, "calls") == [(1,)]


def test_what_cannot_be_written_is_kept_within_a_bound(app: Engram, ledger: Ledger) -> None:
    with app.store.transaction():
        app.store.execute("create trigger no before insert on ledger begin select raise(abort, 'no'); end")
    for start in range(0, 4 * MOST_KEPT, MOST_KEPT):
        for number in range(start, start + MOST_KEPT):
            ledger.answered("http", "GET /search", 1, caller=in_widgets, session_id=f"n{number}", shown=(number,))
        assert not ledger.flush()
    with app.store.transaction():
        app.store.execute("drop trigger no")

    assert ledger.flush()
    assert rows_of(app, "ledger") == MOST_KEPT


def test_answers_that_are_never_collected_are_kept_within_a_bound(app: Engram, ledger: Ledger) -> None:
    for _ in range(MOST_KEPT + 10):
        ledger.answered("mcp", "mem_search", 1, caller=in_widgets)
    ledger.flush()
    assert told(app, "calls") == [(MOST_KEPT,)]


def test_the_latest_rows_are_kept(app: Engram, ledger: Ledger, monkeypatch: pytest.MonkeyPatch) -> None:
    ids = [app.save(draft(f"Text {number}.", title=f"Title {number}")).id for number in range(6)]
    monkeypatch.setattr(module, "MOST_ROWS", 4)
    for row_id in ids:
        ledger.answered("mcp", "mem_search", 8, caller=in_widgets, session_id=f"n{row_id}", shown=[row_id])
    ledger.flush()

    assert told(app, "session_id") == [(f"n{row_id}",) for row_id in ids[2:]]
    assert [row[0] for row in app.store.rows("select observation_id from recalls order by id")] == ids[2:]


def test_no_thread_to_be_had_is_no_reason_to_fail(app: Engram) -> None:
    class Refusing(Alarms):
        def start(self) -> None:
            raise RuntimeError("can't start new thread")

    ledger = Ledger(app.store, app.journal, later=Refusing())
    ledger.answered("mcp", "mem_search", 1, caller=in_widgets)
    ledger.close()
    assert told(app, "calls") == [(1,)]


def test_a_closed_memory_counts_nothing_more_and_says_nothing(app: Engram, ledger: Ledger, alarms: Alarms) -> None:
    app.store.close()
    ledger.answered("mcp", "mem_search", 1, caller=app.own_session)
    ledger.close()
    ledger.answered("mcp", "mem_search", 1, caller=app.own_session)
    assert len(alarms.set) == 1


def test_an_injection_is_counted_with_the_write_it_belongs_to(app: Engram) -> None:
    with app.store.transaction():
        app.sessions.start("s1")
        app.ledger.injected("s1", "session-start", 100)
    with pytest.raises(RuntimeError), app.store.transaction():
        _inject_and_fail(app)

    assert told(app) == [("s1", "widgets", "2026-03-01", "hook", "session-start", 1, 100)]


def _inject_and_fail(app: Engram) -> None:
    app.ledger.injected("s1", "session-start", 100)
    raise RuntimeError


# --- of this machine, and without text ------------------------------------------------------------------------


def test_counting_is_no_change_that_others_hear_of(app: Engram, ledger: Ledger, tmp_path: Path) -> None:
    saved = app.save(draft("One."))
    before = app.transfer.document()
    queue = [tuple(row) for row in app.store.rows("select * from sync_mutations")]

    ledger.answered("mcp", "mem_search", 4_321, caller=in_widgets, session_id="s7", shown=[saved.id])
    ledger.flush()

    assert rows_of(app, "recalls") == 1
    assert app.transfer.document() == before
    assert [tuple(row) for row in app.store.rows("select * from sync_mutations")] == queue


def test_a_destroyed_observation_was_never_recalled(app: Engram, ledger: Ledger) -> None:
    one, two = (app.save(draft(f"{WORD} {number}", title=f"{WORD} {number}")).id for number in range(2))
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets, shown=[one, two])
    ledger.flush()
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets, shown=[one])
    app.observations.delete(one, hard=True)
    ledger.flush()

    assert [row[0] for row in app.store.rows("select observation_id from recalls")] == [two]


def test_a_destroyed_session_leaves_nothing_that_names_it(app: Engram, ledger: Ledger, data_dir: Path) -> None:
    other = app.save(draft("One.", title="Elsewhere")).id
    app.sessions.start(WORD)
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets, session_id=WORD, shown=[other])
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets)
    ledger.flush()
    assert rows_of(app, "recalls") == 1

    app.sessions.delete(WORD)

    assert told(app, "session_id") == [("s1",)]
    assert rows_of(app, "recalls") == 0


def test_the_tables_hold_no_text_of_a_memory(app: Engram, ledger: Ledger) -> None:
    saved = app.save(draft(f"The {WORD}.", title=f"About {WORD}"))
    with app.usage.collected() as shown:
        app.search(WORD)
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets, shown=shown)
    ledger.flush()

    assert shown == {saved.id}
    rows = [*app.store.rows("select * from ledger"), *app.store.rows("select * from recalls")]
    assert len(rows) == 2
    assert not any(WORD in str(value) for row in rows for value in row)


# --- adding up ------------------------------------------------------------------------------------------------


@pytest.fixture
def ids(app: Engram) -> list[int]:
    for session in ("s1", "s2"):
        app.sessions.start(session, project={"s1": "widgets", "s2": "gadgets"}[session])
    return [app.save(draft(f"Text {n} of several", title=f"Number {n}"), project="widgets").id for n in range(5)]


def test_a_begun_token_is_a_token() -> None:
    assert [tokens_of(size) for size in (0, 1, 4, 5)] == [0, 1, 1, 2]


def test_an_empty_memory_cost_nothing_and_days_beyond_the_calendar_are_held_within_it(app: Engram) -> None:
    cost = app.costs.of()
    assert (cost.doors, cost.sessions, cost.session_count) == ((), (), 0)
    assert cost.injected == cost.recalled == Share(0, 0, 0)
    assert cost.cited is cost.never_used is None
    cost = app.costs.of(days=10**9)
    assert cost.since == "2016-03-04"
    assert cost.warnings == (reason("clamped", name="days", value=10**9, low=1, high=3_650, used=3_650),)


def test_what_was_shown_and_never_cited_was_never_used(app: Engram, ledger: Ledger, ids: list[int]) -> None:
    one, two, three, four, _ = ids
    app.citations.inject("s1", {one: 40, two: 60}, "session")
    app.citations.inject("s1", {one: 40}, "prompt")
    ledger.answered("mcp", "mem_search", 100, caller=in_widgets, shown=[two, three])
    ledger.answered("mcp", "mem_get_observation", 50, caller=in_widgets, shown=[three])
    ledger.flush()
    app.citations.cite("s1", [one, one, four])

    cost = app.costs.of()

    assert cost.injected == Share(2, 140, 35)
    assert cost.recalled == Share(2, 150, 38)
    assert cost.cited == Share(2, 80, 20)
    assert cost.never_used == Share(2, 210, 53)


def test_what_was_never_read_is_not_said_to_be_unused(app: Engram, ids: list[int]) -> None:
    app.citations.inject("s1", {ids[0]: 40}, "session")
    assert app.costs.of().never_used is None

    app.transcripts.add_message("I did it.", session_id="s1", project="widgets")

    assert app.costs.of().never_used == Share(1, 40, 10)
    assert app.costs.of(session_id="s1").never_used == Share(1, 40, 10)
    assert app.costs.of(session_id="s2").never_used is None


def test_one_session_or_one_project_can_be_looked_at(app: Engram, ledger: Ledger, ids: list[int]) -> None:
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets, shown=ids[:1])
    ledger.answered("mcp", "mem_search", 20, caller=in_gadgets, shown=ids[:2])
    ledger.answered("http", "GET /search", 30, caller=caller("mcp-reader", "widgets"), shown=ids[:3])
    ledger.flush()

    assert doors(app.costs.of()) == {"http GET /search": (1, 30), "mcp mem_search": (2, 30)}
    assert doors(app.costs.of(session_id="s2")) == {"mcp mem_search": (1, 20)}
    assert doors(app.costs.of(project="widgets")) == {"http GET /search": (1, 30), "mcp mem_search": (1, 10)}
    assert doors(app.costs.of(session_id="s2", project="widgets")) == {}
    assert [app.costs.of(project=name).recalled.observations for name in ("widgets", "gadgets")] == [3, 2]
    assert [(one.id, one.project) for one in app.costs.of().sessions] == [
        ("mcp-reader", "widgets"), ("s2", "gadgets"), ("s1", "widgets"),
    ]  # fmt: skip


def test_a_session_that_began_elsewhere_after_it_was_counted_belongs_there(app: Engram, ledger: Ledger) -> None:
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets, session_id="s9")
    ledger.flush()
    app.sessions.start("s9", project="gadgets")
    app.sessions.start("s1", project="widgets")

    assert doors(app.costs.of(project="gadgets")) == {"mcp mem_search": (1, 10)}
    assert doors(app.costs.of(project="widgets")) == {}
    assert [one.project for one in app.costs.of().sessions] == ["gadgets"]


def test_a_merged_project_takes_its_costs_along(app: Engram, ledger: Ledger, ids: list[int]) -> None:
    ledger.answered("mcp", "mem_search", 10, caller=in_gadgets)
    ledger.answered("mcp", "mem_search", 20, caller=caller("mcp-reader", "gadgets"))
    ledger.flush()

    app.merging.merge(["gadgets"], "widgets")

    assert doors(app.costs.of(project="widgets")) == {"mcp mem_search": (2, 30)}
    assert {one.project for one in app.costs.of().sessions} == {"widgets"}


def test_the_last_days_are_whole_days_and_today_is_one(
    app: Engram, ledger: Ledger, ids: list[int], clock: FakeClock
) -> None:
    for row_id in ids[:3]:
        ledger.answered("mcp", "mem_search", 10, caller=in_widgets, shown=[row_id])
        app.citations.inject("s1", {row_id: 10}, "session")
        app.citations.cite("s1", [row_id])
        ledger.flush()
        clock.advance(hours=13)  # 10:00, 23:00, 12:00 of the day after; now it is 01:00 of the third day

    def figures(days: int) -> list[object]:
        cost = app.costs.of(days=days)
        assert cost.cited is not None
        shares = [one.observations for one in (cost.injected, cost.recalled, cost.cited)]
        return [cost.since, sum(one.calls for one in cost.doors), *shares]

    assert figures(1) == ["2026-03-03", 0, 0, 0, 0]
    assert figures(2) == ["2026-03-02", 1, 1, 1, 1]
    assert figures(3) == ["2026-03-01", 3, 3, 3, 3]


def test_a_clock_that_was_set_back_loses_no_count(app: Engram, ledger: Ledger, clock: FakeClock) -> None:
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets)
    clock.advance(days=-400)
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets)
    ledger.flush()
    assert doors(app.costs.of(days=1)) == {"mcp mem_search": (2, 20)}


def test_the_dearest_sessions_are_named_and_all_are_counted(app: Engram, ledger: Ledger) -> None:
    for number in range(9):
        ledger.answered("mcp", "mem_search", 10 * number, caller=in_widgets, session_id=f"n{number}")
    ledger.flush()
    cost = app.costs.of()
    assert [one.id for one in cost.sessions] == ["n8", "n7", "n6", "n5", "n4"]
    assert cost.session_count == 9


def test_a_session_and_a_project_that_do_not_exist_are_refused(app: Engram, ledger: Ledger) -> None:
    with pytest.raises(SessionNotFoundError):
        app.costs.of(session_id="s1")
    with pytest.raises(UnknownProjectError):
        app.costs.of(project="nowhere")
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets)
    ledger.flush()
    assert app.costs.of(session_id="s1").session_count == 1


def test_a_memory_that_somebody_else_writes_to_says_what_was_counted(app: Engram, ledger: Ledger) -> None:
    ledger.answered("mcp", "mem_search", 10, caller=in_widgets)
    ledger.flush()
    with closing(connect(app.store.path)) as other:
        other.execute("begin immediate")
        assert app.costs.of().session_count == 1
        other.rollback()
