"""Where a call is at work: on a worker thread, or, where it will be quick, on the event loop itself."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from mcp.types import CallToolResult

from engram_py.git.worker_handoff import LeftLoopError, on_the_loop
from engram_py.interfaces.mcp.calls import Memory, run_tool
from engram_py.interfaces.mcp.tooling import Tool

T = TypeVar("T")

# To hand a call to a thread and its answer back costs .5 to 1 ms, a fifth of a save. What takes longer than so many
# seconds may cost that: meanwhile the loop answers pings and hears that a call is cancelled.
QUICK_SECONDS = 0.05

# What agents call most, and what never waits for more than the file itself.
_READS = frozenset({"mem_search", "mem_context", "mem_get_observation", "mem_timeline"})
_WRITES = frozenset({"mem_save", "mem_update"})


class Runner:
    """Runs the calls of one connection; with ``alone`` false, as where many share a loop, all of them on threads."""

    def __init__(self, *, alone: bool) -> None:
        self._alone = alone
        self._took: dict[str, float] = {}
        self._beside: set[object] = set()

    async def run(self, tool: Tool, arguments: dict[str, Any], memory: Memory, agent: str) -> CallToolResult:
        """The answer to a call, as ``run_tool`` gives it."""
        work = partial(self._timed, tool, partial(run_tool, tool, arguments, memory, agent))
        if self._is_quick(tool, memory):
            if tool.name in _WRITES:
                return work()
            try:
                with on_the_loop():
                    return work()
            except LeftLoopError:
                pass
        return await self.beside(work)

    async def beside(self, work: Callable[[], T]) -> T:
        """What ``work`` returns, on a thread. Until it is done, abandoned or not, nothing runs on the loop: it would
        wait there for the file."""
        at_work, begun = object(), False

        def counted() -> T:
            nonlocal begun
            begun = True
            try:
                return work()
            finally:
                self._beside.discard(at_work)

        self._beside.add(at_work)
        try:
            return await anyio.to_thread.run_sync(counted, abandon_on_cancel=True)
        except BaseException:
            if not begun:
                self._beside.discard(at_work)
            raise

    def _is_quick(self, tool: Tool, memory: Memory) -> bool:
        if not self._alone or self._beside or self._took.get(tool.name, QUICK_SECONDS) >= QUICK_SECONDS:
            return False
        writing = tool.name in _WRITES
        return (writing or tool.name in _READS) and memory.at_rest(writing=writing)

    def _timed(self, tool: Tool, work: Callable[[], CallToolResult]) -> CallToolResult:
        """Note what a call took that did its work; one that was slow counts for some calls more."""
        started = time.perf_counter()
        result = work()
        if not result.is_error:
            took = time.perf_counter() - started
            self._took[tool.name] = max(took, self._took.get(tool.name, 0.0) / 2)
        return result
