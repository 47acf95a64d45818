"""A search index that is gone or damaged: said with the way out by every door, and made again by the doctor."""

from __future__ import annotations

import json
import os
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest
from mcp import Client

from engram_py.database.errors import IndexDamagedError
from engram_py.interfaces.mcp.server import build_server
from engram_py.settings import Settings
from engram_py.upkeep import hook_log
from tests.database.files import damage_table, filled, opened, save
from tests.interfaces.http.asking import asker
from tests.interfaces.mcp.agent import Agent

DAMAGE = {
    "index": "drop table observations_fts",
    "prompts": "drop table prompts_fts",
    "words": "drop table observations_mentions",
    "part": "pragma writable_schema = on; delete from sqlite_master where name = 'observations_fts_config'",
    "blocks": "update observations_fts_data set block = x'ffffffffffffffff' where id > 1",
    "no-blocks": "delete from observations_fts_data",
    "version": "update observations_fts_config set v = 99 where k = 'version'",
}
PARTS = ("data", "idx", "docsize", "config")


def damage(path: Path, kind: str) -> None:
    """Damage the index of a closed database, by SQL or in the pages of one of its tables."""
    if kind in PARTS:
        damage_table(path, f"observations_fts_{kind}")
        return
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DAMAGE[kind])


@pytest.mark.parametrize("kind", [*(kind for kind in DAMAGE if kind != "prompts"), *PARTS])
def test_a_damaged_index_is_named_and_mended_and_nothing_saved_is_lost(data_dir: Path, kind: str) -> None:
    path = filled(data_dir, [f"number {number} " + "word " * (number % 7) for number in range(200)])
    damage(path, kind)
    with opened(data_dir) as app:
        with pytest.raises(IndexDamagedError) as refused:
            app.search("content")
        assert "engram doctor --fix" in refused.value.hint

        found = {check.check_id: check for check in app.doctor.examine().checks}
        assert (found["search_index"].result, found["search_index"].fixable) == ("error", True)
        assert found["integrity"].result == "ok"

        assert app.doctor.examine(fix=True).status == "ok"
        assert app.store.value("pragma integrity_check") == "ok"
        saved = save(app, "later")
        assert [hit.id for hit in app.search("later").results] == [saved.id]
        assert app.store.value("select count(*) from observations_fts where observations_fts match 'number'") == 200


def test_damage_of_more_than_the_index_is_not_called_the_indexs(data_dir: Path) -> None:
    path = filled(data_dir)
    damage(path, "index")
    damage_table(path, "sessions")
    with opened(data_dir) as app:
        found = {check.check_id: check for check in app.doctor.examine().checks}
    assert (found["integrity"].result, found["integrity"].fixable) == ("error", False)
    assert "restore" in (found["integrity"].safe_next_step or "")


def test_a_mistake_in_sql_is_not_called_damage(data_dir: Path) -> None:
    with opened(data_dir) as app, pytest.raises(sqlite3.OperationalError):
        app.store.rows("select nothing from nowhere")


def test_rebuilding_the_index_mends_one_whose_blocks_are_damaged(data_dir: Path) -> None:
    damage(filled(data_dir), "blocks")
    with opened(data_dir) as app:
        assert app.reindexing.run().mended
        assert len(app.search("content").results) == 3


# --- each door ----------------------------------------------------------------------------------------------


@pytest.fixture
def broken(data_dir: Path) -> Path:
    path = filled(data_dir)
    damage(path, "index")
    return path


def engram(*arguments: str, data_dir: Path, text: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "engram_py", *arguments],
        input=text,
        env={**os.environ, "ENGRAM_DATA_DIR": str(data_dir), "ENGRAM_PROJECT": "widgets"},
        cwd=data_dir.parent,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize("command", [("search", "content"), ("save", "A title", "Some content"), ("delete", "1")])
def test_a_command_names_the_way_out(broken: Path, data_dir: Path, command: tuple[str, ...]) -> None:
    done = engram(*command, data_dir=data_dir)
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.startswith("engram: index_damaged: ")
    assert "engram doctor --fix" in done.stderr
    assert "Traceback" not in done.stderr
    assert engram("doctor", "--fix", data_dir=data_dir).returncode == 0
    assert engram(*command, data_dir=data_dir).returncode == 0


def test_a_hook_logs_the_code_keeps_the_prompt_and_the_doctor_tells_what_to_do(data_dir: Path) -> None:
    damage(filled(data_dir), "prompts")
    event = {"session_id": "s", "cwd": str(data_dir.parent), "prompt": "rename the parser of invoices"}
    assert engram("hook", "user-prompt", data_dir=data_dir, text=json.dumps(event)).returncode == 0
    with opened(data_dir) as app:
        assert {one.reason for one in hook_log.lately(data_dir, app.journal.moment())} == {"index_damaged"}
        [check] = app.doctor.examine(check="hooks").checks
        assert "engram doctor --fix" in (check.safe_next_step or "")
        app.doctor.examine(fix=True)
    engram("hook", "session-end", data_dir=data_dir, text=json.dumps(event | {"reason": "exit"}))
    with opened(data_dir) as app:
        assert app.store.value("select content from user_prompts") == "rename the parser of invoices"


def test_http_names_the_way_out(broken: Path, data_dir: Path) -> None:
    with opened(data_dir) as app:
        ask = asker(app)
        for refused in (ask("GET", "/search?q=content"), ask("POST", "/observations", {"title": "A", "content": "B"})):
            assert (refused.status, refused.code) == (500, "index_damaged")
            assert "engram doctor --fix" in refused.value["hint"]


@pytest.mark.anyio
async def test_mcp_names_the_way_out(
    broken: Path, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    async with Client(build_server(Settings(data_dir), project="widgets")) as client:
        agent = Agent(client)
        for tool, given in (("mem_search", {"query": "content"}), ("mem_save", {"title": "A", "content": "B"})):
            facts = await agent.refusal(tool, **given)
            assert facts["error_code"] == "index_damaged"
            assert "engram doctor --fix" in facts["hint"]
