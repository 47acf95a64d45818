"""The application of the routes: reads a request, runs its operation on a worker thread, and answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

import anyio
import anyio.to_thread
from pydantic import BaseModel, BeforeValidator
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engram_py.app import Engram
from engram_py.base.asgi import PRIVATE, answered, json_object, read_body
from engram_py.base.errors import EngramError
from engram_py.interfaces.http import errors, openapi  # noqa: F401 - the description of all routes registers them
from engram_py.interfaces.http.admission import check_asked, given_to_asker, remember_asker
from engram_py.interfaces.http.answers import Notes, header
from engram_py.interfaces.http.parameters import LENIENT, app_in
from engram_py.interfaces.http.routing import Route, fields_of, given_once, routes_at
from engram_py.interfaces.input_checks import mended_names, unknown_names
from engram_py.interfaces.mcp.tool_calls import count_answer
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
        if found.takes_body:
            _check_media_type(request)
            body = await read_body(request, found.most_body, errors.BodyTooLargeError)
        remember_asker(request.scope["asker"])
        # A request whose client is gone, or whose server ends, runs on: its write is whole or not there at all.
        work = partial(self._run, found, path, request.scope.get("query_string", b""), body)
        return await anyio.to_thread.run_sync(work, limiter=self._workers, abandon_on_cancel=True)

    def route_of(self, scope: Scope) -> str:
        """Return the route that a request asks for, as in ``GET /stats``; empty where there is none."""
        try:
            found, _ = self._found(Request(scope))
        except errors.HttpError:
            return ""
        return found.address

    def _found(self, request: Request) -> tuple[Route, dict[str, str]]:
        raw = request.scope.get("raw_path") or request.url.path.encode()
        shown = raw.decode("ascii", "replace")
        try:
            parts = [unquote(part, errors="strict") for part in shown.strip("/").split("/")]
        except UnicodeDecodeError as exc:
            raise errors.InvalidPathError("not UTF-8") from exc
        methods = routes_at(parts) if not shown.startswith("//") else {}
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

    def _run(self, found: Route, path: dict[str, str], query: bytes, body: bytes) -> Response:
        given = {"path": path, "query": given_once(fields_of(query), found.models["query"])}
        if "body" in found.models:
            given["body"] = body_of(body)
        parts = {part: found.parse(part, given[part]) for part in found.models}
        notes = _unread(found, given)
        arguments = found.arguments(parts, raw=body, notes=notes)
        app = app_in(self._app, given["query"].get("cwd"))
        check_asked(app, found, given)
        with app.usage.collected() as shown:
            value = found.answer.validate_python(found.function(app, **arguments))
        answer = found.answer.dump_json(value, exclude_none=True)
        notes += app.store.tell()
        answer, notes = given_to_asker(app, answer, notes)
        if found.path not in _FOR_PROGRAMS:
            named = (getattr(parts.get(part), "session_id", None) for part in ("body", "query"))
            session_id = next(filter(None, named), None)
            count_answer(app, "http", found.address, len(answer), session_id=session_id, shown=shown)
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


def _unread(found: Route, given: Mapping[str, Mapping[str, Any]]) -> Notes:
    """Return a sentence for each parameter and field that nobody knows, and for each value that meant the default."""
    query, model = given["query"], found.models["query"]
    notes = _unknown(query, model, found, kind="parameter") + _unread_values(model, query)
    if "body" not in found.models:
        return notes
    notes += _unknown(given["body"], found.models["body"], found, kind="field")
    return notes + (mended_names(given["body"]) if found.lenient else [])


def _unknown(given: Mapping[str, Any], model: type[BaseModel], found: Route, *, kind: str) -> Notes:
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
