"""The SDK's own client sees no difference between ``engram mcp`` and the SDK's server, in one process or over HTTP."""

from __future__ import annotations

import os
import sqlite3
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any, Literal

import anyio
import pytest
from mcp import Client, StdioServerParameters
from mcp.shared.exceptions import MCPError
from mcp.types import ElicitRequestFormParams, ElicitResult, PromptReference, ResourceTemplateReference

from engram_py.base.settings import Settings
from engram_py.interfaces.http.mcp_endpoint import build_server
from engram_py.interfaces.mcp.profiles import stored
from tests.interfaces.http.asking import Running, serving
from tests.interfaces.mcp.agent import Agent
from tests.template import ready

Mode = Literal["auto", "legacy"]
MODES = pytest.mark.parametrize("mode", ["auto", "legacy"])

pytestmark = pytest.mark.timeout(120)


def command(folder: Path) -> StdioServerParameters:
    words = ["-m", "engram_py", "mcp", "--tools=all"]
    return StdioServerParameters(command=sys.executable, args=words, env=dict(os.environ), cwd=folder)


@asynccontextmanager
async def clients(settings: Settings, folder: Path, mode: Mode) -> AsyncIterator[list[Client]]:
    """One of the process, and one of the SDK's server in this process."""
    ready(settings.data_dir)
    async with (
        Client(command(folder), mode=mode) as ours,
        Client(build_server(settings, tools="all"), mode=mode) as sdk,
    ):
        yield [ours, sdk]


async def refused(client: Client, uri: str) -> Any:
    with pytest.raises(MCPError) as caught:
        await client.read_resource(uri)
    return caught.value.error


@MODES
async def test_both_offer_and_answer_the_same(settings: Settings, here: Path, mode: Mode) -> None:
    seen: list[list[Any]] = []
    async with clients(settings, here, mode) as both:
        for client in both:
            await Agent(client).told("mem_save", title="Chose uv", content="It resolves in a second.")
            seen.append([
                client.server_info,
                client.server_capabilities,
                client.protocol_version,
                client.instructions,
                await client.list_tools(),
                await client.list_resource_templates(),
                await client.list_prompts(),
                await client.get_prompt("wrap-up"),
                await client.complete(RECALL, {"name": "topic", "value": "to"}),
                await refused(client, "engram://observation/99"),
                await refused(client, "other://thing"),
                await Agent(client).refusal("mem_search", query="uv", limit="many"),
            ])  # fmt: skip
    assert seen[0] == seen[1]
    assert len(seen[0][4].tools) == len(stored())


@pytest.fixture
def http(here: Path, data_dir: Path) -> Iterator[Running]:
    """The endpoint of ``engram serve`` over the memory of this test."""
    with serving(here, "0", "--tools", "all", ENGRAM_DATA_DIR=str(data_dir)) as server:
        yield server
        assert server.end() == (0, "")


@MODES
async def test_both_answer_who_asks_for_progress_and_report_none(here: Path, http: Running, mode: Mode) -> None:
    seen: list[float] = []

    async def told(progress: float, total: float | None, message: str | None) -> None:
        seen.append(progress)

    for server in (command(here), http.mcp()):
        async with Client(server, mode=mode) as client:
            found = await client.call_tool("mem_current_project", {}, progress_callback=told)
            assert "widgets" in str(found.content)
    assert seen == []


@MODES
async def test_who_gives_up_a_call_that_waits_is_answered_the_next(
    here: Path, data_dir: Path, http: Running, mode: Mode
) -> None:
    for server, title in ((command(here), "Chose uv"), (http.mcp(), "Chose ruff")):
        async with Client(server, mode=mode) as client:
            await Agent(client).told("mem_save", title=title, content="First.")
            with closing(sqlite3.connect(data_dir / "engram.db", isolation_level=None)) as other:
                other.execute("begin immediate")
                with anyio.move_on_after(0.3) as waiting:
                    await client.call_tool("mem_save", {"title": f"{title}, given up", "content": "Perhaps saved."})
                assert waiting.cancelled_caught
                with anyio.fail_after(20):
                    assert len((await client.list_tools()).tools) == len(stored())
                other.execute("rollback")

            assert "Saved" in await Agent(client).told("mem_save", title=f"{title} again", content=f"{title}, then.")


RECALL, MEMORY, CONTEXT = (
    PromptReference(name="recall"),
    ResourceTemplateReference(uri="engram://observation/{id}"),
    ResourceTemplateReference(uri="engram://context/{project}"),
)


@MODES
async def test_arguments_of_prompts_and_templates_are_completed(settings: Settings, here: Path, mode: Mode) -> None:
    async with clients(settings, here, mode) as both:
        for key in ("decision/tokens", "config/port", "bug/decision-lost"):
            await Agent(both[0]).told("mem_save", title=f"About {key}", content="x", type="policy", topic_key=key)
        for client in both:

            async def completed(ref: PromptReference | ResourceTemplateReference, name: str, value: str) -> list[str]:
                return (await client.complete(ref, {"name": name, "value": value})).completion.values  # noqa: B023

            assert await completed(RECALL, "topic", "deci") == ["decision/tokens", "bug/decision-lost"]
            assert await completed(RECALL, "topic", "type:po") == ["type:policy"]
            assert await completed(MEMORY, "id", "") == ["3", "2", "1"]
            assert await completed(MEMORY, "id", "2") == ["2"]
            assert await completed(CONTEXT, "project", "wid") == ["widgets"]
            assert await completed(RECALL, "other", "") == []
            with pytest.raises(MCPError) as caught:
                await completed(PromptReference(name="zap"), "topic", "")
            assert caught.value.error.code == -32602


class Person:
    """Answers the questions of a server, and remembers them."""

    def __init__(self, action: Literal["accept", "decline"], **content: bool) -> None:
        self.asked: list[str] = []
        self._answer = ElicitResult(action=action, content=dict(content) if action == "accept" else None)

    async def __call__(self, context: object, params: ElicitRequestFormParams | object) -> ElicitResult:
        assert isinstance(params, ElicitRequestFormParams)
        self.asked.append(params.message)
        return self._answer


async def contradict(client: Client) -> str:
    """The answer to a decision that excludes an earlier one."""
    await Agent(client).told("mem_save", title="Use HS256 for tokens", content="One key.", type="decision")
    return await Agent(client).told("mem_save", title="Use RS256 for tokens", content="Two keys.", type="decision")


SERVERS = pytest.mark.parametrize("server", ["stdio", "http"])
ASKED = '[#2] "Use RS256 for tokens" seems to contradict [#1] "Use HS256 for tokens". Does the new one replace the old?'


def judged(data_dir: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(data_dir / "engram.db")) as database:
        return database.execute("select relation, judgment_status from memory_relations").fetchall()


@MODES
@SERVERS
async def test_a_person_who_says_that_a_decision_replaces_another_is_asked_once(
    here: Path, data_dir: Path, http: Running, mode: Mode, server: str
) -> None:
    person = Person("accept", replace=True)
    async with Client(
        command(here) if server == "stdio" else http.mcp(), mode=mode, elicitation_callback=person
    ) as client:
        said = await contradict(client)
        await Agent(client).told("mem_save", title="Use RS256 for tokens", content="Two keys.", type="decision")

    assert "It replaces [#1] Use HS256 for tokens" in said
    assert "instead of" not in said
    assert person.asked == [ASKED]
    assert judged(data_dir) == [("supersedes", "judged")]


@MODES
@SERVERS
@pytest.mark.parametrize(
    "person",
    [
        pytest.param(Person("decline"), id="declines"),
        pytest.param(Person("accept", replace=False), id="accepts-without-the-tick"),
        pytest.param(Person("accept"), id="accepts-nothing"),
        pytest.param(None, id="cannot-be-asked"),
    ],
)
async def test_without_a_yes_the_answer_is_as_ever(
    here: Path, data_dir: Path, http: Running, mode: Mode, server: str, person: Person | None
) -> None:
    async with Client(
        command(here) if server == "stdio" else http.mcp(), mode=mode, elicitation_callback=person
    ) as client:
        said = await contradict(client)

    assert 'Is this instead of [#1] "Use HS256 for tokens"?' in said
    assert judged(data_dir) == [("pending", "pending")]
