"""``engram demo``: two server processes that share one memory, and what an agent says to them."""

from __future__ import annotations

import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from engram_py.files import lines_of
from engram_py.interfaces.cli.commands import print_value, refusing

DECISION = """\
**What**: Access tokens live 15 minutes, refresh tokens 30 days and rotate on use.
**Why**: A stolen access token must be worthless by the time anybody notices.
**Where**: src/auth/tokens.py
**Learned**: Rotation needs a grace period of 10 seconds, or parallel tabs log each other out."""
FIX = """\
**What**: Fixed logins that failed right after midnight UTC.
**Why**: The expiry was compared with local time; east of Greenwich new tokens were already expired.
**Where**: src/auth/clock.py
**Learned**: Every comparison of times goes through clock.utc_now()."""
REVISION = DECISION.replace("15 minutes", "5 minutes").replace(
    "by the time anybody notices.", "by the time anybody notices; the audit asked for 5."
)


@click.command("demo")
@click.option("--json", "as_json", is_flag=True, help="Print what was sent and answered as JSON.")
@refusing
def demo_command(as_json: bool) -> None:
    """Show the whole story: a session saves, ends, and a later one, in another process, finds it.

    Works in a temporary folder with a real git repository; your own memory is not touched.
    """
    import anyio

    with tempfile.TemporaryDirectory(prefix="engram-demo-", ignore_cleanup_errors=True) as folder:
        story = _Story(Path(folder), quiet=as_json)
        anyio.run(story.tell)
    if as_json:
        print_value(story.calls, "", as_json=True)


class _Story:
    """Two sessions with the server; each call is printed with its answer, time and cost."""

    def __init__(self, folder: Path, *, quiet: bool) -> None:
        self._repository = folder / "shop"
        self._data = folder / "data"
        self._quiet = quiet
        self.calls: list[dict[str, Any]] = []

    async def tell(self) -> None:
        self._make_repository()
        self._say("A git repository: shop (remote git@github.com:acme/shop.git), and an empty memory.")
        self._say("\n═══ Session 1: the agent starts `engram mcp`, learns something and ends ═══")
        async with self._server() as agent:
            await self._list_tools(agent)
            topic = "decision/token-lifetime"
            decision = {"title": "Chose short-lived access tokens", "type": "decision", "topic_key": topic}
            await self._call(agent, "mem_save", decision | {"content": DECISION})
            fix = {"title": "Fixed logins failing after midnight", "type": "bugfix", "content": FIX}
            await self._call(agent, "mem_save", fix)
            await self._call(agent, "mem_save", decision | {"content": REVISION})
        self._say("\n═══ Session 2: another process, later; it knows nothing but the repository ═══")
        async with self._server() as agent:
            await self._list_tools(agent)
            await self._call(agent, "mem_context", {})
            question = "how long do access tokens live and why did we choose that?"
            found = await self._call(agent, "mem_search", {"query": question})
            opened = int(found.partition("[#")[2].partition("]")[0])
            await self._call(agent, "mem_get_observation", {"id": opened, "include_history": True})
        total = sum(call["tokens"] for call in self.calls)
        self._say(f"\n{len(self.calls)} exchanges, about {total:,} tokens read by the model in all (4 bytes each).")

    def _server(self) -> Any:
        from mcp import Client, StdioServerParameters

        environment = {**os.environ, "ENGRAM_DATA_DIR": str(self._data)}
        for name in ("ENGRAM_PROJECT", "ENGRAM_TOOLS", "ENGRAM_NOW"):
            environment.pop(name, None)
        command = StdioServerParameters(
            command=sys.executable, args=["-m", "engram_py", "mcp"], env=environment, cwd=self._repository
        )
        return Client(command)

    async def _list_tools(self, agent: Any) -> None:
        started = time.perf_counter()
        tools = (await agent.list_tools()).tools
        text = json.dumps([tool.model_dump(mode="json", by_alias=True, exclude_none=True) for tool in tools])
        text += agent.instructions or ""
        names = ", ".join(tool.name for tool in tools)
        self._record("tools/list", {}, f"{len(tools)} tools and the instructions: {names}", text, started)

    async def _call(self, agent: Any, name: str, arguments: dict[str, Any]) -> str:
        started = time.perf_counter()
        result = await agent.call_tool(name, arguments)
        text = "\n".join(part.text for part in result.content)
        self._record(name, arguments, text, text, started)
        if result.is_error:
            raise click.ClickException(f"{name} failed: {text}")
        return text

    def _record(self, name: str, arguments: dict[str, Any], answer: str, counted: str, started: float) -> None:
        milliseconds = (time.perf_counter() - started) * 1000
        tokens = (len(counted.encode()) + 3) // 4
        self.calls.append(
            {"sent": name, "arguments": arguments, "answer": answer, "ms": round(milliseconds, 1), "tokens": tokens}
        )
        self._say(f"\n→ {name}")
        for key, value in arguments.items():
            self._say("\n".join(f"    {line}" for line in lines_of(f"{key}: {value}")))
        self._say(f"← {milliseconds:.0f} ms, {tokens} tokens")
        self._say("\n".join(f"    {line}" for line in lines_of(answer)))

    def _make_repository(self) -> None:
        os.environ.setdefault("GIT_PYTHON_REFRESH", "quiet")
        from git import Actor, Repo

        self._repository.mkdir()
        source = self._repository / "src" / "auth" / "tokens.py"
        source.parent.mkdir(parents=True)
        source.write_text("ACCESS_TOKEN_MINUTES = 15\n", encoding="utf-8")
        author = Actor("Demo", "demo@example.invalid")
        with Repo.init(self._repository, initial_branch="main") as repository:
            repository.create_remote("origin", "git@github.com:acme/shop.git")
            repository.index.add(["src/auth/tokens.py"])
            repository.index.commit("Issue access tokens", author=author, committer=author)

    def _say(self, text: str) -> None:
        if not self._quiet:
            click.echo(text)
