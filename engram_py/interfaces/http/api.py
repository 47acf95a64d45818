"""The ASGI application of the routes: reads a request within bounds, runs its operation on a worker thread, answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import partial
from typing import Any
from urllib.parse import unquote

import anyio
import anyio.to_thread
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import Receive, Scope, Send

from engram_py.app import Engram
from engram_py.asgi import PRIVATE, answered, json_object, read_body
from engram_py.doors import through
from engram_py.errors import EngramError
from engram_py.interfaces.counting import count_answer
from engram_py.interfaces.http import routes  # noqa: F401 - registers them
from engram_py.interfaces.http.admission import Asker, asking, check_asked, given_to_asker
from engram_py.interfaces.http.errors import (
    BodyTooLargeError,
    HttpError,
    InvalidJsonError,
    InvalidPathError,
    MethodNotAllowedError,
    RequestFailedError,
    UnknownRouteError,
    UnsupportedMediaTypeError,
    payload,
    status_of,
)
from engram_py.interfaces.http.notes import header, unread
from engram_py.interfaces.http.parameters import app_in
from engram_py.interfaces.http.routing import Operation, fields_of, given_once, route

# What no model reads: counted, one export would be most of what a memory costs.
_FOR_PROGRAMS = frozenset({"/health", "/openapi.json", "/export", "/import", "/sync/status"})

# SQLite takes one writer and this process has one connection: more threads would only wait.
WORKERS = 8

# `curl -d` says urlencoded whatever it sends, and Engram reads JSON whatever it is called.
_JSON_TYPES = ("", "application/json", "text/json", "text/plain", "application/x-www-form-urlencoded")


class Api:
    """Answers every route over one open memory, to whom ``admission`` lets through."""

    def __init__(self, app: Engram) -> None:
        self._app = app
        self._workers = anyio.CapacityLimiter(WORKERS)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        response = await answered(self._answered(Request(scope, receive)), refused, RequestFailedError)
        await response(scope, receive, send)

    async def _answered(self, request: Request) -> Response:
        found, path = self._found(request)
        body = b""
        if found.takes("raw") or "body" in found.models:
            _check_media_type(request)
            body = await read_body(request, found.most_body, BodyTooLargeError)
        query = request.scope.get("query_string", b"")
        # A request whose client is gone, or whose server ends, runs on: its write is whole or not there at all.
        work = partial(self._run, found, path, query, body, request.scope["asker"])
        return await anyio.to_thread.run_sync(work, limiter=self._workers, abandon_on_cancel=True)

    def route_of(self, scope: Scope) -> str:
        """Return the route that a request asks for, as in ``GET /stats``; empty where there is none."""
        try:
            found, _ = self._found(Request(scope))
        except HttpError:
            return ""
        return f"{found.method} {found.path}"

    def _found(self, request: Request) -> tuple[Operation, dict[str, str]]:
        raw = request.scope.get("raw_path") or request.url.path.encode()
        shown = raw.decode("ascii", "replace")
        try:
            segments = tuple(unquote(part, errors="strict") for part in shown.strip("/").split("/"))
        except UnicodeDecodeError as exc:
            raise InvalidPathError("not UTF-8") from exc
        methods = route(segments) if not shown.startswith("//") else {}
        if not methods:
            raise UnknownRouteError(shown)
        method = "GET" if request.method == "HEAD" else request.method
        if method not in methods:
            raise MethodNotAllowedError(request.method, shown, tuple(methods))
        return methods[method]

    def _run(self, found: Operation, path: dict[str, str], query: bytes, body: bytes, asker: Asker) -> Response:
        given = {"path": path, "query": given_once(fields_of(query), found.models["query"])}
        if "body" in found.models:
            given["body"] = body_of(body)
        parts = {part: found.parse(part, given[part]) for part in found.models}
        notes = unread(found, given)
        arguments = found.arguments(parts)
        if found.takes("raw"):
            arguments["raw"] = body
        if found.takes("notes"):
            arguments["notes"] = notes
        with through("http"), asking(asker), app_in(self._app, given["query"].get("cwd")) as app:
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
    body = json.dumps(payload(error), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return as_json(body, status_of(error), getattr(error, "headers", {}))


def as_json(body: bytes, status: int, headers: Mapping[str, str]) -> Response:
    return Response(body, status, headers={"Content-Type": "application/json", **PRIVATE, **headers})


def body_of(body: bytes) -> dict[str, Any]:
    """Return a JSON object; no body at all is an empty one. Raises InvalidJsonError."""
    if not body.strip():
        return {}
    return json_object(body, InvalidJsonError, object_pairs_hook=_without_doubles, parse_constant=_no_constant)


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
        raise UnsupportedMediaTypeError(given)
    if encoding != "identity":
        raise UnsupportedMediaTypeError(f"encoded as {encoding}")
