"""Problems of an exchange, and the next step for each."""

from __future__ import annotations

from typing import Any

from engram_py.sync.errors import CloudFailedError

# code → the next step
STEPS = {
    "transport_failed": "nothing is lost: it is sent again by itself; see that the server runs and can be reached",
    "auth_required": "get a new token from whoever runs the server, then `engram cloud login`",
    "policy_forbidden": "ask whoever runs the server to grant the project, or `engram cloud unenroll` it",
    "paused": "wait: whoever runs the server paused the project; it goes on by itself",
    "server_unsupported": "check the address with `engram cloud status`, and that the server is `engram cloud serve`",
    "cloud_config_error": "run `engram cloud login --server URL` again",
    "internal_error": "run `engram doctor`; it is tried again by itself",
    "too_large": "make the row shorter, or have the server's limit raised",
    "alias_not_granted": "the rows themselves were sent, only the old name is not shared: an admin grants you write on "
    "the old name with `engram cloud grants add` and it is sent by itself, or leave it",
    "unreadable": "update engram on this machine, then `engram cloud status --retry`",
}

# Failures of the connection, which cause a backoff. The others concern one project.
SLOWS_DOWN = frozenset({"transport_failed", "server_unsupported", "cloud_config_error", "internal_error"})


class Problem(Exception):
    """An exchange failed. ``code`` is a key of STEPS; ``retry_after`` is the server's wish in seconds.

    ``kind`` tells apart what is dealt with on the spot: ``too_large`` and ``bad_request`` of a body that was sent,
    ``answer_too_long`` of one that came.
    """

    def __init__(self, code: str, message: str, *, kind: str = "", retry_after: float | None = None) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.kind = kind
        self.retry_after = retry_after

    @property
    def step(self) -> str:
        return step_of(self.code)

    def as_fields(self) -> dict[str, Any]:
        return {"reason_code": self.code, "reason_message": self.message, "next_step": self.step}

    def as_error(self) -> CloudFailedError:
        return CloudFailedError(self.code, self.message, hint=self.step)


def step_of(code: str) -> str:
    return STEPS.get(code, "")
