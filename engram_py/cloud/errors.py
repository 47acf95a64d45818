"""Refusals of the server: each with its HTTP status, in one JSON shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from engram_py.errors import EngramError
from engram_py.lazy import install_hint


class CloudServerError(EngramError):
    """A refusal of `engram cloud serve` or of its commands. ``headers`` are sent with the response."""

    code = "cloud_server_error"
    status: ClassVar[int] = 400
    headers: ClassVar[Mapping[str, str]] = {}


class InvalidBodyError(CloudServerError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"the body cannot be read: {reason}", hint="send one JSON object, encoded as UTF-8")


class InvalidRequestError(CloudServerError):
    def __init__(self, field: str, *, expected: str) -> None:
        super().__init__(f"{field} is not as it must be", hint=f"{field} must be {expected}")


class AuthRequiredError(CloudServerError):
    status = 401
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": 'Bearer realm="engram cloud"'}

    def __init__(self, reason: str = "no token came with the request, or one this server does not know") -> None:
        super().__init__(reason, hint="ask whoever runs the server for a token, then `engram cloud login`")


class PolicyForbiddenError(CloudServerError):
    status = 403

    def __init__(self, what: str) -> None:
        super().__init__(f"this account may not {what}", hint="an admin grants it with `engram cloud grants add`")


class UnknownAddressError(CloudServerError):
    status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"nothing is at {path[:200]}", hint="is this the address that `engram cloud login` was given?")


class ChunkNotFoundError(CloudServerError):
    status = 404

    def __init__(self, chunk_id: str) -> None:
        super().__init__(f"no chunk {chunk_id[:80]!r}", hint="GET /sync/pull lists the chunks there are")


class WrongMethodError(CloudServerError):
    status = 405

    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"{method[:20]} is not for {path[:200]}", hint="docs/reference/server.md lists the routes")


class RequestTimeoutError(CloudServerError):
    status = 408
    headers: ClassVar[Mapping[str, str]] = {"Connection": "close"}

    def __init__(self, seconds: float) -> None:
        super().__init__(f"the body did not arrive within {seconds:.0f} s", hint="send it again, in smaller batches")


class SyncPausedError(CloudServerError):
    code = "sync-paused"
    status = 409

    def __init__(self, project: str, reason: str) -> None:
        why = f": {reason}" if reason else ""
        super().__init__(f"{project} is paused{why}", hint="nothing is lost; it goes on when an admin resumes it")


class ChunkConflictError(CloudServerError):
    status = 409

    def __init__(self, chunk_id: str) -> None:
        super().__init__(f"chunk {chunk_id} is here with other content", hint="give the new content an id of its own")


class PushTooLargeError(CloudServerError):
    shown = ("limit",)

    status = 413
    headers: ClassVar[Mapping[str, str]] = {"Connection": "close"}  # the rest of the body is not read

    def __init__(self, what: str, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the push has more than {limit:,} {what}", hint="nothing was taken; send less at a time")


class UnsupportedEncodingError(CloudServerError):
    status = 415

    def __init__(self, encoding: str) -> None:
        super().__init__(f"the body is encoded as {encoding[:40]!r}", hint="send it plain or as gzip")


class TooBusyError(CloudServerError):
    status = 429
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}

    def __init__(self, whose: str) -> None:
        super().__init__(f"{whose} works on as many requests as it may", hint="wait a second and repeat the request")


class RequestBrokenError(CloudServerError):
    """A bug. Its text stays in the log, because it can contain saved text."""

    status = 500

    def __init__(self) -> None:
        super().__init__("the request failed", hint="the server's log says why")


class DatabaseUnavailableError(CloudServerError):
    status = 503
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "5"}

    def __init__(self, reason: str) -> None:
        super().__init__(
            f"PostgreSQL does not answer ({reason})", hint="repeat the request; what was not acknowledged is kept once"
        )


# --- messages for the server's operator --------------------------------------------------------------------


class DatabaseNotSetError(CloudServerError):
    def __init__(self) -> None:
        super().__init__(
            "ENGRAM_DATABASE_URL is not set, and this machine is logged in to no server",
            hint="where the database is: ENGRAM_DATABASE_URL=postgresql://engram:PASSWORD@127.0.0.1/engram; "
            "as an admin elsewhere: `engram cloud login`",
        )


class InvalidCloudSettingError(CloudServerError):
    def __init__(self, variable: str, *, expected: str) -> None:
        self.variable = variable
        super().__init__(f"{variable} is not as it must be", hint=f"{variable} must be {expected}")


class DatabaseTooNewError(CloudServerError):
    def __init__(self, unknown: Sequence[str]) -> None:
        self.unknown = list(unknown)
        super().__init__(
            f"the database was brought up by a newer engram (it has {', '.join(unknown)}); it was left untouched",
            hint="upgrade engram-py on this machine",
        )


class NobodyToServeError(CloudServerError):
    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} can be reached from other machines, and the server has no account yet",
            hint="make the first with `engram cloud users add NAME --admin`, or set ENGRAM_CLOUD_ADMIN",
        )


class ServerPackagesMissingError(CloudServerError):
    def __init__(self, package: str) -> None:
        super().__init__(f"the package {package} is not installed", hint=f"run `{install_hint('server')}`")


class UnknownAccountError(CloudServerError):
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"no account {name[:80]!r}", hint="list them with `engram cloud users list`")


class AccountExistsError(CloudServerError):
    status = 409

    def __init__(self, name: str) -> None:
        super().__init__(f"there is an account {name!r}", hint="`engram cloud tokens add NAME` gives it another token")


class UnknownTokenError(CloudServerError):
    status = 404

    def __init__(self, token: str) -> None:
        super().__init__(f"no token {token[:20]!r}", hint="`engram cloud tokens list` shows their numbers")


class ServerAnswerError(CloudServerError):
    def __init__(self, address: str, reason: str, *, hint: str = "") -> None:
        super().__init__(
            f"{address[:200]} did not do it: {reason[:300]}",
            hint=hint[:300] or "is the address right, and does the server run?",
        )


def payload_of(error: EngramError) -> dict[str, Any]:
    """Return the JSON of a refusal: ``{"error": {"code", "message", "hint", ...}}``."""
    details = error.details()
    return {"error": {"code": details.pop("error_code"), **details}}
