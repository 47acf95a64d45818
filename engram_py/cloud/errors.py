"""Refusals of the server: each with its HTTP status, in one JSON shape."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from engram_py.base.errors import EngramError
from engram_py.base.install_hints import install_hint

_ROUTES = "https://github.com/engram-py/engram-py/blob/main/docs/reference/server.md"


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
        super().__init__(f"{field} is invalid", hint=f"{field} must be {expected}")


class AuthRequiredError(CloudServerError):
    status = 401
    headers: ClassVar[Mapping[str, str]] = {"WWW-Authenticate": 'Bearer realm="engram cloud"'}

    def __init__(self, reason: str = "the request has no token, or an unknown one") -> None:
        super().__init__(reason, hint="ask an admin of the server for a token, then run `engram cloud login`")


class PolicyForbiddenError(CloudServerError):
    status = 403

    def __init__(self, what: str) -> None:
        super().__init__(f"this account may not {what}", hint="an admin grants it with `engram cloud grants add`")


class UnknownAddressError(CloudServerError):
    status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"nothing is at {path[:200]}", hint="check the address that you gave `engram cloud login`")


class ChunkNotFoundError(CloudServerError):
    status = 404

    def __init__(self, chunk_id: str) -> None:
        super().__init__(f"no chunk {chunk_id[:80]!r}", hint="GET /sync/pull lists the chunks")


class WrongMethodError(CloudServerError):
    status = 405

    def __init__(self, method: str, path: str) -> None:
        super().__init__(f"{path[:200]} does not take {method[:20]}", hint=f"{_ROUTES} lists the routes")


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
        super().__init__(f"{project} is paused{why}", hint="nothing is lost; sync goes on when an admin resumes it")


class ChunkConflictError(CloudServerError):
    status = 409

    def __init__(self, chunk_id: str) -> None:
        super().__init__(f"chunk {chunk_id} exists with other content", hint="use another id for the new content")


class PushTooLargeError(CloudServerError):
    shown = ("limit",)

    status = 413
    headers: ClassVar[Mapping[str, str]] = {"Connection": "close"}  # the rest of the body is not read

    def __init__(self, what: str, limit: int) -> None:
        self.limit = limit
        super().__init__(f"the push has more than {limit:,} {what}", hint="nothing was stored; send less at a time")


class UnsupportedEncodingError(CloudServerError):
    status = 415

    def __init__(self, encoding: str) -> None:
        super().__init__(f"the body is encoded as {encoding[:40]!r}", hint="send it plain or as gzip")


class TooBusyError(CloudServerError):
    status = 429
    headers: ClassVar[Mapping[str, str]] = {"Retry-After": "1"}

    def __init__(self, whose: str) -> None:
        super().__init__(f"{whose} has too many requests at once", hint="wait a second and try again")


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
            f"PostgreSQL does not answer ({reason})",
            hint="repeat the request; what the server already has is not stored twice",
        )


# --- messages for the server's operator --------------------------------------------------------------------


class DatabaseNotSetError(CloudServerError):
    def __init__(self) -> None:
        super().__init__(
            "ENGRAM_DATABASE_URL is not set, and this machine is logged in to no server",
            hint="on the server, set ENGRAM_DATABASE_URL=postgresql://engram:PASSWORD@127.0.0.1/engram; elsewhere, run "
            "`engram cloud login` with an admin's token",
        )


class InvalidCloudSettingError(CloudServerError):
    def __init__(self, variable: str, *, expected: str = "", said: str = "", step: str = "") -> None:
        self.variable = variable
        super().__init__(said or f"{variable} is invalid", hint=step or f"{variable} must be {expected}")


class DatabaseTooNewError(CloudServerError):
    def __init__(self, unknown: Sequence[str]) -> None:
        self.unknown = list(unknown)
        super().__init__(
            f"a newer engram created or updated the database (it has {', '.join(unknown)}); it was left untouched",
            hint="upgrade engram-py on this machine",
        )


class NobodyToServeError(CloudServerError):
    def __init__(self, host: str) -> None:
        super().__init__(
            f"{host} can be reached from other machines, and the server has no account yet",
            hint="create one with `engram cloud users add NAME --admin`, or set ENGRAM_CLOUD_ADMIN",
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
        super().__init__(
            f"account {name!r} exists already", hint="`engram cloud tokens add NAME` gives it another token"
        )


class UnknownTokenError(CloudServerError):
    status = 404

    def __init__(self, token: str) -> None:
        super().__init__(f"no token {token[:20]!r}", hint="`engram cloud tokens list` shows their numbers")


class ServerAnswerError(CloudServerError):
    def __init__(self, address: str, reason: str, *, hint: str = "") -> None:
        super().__init__(
            f"{address[:200]} did not run the command: {reason[:300]}",
            hint=hint[:300] or "check the address, and that the server runs",
        )


def payload_of(error: EngramError) -> dict[str, Any]:
    """Return the JSON of a refusal: ``{"error": {"code", "message", "hint", ...}}``."""
    details = error.details()
    return {"error": {"code": details.pop("error_code"), **details}}
