"""HTTP requests to a sync server, bounded in time and size. The token goes to that server's address only."""

from __future__ import annotations

import gzip
import json
import ssl
import time
import zlib
from collections.abc import Sequence
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import httpx

from engram_py.sync.autosync import answers
from engram_py.sync.autosync.login import is_loopback
from engram_py.sync.errors import CloudFailedError

CONNECT_SECONDS, READ_SECONDS = 5.0, 30.0
# A server that drips bytes never exceeds the read timeout, so the whole request is limited too.
WHOLE_SECONDS = 120.0
MOST_BYTES = 32 * 2**20
_MOST_SAID_BYTES = 64 * 1024
_COMPRESSED_FROM = 1_000
_LONGEST_PAUSE = 3_600.0

Asked = list[tuple[str, str | int | float | bool | None]]

_broken = partial(CloudFailedError, "transport_failed")

_PUSH, _PULL = "/sync/mutations/push", "/sync/mutations/pull"


class CloudClient:
    """An HTTP connection to one server with one token. Every method raises CloudFailedError."""

    def __init__(self, server: str, token: str, *, whole_seconds: float = WHOLE_SECONDS) -> None:
        self.server = server
        self._whole = whole_seconds
        read = min(READ_SECONDS, whole_seconds)
        # Requests to this machine do not go through a proxy.
        near = is_loopback(urlsplit(server).hostname or "")
        self._http = httpx.Client(
            timeout=httpx.Timeout(read, connect=min(CONNECT_SECONDS, whole_seconds)),
            follow_redirects=False,
            trust_env=not near,
            verify=server.startswith("https:"),  # without TLS there is nothing to load certificates for
            headers={
                "Authorization": f"Bearer {token}",
                "User-Agent": "engram_py",
                "Accept": "application/json",
                "Accept-Encoding": "gzip",
            },
        )

    def close(self) -> None:
        self._http.close()

    def whoami(self) -> answers.Identity:
        return answers.identity(self._ask("GET", "/whoami")[0])

    def listing(self) -> answers.Listing:
        """Return the projects that the token may see."""
        try:
            return answers.listing(self._ask("GET", "/sync/projects")[0])
        except CloudFailedError as failure:
            if failure.kind == "no_such_route":  # Engram's server does not tell
                return answers.Listing()
            raise

    def push(self, entries: Sequence[dict[str, Any]], *, device: str) -> answers.Pushed:
        body = {"entries": list(entries), "device": device}
        return answers.pushed(self._ask("POST", _PUSH, body=body)[0], len(entries))

    def pull(self, *, since: int, projects: Sequence[str], limit: int) -> answers.Page:
        asked: Asked = [("since_seq", since), ("limit", limit), *(("project", name) for name in projects)]
        value, size = self._ask("GET", _PULL, asked=asked)
        return answers.page(value, since=since, size=size)

    # --- one request ------------------------------------------------------------------------------------

    def _ask(
        self, method: str, path: str, *, asked: Asked | None = None, body: dict[str, Any] | None = None
    ) -> tuple[Any, int]:
        headers, content = {}, b""
        if body is not None:
            headers["Content-Type"] = "application/json"
            content = json.dumps(body, separators=(",", ":")).encode()
            if len(content) >= _COMPRESSED_FROM:
                headers["Content-Encoding"] = "gzip"
                content = gzip.compress(content, 5)
        deadline = time.monotonic() + self._whole
        sent = content if body is not None else None
        try:
            with self._http.stream(method, self.server + path, params=asked, content=sent, headers=headers) as response:
                if response.status_code != httpx.codes.OK:
                    said = _read(response, deadline, most=_MOST_SAID_BYTES, cut=True)
                    raise _refusal(response, said, self.server)
                answer = _read(response, deadline, most=MOST_BYTES)
        except (httpx.HTTPError, httpx.InvalidURL, httpx.StreamError, ssl.SSLError, OSError) as exc:
            raise _unreachable(exc, self.server) from exc
        return _parsed(answer, response), len(answer)


def _read(response: httpx.Response, deadline: float, *, most: int, cut: bool = False) -> bytes:
    """Return the decompressed body; with ``cut`` its first ``most`` bytes, else CloudFailedError when it is longer."""
    coding = response.headers.get("Content-Encoding", "identity").strip().lower()
    if coding not in ("identity", "gzip", ""):
        raise _broken(f"the server answers in a coding that was not asked for: {coding[:20]!r}")
    unpack = zlib.decompressobj(31) if coding == "gzip" else None
    parts: list[bytes] = []
    size = 0
    for raw in response.iter_raw():
        if time.monotonic() > deadline:
            raise _broken("the answer did not come to an end in time")
        try:
            part = raw if unpack is None else unpack.decompress(raw, most - size + 1)
        except zlib.error as exc:
            raise _broken("the answer is not whole: its compression is broken") from exc
        size += len(part)
        if size > most:
            if cut:
                return b"".join([*parts, part])[:most]
            raise _broken(f"the answer is longer than {most:,} bytes", kind="answer_too_long")
        parts.append(part)
    if unpack is not None and not unpack.eof and not cut:
        raise _broken("the answer broke off")
    return b"".join(parts)


def _parsed(answer: bytes, response: httpx.Response) -> Any:
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as exc:
        kind = response.headers.get("Content-Type", "").partition(";")[0].strip().lower()
        if not answer.strip():
            raise _broken("the server answered with nothing") from exc
        if kind == "text/html" or answer.lstrip()[:1] == b"<":
            message = "the answer is a web page: a proxy or a sign-in page stands before the server"
            raise _broken(message) from exc
        raise _broken("the answer is not JSON, or broke off") from exc


def _unreachable(exc: Exception, server: str) -> CloudFailedError:
    if isinstance(exc, httpx.TimeoutException):
        what = "does not take the connection in time" if isinstance(exc, httpx.ConnectTimeout) else "does not answer"
        return _broken(f"{server} {what}")
    said = answers.one_line(str(exc))
    if "CERTIFICATE_VERIFY_FAILED" in said:
        return _broken(f"the certificate of {server} is not one that this machine trusts: {said}")
    if isinstance(exc, httpx.ConnectError):
        return _broken(f"{server} cannot be reached: {said}")
    if isinstance(exc, httpx.ProxyError):
        return _broken(f"the proxy on the way to {server} refuses: {said}")
    return _broken(f"the exchange with {server} broke off: {said or type(exc).__name__}")


def _refusal(response: httpx.Response, body: bytes, server: str) -> CloudFailedError:
    """Return the failure for a status other than 200."""
    status = response.status_code
    said = _refusal_message(body)
    tail = f": {said}" if said else ""
    if 300 <= status < 400:
        place = answers.one_line(response.headers.get("Location", ""))
        message = f"{server} sends us elsewhere ({place or 'nowhere'}); the token is not sent there"
        return CloudFailedError("cloud_config_error", message)
    match status:
        case 401:
            return CloudFailedError("auth_required", f"the server does not take the token{tail}")
        case 403:
            return CloudFailedError("policy_forbidden", f"the server does not allow it{tail}")
        case 409:
            return CloudFailedError("paused", f"the server has paused it{tail}")
        case 400 | 422:
            message = f"the server does not understand the request{tail}"
            return CloudFailedError("server_unsupported", message, kind="bad_request")
        case 413:
            return CloudFailedError("too_large", f"the server takes no body of that size{tail}", kind="too_large")
        case 404 | 405 | 410 | 415 | 426 | 501:
            message = f"{server} has no such route, so it is no sync server, or an older one (status {status})"
            return CloudFailedError("server_unsupported", message, kind="no_such_route")
        case 429 | 503:
            message = f"the server asks to wait (status {status}){tail}"
            return _broken(message, retry_after=_retry_after(response))
    return _broken(f"the server failed (status {status}){tail}", kind="server_error")


def _refusal_message(body: bytes) -> str:
    """Return the message of a JSON refusal, '' for anything else."""
    try:
        error = json.loads(body).get("error")
    except (ValueError, RecursionError, AttributeError):
        return ""
    said = error.get("message") if isinstance(error, dict) else error
    return answers.one_line(said) if isinstance(said, str) else ""


def _retry_after(response: httpx.Response) -> float | None:
    """Return the seconds of ``Retry-After``, None for a date or nonsense."""
    text = response.headers.get("Retry-After", "").strip()
    return min(float(text), _LONGEST_PAUSE) if text.isascii() and text.isdecimal() and len(text) < 10 else None
