"""The queue of changes: each changed thing once, in the order of its last change, with its row or not at all."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.clock import due_before
from engram_py.base.errors import ConflictError
from engram_py.memory.observations.values import Change
from engram_py.memory.projects.values import AmbiguousProjectError
from engram_py.sharing.sync.mutation import above
from tests.support import FakeClock, Opener, RepoMaker, draft, raising, rows_of


def queue(app: Engram) -> dict[tuple[str, str], tuple[int, str, str]]:
    """(entity, key) → (seq, op, clock)."""
    rows = app.store.rows("select * from sync_mutations order by seq")
    return {(row["entity"], row["entity_key"]): (row["seq"], row["op"], row["clock"]) for row in rows}


def test_a_first_save_queues_its_project_its_session_and_itself_in_that_order(app: Engram) -> None:
    saved = app.save(draft("Fifteen minutes."))
    assert [entity for entity, _ in queue(app)] == ["project", "session", "observation"]
    assert ("observation", saved.sync_id) in queue(app)


def test_changes_of_one_row_are_queued_once_with_a_later_seq_and_clock(app: Engram) -> None:
    saved = app.save(draft("One.", topic_key="auth/tokens"))
    other = app.save(draft("Other.", title="Something else"))
    key = ("observation", saved.sync_id)
    changes: list[Callable[[], object]] = [
        lambda: app.save(draft("Two.", topic_key="auth/tokens")),
        lambda: app.save(draft("Two.", topic_key="auth/tokens")),
        lambda: app.observations.update(saved.id, Change(content="Three.")),
        lambda: app.observations.pin(saved.id),
        lambda: app.observations.mark_reviewed(saved.id),
        lambda: app.observations.delete(saved.id),
        lambda: app.observations.delete(saved.id, hard=True),
    ]
    seen = [queue(app)[key]]
    for change in changes:
        change()
        seen.append(queue(app)[key])
        assert list(queue(app))[-1] == key

    assert [seq for seq, _, _ in seen] == sorted({seq for seq, _, _ in seen})
    assert [stamp for _, _, stamp in seen] == sorted({stamp for _, _, stamp in seen})
    assert [op for _, op, _ in seen] == ["upsert"] * 7 + ["delete"]
    assert queue(app)["observation", other.sync_id][1] == "upsert"


def test_a_row_and_its_mutation_carry_the_same_clock(app: Engram) -> None:
    saved = app.save(draft("One.", topic_key="auth/tokens"))
    app.save(draft("Two.", topic_key="auth/tokens"))
    row = app.store.row("select clock from observations where id = :id", id=saved.id)
    assert row is not None
    assert row["clock"] == queue(app)["observation", saved.sync_id][2]


def test_the_clock_grows_when_the_wall_clock_goes_back(app: Engram, clock: FakeClock) -> None:
    first = app.save(draft("One."))
    clock.advance(hours=-20)
    second = app.save(draft("Two."))
    stamps = queue(app)
    assert stamps["observation", second.sync_id][2] > stamps["observation", first.sync_id][2]


def test_a_wall_clock_that_was_days_ahead_is_not_gone_on_from_once_it_is_right(app: Engram, clock: FakeClock) -> None:
    clock.advance(days=30)
    first = app.save(draft("One.", topic_key="a/b"))
    clock.advance(days=-30)
    app.save(draft("Two.", topic_key="a/b"))

    assert queue(app)["observation", first.sync_id][2] < due_before(int(clock().timestamp() * 1000))
    [change] = [one for one in app.replica.changes().mutations if one.entity == "observation"]
    assert above(change) > change.clock  # so that it wins against what it corrects, on every machine


def test_changes_after_a_leap_of_the_wall_clock_come_after_those_before_it(app: Engram, clock: FakeClock) -> None:
    before = app.save(draft("One."))
    for days in (30, 400):  # it leaps twice
        clock.advance(days=days)
        app.save(draft(f"After {days}."))
    clock.advance(days=-430, hours=-2)
    after = app.save(draft("Two."))

    stamps = queue(app)
    assert stamps["observation", after.sync_id][2] > stamps["observation", before.sync_id][2]


def test_two_processes_share_one_clock_and_one_device(app: Engram, open_memory: Opener) -> None:
    first = app.save(draft("One."))
    second = open_memory().save(draft("Two."))
    stamps = [queue(app)["observation", saved.sync_id][2] for saved in (first, second)]
    assert stamps[0] < stamps[1]
    assert stamps[0].rpartition("-")[2] == stamps[1].rpartition("-")[2]


def test_what_changes_nothing_queues_nothing(app: Engram) -> None:
    saved = app.save(draft("One."))
    app.observations.pin(saved.id)
    before = queue(app)
    app.observations.pin(saved.id)
    app.observations.update(saved.id, Change(content="One."))
    app.search("one")
    app.get(saved.id)
    app.contexts.assemble()
    assert queue(app) == before


def test_an_ambiguous_project_leaves_nothing_behind(
    data_dir: Path, tmp_path: Path, make_repo: RepoMaker, open_memory: Opener
) -> None:
    make_repo("work/one")
    make_repo("work/two")
    app = open_memory(tmp_path / "work")

    with pytest.raises(AmbiguousProjectError):
        app.save(draft("Fifteen minutes.", operation_id="op-1"), session_id="s-1")
    for table in ("observations", "sessions", "projects", "sync_mutations", "save_operations", "meta"):
        assert rows_of(app, table) == 0


def test_a_refused_save_or_update_leaves_nothing_behind(app: Engram) -> None:
    app.save(draft("One.", topic_key="auth/tokens", operation_id="op-1"))
    other = app.save(draft("Two.", title="Other", topic_key="auth/cookies"))
    before = queue(app)
    with raising(ConflictError, "operation_conflict"):
        app.save(draft("Two.", operation_id="op-1"), project="gadgets", session_id="s-9")
    with raising(ConflictError, "topic_taken"):
        app.observations.update(other.id, Change(content="Three.", topic_key="auth/tokens"))
    assert queue(app) == before
    assert rows_of(app, "projects") == rows_of(app, "sessions") == 1
    assert app.get(other.id, history=True).versions == ()


def test_a_save_that_fails_half_way_is_rolled_back_whole(app: Engram) -> None:
    app.save(draft("One."))
    before = queue(app)
    with app.store.transaction():
        app.store.execute("create trigger stop before insert on sync_mutations begin select raise(abort, 'no'); end")
    with pytest.raises(Exception, match="no"):
        app.save(draft("Two.", title="Other"), session_id="s-2")
    assert queue(app) == before
    assert (rows_of(app, "observations"), rows_of(app, "sessions")) == (1, 1)
