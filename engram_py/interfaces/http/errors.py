"""Answer failures over HTTP: one JSON shape, and the status of each error."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram_py.base.database.errors import StoreBusyError, StoreFullError, StoreGoneError, StoreReplacedError
from engram_py.base.errors import (
    ConflictError,
    EngramError,
    InvalidInputError,
    NotFoundError,
    OperationExpiredError,
    ResponseError,
    ServeError,
    TransferError,
)
from engram_py.interfaces.wording.render import error_values
from engram_py.memory.projects.values import AmbiguousProjectError


class HttpError(ResponseError):
    """A fault of a request that is found before it reaches the memory."""

    code = "http_error"


class InvalidJsonError(HttpError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"invalid json: {reason}", hint="send one JSON object, encoded as UTF-8")


class InvalidPathError(HttpError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"the address is {reason}", hint="percent-encode it as UTF-8")


class UnauthorizedError(HttpError):
    status = 401
    headers: Mapping[str, str] = {"WWW-Authenticate": 'Bearer realm="engram"'}

    def __init__(self) -> None:
        super().__init__(
            "this server needs its token",
            hint="send the header `Authorization: Bearer TOKEN`; `engram serve --token` prints the token",
        )


class BodyTooLargeError(HttpError):
    status = 413
    headers: Mapping[str, str] = {"Connection": "close"}  # the rest of the body is not read

    def __init__(self, limit: int) -> None:
        message = f"the body has more than {limit:,} bytes"
        super().__init__(message, hint="nothing was written; send less at a time", facts={"limit_bytes": limit})


class UnsupportedMediaTypeError(HttpError):
    status = 415

    def __init__(self, given: str) -> None:
        super().__init__(f"the body is {given[:80]!r}", hint="send JSON: `Content-Type: application/json`")


class SessionScopeError(HttpError):
    code = "session_scope_conflict"
    status = 409

    def __init__(self, session_id: str, field: str, held: str, asked: str) -> None:
        super().__init__(
            f"session {session_id[:80]!r} has {field} {held[:200]!r}, not {asked[:200]!r}",
            hint="name the project and the directory it was started with, or use POST /sessions/{id}/end",
        )


class RequestFailedError(HttpError):
    """A bug. What it was stays in the log: an exception's text can hold what somebody saved."""

    status = 500

    def __init__(self) -> None:
        super().__init__("the request failed", hint="the server's log says why; `engram doctor` checks the memory")


def status_of(error: EngramError) -> int:
    """Return the status of a refusal: 4xx is the caller's to mend, 5xx the machine's."""
    match error:
        case HttpError():
            return error.status
        case AmbiguousProjectError() | ConflictError():
            return 409
        case InvalidInputError() | TransferError():
            return 400
        case OperationExpiredError():
            return 410
        case NotFoundError():
            return 404
        case StoreBusyError() | StoreGoneError() | StoreReplacedError():
            return 503
        case StoreFullError():
            return 507
    return 500


def payload(error: EngramError) -> dict[str, Any]:
    """Engram's shape, ``error`` for a reader and ``code`` for a program, with our next step in ``hint``."""
    details = error_values(error, "http")
    code, message = details.pop("error_code"), details.pop("message")
    return {"error": message, "code": code} | details


class AddressInUseError(ServeError):
    def __init__(self, address: str) -> None:
        self.address = address
        super().__init__(
            f"another program listens on {address}",
            hint="it may be another `engram serve`; stop it, or choose another port: `engram serve PORT`",
        )


class AddressUnusableError(ServeError):
    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(
            f"cannot listen on {address}: {reason}", hint="choose another port, --host or --socket of this machine"
        )
