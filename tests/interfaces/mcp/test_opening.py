"""The database is opened by the first call, and one that cannot be opened is that call's error."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Literal

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from engram_py import Engram
from engram_py.interfaces.mcp.server import build_server
from engram_py.settings import Settings
from tests.database.files import filled
from tests.interfaces.mcp.agent import Agent, exchange, rows, tool_call


def a_file_for_a_folder(data_dir: Path) -> Path:
    data_dir.write_text("not a folder", encoding="utf-8")
    return data_dir


def garbage(data_dir: Path) -> Path:
    data_dir.mkdir(mode=0o700, exist_ok=True)
    (data_dir / "engram.db").write_bytes(b"this was never a database " * 1000)
    return data_dir / "engram.db"


def changed(data_dir: Path, sql: str) -> Path:
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection, connection:
        connection.execute(sql)
    return data_dir / "engram.db"


def a_newer_one(data_dir: Path) -> Path:
    with Engram(settings=Settings(data_dir), directory=data_dir.parent):
        pass
    columns = "(migration_set, name, applied_at)"
    return changed(data_dir, f"insert into _sqlite_migrations {columns} values ('engram', '9999_future', '')")


def a_foreign_one(data_dir: Path) -> Path:
    data_dir.mkdir(mode=0o700, exist_ok=True)
    (data_dir / "engram.db").unlink(missing_ok=True)
    return changed(data_dir, "create table songs (title text)")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
async def test_listing_what_there_is_touches_no_database(
    settings: Settings, data_dir: Path, here: Path, mode: Literal["auto", "legacy"]
) -> None:
    async with Client(build_server(settings), mode=mode) as client:
        await client.list_tools()
        await client.list_prompts()
        await client.list_resource_templates()

    assert not data_dir.exists()


@pytest.mark.parametrize(
    ("obstacle", "code"),
    [
        pytest.param(a_file_for_a_folder, "data_dir_unusable", id="data-directory-is-a-file"),
        pytest.param(garbage, "store_damaged", id="garbage"),
        pytest.param(a_newer_one, "store_too_new", id="newer"),
        pytest.param(a_foreign_one, "store_foreign", id="foreign"),
    ],
)
async def test_a_database_that_cannot_be_opened_is_the_error_of_each_call_until_it_can(
    settings: Settings, data_dir: Path, here: Path, obstacle: Callable[[Path], Path], code: str
) -> None:
    path = obstacle(data_dir)
    content = path.read_bytes()
    async with Client(build_server(settings)) as client:
        agent = Agent(client)
        for _ in range(2):
            facts = await agent.refusal("mem_save", title="Chose uv", content="Fast.")
            assert facts["error_code"] == code
            assert str(path) in facts["message"]
        with pytest.raises(MCPError) as caught:
            await client.list_resources()
        assert (caught.value.error.code, caught.value.error.data) == (-32603, {"code": code})
        assert len((await client.list_tools()).tools) == 10
        assert path.read_bytes() == content

        path.unlink()

        assert "Saved [#1]" in await agent.told("mem_save", title="Chose uv", content="Fast.")
    assert rows(data_dir)["observations"] == 1


async def test_a_refused_argument_does_not_open_the_database(settings: Settings, data_dir: Path, here: Path) -> None:
    async with Client(build_server(settings)) as client:
        assert (await Agent(client).refusal("mem_get_observation"))["error_code"] == "invalid_argument"

    assert not data_dir.exists()


async def test_a_removed_database_is_refused_until_it_is_back(settings: Settings, data_dir: Path, here: Path) -> None:
    path = data_dir / "engram.db"
    async with Client(build_server(settings)) as client:
        agent = Agent(client)
        await agent.told("mem_save", title="Chose uv", content="Fast.")
        path.rename(data_dir / "away.db")
        for tool, arguments in (
            ("mem_save", {"title": "Chose ruff", "content": "Fast."}),
            ("mem_search", {"query": "uv"}),
        ):
            facts = await agent.refusal(tool, **arguments)
            assert (facts["error_code"], str(path) in facts["message"]) == ("store_gone", True)
            assert not path.exists()
        (data_dir / "away.db").rename(path)
        assert "replaced" not in await agent.told("mem_save", title="Chose ruff", content="Fast.")
    assert rows(data_dir)["observations"] == 2


@pytest.mark.parametrize("tool", ["mem_save", "mem_search", "mem_context"])
async def test_the_first_answer_from_a_database_put_in_place_of_the_open_one_says_so(
    settings: Settings, data_dir: Path, here: Path, tmp_path: Path, tool: str
) -> None:
    calls = {
        "mem_save": {"title": "Chose ruff", "content": "Fast."},
        "mem_search": {"query": "uv"},
        "mem_context": {},
    }
    other = filled(tmp_path / "other", ["one", "two"])
    async with Client(build_server(settings)) as client:  # opened by the first call, when there was no file
        agent = Agent(client)
        await agent.told("mem_save", title="Chose uv", content="Fast.")
        other.replace(data_dir / "engram.db")
        said = await agent.told(tool, **calls[tool])
        assert "was replaced" in said
        assert "2 observations" in said
        assert "replaced" not in await agent.told(tool, **calls[tool])


def test_a_setting_that_cannot_be_used_is_an_error_of_the_call_not_a_dead_server(folder: Path) -> None:
    answered = exchange(folder, [tool_call(2, "mem_context")], ENGRAM_DATA_DIR="relative/folder")

    assert answered.status == 0
    assert answered.to("start")["result"]["serverInfo"]["name"] == "engram"
    assert answered.to(2)["result"]["isError"] is True
    assert "data_dir_unusable" in answered.text(2)
