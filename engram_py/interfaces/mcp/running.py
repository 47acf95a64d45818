"""Where a call is at work: on a worker thread, or, where it will be quick, on the event loop itself."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

import anyio.to_thread
from mcp.types import CallToolResult

from engram_py.interfaces.mcp.calls import Memory, run_tool
from engram_py.interfaces.mcp.tooling import Tool

# To hand a call to a thread and its answer back costs .5 to 1 ms, a fifth of a save. What took so many seconds the last
# time, or waits for somebody, may cost that: meanwhile the loop answers pings and hears that a call is cancelled.
QUICK_SECONDS = 0.05


class Runner:
    """Runs the calls of one connection, in turn; with ``alone`` false, as where many share a loop, all on threads."""

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone
        self._took: dict[str, float] = {}

    async def run(self, tool: Tool, arguments: dict[str, Any], memory: Memory, agent: str) -> CallToolResult:
        """The answer to a call, as ``run_tool`` gives it."""
        work = partial(run_tool, tool, arguments, memory, agent)
        here = self._alone and self._took.get(tool.name, QUICK_SECONDS) < QUICK_SECONDS
        here = here and memory.at_rest(writing=not tool.hints["read_only_hint"])
        started = time.perf_counter()
        try:
            return work() if here else await anyio.to_thread.run_sync(work, abandon_on_cancel=True)
        finally:
            self._took[tool.name] = time.perf_counter() - started
