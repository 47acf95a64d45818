"""Refusals of the server: each with its HTTP status, in one JSON shape."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from engram_py.base.errors import EngramError, ResponseError


class CloudServerError(ResponseError):
    """A refusal of `engram cloud serve` or of its commands."""

    code = "cloud_server_error"


class InvalidBodyError(CloudServerError):
    def __init__(self, reason: str) -> None:
        super().__init__(f"the body cannot be read: {reason}", hint="send one JSON object, encoded as UTF-8")


class InvalidRequestError(CloudServerError):
    def __init__(self, field: str, *, expected: str) -> None:
        super().__init__(f"{field} is invalid", hint=f"{field} must be {expected}")


class AuthRequiredError(CloudServerError):
    status = 401
    headers: Mapping[str, str] = {"WWW-Authenticate": 'Bearer realm="engram cloud"'}

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


class SyncPausedError(CloudServerError):
    code = "sync-paused"
    status = 409

    def __init__(self, project: str, reason: str) -> None:
        why = f": {reason}" if reason else ""
        super().__init__(f"{project} is paused{why}", hint="nothing is lost; sync goes on when an admin resumes it")


class PushTooLargeError(CloudServerError):
    status = 413
    headers: Mapping[str, str] = {"Connection": "close"}  # the rest of the body is not read

    def __init__(self, what: str, limit: int) -> None:
        message = f"the push has more than {limit:,} {what}"
        super().__init__(message, hint="nothing was stored; send less at a time", facts={"limit": limit})


class TooBusyError(CloudServerError):
    status = 429
    headers: Mapping[str, str] = {"Retry-After": "1"}

    def __init__(self, whose: str) -> None:
        super().__init__(f"{whose} has too many requests at once", hint="wait a second and try again")


class RequestBrokenError(CloudServerError):
    """A bug. Its text stays in the log, because it can contain saved text."""

    status = 500

    def __init__(self) -> None:
        super().__init__("the request failed", hint="the server's log says why")


class DatabaseUnavailableError(CloudServerError):
    status = 503
    headers: Mapping[str, str] = {"Retry-After": "5"}

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


class UnknownAccountError(CloudServerError):
    status = 404

    def __init__(self, name: str) -> None:
        super().__init__(f"no account {name[:80]!r}", hint="list them with `engram cloud users list`")


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
