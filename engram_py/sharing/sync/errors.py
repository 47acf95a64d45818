"""Refusals and failures of exchanging a memory: folders in a repository, passphrases, servers."""

from __future__ import annotations

from engram_py.base.errors import CloudError, SyncError


class SyncFolderError(SyncError):
    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} cannot be synced: {reason}",
            hint="change that, then run `engram sync` again; the memory is unchanged",
        )


class NoRepositoryError(SyncError):
    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} {reason}", hint="run `engram sync` in a checkout of the repository that shares the memory"
        )


class PassphraseMissingError(SyncError):
    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} is encrypted, and this machine does not have the passphrase; nothing was read or written",
            hint="`engram sync --encrypt` asks for the passphrase, `--encrypt-with KEYFILE` reads a key file; "
            "or set ENGRAM_SYNC_PASSPHRASE",
        )


class SyncKeyError(SyncError):
    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path} cannot be used: {reason}", hint="restore it from a backup, or remove it")


class HookRefusedError(SyncError):
    def __init__(self, path: str, reason: str, *, lines: str) -> None:
        self.path, self.reason, self.lines = path, reason, lines
        super().__init__(f"{path} was left alone: {reason}", hint=f"add these lines to it:\n{lines}")


class InvalidServerError(CloudError):
    def __init__(self, address: str, flaw: str) -> None:
        self.address, self.flaw = address[:200], flaw
        hint = "give https://HOST; http:// works only for this machine, --insecure allows it elsewhere"
        super().__init__(f"{self.address!r} cannot be used as a server: {flaw}", hint=hint)


class NotLoggedInError(CloudError):
    def __init__(self) -> None:
        super().__init__("this machine is not logged in to a server", hint="run `engram cloud login --server URL`")


class CloudFailedError(CloudError):
    """An exchange with the server failed. ``reason_code`` is a key of NEXT_STEPS.

    ``kind`` tells apart what is dealt with on the spot: ``too_large`` and ``bad_request`` of a body that was sent,
    ``answer_too_long`` of one that came. ``retry_after`` is the server's wish in seconds.
    """

    def __init__(
        self, reason_code: str, message: str, *, hint: str = "", kind: str = "", retry_after: float | None = None
    ) -> None:
        self.reason_code, self.kind, self.retry_after = reason_code, kind, retry_after
        super().__init__(message, hint=hint or next_step(reason_code), facts={"reason_code": reason_code})


NEXT_STEPS = {
    "transport_failed": "nothing is lost, engram sends it again; check that the server runs and can be reached",
    "auth_required": "ask an admin of the server for a new token, then run `engram cloud login`",
    "policy_forbidden": "ask an admin of the server to grant the project, or run `engram cloud unenroll`",
    "paused": "an admin paused the project; sync goes on when an admin resumes it",
    "server_unsupported": "check the address with `engram cloud status`; the server must be `engram cloud serve`",
    "cloud_config_error": "run `engram cloud login --server URL` again",
    "internal_error": "run `engram doctor`; engram tries again by itself",
    "too_large": "shorten the memory (`engram edit ID`), or ask the admin to raise ENGRAM_CLOUD_MAX_PUSH_BYTES",
    "alias_not_granted": "the memories were sent; only the old project name was not. Ignore this, or ask an admin: "
    "`engram cloud grants add NAME OLD-PROJECT --write`",
    "dated_ahead": "check this machine's clock; then `engram edit ID` gives the memory the current time",
    "of_another_project": "run `engram cloud enroll PROJECT`, or `engram projects merge OLD --into NEW`; "
    "engram tries again by itself",
    "unreadable": "update engram on this machine, then `engram cloud status --retry`",
}


def next_step(reason_code: str) -> str:
    """Return what to do about a failure or a row that was set aside, '' when nothing is known."""
    return NEXT_STEPS.get(reason_code, "")
