"""The application of the routes: reads a request, runs its operation on a worker thread, answers; and describes all."""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping
from functools import cache, partial
from typing import Any
from urllib.parse import unquote

import anyio
import anyio.to_thread
from pydantic import BaseModel, BeforeValidator
from pydantic.json_schema import models_json_schema
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engram_py import __version__
from engram_py.app import Engram
from engram_py.base.asgi import PRIVATE, answered, json_object, read_body
from engram_py.base.errors import EngramError
from engram_py.interfaces.http import (  # noqa: F401 - each module of routes registers them
    errors,
    routes_entities,
    routes_observations,
    routes_projects,
    routes_search,
    routes_sessions,
)
from engram_py.interfaces.http.admission import Asker, asking, check_asked, given_to_asker
from engram_py.interfaces.http.answers import Notes, header
from engram_py.interfaces.http.routing import (
    LENIENT,
    OPERATIONS,
    PROJECT,
    Operation,
    app_in,
    fields_of,
    given_once,
    operation,
    route,
)
from engram_py.interfaces.mcp.tool_calls import count_answer
from engram_py.interfaces.shared_arguments import mended_names, unknown_names
from engram_py.memory.observations.values import SCOPES
from engram_py.memory.relations.values import VERBS
from engram_py.recall.scope_filter import FILTERS

# What no model reads: counted, one export would be most of what a memory costs.
_FOR_PROGRAMS = frozenset({"/health", "/openapi.json", "/export", "/import", "/sync/status"})

# SQLite takes one writer and this process has one connection: more threads would only wait.
WORKERS = 8
_VALUE_CHARS = 40
SEARCH = "/search"

# `curl -d` says urlencoded whatever it sends, and Engram reads JSON whatever it is called.
_JSON_TYPES = ("", "application/json", "text/json", "text/plain", "application/x-www-form-urlencoded")


class Api:
    """Answers every route over one open memory, to whom ``admission`` lets through."""

    def __init__(self, app: Engram) -> None:
        self._app = app
        self._workers = anyio.CapacityLimiter(WORKERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await answered(self._answered(Request(scope, receive)), refused, errors.RequestFailedError)
        await response(scope, receive, send)

    async def _answered(self, request: Request) -> Response:
        found, path = self._found(request)
        body = b""
        if found.takes("raw") or "body" in found.models:
            _check_media_type(request)
            body = await read_body(request, found.most_body, errors.BodyTooLargeError)
        query = request.scope.get("query_string", b"")
        # A request whose client is gone, or whose server ends, runs on: its write is whole or not there at all.
        work = partial(self._run, found, path, query, body, request.scope["asker"])
        return await anyio.to_thread.run_sync(work, limiter=self._workers, abandon_on_cancel=True)

    def route_of(self, scope: Scope) -> str:
        """Return the route that a request asks for, as in ``GET /stats``; empty where there is none."""
        try:
            found, _ = self._found(Request(scope))
        except errors.HttpError:
            return ""
        return f"{found.method} {found.path}"

    def _found(self, request: Request) -> tuple[Operation, dict[str, str]]:
        raw = request.scope.get("raw_path") or request.url.path.encode()
        shown = raw.decode("ascii", "replace")
        try:
            segments = tuple(unquote(part, errors="strict") for part in shown.strip("/").split("/"))
        except UnicodeDecodeError as exc:
            raise errors.InvalidPathError("not UTF-8") from exc
        methods = route(segments) if not shown.startswith("//") else {}
        if not methods:
            raise errors.HttpError(
                f"nothing is at {shown[:200]}",
                hint="GET /openapi.json lists the routes",
                code="unknown_route",
                status=404,
            )
        method = "GET" if request.method == "HEAD" else request.method
        if method not in methods:
            allowed = ", ".join(sorted({*methods, *(["HEAD"] if "GET" in methods else [])}))
            raise errors.HttpError(
                f"{shown[:200]} does not take {request.method[:20]}",
                hint=f"use {allowed}",
                code="method_not_allowed",
                status=405,
                headers={"Allow": allowed},
            )
        return methods[method]

    def _run(self, found: Operation, path: dict[str, str], query: bytes, body: bytes, asker: Asker) -> Response:
        given = {"path": path, "query": given_once(fields_of(query), found.models["query"])}
        if "body" in found.models:
            given["body"] = body_of(body)
        parts = {part: found.parse(part, given[part]) for part in found.models}
        notes = _unread(found, given)
        arguments = found.arguments(parts)
        if found.takes("raw"):
            arguments["raw"] = body
        if found.takes("notes"):
            arguments["notes"] = notes
        with asking(asker), app_in(self._app, given["query"].get("cwd")) as app:
            check_asked(app, found, given)
            with app.usage.collected() as shown:
                value = found.answer.validate_python(found.function(app, **arguments))
            answer = found.answer.dump_json(value, exclude_none=True)
            notes += app.store.tell()
            answer, notes = given_to_asker(app, answer, notes)
            if found.path not in _FOR_PROGRAMS:
                named = (getattr(parts.get(part), "session_id", None) for part in ("body", "query"))
                session_id = next(filter(None, named), None)
                route_name = f"{found.method} {found.path}"
                count_answer(app, "http", route_name, len(answer), session_id=session_id, shown=shown)
        return as_json(answer, found.status, {**(found.headers or {}), **header(notes)})


def refused(error: EngramError) -> Response:
    """Return a refusal in Engram's shape."""
    body = json.dumps(errors.payload(error), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return as_json(body, errors.status_of(error), getattr(error, "headers", {}))


def as_json(body: bytes, status: int, headers: Mapping[str, str]) -> Response:
    return Response(body, status, headers={"Content-Type": "application/json", **PRIVATE, **headers})


def body_of(body: bytes) -> dict[str, Any]:
    """Return a JSON object; no body at all is an empty one. Raises InvalidJsonError."""
    if not body.strip():
        return {}
    return json_object(body, errors.InvalidJsonError, object_pairs_hook=_without_doubles, parse_constant=_no_constant)


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    values = dict(pairs)
    if len(values) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise ValueError(f"{twice[:80]!r} is there twice")
    return values


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is not JSON")


def _check_media_type(request: Request) -> None:
    given = request.headers.get("content-type", "")
    kind, _, parameters = given.partition(";")
    kind = kind.strip().lower()
    charset = parameters.lower().partition("charset=")[2].strip(' "')
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    known = kind in _JSON_TYPES or (kind.startswith("application/") and kind.endswith("+json"))
    if not known or charset not in ("", "utf-8", "utf8", "us-ascii"):
        raise errors.UnsupportedMediaTypeError(given)
    if encoding != "identity":
        raise errors.UnsupportedMediaTypeError(f"encoded as {encoding}")


# --- what of a request was not read -------------------------------------------------------------------------


def _unread(found: Operation, given: Mapping[str, Mapping[str, Any]]) -> Notes:
    """Return a sentence for each parameter and field that nobody knows, and for each value that meant the default."""
    query, model = given["query"], found.models["query"]
    notes = _unknown(query, model, found, kind="parameter") + _unread_values(model, query)
    if "body" not in found.models:
        return notes
    notes += _unknown(given["body"], found.models["body"], found, kind="field")
    return notes + (mended_names(given["body"]) if found.lenient else [])


def _unknown(given: Mapping[str, Any], model: type[BaseModel], found: Operation, *, kind: str) -> Notes:
    known = {field.alias or name for name, field in model.model_fields.items()}
    filters = [one for one in given if found.path == SEARCH and one in FILTERS and one not in known]
    notes = unknown_names((one for one in given if one not in filters), known, kind=kind)
    words = "q" if kind == "parameter" else "query"
    return notes + [f"{one} was ignored: filters belong into {words}, as in {words}=... {one}:..." for one in filters]


def _unread_values(model: type[BaseModel], given: Mapping[str, str]) -> Notes:
    notes = []
    for name, value in given.items():
        if name not in model.model_fields or not value.strip():
            continue
        for reader in model.model_fields[name].metadata:
            expected = LENIENT.get(reader.func) if isinstance(reader, BeforeValidator) else None
            if expected is not None and reader.func(value) is None:
                notes.append(f"{name} {value[:_VALUE_CHARS]!r} is not {expected}; the default was used")
    return notes


# --- the description of the routes ---------------------------------------------------------------------------

_REFERENCE = "#/components/schemas/{model}"

ERROR = {
    "type": "object",
    "required": ["error", "code", "hint"],
    "properties": {
        "error": {"type": "string", "description": "What happened, for a reader."},
        "code": {"type": "string", "description": "The same for a program; stable."},
        "hint": {"type": "string", "description": "The next step."},
        "available_projects": {"type": "array", "items": {"type": "string"}},
    },
}

STATUSES = {
    400: "Something in the request is not as it must be.",
    401: "The request shows no secret, or asks for what needs one.",
    403: "A web page from elsewhere asked.",
    404: "There is no such thing.",
    409: "It contradicts what is there, or nothing decides between several projects.",
    410: "It was there, and is deleted.",
    413: "The body is too large.",
    415: "The body is not JSON.",
    421: "The Host is not this server's.",
    500: "The database cannot be used, or a bug.",
    503: "The database stayed locked.",
    507: "The disk is full.",
}
_ALWAYS = (400, 401, 403, 421, 500, 503)


@operation("GET", "/openapi.json")
def openapi(app: Engram) -> object:
    """This description."""
    return document()


@cache
def document() -> dict[str, Any]:
    """Return the OpenAPI document of all routes: what they take, what they answer, how they refuse."""
    bodies = [one.models["body"] for one in OPERATIONS if "body" in one.models]
    _, definitions = models_json_schema([(model, "validation") for model in bodies], ref_template=_REFERENCE)
    schemas: dict[str, Any] = {"Error": ERROR, **definitions.get("$defs", {})}
    for schema in definitions.get("$defs", {}).values():
        _narrow(schema.get("properties", {}))
    paths: dict[str, Any] = {}
    for one in OPERATIONS:
        paths.setdefault(one.path, {})[one.method.lower()] = _described(one, schemas)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "engram",
            "version": __version__,
            "description": "Memory for coding agents. Routes, bodies and statuses are those of Engram's server.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer", "description": "`engram serve --token`"}},
        },
    }


# What a value of these names must be everywhere, for the description: the rooms check it, and word the refusal.
_NARROWED: dict[str, dict[str, Any]] = {
    "cwd": {"pattern": "^$|^" + (r"[A-Za-z]:[\\/]" if sys.platform == "win32" else "/") + r"[^\u0000]*$"},
    "expected_project": {"pattern": PROJECT},
    "scope": {"enum": ["", *SCOPES]},
    "relation": {"enum": list(VERBS)},
    "predicate": {"pattern": "^[a-z][a-z0-9_]{0,63}$"},
    "confirmed": {"const": True},
    "semantic": {"const": False},
    "turns": {"minItems": 1},
    **{name: {"minimum": 1} for name in ("memory_id_a", "memory_id_b", "observation_id")},
    **{name: {"items": {"type": "integer", "minimum": 1}} for name in ("observation_ids", "prompt_ids")},
}


def _narrow(properties: dict[str, Any]) -> None:
    """Write what a value must be into the schema of each property, beside null where that is one of its kinds."""
    for name, schema in properties.items():
        more = {} if "enum" in schema else _NARROWED.get(name, {})
        for kind in schema.get("anyOf", [schema]):
            if kind.get("type") not in (None, "null"):
                kind.update(more)


def _described(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    described: dict[str, Any] = {
        "operationId": one.name,
        "summary": one.summary,
        "parameters": [*_parameters(one, "path"), *_parameters(one, "query")],
        "responses": _responses(one, schemas),
        "security": [{"token": []}],
    }
    body = one.models.get("body")
    if one.takes("raw"):
        described["requestBody"] = {"required": True, "content": _json({"type": "object"})}
    elif body is not None:
        described["requestBody"] = {
            "required": any(field.is_required() for field in body.model_fields.values()),
            "content": _json({"$ref": _REFERENCE.format(model=body.__name__)}),
        }
    return described


def _parameters(one: Operation, part: str) -> Iterator[dict[str, Any]]:
    model = one.models.get(part)
    if model is None:
        return
    schema = model.model_json_schema()
    _narrow(schema.get("properties", {}))
    for name, field in schema.get("properties", {}).items():
        described = {key: value for key, value in field.items() if key not in ("title", "description", "default")}
        told: dict[str, Any] = {"name": name, "in": part, "schema": _plain(described)}
        told["required"] = part == "path" or name in schema.get("required", ())
        if "description" in field:
            told["description"] = field["description"]
        yield told


def _plain(schema: dict[str, Any]) -> dict[str, Any]:
    """Return the schema of a parameter, which is there or not and never null."""
    kinds = [kind for kind in schema.get("anyOf", ()) if kind.get("type") != "null"]
    beside = {name: value for name, value in schema.items() if name != "anyOf"}
    return beside | kinds[0] if len(kinds) == 1 else schema


def _responses(one: Operation, schemas: dict[str, Any]) -> dict[str, Any]:
    answer = one.answer.json_schema(mode="serialization", ref_template=_REFERENCE)
    schemas |= answer.pop("$defs", {})
    told: dict[str, Any] = {str(one.status): {"description": "Done.", "content": _json(answer)}}
    statuses = {*_ALWAYS, *one.errors, *((413, 415, 507) if one.takes("raw") or "body" in one.models else ())}
    statuses |= {507} if one.method != "GET" else set()
    for status in sorted(statuses):
        told[str(status)] = {
            "description": STATUSES[status],
            "content": _json({"$ref": _REFERENCE.format(model="Error")}),
        }
    return told


def _json(schema: dict[str, Any]) -> dict[str, Any]:
    return {"application/json": {"schema": schema}}
