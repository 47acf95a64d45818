"""What each method of the protocol is answered, as JSON: the same on stdin and stdout as over HTTP."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from engram_py.doors import through
from engram_py.errors import EngramError, InvalidInputError, NotFoundError
from engram_py.interfaces.arguments import as_text
from engram_py.interfaces.mcp import resources as offers
from engram_py.interfaces.mcp.schemas import declared, stored

if TYPE_CHECKING:
    from engram_py.interfaces.mcp.tool_calls import Memory

Json = dict[str, Any]

INVALID_PARAMS, INTERNAL_ERROR = -32602, -32603

# What a method's params hold: name → (type, whether it must be there). Every method may have a _meta.
METHODS: dict[str, dict[str, tuple[type, bool]]] = {
    "tools/list": {"cursor": (str, False)},
    "tools/call": {"name": (str, True), "arguments": (dict, False)},
    "resources/list": {"cursor": (str, False)},
    "resources/templates/list": {"cursor": (str, False)},
    "resources/read": {"uri": (str, True)},
    "prompts/list": {"cursor": (str, False)},
    "prompts/get": {"name": (str, True), "arguments": (dict, False)},
}
# These are answered from what is stored with the package: no memory is opened, and nobody waits.
AT_ONCE = frozenset({"tools/list", "resources/templates/list", "prompts/list"})


class RequestError(Exception):
    """A request that gets a JSON-RPC error for an answer."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, as_text(message), data


def listing(method: str, names: Sequence[str]) -> Json:
    """The answer to a method that is answered at once, by a server that offers these tools."""
    if method == "tools/list":
        return {"tools": [stored()[name] for name in names]}
    if method == "prompts/list":
        return {"prompts": offers.PROMPTS}
    return {"resourceTemplates": offers.TEMPLATES}


def answer(method: str, params: Json, names: Sequence[str], memory: Memory, agent: str) -> Json:
    """The answer to any other method. Raises RequestError."""
    if method == "tools/call":
        return _call(params, names, memory, agent)
    try:
        with through("mcp"), memory.use(agent) as app:
            if method == "resources/list":
                return {"resources": offers.list_resources(app)}
            if method == "resources/read":
                return {"contents": [offers.read_resource(app, as_text(params["uri"]))]}
            given = {name: as_text(one) for name, one in (params.get("arguments") or {}).items()}
            return {"messages": [offers.get_prompt(app, as_text(params["name"]), given)]}
    except EngramError as exc:
        code = INVALID_PARAMS if isinstance(exc, NotFoundError | InvalidInputError) else INTERNAL_ERROR
        raise RequestError(code, f"{exc.message}; {exc.hint}", {"code": exc.code}) from exc


def _call(params: Json, names: Sequence[str], memory: Memory, agent: str) -> Json:
    name = params["name"]
    if name not in names:
        raise RequestError(INVALID_PARAMS, f"unknown tool {name[:80]!r}; this server offers {', '.join(names)}")
    from engram_py.interfaces.mcp.tool_calls import run_tool

    return run_tool(declared()[name], params.get("arguments") or {}, memory, agent)
