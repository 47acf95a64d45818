"""The server of the SDK, which serves streamable HTTP; on stdin and stdout ``stdio`` answers the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any

import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
    CallToolResult,
    GetPromptResult,
    ListPromptsResult,
    ListResourcesResult,
    ListResourceTemplatesResult,
    ListToolsResult,
    ReadResourceResult,
)
from pydantic import BaseModel

from engram_py.errors import EngramError
from engram_py.interfaces.mcp.profiles import INSTRUCTIONS, select_tools
from engram_py.interfaces.mcp.protocol import AT_ONCE, RequestError, answer, listing
from engram_py.interfaces.mcp.tool_calls import Memory, opener
from engram_py.settings import Settings
from engram_py.version import __version__

Request = ServerRequestContext[Memory]
MemoryOf = Callable[[Request], Memory]

# The SDK's name of a handler → the method that it answers, and the shape of its answer.
_SERVED: dict[str, tuple[str, type[BaseModel]]] = {
    "list_tools": ("tools/list", ListToolsResult),
    "call_tool": ("tools/call", CallToolResult),
    "list_resources": ("resources/list", ListResourcesResult),
    "list_resource_templates": ("resources/templates/list", ListResourceTemplatesResult),
    "read_resource": ("resources/read", ReadResourceResult),
    "list_prompts": ("prompts/list", ListPromptsResult),
    "get_prompt": ("prompts/get", GetPromptResult),
}


def build_server(
    settings: Settings,
    *,
    tools: str | None = None,
    project: str | None = None,
    failure: EngramError | None = None,
    memory_of: MemoryOf | None = None,
) -> Server[Memory]:
    """Return a server over one memory, which the first call opens. ``failure`` is the answer to every call.

    ``memory_of`` says which memory a call works on where one server has many connections.

    Raises UnknownToolError for a profile or tool that does not exist.
    """
    names = select_tools(tools if tools is not None else settings.tools)
    memory_for = memory_of or _only_memory

    def handler(method: str, result: type[BaseModel]) -> Callable[[Request, BaseModel | None], Awaitable[BaseModel]]:
        async def handle(ctx: Request, params: BaseModel | None) -> BaseModel:
            if method in AT_ONCE:
                return result.model_validate(listing(method, names))
            given = {} if params is None else params.model_dump(by_alias=True, exclude_none=True)
            work = partial(answer, method, given, names, memory_for(ctx), _client_name(ctx))
            try:
                return result.model_validate(await anyio.to_thread.run_sync(work, abandon_on_cancel=True))
            except RequestError as exc:
                raise MCPError(code=exc.code, message=exc.message, data=exc.data) from exc

        return handle

    handlers: dict[str, Any] = {f"on_{name}": handler(*served) for name, served in _SERVED.items()}
    return Server(
        "engram",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=_lifetime(Memory(opener(settings, project, failure))),
        **handlers,
    )


def _lifetime(memory: Memory) -> Callable[[Server[Memory]], AbstractAsyncContextManager[Memory]]:
    @asynccontextmanager
    async def lifespan(_: Server[Memory]) -> AsyncGenerator[Memory]:
        try:
            yield memory
        finally:
            memory.close()

    return lifespan


def _only_memory(ctx: Request) -> Memory:
    return ctx.lifespan_context


def _client_name(ctx: Request) -> str:
    """Return the name of the client: ``claude-code``, ``cursor``."""
    params: Any = ctx.session.client_params
    return "" if params is None else str(params.client_info.name)[:100]
