"""The MCP server: lists its tools before the database is touched, and answers calls."""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import anyio
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    INTERNAL_ERROR,
    INVALID_PARAMS,
    CallToolRequestParams,
    CallToolResult,
    GetPromptRequestParams,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    PaginatedRequestParams,
    ReadResourceRequestParams,
    ReadResourceResult,
)

from engram_py.config import Settings
from engram_py.doors import through
from engram_py.errors import EngramError, InvalidInputError, NotFoundError
from engram_py.interfaces.mcp import resources as offers
from engram_py.interfaces.mcp.calls import CLOSING_SECONDS, Memory
from engram_py.interfaces.mcp.instructions import INSTRUCTIONS
from engram_py.interfaces.mcp.profiles import select_tools
from engram_py.interfaces.mcp.running import Runner
from engram_py.version import __version__

if TYPE_CHECKING:
    from engram_py.app import Engram

logger = logging.getLogger(__name__)

T = TypeVar("T")
Request = ServerRequestContext[Memory]
MemoryOf = Callable[[Request], Memory]


def build_server(
    settings: Settings,
    *,
    tools: str | None = None,
    project: str | None = None,
    failure: EngramError | None = None,
    memory_of: MemoryOf | None = None,
) -> Server[Memory]:
    """A server over one memory. Nothing is opened until the first call; ``failure`` is what every call then answers.

    ``memory_of`` says which memory a call works on where one server has many connections.

    Raises UnknownToolError for a profile or tool that does not exist.
    """
    offered = {tool.name: tool for tool in select_tools(tools if tools is not None else settings.tools)}
    listed = ListToolsResult(tools=[tool.wire for tool in offered.values()])

    memory_for = memory_of or _only_memory
    runner = Runner(alone=memory_of is None)

    async def list_tools(_: Request, __: PaginatedRequestParams | None) -> ListToolsResult:
        return listed

    async def call_tool(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
        tool = offered.get(params.name)
        if tool is None:
            message = f"unknown tool {params.name[:80]!r}; this server offers {', '.join(offered)}"
            raise MCPError(code=INVALID_PARAMS, message=_sendable(message))
        return await runner.run(tool, dict(params.arguments or {}), memory_for(ctx), _client_name(ctx))

    async def list_templates(_: Request, __: PaginatedRequestParams | None) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult(resource_templates=offers.TEMPLATES)

    async def list_resources(ctx: Request, _: PaginatedRequestParams | None) -> ListResourcesResult:
        return ListResourcesResult(resources=await _with_memory(runner, ctx, memory_for(ctx), offers.list_resources))

    async def read_resource(ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await _with_memory(runner, ctx, memory_for(ctx), lambda app: offers.read_resource(app, str(params.uri)))

    async def list_prompts(_: Request, __: PaginatedRequestParams | None) -> ListPromptsResult:
        return ListPromptsResult(prompts=offers.PROMPTS)

    async def get_prompt(ctx: Request, params: GetPromptRequestParams) -> GetPromptResult:
        return await _with_memory(
            runner, ctx, memory_for(ctx), lambda app: offers.get_prompt(app, params.name, params.arguments or {})
        )

    return Server(
        "engram",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=_lifetime(partial(_open, settings, project, failure)),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
    )


def _lifetime(opening: Callable[[str], Engram]) -> Callable[[Server[Memory]], AbstractAsyncContextManager[Memory]]:
    @asynccontextmanager
    async def lifespan(_: Server[Memory]) -> AsyncGenerator[Memory]:
        memory = Memory(opening)
        try:
            yield memory
        finally:
            memory.close()

    return lifespan


def _only_memory(ctx: Request) -> Memory:
    return ctx.lifespan_context


def serve_stdio(
    settings: Settings, *, tools: str | None = None, project: str | None = None, failure: EngramError | None = None
) -> None:
    """Serve until stdin closes. ``failure``: why there are no proper settings, answered to every call."""
    from engram_py.interfaces.mcp.stdio import streams

    level = getattr(logging, settings.log_level.upper())
    logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s: %(message)s")
    server = build_server(settings, tools=tools, project=project, failure=failure)

    async def serve() -> None:
        async with streams() as (read, write):
            closed = False
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_on_signal, tasks.cancel_scope)
                await server.run(read, write, server.create_initialization_options())
                closed = True
                tasks.cancel_scope.cancel()
            if not closed:
                _exit()  # a thread that reads stdin, where it is no pipe, cannot be interrupted

    try:
        anyio.run(serve)
    except* BrokenPipeError:
        logger.info("the client closed its end before the last answer")
    for thread in threading.enumerate():
        if thread is not threading.current_thread() and not thread.daemon:
            thread.join(CLOSING_SECONDS)
            if thread.is_alive():
                _exit()  # a call that waits for another process's lock, and nobody for its answer


async def _cancel_on_signal(scope: anyio.CancelScope) -> None:
    """Hosts that do not close stdin send a signal: then too the session is ended before the process."""
    if sys.platform != "win32":
        with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
            async for _ in signals:
                scope.cancel()


def _exit() -> None:
    sys.stderr.flush()
    os._exit(0)


def _open(settings: Settings, project: str | None, failure: EngramError | None, agent: str) -> Engram:
    if failure is not None:
        raise failure
    from engram_py.app import Engram
    from engram_py.sessions.hosts import ancestors

    app = Engram(
        settings=settings,
        directory=Path.cwd(),
        project=project,
        session_mode="process",
        agent=agent,
        hosts=ancestors(),
    )
    app.autosync.start()
    return app


async def _with_memory(runner: Runner, ctx: Request, memory: Memory, work: Callable[[Engram], T]) -> T:
    def run() -> T:
        with through("mcp"), memory.use(_client_name(ctx)) as app:
            return work(app)

    try:
        return await runner.beside(run)
    except EngramError as exc:
        code = INVALID_PARAMS if isinstance(exc, NotFoundError | InvalidInputError) else INTERNAL_ERROR
        raise MCPError(code=code, message=_sendable(f"{exc.message}; {exc.hint}"), data={"code": exc.code}) from exc


def _client_name(ctx: Request) -> str:
    """What the client calls itself: ``claude-code``, ``cursor``."""
    params: Any = ctx.session.client_params
    return "" if params is None else str(params.client_info.name)[:100]


def _sendable(text: str) -> str:
    return text.encode("utf-8", "replace").decode()
