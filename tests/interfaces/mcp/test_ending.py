"""The server process: one session saves and a later one finds, how it opens the database, and how it ends."""

from __future__ import annotations

import json
import os
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, Literal, NoReturn, cast

import pytest
from mcp import Client
from mcp.shared.exceptions import MCPError

from engram_py import Engram
from engram_py.base.errors import EngramError
from engram_py.base.settings import Settings
from engram_py.interfaces.http.mcp_endpoint import build_server
from engram_py.interfaces.mcp import stdio, tool_calls
from tests.base.database.files import filled
from tests.interfaces.mcp.agent import (
    INITIALIZE,
    INITIALIZED,
    Agent,
    as_line,
    close,
    exchange,
    rows,
    sessions,
    start_server,
    talk,
    tool_call,
)

NOT_ON_WINDOWS = pytest.mark.skipif(sys.platform == "win32", reason="signals and process groups are POSIX")


def left_behind(server: subprocess.Popen[bytes]) -> bool:
    """Whether a process lives in the server's process group, itself or a child."""
    try:
        os.killpg(server.pid, 0)
    except ProcessLookupError:
        return False
    return True


def test_every_request_is_answered_although_stdin_closes_at_once(folder: Path, data_dir: Path) -> None:
    saves = [tool_call(number, "mem_save", title=f"Fact {number}", content=f"Body {number}.") for number in range(100)]

    answered = exchange(folder, saves)

    assert (answered.status, answered.log) == (0, "")
    assert sorted(one["id"] for one in answered.answers if one["id"] != "start") == list(range(100))
    assert all(one["result"].get("isError", False) is False for one in answered.answers)
    assert rows(data_dir)["observations"] == 100
    [(agent, ended)] = sessions(data_dir)
    assert (agent, ended is not None) == ("raw-lines", True)


@NOT_ON_WINDOWS
def test_nothing_is_left_behind(folder: Path, data_dir: Path) -> None:
    server = start_server(folder)
    talk(server, INITIALIZE, INITIALIZED, tool_call(1, "mem_save", title="Chose uv", content="Fast."))
    assert left_behind(server)

    assert close(server) == ""

    assert server.returncode == 0
    assert not left_behind(server)
    assert [path.name for path in data_dir.iterdir() if path.name.startswith("engram.db")] == ["engram.db"]


def test_a_call_that_waits_for_another_process_does_not_keep_the_server_alive(folder: Path, data_dir: Path) -> None:
    exchange(folder, [tool_call(1, "mem_save", title="Chose uv", content="Fast.")])
    other = sqlite3.connect(data_dir / "engram.db", isolation_level=None)
    other.execute("begin immediate")
    server = start_server(folder)
    try:
        talk(server, INITIALIZE, INITIALIZED)
        assert server.stdin is not None
        server.stdin.write(as_line(tool_call(2, "mem_save", title="Chose ruff", content="Fast too.")))
        server.stdin.close()

        # A writer asks for the lock for half a minute; the server is gone before.
        assert server.wait(timeout=20) == 0
    finally:
        other.execute("rollback")
        other.close()
        close(server)
    assert rows(data_dir)["observations"] == 1


class Memory:
    """A memory that is opened when somebody says so."""

    opened = None

    def __init__(self) -> None:
        self.asked = threading.Event()
        self.opens = threading.Event()
        self.used = 0

    def use(self, agent: str) -> NoReturn:
        self.used += 1
        self.asked.set()
        assert self.opens.wait(60)
        raise EngramError("not open", hint="say so")


def lines(memory: Memory, *messages: dict[str, Any]) -> Iterator[str]:
    """The messages, each after the first when the first is at work."""
    for number, message in enumerate((INITIALIZE, INITIALIZED, *messages)):
        if number == 3:
            assert memory.asked.wait(60)
        yield json.dumps(message)


def served(memory: Memory, *messages: dict[str, Any]) -> list[object]:
    """The ids of what was answered until the connection ended."""
    reads, writes = os.pipe()
    stdio.StdioClient(("mem_stats",), cast("Any", memory), writes).serve(lines(memory, *messages))
    os.close(writes)
    with os.fdopen(reads, encoding="utf-8") as answers:
        return [json.loads(line)["id"] for line in answers]


def test_a_cancelled_request_is_neither_waited_for_nor_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdio, "DRAIN_SECONDS", 3_600.0)
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 1}}
    memory = Memory()

    answered = served(memory, tool_call(1, "mem_stats"), cancel, {"jsonrpc": "2.0", "id": 2, "method": "ping"})

    assert answered == ["start", 2]
    memory.opens.set()


def test_a_request_that_was_cancelled_before_its_turn_is_not_begun() -> None:
    memory = Memory()
    calls = [tool_call(number, "mem_stats") for number in range(stdio.WORKERS)]
    late = tool_call("late", "mem_save", title="Never", content="begun")
    cancel = {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": "late"}}
    threading.Timer(0.3, memory.opens.set).start()

    answered = served(memory, *calls, late, cancel)

    assert sorted(map(str, answered)) == [*map(str, range(stdio.WORKERS)), "start"]


def test_what_was_not_begun_when_a_signal_came_is_not_begun_after_it() -> None:
    memory = Memory()
    reads, writes = os.pipe()
    connection = stdio.StdioClient(("mem_stats",), cast("Any", memory), writes)

    def lines_and_a_signal() -> Iterator[str]:
        yield from lines(memory, *(tool_call(number, "mem_stats") for number in range(2 * stdio.WORKERS)))
        while memory.used < stdio.WORKERS:
            time.sleep(0.01)
        connection.stop()

    connection.serve(lines_and_a_signal())
    assert connection.busy
    memory.opens.set()

    with os.fdopen(reads, encoding="utf-8") as answers:
        for _ in range(1 + stdio.WORKERS):  # the handshake, and what was at work
            assert answers.readline()
        os.close(writes)
        assert not answers.read()
    assert memory.used == stdio.WORKERS


def test_a_ping_is_answered_while_all_threads_are_at_work() -> None:
    memory = Memory()
    calls = [tool_call(number, "mem_stats") for number in range(2 * stdio.WORKERS)]
    threading.Timer(0.3, memory.opens.set).start()

    answered = served(memory, *calls, {"jsonrpc": "2.0", "id": "ping", "method": "ping"})

    assert answered[:2] == ["start", "ping"]
    assert len(answered) == 2 + len(calls)


@NOT_ON_WINDOWS
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_session_too(folder: Path, data_dir: Path, number: signal.Signals) -> None:
    server = start_server(folder)
    talk(server, INITIALIZE, INITIALIZED, tool_call(1, "mem_save", title="Chose uv", content="Fast."))

    server.send_signal(number)

    assert server.wait(timeout=60) == 0  # although stdin is still open
    assert close(server) == ""
    [(_, ended)] = sessions(data_dir)
    assert ended is not None


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


def asked() -> list[dict[str, Any]]:
    """The messages of a client that can ask its person, and saves a decision against another."""
    declared = INITIALIZE["params"] | {"capabilities": {"elicitation": {}}}  # type: ignore[operator]
    saves = [
        tool_call(number, "mem_save", title=f"Use {name} for tokens", content=f"{name}.", type="decision")
        for number, name in enumerate(("HS256", "RS256"))
    ]
    return [INITIALIZE | {"params": declared}, INITIALIZED, *saves]


def test_a_question_that_nobody_can_answer_any_more_is_a_no(here: Path, data_dir: Path) -> None:
    server = start_server(here)
    talk(server, *asked()[:3])
    output, _ = server.communicate(as_line(asked()[3]), timeout=60)

    answers = {one["id"]: one for one in map(json.loads, output.splitlines())}
    assert "Is this instead of [#1]" in answers[1]["result"]["content"][0]["text"]
    assert rows(data_dir)["observations"] == 2


def test_a_question_that_is_not_answered_in_time_is_withdrawn_and_a_late_answer_changes_nothing(
    here: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stdio, "ASKING_SECONDS", 0.05)
    reads, writes = os.pipe()
    with Engram(settings=Settings(data_dir), directory=here) as app, os.fdopen(reads, encoding="utf-8") as answers:
        seen: list[dict[str, Any]] = []

        def client() -> Iterator[str]:
            for number, message in enumerate(asked()):
                yield json.dumps(message)
                awaited = ("start", None, 0, 1)[number]
                while awaited is not None and not any(one.get("id") == awaited for one in seen):
                    seen.append(json.loads(answers.readline()))
            [question] = [one for one in seen if one.get("method") == "elicitation/create"]
            yes = {"action": "accept", "content": {"replace": True}}
            yield json.dumps({"jsonrpc": "2.0", "id": question["id"], "result": yes})

        stdio.StdioClient(("mem_save",), tool_calls.Memory(lambda _: app), writes).serve(client())
        os.close(writes)
        pending = app.relations.pending()

    assert [one.get("method", one.get("id")) for one in seen] == [
        "start", 0, "elicitation/create", "notifications/cancelled", 1,
    ]  # fmt: skip
    assert "Is this instead of [#1]" in seen[-1]["result"]["content"][0]["text"]
    assert len(pending) == 1
