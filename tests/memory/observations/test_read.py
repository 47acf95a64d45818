"""Pins, reviews, the timeline, older texts, and the counting of use."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.base.errors import InvalidArgumentError
from engram_py.memory.observations.errors import ObservationNotFoundError
from engram_py.memory.observations.usage import LONGEST_WAIT_SECONDS, MOST_KEPT, Usage
from engram_py.memory.observations.values import Change, Saved
from tests.support import Alarms, FakeClock, Opener, draft, locked, rows_of, whole, words


def test_a_pin_stays_until_it_is_taken_away(app: Engram, clock: FakeClock, saved: Saved) -> None:
    before = whole(app, saved.id)
    clock.advance(hours=1)

    assert app.observations.pin(saved.id).pinned
    assert app.observations.pin(saved.id).pinned
    assert [row.id for row in app.contexts.assemble().pinned] == [saved.id]
    assert app.search("fifteen").results[0].pinned

    assert not app.observations.pin(saved.id, pinned=False).pinned
    assert app.contexts.assemble().pinned == ()
    assert whole(app, saved.id) == before


def test_a_revision_keeps_the_pin(app: Engram) -> None:
    saved = app.save(draft("One.", topic_key="auth/tokens"))
    app.observations.pin(saved.id)
    app.save(draft("Two.", topic_key="auth/tokens"))
    assert whole(app, saved.id).pinned


@pytest.mark.parametrize("call", ["get", "pin", "mark_reviewed", "timeline", "delete"])
def test_an_unknown_observation_is_not_found(app: Engram, call: str) -> None:
    with pytest.raises(ObservationNotFoundError) as refusal:
        getattr(app.observations, call)(2**63 - 1)
    assert refusal.value.deleted_at is None


def test_what_is_due_is_listed_the_longest_overdue_first(app: Engram, clock: FakeClock) -> None:
    decision = app.save(draft("One.", title="Decision", type="decision"))
    preference = app.save(draft("Two.", title="Preference", type="preference"))
    app.save(draft("Three.", title="Bugfix", type="bugfix"))
    assert app.observations.due_for_review().items == ()

    clock.advance(days=92)
    assert [line.id for line in app.observations.due_for_review().items] == [preference.id]
    clock.advance(days=92)
    lines = app.observations.due_for_review().items
    assert [(line.id, line.review_after) for line in lines] == [
        (preference.id, "2026-06-01T10:00:00.000Z"),
        (decision.id, "2026-09-01T10:00:00.000Z"),
    ]
    assert app.get(decision.id).state == "needs_review"
    assert app.search("one").results[0].state == "needs_review"
    assert [line.id for line in app.observations.due_for_review(limit=0).items] == [preference.id]


def test_a_review_is_due_at_its_date_to_the_millisecond(app: Engram, clock: FakeClock) -> None:
    saved = app.save(draft("One.", type="preference"))
    clock.now = clock.now.replace(month=6, microsecond=0)
    clock.advance(milliseconds=-1)
    assert (app.observations.due_for_review().items, app.get(saved.id).state) == ((), "active")
    clock.advance(milliseconds=1)
    assert [line.id for line in app.observations.due_for_review().items] == [saved.id]
    assert app.get(saved.id).state == "needs_review"


def test_a_reviewed_observation_comes_back_after_its_types_interval(app: Engram, clock: FakeClock) -> None:
    saved = app.save(draft("One.", type="preference"))
    clock.advance(days=100)
    updated_at = whole(app, saved.id).updated_at
    reviewed = app.observations.mark_reviewed(saved.id)

    assert reviewed.review_after == "2026-09-09T10:00:00.000Z"
    assert app.observations.due_for_review().items == ()
    assert whole(app, saved.id).updated_at == updated_at
    without_interval = app.save(draft("Two."))
    assert app.observations.mark_reviewed(without_interval.id).review_after is None


def test_reviews_are_those_of_the_project_unless_all_are_asked_for(app: Engram, clock: FakeClock) -> None:
    here = app.save(draft("One.", type="preference"))
    there = app.save(draft("Two.", type="preference"), project="gadgets")
    mine = app.save(draft("Three.", type="preference", scope="personal"), project="gadgets")
    clock.advance(days=100)
    assert {line.id for line in app.observations.due_for_review().items} == {here.id, mine.id}
    assert {line.id for line in app.observations.due_for_review("gadgets").items} == {there.id, mine.id}
    assert {line.id for line in app.observations.due_for_review(all_projects=True).items} == {
        here.id,
        there.id,
        mine.id,
    }


def test_a_timeline_shows_the_neighbours_of_the_same_session_oldest_first(app: Engram) -> None:
    ids = []
    for number in range(7):
        ids.append(app.save(draft(f"text {number}"), session_id="s-1").id)
        app.save(draft(f"other {number}"), session_id="s-2")
    app.observations.delete(ids[2])

    timeline = app.observations.timeline(ids[3], before=2, after=2)
    assert [line.id for line in timeline.before] == [ids[0], ids[1]]
    assert [line.id for line in timeline.after] == [ids[4], ids[5]]
    assert (timeline.focus.id, timeline.session_id, timeline.total_in_session) == (ids[3], "s-1", 6)
    assert timeline.session_started_at == "2026-03-01T10:00:00.000Z"


@pytest.mark.parametrize(("asked", "said"), [(-1, "used 0"), (51, "used 50"), (2**70, "used 50")])
def test_a_timeline_longer_than_there_is_sense_in_is_cut_and_says_so(app: Engram, asked: int, said: str) -> None:
    saved = app.save(draft("One."))
    timeline = app.observations.timeline(saved.id, before=asked, after=3)
    assert len(timeline.warnings) == 1
    assert said in words(*timeline.warnings)
    assert (timeline.before, timeline.after, timeline.total_in_session) == ((), (), 1)


# --- older texts: none is lost, and all can be read ------------------------------------------------------------


def test_every_overwritten_text_becomes_a_version_with_its_own_date(app: Engram, clock: FakeClock) -> None:
    saved = app.save(draft("One.", title="First", topic_key="auth/tokens"))
    clock.advance(hours=1)
    app.save(draft("Two.", title="Second", topic_key="auth/tokens"))
    clock.advance(hours=1)
    app.observations.update(saved.id, Change(content="Three."))

    detail = app.get(saved.id, history=True)
    assert (detail.observation.title, detail.observation.content) == ("Second", "Three.")
    assert [(old.version, old.title, old.content, old.created_at) for old in detail.versions] == [
        (2, "Second", "Two.", "2026-03-01T11:00:00.000Z"),
        (1, "First", "One.", "2026-03-01T10:00:00.000Z"),
    ]
    assert (detail.version_total, detail.next_cursor) == (2, None)
    without_history = app.get(saved.id)
    assert (without_history.versions, without_history.version_total) == ((), 2)


@pytest.mark.parametrize(("older", "sizes"), [(120, [50, 50, 20]), (50, [50])], ids=["three-pages", "one-that-is-full"])
def test_a_long_history_is_read_in_pages_without_a_gap(app: Engram, older: int, sizes: list[int]) -> None:
    saved = app.save(draft("text 0", topic_key="auth/tokens"))
    for number in range(1, older + 1):
        app.save(draft(f"text {number}", topic_key="auth/tokens"))

    pages: list[int] = []
    texts: list[str] = []
    cursor = None
    while True:
        detail = app.get(saved.id, history=True, cursor=cursor)
        pages.append(len(detail.versions))
        texts += [old.content for old in detail.versions]
        cursor = detail.next_cursor
        if cursor is None:
            break

    assert pages == sizes
    assert texts == [f"text {number}" for number in reversed(range(older))]
    assert detail.version_total == older


@pytest.mark.parametrize(("cursor", "found"), [(0, 0), (-(2**70), 0), (2**70, 1)])
def test_a_cursor_beyond_every_number_finds_an_empty_page_or_the_first(app: Engram, cursor: int, found: int) -> None:
    saved = app.save(draft("One.", topic_key="auth/tokens"))
    app.save(draft("Two.", topic_key="auth/tokens"))
    assert len(app.get(saved.id, history=True, cursor=cursor).versions) == found


@pytest.mark.parametrize("unusable", [0, -1, 2**63])
def test_an_id_that_cannot_be_one_is_refused(app: Engram, unusable: int) -> None:
    with pytest.raises(InvalidArgumentError) as refusal:
        app.get(unusable)
    assert refusal.value.argument == "id"


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
    clock.advance(days=-3)  # a clock that is set back does not take the time back
    usage.surfaced([saved.id])
    usage.flush()
    assert counted(app, saved.id) == (3, "2026-03-01T10:05:00.000Z")


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
