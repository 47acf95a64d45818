"""The passes of upkeep (spec/seed-capabilities.md section 4, rows 33 to 35, 40, 90 to 102, 111, 124, 130)."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.database import runs
from engram_py.base.dataclass import replace
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.settings import Settings
from engram_py.memory.observations.usage import tier
from engram_py.memory.observations.values import Change
from engram_py.upkeep.maintenance import Maintenance
from tests.support import FakeClock, rows_of

FACT = "Billing runs on Debian in the cellar"


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 1, 12, tzinfo=UTC))


@pytest.fixture
def app(data_dir: Path, folder: Path, clock: FakeClock) -> Iterator[Engram]:
    with Engram(settings=Settings(data_dir, clock=clock), directory=folder) as engram:
        yield engram


def derived(app: Engram, text: str = FACT, *, salience: float = 0.8, entity: str = "billing") -> int:
    row = app.facts.add(entity, text, origin="derived").id
    app.observations.update(row, Change(salience=salience))
    return row


def episode(app: Engram, text: str, *, session_id: str | None = None) -> int:
    title = f"Session {app.store.value('select count(*) from observations')}"
    return app.save(Draft(title, text, "session_summary", origin="derived"), session_id=session_id).id


def weight(app: Engram, row: int) -> float:
    """Read beside the program: opening a memory is a use of it."""
    return float(app.store.value("select salience * faded from observations where id = :id", id=row))


def lifecycle(app: Engram, row: int) -> str:
    return app.get(row).observation.lifecycle


def consolidate(app: Engram) -> Mapping[str, float]:
    [done] = app.maintenance.run("consolidate").passes
    assert done.status == "done", done
    return {name: count for step in done.steps for name, count in step.counts.items()}


def found(app: Engram, words: str) -> list[int]:
    return [hit.id for hit in app.search(words).results]


# --- fading --------------------------------------------------------------------------------------------------


def test_row_90_a_derived_fact_fades_by_the_formula_here_alone_and_not_by_a_clock_that_went_back(
    app: Engram, clock: FakeClock
) -> None:
    row, queued = derived(app), rows_of(app, "sync_mutations")
    clock.advance(days=30)
    consolidate(app)
    faded = weight(app, row)
    assert faded == pytest.approx(0.294, abs=0.005)
    clock.advance(days=-365)
    assert "consolidate" in app.maintenance.due()
    consolidate(app)
    assert weight(app, row) == faded
    assert rows_of(app, "sync_mutations") == queued


def test_row_91_thirty_passes_come_to_the_same_as_one(app: Engram, clock: FakeClock) -> None:
    row = derived(app)
    for _ in range(30):
        clock.advance(days=1)
        consolidate(app)
    assert app.store.value("select salience * faded from observations where id = :id", id=row) == pytest.approx(
        0.294, abs=0.001
    )
    before = weight(app, row)
    consolidate(app)
    assert weight(app, row) == before


def test_row_92_use_slows_fading(app: Engram, clock: FakeClock) -> None:
    row = derived(app)
    clock.advance(days=20)
    app.usage.surfaced([row])
    app.usage.flush()
    clock.advance(days=10)
    consolidate(app)
    assert weight(app, row) == pytest.approx(0.8 * 0.7165, abs=0.005)


def test_row_93_what_is_pinned_never_fades(app: Engram, clock: FakeClock) -> None:
    row = derived(app)
    app.observations.pin(row)
    clock.advance(days=365)
    consolidate(app)
    assert (weight(app, row), lifecycle(app, row)) == (0.8, "active")


# --- merging, promoting ----------------------------------------------------------------------------------------


def test_row_94_of_two_episodes_that_say_the_same_the_older_stands(app: Engram, clock: FakeClock) -> None:
    older = episode(app, "Moved the parser to a module of its own and fixed the tests")
    clock.advance(days=1)
    newer = episode(app, "Fixed the tests, and moved the parser to a module of its own")
    other = episode(app, "Moved the lexer to a folder of its own and fixed nothing else at all")
    assert consolidate(app)["merged"] == 1
    assert [lifecycle(app, row) for row in (older, newer, other)] == ["active", "archived", "active"]
    assert [(note.label, note.id) for note in app.get(newer).relations] == [("duplicates", older)]
    assert consolidate(app)["merged"] == 0
    sent = [one for one in app.replica.changes().mutations if one.entity == "relation"]
    assert sent == []  # others know no such verdict


def test_row_94_episodes_of_two_agents_both_stand(app: Engram) -> None:
    rows = []
    for agent in ("claude-code", "codex"):
        app.sessions.start(f"s-{agent}", project="widgets")
        with app.store.transaction():
            app.store.update("sessions", {"id": f"s-{agent}"}, {"agent": agent})
        rows.append(episode(app, "Moved the parser to a module of its own", session_id=f"s-{agent}"))
    assert consolidate(app)["merged"] == 0
    assert [lifecycle(app, row) for row in rows] == ["active", "active"]


def test_row_90_an_episode_fades_and_is_not_archived_for_it(app: Engram, clock: FakeClock) -> None:
    row = episode(app, "Moved the parser to a module of its own")
    begun = weight(app, row)
    clock.advance(days=90)
    consolidate(app)
    assert weight(app, row) == pytest.approx(begun * math.exp(-3), abs=0.005)
    assert lifecycle(app, row) == "active"


@pytest.mark.parametrize("other", ["The port is not 8080 in staging now", "The port is 9090 in staging now"])
def test_row_95_a_negation_or_a_number_keeps_both(app: Engram, other: str) -> None:
    rows = [episode(app, "The port is 8080 in staging now"), episode(app, other)]
    consolidate(app)
    assert [lifecycle(app, row) for row in rows] == ["active", "active"]


@pytest.mark.parametrize(("episodes", "begins", "ends"), [(3, 0.8, 0.85), (2, 0.8, 0.8), (3, 0.98, 1.0)])
def test_row_96_what_three_recent_episodes_share_weighs_more(
    app: Engram, clock: FakeClock, episodes: int, begins: float, ends: float
) -> None:
    row = derived(app, salience=begins)
    clock.advance(seconds=1)
    for number in range(episodes):
        episode(app, f"{FACT} {number}")
    consolidate(app)
    assert weight(app, row) == pytest.approx(ends, abs=0.001)
    consolidate(app)
    assert weight(app, row) == pytest.approx(ends, abs=0.001)


# --- putting away ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("salience", "days", "stays"),
    [(0.15, 31, False), (0.15, 29, True), (0.9, 31, True)],
    ids=["idle", "used", "weighs"],
)
def test_row_97_what_is_light_and_idle_is_archived(
    app: Engram, clock: FakeClock, salience: float, days: int, stays: bool
) -> None:
    row = derived(app, salience=salience)
    clock.advance(days=days)
    consolidate(app)
    assert (row in found(app, "billing cellar Debian")) is stays


@pytest.mark.parametrize(("floor", "stays"), [(0.0, True), (1.0, False)])
def test_the_weight_below_which_it_is_archived_is_a_setting(
    data_dir: Path, folder: Path, clock: FakeClock, floor: float, stays: bool
) -> None:
    with Engram(settings=Settings(data_dir, clock=clock, salience_floor=floor), directory=folder) as app:
        row = derived(app, salience=0.5)
        clock.advance(days=31)
        consolidate(app)
        assert (row in found(app, "billing cellar Debian")) is stays


def test_row_98_what_was_archived_is_there_and_comes_back(app: Engram, clock: FakeClock) -> None:
    row = derived(app, salience=0.1)
    clock.advance(days=40)
    consolidate(app)
    assert lifecycle(app, row) == "archived"
    app.observations.update(row, Change(archived=False))
    assert row in found(app, "billing cellar Debian")
    consolidate(app)
    assert lifecycle(app, row) == "active"  # it fades anew from now on


@given(
    kind=st.sampled_from(["decision", "bugfix", "note", "fact", "manual", "discovery"]),
    origin=st.sampled_from(["user", "agent", "import"]),
    salience=st.floats(0, 1),
    days=st.integers(400, 4_000),
)
def test_row_99_what_was_saved_on_purpose_is_found_however_long_nobody_asked(
    kind: str, origin: str, salience: float, days: int
) -> None:
    clock = FakeClock()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "widgets")
        folder.mkdir()
        with Engram(settings=Settings(Path(name, "data"), clock=clock), directory=folder) as app:
            row = app.save(Draft("Tokens live an hour", "Because refreshing is cheap", kind, origin=origin)).id  # type: ignore[arg-type]
            app.observations.update(row, Change(salience=salience))
            for _ in range(3):
                clock.advance(days=days / 3)
                consolidate(app)
            assert row in found(app, "how long do tokens live?")


@pytest.mark.parametrize(("kept", "expected"), [(365, "archived"), (0, "active")])
def test_row_100_derived_episodes_are_archived_after_a_year_unless_they_are_kept(
    data_dir: Path, folder: Path, clock: FakeClock, kept: int, expected: str
) -> None:
    with Engram(settings=Settings(data_dir, clock=clock, episode_retention_days=kept), directory=folder) as app:
        row = episode(app, "Moved the parser to a module of its own")
        written = app.save(Draft("Summary", "Written by the agent itself", "session_summary")).id
        clock.advance(days=366)
        consolidate(app)
        assert (lifecycle(app, row), lifecycle(app, written)) == (expected, "active")


@pytest.mark.parametrize(
    ("settings", "left"),
    [({}, 0), ({"episode_retention_days": 0}, 1), ({"episode_retention_days": 0, "turn_retention_days": 20}, 0)],
    ids=["30-days", "for-ever", "a-setting-of-their-own"],
)
def test_row_100_a_pass_prunes_raw_messages_and_0_keeps_them_for_ever(
    data_dir: Path, folder: Path, clock: FakeClock, settings: dict[str, Any], left: int
) -> None:
    chosen = replace(Settings(data_dir, clock=clock, sources=dict.fromkeys(settings, "config.json")), **settings)
    with Engram(settings=chosen, directory=folder) as app:
        app.ingest("talk", [{"user": "The port is 8080.", "assistant": ""}], skip_extraction=True)
        clock.advance(days=366)
        consolidate(app)
        assert app.store.value("select count(*) from turns") == left


# --- runs ------------------------------------------------------------------------------------------------------


def test_rows_40_and_101_each_pass_leaves_a_run_and_old_ones_go(app: Engram, clock: FakeClock) -> None:
    derived(app)
    clock.advance(days=1)
    consolidate(app)
    [run] = app.upkeep_reports.runs(name="consolidate").runs
    assert (run.status, run.counts["faded"]) == ("done", 1)
    clock.advance(days=31)
    app.maintenance.run("heartbeat")
    assert [one.name for one in app.upkeep_reports.runs().runs] == ["heartbeat"]


def test_row_102_two_passes_at_once_are_one(app: Engram, data_dir: Path, folder: Path) -> None:
    with Engram(settings=Settings(data_dir, clock=app.settings.clock), directory=folder) as other:
        seen: list[bool] = []

        def look(until: float | None) -> dict[str, float]:
            seen.append(other.maintenance.run("consolidate").busy)
            return {}

        first = Maintenance(app.store, app.journal, lambda: {"consolidate": [("look", look)]})
        assert not first.run("consolidate").busy
    assert seen == [True]


def test_row_111_runs_tell_how_passes_fare(app: Engram) -> None:
    with app.store.transaction():
        for status, ms in (("done", 10), ("failed", 30), ("skipped", 20), ("done", 20)):
            runs.record(app.store, app.journal, "distill", status, ms=ms)  # type: ignore[arg-type]
    [fared] = app.upkeep_reports.runs().passes
    assert (fared.name, fared.runs, fared.success, fared.mean_ms) == ("distill", 4, 0.75, 20)


def test_row_130_a_step_that_fails_does_not_stop_the_others(app: Engram) -> None:
    def breaks(until: float | None) -> dict[str, float]:
        raise ZeroDivisionError

    steps = {"heartbeat": [("one", breaks), ("two", lambda until: {"done": 2.0})]}
    [done] = Maintenance(app.store, app.journal, lambda: steps).run("heartbeat").passes
    assert done.status == "failed"
    assert [(step.name, step.error, step.counts) for step in done.steps] == [
        ("one", "ZeroDivisionError", {}), ("two", "", {"done": 2.0}),
    ]  # fmt: skip


def test_a_pass_is_due_when_its_time_has_come(app: Engram, clock: FakeClock) -> None:
    assert set(app.maintenance.due()) == {"heartbeat", "consolidate", "synthesize"}
    app.maintenance.run()
    assert app.maintenance.due() == ()
    clock.advance(minutes=3)
    assert app.maintenance.due() == ("heartbeat",)
    with pytest.raises(InvalidArgumentError):
        app.maintenance.run("everything")


def test_a_pass_that_has_no_time_left_goes_on_with_the_next_run(app: Engram, clock: FakeClock) -> None:
    row = derived(app)
    clock.advance(days=30)
    app.maintenance.run("consolidate", until=0.0)
    assert weight(app, row) == 0.8
    consolidate(app)
    assert weight(app, row) < 0.3


# --- use -------------------------------------------------------------------------------------------------------


def test_row_34_the_hot_report_names_what_is_used_most(app: Engram) -> None:
    assert app.upkeep_reports.hot().observations == ()
    rows = [app.save(Draft(f"Decision {number}", f"Because {number}", "decision")).id for number in range(3)]
    page = app.save(Draft("Alice", "Works at Acme", "person", topic_key="entity/alice")).id
    for row, times in zip((*rows, page), (1, 5, 3, 2), strict=True):
        for _ in range(times):
            app.usage.surfaced([row])
    app.usage.flush()
    hot = app.upkeep_reports.hot(limit=2)
    assert [(one.id, one.access_count) for one in hot.observations] == [(rows[1], 5), (rows[2], 3)]
    assert ([one.id for one in hot.entities], hot.total) == ([page], 11)


def test_row_35_looking_through_is_no_use(app: Engram, tmp_path: Path) -> None:
    app.save(Draft("Decision", "Because"))
    app.transfer.export(tmp_path / "out.json")
    app.upkeep_reports.hot()
    app.usage.flush()
    assert app.store.value("select sum(access_count) from observations") == 0


@pytest.mark.parametrize(
    ("count", "days", "expected"),
    [(1, 7, "hot"), (1, 8, "warm"), (1, 30, "warm"), (1, 31, "cold"), (10, 30, "hot"), (10, 31, "warm")],
)
def test_row_124_tiers_follow_from_use(count: int, days: int, expected: str) -> None:
    clock = FakeClock()
    used = clock.now
    clock.advance(days=days)
    assert tier(count, used, clock.now) == expected
