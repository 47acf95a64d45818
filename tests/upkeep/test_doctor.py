"""The doctor: findings, repairs, Engram's own checks, and the log of hooks."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from engram_py import Draft, Engram
from engram_py.base.clock import Stamp, dated
from engram_py.base.database.backup import check_backup
from engram_py.base.database.errors import StoreDamagedError
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.settings import load_settings
from engram_py.base.times import to_text
from engram_py.memory.sessions.spool_files import put
from engram_py.sharing.sync.mutation import Mutation
from engram_py.upkeep import doctor, hook_log
from engram_py.upkeep.hook_log import append, expect, lately
from tests.base.database.files import damage_table, filled, opened, save
from tests.memory.sessions.test_spool import record
from tests.support import START, FakeClock, locked
from tests.upkeep.findings import finding, raw

FTS = "title, topic_key, aliases, content, terms"


@pytest.fixture
def memory(data_dir: Path) -> Iterator[Engram]:
    """Three live observations, a soft-deleted one, a judged relation and a prompt."""
    with opened(data_dir) as app:
        one, two = save(app, "one"), save(app, "two")
        save(app, "three")
        app.observations.delete(save(app, "hidden").id)
        app.relations.compare(one.id, two.id, "related", confidence=0.9, reasoning="both are numbers")
        app.prompts.save("what comes after two?")
        yield app


def test_every_check_of_a_healthy_memory_is_ok(memory: Engram) -> None:
    report = memory.doctor.examine()
    assert {check.check_id: check.result for check in report.checks} == dict.fromkeys(memory.doctor.check_ids(), "ok")
    assert (report.status, report.path, report.backup) == ("ok", str(memory.store.path), None)
    assert report.summary == {"total": 21, "ok": 21, "warnings": 0, "errors": 0}


def test_a_new_memory_is_healthy_and_fixing_it_makes_no_backup(data_dir: Path) -> None:
    with opened(data_dir) as app:
        report = app.doctor.examine(fix=True)
    assert (report.status, report.backup) == ("ok", None)
    assert not (data_dir / "backups").exists()


def drop_triggers(app: Engram) -> None:
    raw(app, "drop trigger observations_fts_insert", "drop trigger prompts_fts_enter")
    save(app, "unfound")


def sql(*statements: str) -> Callable[[Engram], None]:
    return lambda app: raw(app, *statements)


FORGET_ROW = (
    f"insert into observations_fts (observations_fts, rowid, {FTS}) select 'delete', id, {FTS} from observations"
)
FORGET_PROMPT = "insert into prompts_fts (prompts_fts, rowid, content, terms) select 'delete', id, content, terms"
INDEX_DELETED = f"insert into observations_fts (rowid, {FTS}) select id, {FTS} from observations"


def loosen_permissions(app: Engram) -> None:
    for path in (app.store.path, app.store.path.with_name("engram.db-wal"), app.store.path.parent):
        path.chmod(0o755)


@pytest.mark.parametrize(
    ("check", "result", "seed"),
    [
        ("schema", "error", drop_triggers),
        ("search_index", "error", drop_triggers),
        ("search_index", "error", sql(f"{FORGET_ROW} where id = 1")),
        ("search_index", "error", sql(f"{FORGET_PROMPT} from user_prompts")),
        ("search_index", "error", sql(f"{INDEX_DELETED} where deleted_at is not null")),
        ("search_index", "error", sql("drop table observations_vocab", "drop table observations_fts")),
        ("search_index", "error", sql("drop table passages_fts")),
        ("texts", "error", sql("update observations set content = cast(x'626f6479ff' as text) where id = 3")),
        ("texts", "error", sql("update user_prompts set content = cast(x'c3' as text)")),
        ("texts", "error", sql("update sessions set directory = cast(x'2feda080' as text)")),
        ("orphans", "warning", sql("delete from sessions")),
        ("projects", "warning", sql("delete from projects")),
        ("counts", "warning", sql("update counts set number = number + 1 where kind = 'prompt'")),
        ("counts", "warning", sql("delete from counts where kind = 'observation'")),
        ("permissions", "warning", loosen_permissions),
    ],
)
def test_a_defect_is_found_repaired_after_a_backup_and_not_found_again(
    memory: Engram, check: str, result: str, seed: Callable[[Engram], None]
) -> None:
    seed(memory)

    found = finding(memory, check)
    assert (found.result, found.fixable, found.fixed) == (result, True, False)
    assert found.safe_next_step
    assert "doctor --fix" in found.safe_next_step
    assert finding(memory, check) == found  # looking changes nothing

    live = memory.store.value("select count(*) from observations where deleted_at is null")
    report = memory.doctor.examine(fix=True)

    assert report.status == "ok"
    assert {one.check_id for one in report.checks if one.fixed} >= {check}
    assert report.backup is not None
    assert check_backup(Path(report.backup)) == live
    again = memory.doctor.examine(fix=True)
    assert (again.status, again.backup) == ("ok", None)


def test_a_relation_that_lost_an_end_is_marked_orphaned_and_reported_from_then_on(memory: Engram) -> None:
    raw(memory, "delete from observations where id = 1")
    assert "without one of its memories" in finding(memory, "orphans").message

    memory.doctor.examine(fix=True)

    [row] = memory.store.rows(
        "select judgment_status, relation, reason from memory_relations where relation = 'related'"
    )
    assert tuple(row) == ("orphaned", "related", "both are numbers")
    assert "to a memory that never arrived" in finding(memory, "orphans").message


def test_what_was_saved_without_a_trigger_is_found_after_the_repair(memory: Engram) -> None:
    drop_triggers(memory)
    assert memory.search("unfound").results == ()
    memory.doctor.examine(fix=True)
    assert [hit.title for hit in memory.search("unfound").results] == ["About unfound"]
    assert memory.search("hidden").results == ()
    assert memory.observations.delete(memory.search("unfound").results[0].id)
    assert memory.search("unfound").results == ()  # the triggers are back


def test_a_session_that_was_lost_is_made_again_in_its_project_and_queued(memory: Engram) -> None:
    session_id = memory.get(1).observation.session_id
    raw(memory, "delete from sessions", "delete from sync_mutations")
    memory.doctor.examine(check="orphans", fix=True)
    assert memory.sessions.get(session_id).project == "widgets"
    queued = [tuple(row) for row in memory.store.rows("select entity, entity_key from sync_mutations")]
    assert queued == [("session", session_id)]


def test_one_check_alone_repairs_nothing_else(memory: Engram) -> None:
    loosen_permissions(memory)
    raw(memory, "delete from projects")
    report = memory.doctor.examine(check="projects", fix=True)
    assert [(one.check_id, one.result, one.fixed) for one in report.checks] == [("projects", "ok", True)]
    assert finding(memory, "permissions").result == "warning"


def test_a_check_that_does_not_exist_is_refused_with_the_ones_that_do(memory: Engram) -> None:
    with pytest.raises(InvalidArgumentError) as refused:
        memory.doctor.examine(check="karma")
    assert "search_index" in refused.value.expected


def test_rows_dated_ahead_are_found_here_and_where_they_wait(memory: Engram) -> None:
    saved = memory.save(Draft("Use WAL", "because"))
    stamp = Stamp(int((datetime.now(UTC) + timedelta(days=10)).timestamp() * 1000), 0, "abc")
    arrived = {"sync_id": "obs-1", "session_id": "s", "type": "fact", "title": "t", "content": "c", "scope": "project"}
    waits = Mutation("observation", "obs-1", "upsert", "p", arrived, str(stamp))
    memory.replica.apply([waits])
    raw(memory, f"update observations set clock = '{stamp}' where id = {saved.id}")

    found = finding(memory, "clock")

    assert (found.result, found.fixable) == ("warning", False)
    assert found.evidence == {"waiting": 1, "held": 1, "observations": str(saved.id)}
    assert f"{dated(str(stamp))}" in found.message


@pytest.mark.parametrize(
    ("free", "result"), [(5 * 2**20, "error"), (50 * 2**20, "warning"), (500 * 2**20, "ok")], ids=str
)
def test_a_disk_with_little_space_is_found(
    memory: Engram, monkeypatch: pytest.MonkeyPatch, free: int, result: str
) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _path: SimpleNamespace(free=free))
    found = finding(memory, "free_disk")
    assert (found.result, found.evidence) == (result, {"free_bytes": free})


def test_a_write_ahead_log_that_grew_large_is_found(memory: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(doctor, "LARGE_WAL_BYTES", 1)
    assert finding(memory, "write_lock").result == "warning"


def test_a_file_another_program_keeps_locked_is_a_finding_among_the_others(memory: Engram) -> None:
    memory.store.hurry(0)
    with locked(memory.store.path):
        report = memory.doctor.examine()
    results = {check.check_id: check.result for check in report.checks}
    assert results == dict.fromkeys(memory.doctor.check_ids(), "ok") | {"write_lock": "error"}
    assert finding(memory, "write_lock").result == "ok"


def test_damage_is_a_finding_and_is_not_repaired_over(data_dir: Path) -> None:
    path = filled(data_dir)
    damage_table(path, "observations")
    before = path.read_bytes()
    with opened(data_dir) as app:
        report = app.doctor.examine()
        found = next(check for check in report.checks if check.check_id == "integrity")
        assert (report.status, found.result, found.fixable) == ("error", "error", False)
        assert "engram restore" in (found.safe_next_step or "")
        with pytest.raises(StoreDamagedError):
            app.backups.create()
        assert not list(app.settings.data_dir.glob("backups/*.db"))
        assert app.doctor.examine(fix=True).status == "error"
    assert path.read_bytes() == before


@pytest.mark.parametrize(("said", "result"), [("1", "warning"), ("on", "warning"), ("", "ok"), ("off", "ok")])
def test_a_server_that_is_open_to_others_is_said(data_dir: Path, folder: Path, said: str, result: str) -> None:
    settings = load_settings({"ENGRAM_HTTP_OPEN": said}, data_dir=data_dir)
    with Engram(settings=settings, directory=folder) as app:
        assert app.doctor.examine(check="http").checks[0].result == result


OTHERS, LAUNCHER = "#!/bin/sh\necho v1.16\n", "#!/usr/bin/python3\nfrom engram_py.__main__ import main\nmain()\n"


@pytest.mark.skipif(os.name == "nt", reason="programs are made of scripts")
@pytest.mark.parametrize(
    ("programs", "result", "said", "step"),
    [
        pytest.param({}, "ok", "`engram` is not on the PATH", "", id="none"),
        pytest.param({"engram": LAUNCHER}, "ok", "/engram; this one", "", id="ours"),
        pytest.param(
            {"engram": OTHERS, "engram-py": LAUNCHER}, "ok", "/engram, another program", "engram-py", id="both"
        ),
        pytest.param({"engram": OTHERS}, "warning", "/engram, another program", "on the PATH", id="another"),
    ],
)
def test_the_doctor_says_which_program_engram_is(
    memory: Engram, tmp_path: Path, monkeypatch: pytest.MonkeyPatch,
    programs: dict[str, str], result: str, said: str, step: str,
) -> None:  # fmt: skip
    folder = tmp_path / "programs"
    folder.mkdir()
    for name, text in programs.items():
        (folder / name).write_text(text)
        (folder / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(folder))

    [check] = memory.doctor.examine(check="command").checks

    assert (check.result, said in check.message, step in (check.safe_next_step or "")) == (result, True, True)


@pytest.fixture
def place(data_dir: Path) -> Path:
    data_dir.mkdir(exist_ok=True)
    return data_dir


def fail(place: Path, reason: str = "timeout", *, days: float = 0) -> None:
    append(place, now=START - timedelta(days=days), agent="codex", event="stop", reason=reason, stage="opening")


def test_the_failures_of_the_last_days_are_read_in_order_and_what_is_none_is_left_out(place: Path) -> None:
    fail(place, "transcript_missing")
    fail(place, "ambiguous_project")
    assert lately(place, START) == []
    for reason, days in (("old", 8), ("timeout", 6), ("store_busy", 0)):
        fail(place, reason, days=days)
    # No detail takes the place of the time.
    append(place, now=START, agent="codex", event="stop", reason="ZeroDivisionError", at="handlers.py:120")
    assert [failure.reason for failure in lately(place, START)] == ["timeout", "store_busy", "ZeroDivisionError"]


def test_the_log_does_not_grow_without_end(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(hook_log, "MOST_BYTES", 2_000)
    for number in range(200):
        fail(place, f"reason {number}")

    assert (place / "hooks.log").stat().st_size < 2_400
    assert lately(place, START)[-1].reason == "reason 199"
    assert [path.name for path in place.iterdir()] == ["hooks.log"]


@pytest.mark.parametrize("line", [b"", b"{", b"[]", b"null", b'{"at": 7}', b"\xff\x00", b"[" * 50_000])
def test_a_line_that_is_no_record_is_passed_over(place: Path, line: bytes) -> None:
    (place / "hooks.log").write_bytes(line + b"\n")
    fail(place)
    assert len(lately(place, START)) == 1


def test_a_log_that_cannot_be_written_is_no_error(tmp_path: Path) -> None:
    (tmp_path / "hooks.log").mkdir()
    fail(tmp_path)
    fail(tmp_path / "missing")
    assert lately(tmp_path, START) == []


def test_a_log_that_points_elsewhere_is_not_followed(place: Path, tmp_path: Path) -> None:
    (tmp_path / "other").write_text("mine")
    (place / "hooks.log").symlink_to(tmp_path / "other")
    fail(place)
    assert (tmp_path / "other").read_text() == "mine"


def test_the_doctor_is_content_while_no_hook_fails_and_says_what_waits(app: Engram, place: Path) -> None:
    [check] = app.doctor.examine(check="hooks").checks
    assert (check.result, check.message) == ("ok", "no hook failed in seven days")
    put(place, record())
    [check] = app.doctor.examine(check="hooks").checks
    assert (check.result, check.message) == ("ok", "1 prompt waiting to be stored")


def test_the_doctor_says_which_hooks_failed_and_what_to_do(app: Engram, place: Path) -> None:
    for reason in ("timeout", "store_busy", "timeout", "KeyError"):
        fail(place, reason)

    [check] = app.doctor.examine(check="hooks").checks

    assert check.result == "warning"
    assert check.message.startswith("4 hooks failed in seven days: timeout (2), store_busy (1), KeyError (1); last")
    busy, other, where = (check.safe_next_step or "").splitlines()
    assert busy.startswith("timeout: ")
    assert "write_lock" in busy
    assert other.startswith("store_busy: ")
    assert str(place / "hooks.log") in where


@pytest.mark.parametrize("reason", ["input_is_not_json", "empty_input", "transcript_refused", "cwd_missing"])
def test_what_setup_does_not_cure_is_not_sent_there(app: Engram, place: Path, reason: str) -> None:
    fail(place, reason)
    [check] = app.doctor.examine(check="hooks").checks
    advice, _ = (check.safe_next_step or "").splitlines()
    assert advice.startswith(f"{reason}: ")
    assert "setup" not in advice


@pytest.fixture
def written(place: Path) -> Path:
    """Setup wrote the hooks of Codex."""
    (place / "setup").mkdir()
    expect(place, "codex", START)
    return place


def test_hooks_that_never_ran_since_setup_wrote_them_are_said(app: Engram, written: Path, clock: FakeClock) -> None:
    [check] = app.doctor.examine(check="hooks").checks
    assert (check.result, "no hook of codex ran since setup" in check.message) == ("ok", True)
    assert "/hooks" in (check.safe_next_step or "")
    clock.advance(days=2)
    assert app.doctor.examine(check="hooks").checks[0].result == "warning"
    expect(written, "codex", None)
    assert app.doctor.examine(check="hooks").checks[0].message == "no hook failed in seven days"


@pytest.mark.parametrize("hosts", [(), ("1:2",)], ids=["a-server-alone", "a-hook"])
def test_a_session_of_the_agent_tells_whether_its_hooks_ran(app: Engram, written: Path, hosts: tuple[str, ...]) -> None:
    with app.store.transaction():
        app.store.insert("sessions", session_row("codex"))
    if hosts:
        app.sessions.keep_hosts("s9", hosts)
    [check] = app.doctor.examine(check="hooks").checks
    assert check.result == ("ok" if hosts else "warning")


@pytest.mark.parametrize(
    ("agent", "client"),
    [
        ("codex", "codex-mcp-client"), ("gemini", "gemini-cli-mcp-client"), ("qwen", "qwen-code-mcp-client"),
        ("cursor", "cursor-vscode"), ("vscode", "Visual Studio Code - Insiders"), ("opencode", "opencode"),
        ("claude-code", "claude-code"),
    ],
)  # fmt: skip
def test_a_server_that_an_agent_used_without_its_hooks_is_told_by_any_name_of_it(
    app: Engram, written: Path, agent: str, client: str
) -> None:
    expect(written, "codex", None)
    expect(written, agent, START)
    with app.store.transaction():
        app.store.insert("sessions", session_row(client))
    [check] = app.doctor.examine(check="hooks").checks
    assert (check.result, f"no hook of {agent} ran since setup" in check.message) == ("warning", True)


def session_row(agent: str) -> dict[str, str]:
    now = to_text(START + timedelta(seconds=1))
    names = {"id": "s9", "project": "widgets", "directory": "", "agent": agent}
    return names | {"started_at": now, "updated_at": now, "clock": ""}


ENGRAM = {
    "session_project_directory_mismatch", "manual_session_name_project_mismatch", "ambiguous_active_runtime_sessions",
    "stale_open_sessions", "invalid_session_identity", "unowned_session_project", "sync_mutation_required_fields",
    "sync_target_closed_space", "sqlite_lock_contention", "orphaned_observation_session",
}  # fmt: skip


@pytest.fixture
def furnished(data_dir: Path) -> Iterator[Engram]:
    with opened(data_dir) as app:
        app.sessions.start("s-1")
        app.save(Draft("About one", "The content of one."), session_id="s-1")
        yield app


@pytest.mark.parametrize("check", sorted(ENGRAM))
def test_a_healthy_memory_passes_each(furnished: Engram, check: str) -> None:
    assert finding(furnished, check).result == "ok"


def test_a_full_report_holds_them_where_programs_read_it_and_people_are_spared(furnished: Engram) -> None:
    everything = {one.check_id for one in furnished.doctor.examine(engram=True).checks}
    assert everything == {*furnished.doctor.check_ids(), *ENGRAM}
    assert not {one.check_id for one in furnished.doctor.examine().checks} & ENGRAM


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
def test_a_defect_is_found(furnished: Engram, check: str, result: str, statement: str) -> None:
    furnished.sessions.start("manual-save-widgets")
    raw(furnished, statement)
    found = finding(furnished, check)
    assert (found.result, bool(found.safe_next_step)) == (result, True)


def test_a_check_that_is_ours_too_is_repaired_under_either_name(furnished: Engram) -> None:
    raw(furnished, "delete from sessions")
    [repaired] = furnished.doctor.examine(check="orphaned_observation_session", fix=True).checks
    assert (repaired.check_id, repaired.result, repaired.fixed) == ("orphaned_observation_session", "ok", True)


def test_a_session_in_the_repository_of_another_project_is_found(furnished: Engram, tmp_path: Path) -> None:
    repository = tmp_path / "gadgets"
    subprocess.run(["git", "init", "-q", str(repository)], check=True)
    furnished.sessions.start("s-2", directory=str(repository), project="widgets")
    furnished.sessions.start("s-3", directory=str(tmp_path / "gone"), project="widgets")

    found = finding(furnished, "session_project_directory_mismatch")

    assert found.result == "warning"
    assert [(one["directory"], one["project"]) for one in found.evidence["found"]] == [(str(repository), "widgets")]


def test_open_sessions_are_counted_and_harm_nothing(furnished: Engram) -> None:
    furnished.sessions.start("s-2")
    several = finding(furnished, "ambiguous_active_runtime_sessions")
    assert several.result == "ok"
    assert sorted(json.loads(several.evidence["found"][0]["session_ids"])) == ["s-1", "s-2"]
    raw(furnished, "update sessions set started_at = '2020-01-01T00:00:00.000Z'")

    stale = finding(furnished, "stale_open_sessions")

    assert (stale.result, stale.evidence["stale_count"]) == ("ok", 1)  # the other one holds a new observation
