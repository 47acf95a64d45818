"""The doctor answers for the checks of Engram, by their names."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.observations.values import Draft
from tests.database.files import opened
from tests.upkeep.findings import finding, raw

ENGRAM = {
    "session_project_directory_mismatch", "manual_session_name_project_mismatch", "ambiguous_active_runtime_sessions",
    "stale_open_sessions", "invalid_session_identity", "unowned_session_project", "sync_mutation_required_fields",
    "sync_target_closed_space", "sqlite_lock_contention", "orphaned_observation_session",
}  # fmt: skip


@pytest.fixture
def memory(data_dir: Path) -> Iterator[Engram]:
    with opened(data_dir) as app:
        app.sessions.start("s-1")
        app.save(Draft("About one", "The content of one."), session_id="s-1")
        yield app


@pytest.mark.parametrize("check", sorted(ENGRAM))
def test_a_healthy_memory_passes_each(memory: Engram, check: str) -> None:
    assert finding(memory, check).result == "ok"


def test_a_full_report_holds_them_where_programs_read_it_and_people_are_spared(memory: Engram) -> None:
    everything = {one.check_id for one in memory.doctor.examine(engram=True).checks}
    assert everything == {*memory.doctor.check_ids(), *ENGRAM}
    assert not {one.check_id for one in memory.doctor.examine().checks} & ENGRAM


@pytest.mark.parametrize(
    ("check", "result", "statement"),
    [
        (
            "manual_session_name_project_mismatch",
            "warning",
            "update sessions set project = 'gadgets' where id <> 's-1'",
        ),
        ("unowned_session_project", "warning", "update sessions set project = '' where id = 's-1'"),
        ("invalid_session_identity", "error", "update sessions set id = ' ' where id = 's-1'"),
        ("sync_mutation_required_fields", "error", "update observations set title = ' '"),
        ("orphaned_observation_session", "warning", "delete from sessions"),
        ("sync_target_closed_space", "error", "insert into sync_state (target_key) values ('cloud:elsewhere')"),
    ],
)
def test_a_defect_is_found(memory: Engram, check: str, result: str, statement: str) -> None:
    memory.sessions.start("manual-save-widgets")
    raw(memory, statement)
    found = finding(memory, check)
    assert (found.result, bool(found.safe_next_step)) == (result, True)


def test_a_check_that_is_ours_too_is_repaired_under_either_name(memory: Engram) -> None:
    raw(memory, "delete from sessions")
    [repaired] = memory.doctor.examine(check="orphaned_observation_session", fix=True).checks
    assert (repaired.check_id, repaired.result, repaired.fixed) == ("orphaned_observation_session", "ok", True)


def test_a_session_in_the_repository_of_another_project_is_found(memory: Engram, tmp_path: Path) -> None:
    repository = tmp_path / "gadgets"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    memory.sessions.start("s-2", directory=str(repository), project="widgets")
    memory.sessions.start("s-3", directory=str(tmp_path / "gone"), project="widgets")

    found = finding(memory, "session_project_directory_mismatch")

    assert found.result == "warning"
    assert [(one["directory"], one["project"]) for one in found.evidence["found"]] == [(str(repository), "widgets")]


def test_open_sessions_are_counted_and_harm_nothing(memory: Engram) -> None:
    memory.sessions.start("s-2")
    several = finding(memory, "ambiguous_active_runtime_sessions")
    assert several.result == "ok"
    assert sorted(json.loads(several.evidence["found"][0]["session_ids"])) == ["s-1", "s-2"]
    raw(memory, "update sessions set started_at = '2020-01-01T00:00:00.000Z'")

    stale = finding(memory, "stale_open_sessions")

    assert (stale.result, stale.evidence["stale_count"]) == ("ok", 1)  # the other one holds a new observation
