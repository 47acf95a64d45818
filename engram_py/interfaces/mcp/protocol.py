"""The Model Context Protocol as a server meets it: messages, versions, and what each method is answered. Besides tools
it offers each memory as a resource, and two prompts; it completes their arguments.

The answers are the same on stdin and stdout as over HTTP. There are two eras. A client that says ``initialize``
first speaks the versions up to 2025-11-25; one whose first request carries the envelope of 2026-07-28 speaks that,
and repeats the envelope in every request.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, TypeGuard
from urllib.parse import quote, unquote

from engram_py import __version__
from engram_py.base.errors import EngramError, InvalidArgumentError, InvalidInputError, NotFoundError
from engram_py.interfaces.input_checks import as_text, is_text
from engram_py.interfaces.mcp.profiles import INSTRUCTIONS, declared, listed

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.interfaces.mcp.tool_calls import Memory, Question


OBSERVATION = "engram://observation/"
CONTEXT = "engram://context/"
MIME = "text/markdown"
LISTED = 20
MOST_DIGITS = 19

Json = dict[str, Any]

TEMPLATES: list[Json] = [
    {
        "name": "observation", "title": "A memory", "uriTemplate": OBSERVATION + "{id}", "mimeType": MIME,
        "description": "One observation, whole.",
    },
    {
        "name": "context", "title": "A project's context", "uriTemplate": CONTEXT + "{project}", "mimeType": MIME,
        "description": "What a new session of a project should know.",
    },
]  # fmt: skip

PROMPTS: list[Json] = [
    {
        "name": "recall", "title": "Recall", "description": "Start from what earlier sessions know.",
        "arguments": [
            {"name": "topic", "description": "What to recall; default: what is recent.", "required": False}
        ],
    },
    {"name": "wrap-up", "title": "Wrap up", "description": "Leave the next session what it needs."},
]  # fmt: skip

_WRAP_UP = """\
Before this session ends, look back over it and save what a later session would miss:
1. For each decision, bug fix with its cause, discovery, convention or preference not saved yet, call mem_save.
2. Call mem_session_summary with the sections Goal, Instructions, Discoveries, Accomplished, Next Steps, Relevant Files.
3. Then tell the user in two or three sentences what was kept."""


def list_resources(app: Engram) -> list[Json]:
    """Return the current project's context and its newest observations."""
    place = app.projects.for_read()
    listed = [
        {"uri": CONTEXT + quote(name, safe=""), "name": f"context of {name}", "mimeType": MIME}
        for name in place.reads or ()
    ]
    with app.usage.paused():  # a list to browse
        context = app.contexts.assemble()
    for row in (*context.pinned, *context.recent)[:LISTED]:
        uri = f"{OBSERVATION}{row.id}"
        listed.append({"uri": uri, "name": row.title, "description": row.type, "mimeType": MIME})
    return listed


def read_resource(app: Engram, uri: str) -> Json:
    """Return the text of a resource. Raises NotFoundError, InvalidArgumentError."""
    from engram_py.interfaces.wording import render

    now = app.journal.calendar.local
    if uri.startswith(OBSERVATION):
        number = uri.removeprefix(OBSERVATION)
        if len(number) > MOST_DIGITS or not (number.isascii() and number.isdecimal()):
            raise InvalidArgumentError("uri", uri, expected=f"{OBSERVATION}ID")
        body = render.text(app.observations.get(int(number)), now=now, door="mcp")
    elif uri.startswith(CONTEXT):
        body = render.text(app.contexts.assemble(unquote(uri.removeprefix(CONTEXT))), now=now, door="mcp")
    else:
        raise NotFoundError(
            f"no resource {uri[:200]!r}", hint=f"{OBSERVATION}ID and {CONTEXT}PROJECT exist", code="unknown_resource"
        )
    return {"uri": uri, "mimeType": MIME, "text": body}


def get_prompt(app: Engram, name: str, arguments: dict[str, str]) -> Json:
    """Return the message of a prompt. Raises InvalidArgumentError for one that does not exist."""
    from engram_py.interfaces.wording import render
    from engram_py.interfaces.wording.context import fenced

    if name == "wrap-up":
        return _prompt(_WRAP_UP)
    if name != "recall":
        raise InvalidArgumentError("name", name, expected="recall or wrap-up")
    now = app.journal.calendar.local
    topic = arguments.get("topic", "").strip()
    context = app.contexts.assemble(compact=bool(topic))
    found = render.text(app.searches.search(topic), now=now, door="mcp") if topic else ""
    about = f"about {topic!r} " if topic else ""
    head = f"Here is what earlier sessions kept {about}for this project. Use what fits, check it against the code."
    body = [fenced(found, project=context.project)] if found else []
    return _prompt("\n\n".join([head, *body, render.text(context, now=now, door="mcp")]))


def _prompt(text: str) -> Json:
    return {"role": "user", "content": {"type": "text", "text": text}}


# The prompt or template and its argument → what completes it.
_COMPLETED: dict[tuple[str, str], Literal["topic_key", "id", "project"]] = {
    ("recall", "topic"): "topic_key",
    (OBSERVATION + "{id}", "id"): "id",
    (CONTEXT + "{project}", "project"): "project",
}
MOST_COMPLETED = 100  # that the protocol allows


def complete(app: Engram, ref: Json, argument: Json) -> Json:
    """Return the values an argument may have that hold what was typed, those that begin with it first.

    A topic is searched for, so ``type:`` is completed there as well. Raises InvalidArgumentError for a prompt or
    template that does not exist.
    """
    target, part = str(ref.get("name") or ref.get("uri")), as_text(argument["value"])
    if target not in {*(one["name"] for one in PROMPTS), *(one["uriTemplate"] for one in TEMPLATES)}:
        raise InvalidArgumentError("ref", target, expected="a prompt or a resource template of this server")
    column = _COMPLETED.get((target, argument["name"]))
    head = "type:" if column == "topic_key" and part.startswith("type:") else ""
    found: Sequence[str] = ()
    if column == "project":
        found = app.projects.named_like(part)
    elif column is not None:
        found = app.browsing.values_of("type" if head else column, part.removeprefix(head), limit=MOST_COMPLETED + 1)
    values = [head + one for one in found[:MOST_COMPLETED]]
    return {"values": values, "hasMore": len(found) > MOST_COMPLETED}


HANDSHAKES = ("2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25")
BATCHING = HANDSHAKES[:2]  # later versions took batches out of the protocol
ENVELOPED = ("2026-07-28",)
VERSION, CLIENT, CAPABILITIES, SERVER = (
    f"io.modelcontextprotocol/{name}" for name in ("protocolVersion", "clientInfo", "clientCapabilities", "serverInfo")
)
WEBSITE = "https://github.com/engram-py/engram-py"
SUMMARY = "Memory for coding agents: what one session learned, the next one finds."
# 16 by 16 pixels, black and white.
ICON = (
    "data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAABAAAAAQAQAAAAA3iMLMAAAAGklEQVR42mP4/58BiB6wQ9Hj/yCEyQYisEoAJLoW"
    "uWybZ7oAAAAASUVORK5CYII="
)
SERVER_INFO: Json = {
    "name": "engram",
    "title": "Engram",
    "version": __version__,
    "description": SUMMARY,
    "websiteUrl": WEBSITE,
    "icons": [{"src": ICON, "mimeType": "image/png", "sizes": ["16x16"]}],
}
OFFERED = {
    "capabilities": {
        "completions": {},
        "prompts": {"listChanged": False},
        "resources": {"subscribe": False, "listChanged": False},
        "tools": {"listChanged": False},
    },
    "instructions": INSTRUCTIONS,
}
PARSE_ERROR, INVALID_REQUEST, METHOD_NOT_FOUND = -32700, -32600, -32601
INVALID_PARAMS, INTERNAL_ERROR, UNSUPPORTED_VERSION = -32602, -32603, -32022
RESOURCE_NOT_FOUND = -32002  # of the handshakes; 2026-07-28 has INVALID_PARAMS for it

# What a method's params hold: name → (type, whether it must be there). Every method may have a _meta.
METHODS: dict[str, dict[str, tuple[type, bool]]] = {
    "tools/list": {"cursor": (str, False)},
    "tools/call": {
        "name": (str, True), "arguments": (dict, False), "inputResponses": (dict, False), "requestState": (str, False),
    },
    "resources/list": {"cursor": (str, False)},
    "resources/templates/list": {"cursor": (str, False)},
    "resources/read": {"uri": (str, True)},
    "prompts/list": {"cursor": (str, False)},
    "prompts/get": {"name": (str, True), "arguments": (dict, False)},
    "completion/complete": {"ref": (dict, True), "argument": (dict, True), "context": (dict, False)},
}  # fmt: skip
# These are answered from what is stored with the package: no memory is opened, and nobody waits.
AT_ONCE = frozenset({"tools/list", "resources/templates/list", "prompts/list"})


class RequestError(Exception):
    """A request that gets a JSON-RPC error for an answer."""

    def __init__(self, code: int, message: str, data: object = None) -> None:
        super().__init__(message)
        self.code, self.message, self.data = code, as_text(message), data


class Client:
    """The client of one connection."""

    def __init__(self) -> None:
        self._enveloped: bool | None = None  # which era it is, from the first request on
        self._version = ""  # what a client of the first era agreed to
        self._name: str | None = None  # what it calls itself
        self._capabilities: object = None  # what that client can do

    def admit(self, method: str, params: Json) -> str:
        """Return the name of the client of a request that can be answered. Raises RequestError for any other."""
        if self._enveloped is None:
            self._enveloped = method != "initialize" and _has_envelope(params)
        return self._of_envelope(method, params) if self._enveloped else self._of_handshake(method, params)

    def _of_handshake(self, method: str, params: Json) -> str:
        """Return the client's name, of a request after ``initialize``. Raises RequestError."""
        name = self._name
        if method == "initialize":
            client = params.get("clientInfo")
            if not _are(params, protocolVersion=str, capabilities=dict) or not _is_client(client):
                raise _invalid_params()
            name = as_text(client["name"])[:100]
        elif _has_envelope(params):
            message = "this connection serves the handshake protocol era; "
            message += "requests carrying the 2026-07-28 envelope are not accepted on it"
            raise RequestError(INVALID_REQUEST, message)
        elif method != "ping":
            _check(method, params)
            if name is None:
                raise _invalid_params()
        _check_meta(params)
        self._name = name
        if method == "initialize":
            self._capabilities = params["capabilities"]
        return name or ""

    def _of_envelope(self, method: str, params: Json) -> str:
        """Return the client's name, of a request that carries the envelope. Raises RequestError."""
        if method == "initialize":
            message = "connection is serving the 2026-07-28 protocol; the initialize handshake is not accepted"
            raise RequestError(UNSUPPORTED_VERSION, message, _supported(params.get("protocolVersion")))
        meta = params.get("_meta")
        if not isinstance(meta, dict):
            keys = f"{VERSION!r} and {CAPABILITIES!r}"
            message = f"params._meta must be an object carrying the required {keys} envelope keys"
            raise RequestError(INVALID_PARAMS, message)
        if missing := [key for key in (VERSION, CAPABILITIES) if key not in meta]:
            message = f"params._meta is missing the required envelope key(s): {', '.join(missing)}"
            raise RequestError(INVALID_PARAMS, message)
        if not isinstance(meta[VERSION], str):
            raise RequestError(INVALID_PARAMS, "the protocol-version envelope value must be a string")
        if meta[VERSION] not in ENVELOPED:
            raise RequestError(UNSUPPORTED_VERSION, "Unsupported protocol version", _supported(meta[VERSION]))
        if method != "server/discover":
            _check(method, params)
        client = meta.get(CLIENT)
        if not isinstance(meta[CAPABILITIES], dict) or not (client is None or _is_client(client)):
            raise _invalid_params()
        _check_meta(params)
        return as_text(client["name"])[:100] if client else ""

    @property
    def is_enveloped(self) -> bool:
        """Whether it speaks the protocol that repeats the envelope in every request."""
        return bool(self._enveloped)

    @property
    def sends_batches(self) -> bool:
        """Whether its version of the protocol has arrays of messages."""
        return self._version in BATCHING

    @property
    def has_roots(self) -> bool:
        """Whether it can be asked for the folders that it works in; 2026-07-28 has no requests of a server."""
        return isinstance(self._capabilities, dict) and isinstance(self._capabilities.get("roots"), dict)

    def asks_person(self, params: Json) -> bool:
        """Return whether the client of an admitted request can put a question to the person."""
        return elicits(params["_meta"][CAPABILITIES] if self._enveloped else self._capabilities)

    def at_once(self, method: str, params: Json, names: Sequence[str]) -> Json | None:
        """Return the answer to what needs no memory, by a server that offers these tools."""
        if method == "initialize":
            asked = params["protocolVersion"]
            self._version = asked if asked in HANDSHAKES else HANDSHAKES[-1]
            return {"protocolVersion": self._version, "serverInfo": SERVER_INFO, **OFFERED}
        if method == "server/discover":
            return {"supportedVersions": list(ENVELOPED), **OFFERED}
        if method == "ping":
            return {}
        return listing(method, params, names) if method in AT_ONCE else None

    def with_metadata(self, method: str, result: Json) -> Json:
        """Return the result with what the client's version of the protocol asks for."""
        if not self._enveloped:
            return result
        result = {"resultType": "complete", **result, "_meta": {SERVER: SERVER_INFO}}
        if method not in ("tools/call", "prompts/get"):  # what a client could keep
            result |= {"ttlMs": 0, "cacheScope": "private"}
        return result


def plain_id(message: object) -> str | int | None:
    """Return the id of a message, if it can be sent back."""
    found = message.get("id") if isinstance(message, dict) else None
    if isinstance(found, str) and is_text(found):
        return found
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def is_message(message: object) -> bool:
    """Return whether it is a message of JSON-RPC 2.0, of which an answer could reach its sender."""
    if not isinstance(message, dict) or message.get("jsonrpc") != "2.0":
        return False
    if "method" not in message:
        return "result" in message or "error" in message
    if "id" in message and plain_id(message) is None:
        return False
    return isinstance(message["method"], str) and isinstance(message.get("params"), dict | None)


def _has_envelope(params: Json) -> bool:
    meta = params.get("_meta")
    return isinstance(meta, dict) and VERSION in meta


def _is_client(value: object) -> TypeGuard[Json]:
    return isinstance(value, dict) and _are(value, name=str, version=str)


def elicits(capabilities: object) -> bool:
    """Return whether a client that can do this shows a form to the person: ``{}`` is what that was before modes."""
    found = capabilities.get("elicitation") if isinstance(capabilities, dict) else None
    return isinstance(found, dict) and ("form" in found or "url" not in found)


def _are(values: Json, **kinds: type) -> bool:
    return all(isinstance(values.get(name), kind) for name, kind in kinds.items())


def _check(method: str, params: Json) -> None:
    """Raises RequestError for a method that is not served, and for params that are not its own."""
    if method not in METHODS:
        raise RequestError(METHOD_NOT_FOUND, "Method not found", as_text(method))
    for name, (kind, required) in METHODS[method].items():
        value = params.get(name)
        if not isinstance(value, kind) and (required or value is not None):
            raise _invalid_params()
    prompted = params.get("arguments") if method == "prompts/get" else None
    if prompted and not all(isinstance(one, str) for one in prompted.values()):
        raise _invalid_params()
    if method == "completion/complete" and not _is_completion(**params):
        raise _invalid_params()


def _is_completion(ref: Json, argument: Json, **_: object) -> bool:
    named = {"ref/prompt": "name", "ref/resource": "uri"}.get(str(ref.get("type")))
    return named is not None and isinstance(ref.get(named), str) and _are(argument, name=str, value=str)


def _check_meta(params: Json) -> None:
    if not isinstance(params.get("_meta"), dict | None):
        raise _invalid_params()


def _invalid_params() -> RequestError:
    return RequestError(INVALID_PARAMS, "Invalid request parameters", "")


def _supported(requested: object) -> Json:
    return {"supported": list(ENVELOPED)} | ({"requested": requested} if isinstance(requested, str) else {})


def listing(method: str, params: Json, names: Sequence[str]) -> Json:
    """Return the answer to a method that is answered at once, by a server that offers these tools. Raises
    RequestError."""
    _check_page(params)
    if method == "tools/list":
        return {"tools": listed(names)}
    if method == "prompts/list":
        return {"prompts": PROMPTS}
    return {"resourceTemplates": TEMPLATES}


def _check_page(params: Json) -> None:
    """Every list is one page, so no cursor was given out: one that is sent would ask for the same page for ever."""
    if params.get("cursor"):
        raise RequestError(INVALID_PARAMS, "unknown cursor: the list has one page; ask for it without a cursor")


def answer(
    method: str,
    params: Json,
    names: Sequence[str],
    memory: Memory,
    agent: str,
    *,
    asks: bool = False,
    enveloped: bool = False,
) -> Json | Question:
    """Return the answer to any other method. Raises RequestError.

    ``asks``: the client can put a question to the person, which a call may answer with. ``enveloped``: it speaks
    2026-07-28.
    """
    if method == "tools/call":
        return _call(params, names, memory, agent, asks=asks)
    _check_page(params)
    try:
        with memory.use(agent) as app:
            if method == "resources/list":
                return {"resources": list_resources(app)}
            if method == "resources/read":
                return {"contents": [read_resource(app, as_text(params["uri"]))]}
            if method == "completion/complete":
                return {"completion": complete(app, params["ref"], params["argument"])}
            given = {name: as_text(one) for name, one in (params.get("arguments") or {}).items()}
            return {"messages": [get_prompt(app, as_text(params["name"]), given)]}
    except EngramError as exc:
        from engram_py.interfaces.wording.reasons import spelled

        code = INVALID_PARAMS if isinstance(exc, NotFoundError | InvalidInputError) else INTERNAL_ERROR
        if method == "resources/read" and code == INVALID_PARAMS and not enveloped:
            code = RESOURCE_NOT_FOUND
        raise RequestError(code, f"{exc.message}; {spelled(exc.next_step, 'mcp')}", {"code": exc.code}) from exc


def _call(params: Json, names: Sequence[str], memory: Memory, agent: str, *, asks: bool) -> Json | Question:
    name = params["name"]
    if name not in names:
        raise RequestError(INVALID_PARAMS, f"unknown tool {name[:80]!r}; this server offers {', '.join(names)}")
    from engram_py.interfaces.mcp.tool_calls import REPLACE, Question, run_tool

    state = params.get("requestState")
    if state is None:
        return run_tool(declared()[name], params.get("arguments") or {}, memory, agent, asks=asks)
    try:
        question = Question.of_state(state)
    except ValueError:
        raise RequestError(INVALID_PARAMS, "Invalid or expired requestState") from None
    return question.settled((params.get("inputResponses") or {}).get(REPLACE), memory, agent)
