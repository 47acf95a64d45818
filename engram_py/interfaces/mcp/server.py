"""The server of the SDK, which serves streamable HTTP; on stdin and stdout ``stdio`` answers the same."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from functools import partial
from typing import Any, TypeVar

import anyio.to_thread
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import Server
from mcp.shared.exceptions import MCPError
from mcp.types import (
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
from pydantic import BaseModel

from engram_py.config import Settings
from engram_py.errors import EngramError
from engram_py.interfaces.mcp.instructions import INSTRUCTIONS
from engram_py.interfaces.mcp.methods import RequestError, answer, listing
from engram_py.interfaces.mcp.profiles import select_tools
from engram_py.interfaces.mcp.tool_calls import Memory, opener
from engram_py.log import logger_of
from engram_py.version import __version__

logger = logger_of(__name__)

R = TypeVar("R", bound=BaseModel)
Request = ServerRequestContext[Memory]
MemoryOf = Callable[[Request], Memory]
Paged = PaginatedRequestParams | None


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
    names = select_tools(tools if tools is not None else settings.tools)
    memory_for = memory_of or _only_memory

    async def answered(ctx: Request, method: str, params: BaseModel | None, result: type[R]) -> R:
        given = {} if params is None else params.model_dump(by_alias=True, exclude_none=True)
        work = partial(answer, method, given, names, memory_for(ctx), _client_name(ctx))
        try:
            return result.model_validate(await anyio.to_thread.run_sync(work, abandon_on_cancel=True))
        except RequestError as exc:
            raise MCPError(code=exc.code, message=exc.message, data=exc.data) from exc

    async def list_tools(_: Request, __: Paged) -> ListToolsResult:
        return ListToolsResult.model_validate(listing("tools/list", names))

    async def call_tool(ctx: Request, params: CallToolRequestParams) -> CallToolResult:
        return await answered(ctx, "tools/call", params, CallToolResult)

    async def list_templates(_: Request, __: Paged) -> ListResourceTemplatesResult:
        return ListResourceTemplatesResult.model_validate(listing("resources/templates/list", names))

    async def list_resources(ctx: Request, params: Paged) -> ListResourcesResult:
        return await answered(ctx, "resources/list", params, ListResourcesResult)

    async def read_resource(ctx: Request, params: ReadResourceRequestParams) -> ReadResourceResult:
        return await answered(ctx, "resources/read", params, ReadResourceResult)

    async def list_prompts(_: Request, __: Paged) -> ListPromptsResult:
        return ListPromptsResult.model_validate(listing("prompts/list", names))

    async def get_prompt(ctx: Request, params: GetPromptRequestParams) -> GetPromptResult:
        return await answered(ctx, "prompts/get", params, GetPromptResult)

    return Server(
        "engram",
        version=__version__,
        instructions=INSTRUCTIONS,
        lifespan=_lifetime(Memory(opener(settings, project, failure))),
        on_list_tools=list_tools,
        on_call_tool=call_tool,
        on_list_resources=list_resources,
        on_list_resource_templates=list_templates,
        on_read_resource=read_resource,
        on_list_prompts=list_prompts,
        on_get_prompt=get_prompt,
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
    """What the client calls itself: ``claude-code``, ``cursor``."""
    params: Any = ctx.session.client_params
    return "" if params is None else str(params.client_info.name)[:100]
