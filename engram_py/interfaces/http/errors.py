"""Answer failures over HTTP: one JSON shape, and the status of each error."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any, ClassVar

from engram_py.base.database.errors import StoreBusyError, StoreFullError, StoreGoneError, StoreReplacedError
from engram_py.base.errors import (
    ConflictError,
    EngramError,
    InvalidInputError,
    NotFoundError,
    OperationExpiredError,
    ServeError,
    TransferError,
)
from engram_py.interfaces.wording.render import error_values
from engram_py.memory.projects.values import AmbiguousProjectError


class HttpError(EngramError):
    """A fault of a request that is found before it reaches the memory. ``headers`` go out with the answer."""

    code = "http_error"
    status: ClassVar[int] = 400
    headers: Mapping[str, str] = MappingProxyType({})


class InvalidJsonError(HttpError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"invalid json: {reason}", hint="send one JSON object, encoded as UTF-8")


class InvalidPathError(HttpError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"the address is {reason}", hint="percent-encode it as UTF-8")


class UnauthorizedError(HttpError):
    status = 401
    headers = MappingProxyType({"WWW-Authenticate": 'Bearer realm="engram"'})

    def __init__(self) -> None:
        super().__init__(
            "this server needs its token",
            hint="send the header `Authorization: Bearer TOKEN`; `engram serve --token` prints the token",
        )


class ForeignOriginError(HttpError):
    status = 403

    def __init__(self) -> None:
        super().__init__(
            "a web page of another machine may not use this memory",
            hint="call it from a program, or from a page that this machine serves",
        )


class UnknownRouteError(HttpError):
    status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"nothing is at {path[:200]}", hint="GET /openapi.json lists the routes")


class MethodNotAllowedError(HttpError):
    status = 405

    def __init__(self, method: str, path: str, allowed: Sequence[str]) -> None:
        self.allowed = ", ".join(sorted({*allowed, *(["HEAD"] if "GET" in allowed else [])}))
        self.headers = {"Allow": self.allowed}
        super().__init__(f"{path[:200]} does not take {method[:20]}", hint=f"use {self.allowed}")


class BodyTooLargeError(HttpError):
    status = 413
    headers = MappingProxyType({"Connection": "close"})  # the rest of the body is not read

    def __init__(self, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the body has more than {limit:,} bytes", hint="nothing was written; send less at a time")

    def details(self) -> dict[str, Any]:
        return super().details() | {"limit_bytes": self.limit}


class UnsupportedMediaTypeError(HttpError):
    status = 415

    def __init__(self, given: str) -> None:
        super().__init__(f"the body is {given[:80]!r}", hint="send JSON: `Content-Type: application/json`")


class WrongHostError(HttpError):
    status = 421

    def __init__(self, host: str) -> None:
        super().__init__(
            f"the Host {host[:80]!r} is not this server's", hint="use 127.0.0.1, localhost or [::1] with the port"
        )


class UnsupportedScopeError(HttpError):
    code = "unsupported_project_scope"

    def __init__(self) -> None:
        super().__init__("all_projects is not supported for sync status", hint="leave it out, or name one project")


class SessionConflictError(HttpError):
    code = "session_project_conflict"
    status = 409

    def __init__(self, session_id: str, owner: str, asked: str) -> None:
        self.session_id, self.owner, self.asked = session_id[:80], owner, asked
        super().__init__(
            f"session {self.session_id!r} belongs to {owner}, not to {asked}",
            hint="use another session id, or the ownership_mode shared",
        )

    def details(self) -> dict[str, Any]:
        more = {"session_id": self.session_id, "owner_project": self.owner, "requested_project": self.asked}
        return super().details() | more


class SessionScopeError(HttpError):
    code = "session_scope_conflict"
    status = 409

    def __init__(self, session_id: str, field: str, held: str, asked: str) -> None:
        super().__init__(
            f"session {session_id[:80]!r} has {field} {held[:200]!r}, not {asked[:200]!r}",
            hint="name the project and the directory it was started with, or use POST /sessions/{id}/end",
        )


class SessionIsolationError(HttpError):
    code = "session_isolation_conflict"
    status = 409

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"session {session_id[:80]!r} has a directory, or is shared by projects",
            hint="start an isolated session with a new id, ownership_mode project_owned and no directory",
        )


class SaveResultNotFoundError(HttpError):
    code = "observation_save_result_not_found"
    status = 404

    def __init__(self) -> None:
        super().__init__("no save has this operation_id", hint="send the save again")


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


class TokenRequiredError(ServeError):
    def __init__(self, host: str) -> None:
        self.host = host
        super().__init__(
            f"other machines can reach {host} without a token",
            hint="set ENGRAM_HTTP_TOKEN, or use --host 127.0.0.1",
        )
