"""``engram demo``: two server processes that share one memory, what an agent says to them, and what it is told while it
works.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import click

from engram_py.base.files import lines_of
from engram_py.interfaces.cli.commands import print_value, refusing

TOKENS = ("src/auth/tokens.py", "ACCESS_TOKEN_MINUTES = 5\n")
CLOCK = ("src/auth/clock.py", "def utc_now(): ...\n")
DECISION = {
    "title": "Chose short-lived access tokens",
    "type": "decision",
    "content": """\
**What**: Access tokens live 5 minutes, refresh tokens 30 days and rotate on use.
**Why**: A stolen access token must be worthless by the time anybody notices; the audit asked for 5.
**Where**: src/auth/tokens.py""",
}
FIX = {
    "title": "Fixed logins failing after midnight",
    "type": "bugfix",
    "content": """\
**What**: Fixed logins that failed right after midnight UTC.
**Why**: The expiry was compared with local time; east of Greenwich new tokens were already expired.
**Where**: src/auth/clock.py""",
}
RULE = {
    "title": "Use pnpm, not npm",
    "type": "decision",
    "content": "The lock file is pnpm's: npm would write a second one.",
}
QUESTION = "how long do access tokens live and why did we choose that?"
NOT_OURS = ("ENGRAM_PROJECT", "ENGRAM_TOOLS", "ENGRAM_NOW", "ENGRAM_ENABLED", "ENGRAM_INJECT", "ENGRAM_HOLDOUT")


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
        self._quiet = quiet
        ours = {name: value for name, value in os.environ.items() if name not in NOT_OURS}
        self._environment = ours | {"ENGRAM_DATA_DIR": str(folder / "data")}
        self.calls: list[dict[str, Any]] = []

    async def tell(self) -> None:
        self._make_repository()
        self._say("A git repository, shop, and an empty memory.")
        self._say("\n═══ Session 1: an agent starts `engram mcp`, learns something and ends ═══")
        async with self._server() as agent:
            await self._list_tools(agent)
            for kept in (DECISION, FIX, RULE):
                await self._call(agent, "mem_save", kept)
        self._say("\n═══ Session 2: another process, later; it knows nothing but the repository ═══")
        async with self._server() as agent:
            await self._call(agent, "mem_context", {})
            await self._call(agent, "mem_search", {"query": QUESTION})
            self._say("\nThe code changes: somebody commits `ACCESS_TOKEN_MINUTES = 10`.")
            self._commit("Longer tokens", (TOKENS[0], "ACCESS_TOKEN_MINUTES = 10\n"))
            await self._call(agent, "mem_search", {"query": "how long do access tokens live?"})
        self._act()
        total = sum(call["tokens"] for call in self.calls)
        self._say(f"\n{len(self.calls)} exchanges, about {total:,} tokens read by the model in all (4 bytes each).")

    def _act(self) -> None:
        self._say("\n═══ While an agent works: its hooks ask the memory ═══")
        self._say("\n$ engram guard accept 3")
        self._say(f"    {self._run('guard', 'accept', '3')}")
        command = {"command": "npm install left-pad"}
        started = time.perf_counter()
        told = self._hook("pre-tool", tool_name="Bash", tool_input=command)
        self._record("the agent is about to run a command", command, told, told, started)

    def _server(self) -> Any:
        from mcp import Client, StdioServerParameters

        command = StdioServerParameters(
            command=sys.executable, args=["-m", "engram_py", "mcp"], env=self._environment, cwd=self._repository
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
        self._repository.mkdir()
        self._git("init", "-q", "-b", "main")
        self._git("remote", "add", "origin", "git@github.com:acme/shop.git")
        self._git("config", "user.name", "Ada")
        self._git("config", "user.email", "ada@example.invalid")
        self._commit("Issue access tokens", TOKENS, CLOCK)

    def _commit(self, message: str, *files: tuple[str, str]) -> None:
        for name, text in files:
            path = self._repository / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        self._git("add", ".")
        self._git("commit", "-q", "-m", message)

    def _git(self, *words: str) -> None:
        subprocess.run(["git", *words], cwd=self._repository, check=True, capture_output=True)

    def _run(self, *words: str, given: str = "") -> str:
        """Run a command of this program in the repository, and return what it prints."""
        done = subprocess.run(
            [sys.executable, "-m", "engram_py", *words], cwd=self._repository, env=self._environment, input=given,
            capture_output=True, text=True, encoding="utf-8", check=True,
        )  # fmt: skip
        return done.stdout.strip()

    def _hook(self, event: str, **fields: object) -> str:
        """Return what the hook tells an agent at an event."""
        given = json.dumps({"session_id": "demo", "cwd": str(self._repository), **fields})
        printed = self._run("hook", event, "--agent", "claude-code", "--limit-ms", "20000", given=given)
        return str(json.loads(printed)["hookSpecificOutput"]["additionalContext"]) if printed else "nothing"

    def _say(self, text: str) -> None:
        if not self._quiet:
            click.echo(text)
