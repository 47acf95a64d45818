"""Showing an observation counts; walking past it does not; and counting is in nobody's way."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.observations.usage import LONGEST_WAIT_SECONDS, MOST_KEPT, Usage
from engram_py.observations.values import Saved
from tests.memory import Alarms, FakeClock, Opener, draft, locked, rows_of


@pytest.fixture
def usage(app: Engram, alarms: Alarms) -> Usage:
    return Usage(app.store, app.journal, later=alarms)


def counted(app: Engram, observation_id: int) -> tuple[int, str | None]:
    row = app.store.row("select access_count, last_accessed_at from observations where id = :id", id=observation_id)
    assert row is not None
    return row[0], row[1]


def test_what_was_shown_is_counted_with_the_time_of_the_last(app: Engram, usage: Usage, clock: FakeClock) -> None:
    saved = app.save(draft("One."))
    usage.surfaced([saved.id])
    clock.advance(minutes=5)
    usage.surfaced([saved.id, 99])

    assert usage.flush()
    assert counted(app, saved.id) == (2, "2026-03-01T10:05:00.000Z")


def test_counting_changes_nothing_else(app: Engram, usage: Usage, clock: FakeClock, saved: Saved) -> None:
    before = app.store.row("select * from observations where id = :id", id=saved.id)
    queue = [tuple(row) for row in app.store.rows("select * from sync_mutations")]
    clock.advance(hours=1)

    usage.surfaced([saved.id])
    usage.flush()

    after = app.store.row("select * from observations where id = :id", id=saved.id)
    assert before is not None
    assert after is not None
    changed = {name for name in after.keys() if after[name] != before[name]}  # noqa: SIM118
    assert changed == {"access_count", "last_accessed_at"}
    assert [tuple(row) for row in app.store.rows("select * from sync_mutations")] == queue
    assert rows_of(app, "observation_versions") == 0


def test_a_clock_that_was_set_back_does_not_take_the_last_time_back(
    app: Engram, usage: Usage, clock: FakeClock, saved: Saved
) -> None:
    usage.surfaced([saved.id])
    usage.flush()
    clock.advance(days=-3)
    usage.surfaced([saved.id])
    usage.flush()

    assert counted(app, saved.id) == (2, "2026-03-01T10:00:00.000Z")


def test_nothing_is_written_until_the_next_write(app: Engram, usage: Usage, saved: Saved) -> None:
    usage.surfaced([saved.id])
    assert counted(app, saved.id) == (0, None)
    app.save(draft("Two.", title="Other"))
    assert counted(app, saved.id)[0] == 1


def test_a_write_that_is_rolled_back_takes_no_count_with_it(app: Engram, usage: Usage, saved: Saved) -> None:
    usage.surfaced([saved.id])
    with pytest.raises(RuntimeError), app.store.transaction():
        raise RuntimeError
    assert counted(app, saved.id) == (0, None)

    assert usage.flush()
    assert counted(app, saved.id)[0] == 1


def test_the_end_writes_what_is_left(open_memory: Opener, app: Engram, saved: Saved) -> None:
    with open_memory() as other:
        other.get(saved.id)
        assert counted(app, saved.id) == (0, None)
    assert counted(app, saved.id)[0] == 1


def test_counts_wait_some_seconds_for_one_alarm(app: Engram, usage: Usage, alarms: Alarms, saved: Saved) -> None:
    usage.surfaced([saved.id])
    usage.surfaced(range(2, 200))
    assert [seconds for seconds, _ in alarms.set] == [LONGEST_WAIT_SECONDS]
    alarms.set[-1][1]()
    assert counted(app, saved.id)[0] == 1
    usage.surfaced([saved.id])
    assert len(alarms.set) == 2


def test_a_busy_database_is_not_waited_for_and_nothing_is_lost(app: Engram, usage: Usage, alarms: Alarms) -> None:
    saved = app.save(draft("One."))
    usage.surfaced([saved.id])
    ran: list[str] = []
    with app.store.connection() as connection:
        connection.set_trace_callback(ran.append)

    with locked(app.store.path):
        assert not usage.flush()
        assert ran.index("pragma busy_timeout = 0") < ran.index("begin immediate")
        assert [seconds for seconds, _ in alarms.set] == [LONGEST_WAIT_SECONDS] * 2

    assert usage.flush()
    assert counted(app, saved.id)[0] == 1
    assert app.store.value("pragma busy_timeout") > 0


def test_in_the_middle_of_a_write_counting_waits(app: Engram, usage: Usage, saved: Saved) -> None:
    usage.surfaced([saved.id])
    with app.store.transaction():
        assert not usage.flush()
    assert counted(app, saved.id)[0] == 1, "it came after the write"


def test_what_cannot_be_written_is_kept_within_a_bound(app: Engram, usage: Usage) -> None:
    with app.store.transaction():
        app.store.execute(
            "create trigger no before update of access_count on observations begin select raise(abort, 'no'); end"
        )
    saved = app.save(draft("One."))
    usage.surfaced([saved.id])
    for start in range(1, 4 * MOST_KEPT, MOST_KEPT):
        usage.surfaced(range(start, start + MOST_KEPT))
        assert not usage.flush()
    with app.store.transaction():
        app.store.execute("drop trigger no")

    assert counted(app, saved.id)[0] == 2


def test_a_closed_memory_counts_nothing_more_and_says_nothing(app: Engram, usage: Usage, alarms: Alarms) -> None:
    saved = app.save(draft("One."))
    app.store.close()
    usage.surfaced([saved.id])
    usage.close()
    usage.surfaced([saved.id])
    assert len(alarms.set) == 1


def test_what_is_hushed_is_not_counted(app: Engram, usage: Usage, saved: Saved) -> None:
    with usage.paused():
        usage.surfaced([saved.id])
        with usage.paused():
            usage.surfaced([saved.id])
        usage.surfaced([saved.id])
    usage.surfaced([saved.id])
    usage.flush()
    assert counted(app, saved.id)[0] == 1


def test_opening_and_injecting_count_and_browsing_does_not(app: Engram) -> None:
    saved = app.save(draft("Fifteen minutes.", type="decision"))
    app.observations.timeline(saved.id)
    app.observations.due_for_review()
    app.statistics.count()
    app.topics.suggest(title="Token lifetime")
    app.transfer.document()
    app.usage.flush()
    assert counted(app, saved.id) == (0, None)

    app.get(saved.id)
    app.contexts.assemble()
    app.usage.flush()
    assert counted(app, saved.id)[0] == 2


def test_summarizing_a_session_opens_nothing(app: Engram) -> None:
    saved = app.episodes.summarize("Built the login.", session_id="s-1")
    app.usage.flush()
    assert counted(app, saved.id) == (0, None)
