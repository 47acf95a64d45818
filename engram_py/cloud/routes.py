"""The ASGI application: Engram's routes for sync, and those for administration."""

from __future__ import annotations

import gzip
import zlib
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from functools import partial
from typing import Any

import anyio
import anyio.to_thread
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from engram_py import __version__
from engram_py.base import asgi
from engram_py.base.asgi import PRIVATE, Lingering, encoded, json_object
from engram_py.base.dataclass import asdict
from engram_py.cloud import chunks
from engram_py.cloud.accounts import Caller, CloudSettings, every, instance, visible
from engram_py.cloud.admin import Admin
from engram_py.cloud.database import one
from engram_py.cloud.errors import (
    CloudServerError,
    InvalidBodyError,
    InvalidRequestError,
    PushTooLargeError,
    UnknownAddressError,
)
from engram_py.cloud.pushing import Pushed, push
from engram_py.cloud.server import CONTENT_TYPE, Audience, Endpoint, Handler, Server, refusal
from engram_py.cloud.validation import MOST_ENTRIES, parse_batch

_MOST_PROJECTS_ASKED = 500
_MOST_ADMIN_BYTES = 256 * 1024
_HEALTH_SECONDS = 3.0
BODY_SECONDS = 60.0

# What Engram sends its chunks as: gzip by the media type, not by an encoding.
ENVELOPE = "application/vnd.engram.sync+gzip"
ENVELOPE_TYPE = f"{ENVELOPE}; version=1"

_GZIP = 31  # zlib's window bits of a stream with gzip's header
_PIECE = 64 * 1024
NDJSON = "application/x-ndjson"
_COMPRESS_FROM_BYTES = 1_024
_LEVEL = 5


async def push_mutations(server: Server, caller: Caller, request: Request) -> Response:
    body = await read_body(request, server.settings.max_push_bytes)
    batch = await server.parsed(parse_batch, body)
    async with server.database_to_push() as connection:
        pushed = await push(connection, caller, batch)
    return await as_json(request, encoded(_told(server, pushed)))


async def pull_mutations(server: Server, caller: Caller, request: Request) -> Response:
    since, asked = _whole(request, "since_seq", 0), _asked(request)
    if NDJSON in request.headers.get("accept", ""):
        page = await _pulled(server, caller, since, chunks.MOST_PULLED, asked)
        return ndjson_response(request, _lines(server, caller, asked, page))
    limit = max(1, min(_whole(request, "limit", 100), chunks.MOST_PULLED))
    page = await _pulled(server, caller, since, limit, asked)
    if page.counts:  # most polls find nothing, and nothing is said of them
        async with server.database() as connection:
            await chunks.record_pull(connection, caller, page.counts)
    end = encoded({"has_more": page.has_more, "latest_seq": page.latest_seq, "instance": page.instance})
    return await as_json(request, f'{{"mutations":[{",".join(page.entries)}],'.encode() + end[1:])


async def _pulled(server: Server, caller: Caller, since: int, limit: int, asked: list[str]) -> chunks.PulledRows:
    async with server.database() as connection:
        page = await chunks.pull_rows(connection, caller, since=since, limit=limit, asked=asked)
    server.metrics.pulled.inc(len(page.entries))
    return page


async def _lines(server: Server, caller: Caller, asked: list[str], page: chunks.PulledRows) -> AsyncIterator[bytes]:
    """Yield all rows a page at a time: a slow reader holds neither a connection nor an old snapshot.

    A row that changes while this runs moves to the end, so it is given once more, never left out.
    """
    counts: Counter[str] = Counter()
    try:
        while True:
            counts += page.counts
            if page.entries:
                yield ("\n".join(page.entries) + "\n").encode()
            if not page.has_more:
                break
            page = await _pulled(server, caller, page.latest_seq, chunks.MOST_PULLED, asked)
        end = {"latest_seq": page.latest_seq, "has_more": False, "end": True, "instance": page.instance}
        yield encoded(end) + b"\n"
    finally:  # also of what was broken off
        with anyio.move_on_after(5, shield=True):
            async with server.database() as connection:
                await chunks.record_pull(connection, caller, counts)


async def projects(server: Server, caller: Caller, request: Request) -> Response:
    async with server.database() as connection:
        listed = await visible(connection, caller)
        everywhere = await every(connection, caller)
        source = await instance(connection)
    told = {"projects": [asdict(project) for project in listed], "every": everywhere, "instance": source}
    return await as_json(request, encoded(told))


async def push_chunk(server: Server, caller: Caller, request: Request) -> Response:
    body = await read_body(request, server.settings.max_push_bytes)
    chunk = await server.parsed(chunks.parse_chunk, body)
    async with server.database_to_push() as connection:
        pushed = await chunks.push_chunk(connection, caller, chunk)
    told = {"status": "ok", "chunk_id": chunk.chunk_id, **_told(server, pushed)}
    return await as_json(request, encoded(told))


async def pull_manifest(server: Server, caller: Caller, request: Request) -> Response:
    async with server.database() as connection:
        told = await chunks.manifest(connection, caller, _asked(request))
    return await as_json(request, encoded(told))


async def pull_chunk(server: Server, caller: Caller, request: Request) -> Response:
    async with server.database() as connection:
        packed = await chunks.read_chunk(connection, caller, request.path_params["chunk_id"], _asked(request))
    if ENVELOPE in request.headers.get("accept", ""):
        return Response(packed, headers={"Content-Type": ENVELOPE_TYPE, "Cache-Control": "no-store"})
    return await as_json(request, gzip.decompress(packed))


async def whoami(server: Server, caller: Caller, request: Request) -> Response:
    async with server.database() as connection:
        source = await instance(connection)
    expires = caller.expires_at.astimezone(UTC).isoformat(timespec="seconds") if caller.expires_at else None
    told = {
        "principal": caller.name,
        "kind": caller.kind,
        "role": caller.role,
        "token": caller.token_prefix,
        "token_expires_at": expires,
        "instance": source,
        "max_push_bytes": server.settings.max_push_bytes,
        "max_entries": MOST_ENTRIES,
        "version": __version__,
    }
    return await as_json(request, encoded(told))


async def administer(server: Server, caller: Caller, request: Request) -> Response:
    body = await read_body(request, _MOST_ADMIN_BYTES)
    given = json_object(body, InvalidBodyError) if body.strip() else {}
    operation = f"{request.path_params['noun']}/{request.path_params['verb']}"
    async with server.database() as connection:
        value = await Admin(connection, actor=caller.name, pepper=server.settings.pepper).run(operation, given)
    return await as_json(request, encoded(value))


async def health(server: Server, _: Caller | None, request: Request) -> Response:
    """Return whether rows can be read now; 503 where not."""
    with anyio.move_on_after(_HEALTH_SECONDS) as waited:
        async with server.database() as connection:
            await one(connection, "select last_seq from cloud_sequence", {})
    if waited.cancelled_caught:
        return await as_json(request, encoded({"status": "unavailable", "service": "engram-cloud"}), status=503)
    return await as_json(request, encoded({"status": "ok", "service": "engram-cloud", "version": __version__}))


async def metrics(server: Server, _: Caller | None, request: Request) -> Response:
    return Response(server.metrics.text(), headers={"Content-Type": CONTENT_TYPE})


# method, path, who it is for, what answers
ROUTES: tuple[tuple[str, str, Audience, Handler], ...] = (
    ("POST", "/sync/mutations/push", "account", push_mutations),
    ("GET", "/sync/mutations/pull", "account", pull_mutations),
    ("GET", "/sync/projects", "account", projects),
    ("POST", "/sync/push", "account", push_chunk),
    ("GET", "/sync/pull", "account", pull_manifest),
    ("GET", "/sync/pull/{chunk_id}", "account", pull_chunk),
    ("GET", "/whoami", "account", whoami),
    ("POST", "/admin/{noun}/{verb}", "admin", administer),
    ("GET", "/health", "anybody", health),
    ("GET", "/metrics", "scrape", metrics),
)


def endpoints(server: Server) -> list[tuple[str, Endpoint]]:
    return [
        (method, Endpoint(server, handler, path=path, audience=audience)) for method, path, audience, handler in ROUTES
    ]


def _told(server: Server, pushed: Pushed) -> dict[str, Any]:
    for outcome in ("accepted", "unchanged", "rejected"):
        server.metrics.pushed.labels(outcome).inc(len(getattr(pushed, outcome)))
    return {
        "accepted_seqs": pushed.seqs,
        "accepted": pushed.accepted,
        "unchanged": pushed.unchanged,
        "rejected": [asdict(refusal) for refusal in pushed.rejected],
        "project": pushed.project,
        "latest_seq": pushed.latest_seq,
        "instance": pushed.instance,
        "previous": pushed.previous,
    }


def _whole(request: Request, name: str, default: int) -> int:
    text = request.query_params.get(name, "")
    if not text:
        return default
    if not (text.isascii() and text.isdecimal() and len(text) <= 19 and int(text) < 2**63):
        raise InvalidRequestError(name, expected="a whole number that is not negative")
    return int(text)


def _asked(request: Request) -> list[str]:
    asked = list(dict.fromkeys(request.query_params.getlist("project")))
    if len(asked) > _MOST_PROJECTS_ASKED or any("\0" in name for name in asked):
        raise InvalidRequestError("project", expected=f"at most {_MOST_PROJECTS_ASKED} names of projects")
    try:
        "".join(asked).encode()
    except UnicodeEncodeError:
        raise InvalidRequestError("project", expected="a name of a project") from None
    return asked


def build_cloud_application(settings: CloudSettings) -> Starlette:
    """Return the application. Run ``prepare`` on its database first."""
    server = Server(settings)

    @asynccontextmanager
    async def lifespan(_: Starlette) -> AsyncIterator[None]:
        async with server.live():
            yield

    routes = [Route(endpoint.path, endpoint, methods=[method]) for method, endpoint in endpoints(server)]
    return Starlette(
        routes=routes,
        lifespan=lifespan,
        middleware=[Middleware(Lingering)],
        exception_handlers={404: _unknown, 405: _wrong_method},
    )


async def _unknown(request: Request, _: Exception) -> Response:
    return refusal(UnknownAddressError(request.url.path))


async def _wrong_method(request: Request, error: Exception) -> Response:
    response = refusal(
        CloudServerError(
            f"{request.url.path[:200]} does not take {request.method[:20]}",
            hint="https://github.com/engram-py/engram-py/blob/main/docs/reference/server.md lists the routes",
            code="wrong_method",
            status=405,
        )
    )
    if isinstance(error, HTTPException):
        response.headers.update(error.headers or {})
    return response


# --- what a body becomes --------------------------------------------------------------------------------------


async def read_body(request: Request, limit: int) -> bytes:
    """Return the body, unpacked, and no more of it than ``limit`` whatever it claims.

    Raises PushTooLargeError, InvalidBodyError, CloudServerError (unsupported_encoding, request_timeout).
    """
    unpack = _decompressed if _is_compressed(request) else None
    try:
        with anyio.fail_after(BODY_SECONDS):
            return await asgi.read_body(request, limit, partial(PushTooLargeError, "bytes"), unpack)
    except TimeoutError as exc:
        raise CloudServerError(
            f"the body did not arrive within {BODY_SECONDS:.0f} s",
            hint="send it again, in smaller batches",
            code="request_timeout",
            status=408,
            headers={"Connection": "close"},
        ) from exc


def _is_compressed(request: Request) -> bool:
    encoding = request.headers.get("content-encoding", "identity").strip().lower()
    if encoding not in ("identity", "gzip", "x-gzip", ""):
        raise CloudServerError(
            f"the body is encoded as {encoding[:40]!r}",
            hint="send it plain or as gzip",
            code="unsupported_encoding",
            status=415,
        )
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    return encoding.endswith("gzip") or kind == ENVELOPE


async def _decompressed(pieces: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    stream = zlib.decompressobj(_GZIP)
    async for packed in pieces:
        piece, full = packed, True
        while piece or full:  # zlib may hold back what did not fit
            if stream.eof and piece:  # gzip files may follow each other
                stream = zlib.decompressobj(_GZIP)
            try:
                out = stream.decompress(piece, _PIECE)
            except zlib.error as exc:
                raise InvalidBodyError("it is not gzip") from exc
            yield out
            full = len(out) == _PIECE
            piece = stream.unconsumed_tail or stream.unused_data
    if not stream.eof:
        raise InvalidBodyError("its gzip ends too early")


# --- what is sent ---------------------------------------------------------------------------------------------


async def as_json(request: Request, body: bytes, *, status: int = 200) -> Response:
    sent = {"Content-Type": "application/json", "Vary": "Accept-Encoding", **PRIVATE}
    if len(body) >= _COMPRESS_FROM_BYTES and takes_gzip(request):
        body = await anyio.to_thread.run_sync(lambda: gzip.compress(body, _LEVEL, mtime=0))
        sent["Content-Encoding"] = "gzip"
    return Response(body, status, headers=sent)


def takes_gzip(request: Request) -> bool:
    for given in request.headers.get("accept-encoding", "").lower().split(","):
        name, _, quality = given.strip().partition(";")
        if name.strip() in ("gzip", "*"):
            return quality.replace(" ", "").partition("q=")[2].rstrip("0.") != "" or "q=" not in quality
    return False


def ndjson_response(request: Request, lines: AsyncIterator[bytes]) -> Response:
    """Return a stream of lines. It breaks off where ``lines`` fails: without the last line it was not all."""
    headers = {"Content-Type": NDJSON, "Vary": "Accept-Encoding", **PRIVATE}
    if takes_gzip(request):
        headers["Content-Encoding"] = "gzip"
        return StreamingResponse(_compressed(lines), headers=headers)
    return StreamingResponse(lines, headers=headers)


async def _compressed(lines: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, _GZIP)
    async for piece in lines:
        yield await anyio.to_thread.run_sync(_compress, stream, piece)
    yield stream.flush()


def _compress(stream: Any, piece: bytes) -> bytes:
    packed: bytes = stream.compress(piece) + stream.flush(zlib.Z_SYNC_FLUSH)
    return packed
