"""The doctor: finds what is wrong, repairs what is derived after a backup, and then finds nothing."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from types import SimpleNamespace

import pytest

from engram_py import Draft, Engram
from engram_py.clock import Stamp, dated
from engram_py.database.backup import check_backup
from engram_py.database.errors import StoreDamagedError
from engram_py.errors import InvalidArgumentError
from engram_py.settings import load_settings
from engram_py.sync.mutation import Mutation
from engram_py.upkeep import doctor
from tests.database.files import damage_table, filled, opened, save
from tests.memory import locked
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
    assert report.summary == {"total": 18, "ok": 18, "warnings": 0, "errors": 0}


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
    assert "1 relation(s) without an end" in finding(memory, "orphans").message

    memory.doctor.examine(fix=True)

    [row] = memory.store.rows("select judgment_status, relation, reason from memory_relations")
    assert tuple(row) == ("orphaned", "related", "both are numbers")
    assert "1 orphaned relation(s) to a memory that never arrived" in finding(memory, "orphans").message


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
