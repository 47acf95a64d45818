"""Refusals and failures of exchanging a memory: folders in a repository, passphrases, servers."""

from __future__ import annotations

from engram_py.errors import CloudError, SyncError


class SyncFolderError(SyncError):
    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} cannot be synced: {reason}", hint="correct it and run `engram sync` again; the memory is unchanged"
        )


class NoRepositoryError(SyncError):
    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} {reason}", hint="run `engram sync` inside a checkout of the repository that shares the memory"
        )


class UnconfirmedProjectError(SyncError):
    def __init__(self, project: str, path: str) -> None:
        self.project, self.path = project, path
        super().__init__(
            f".engram.json makes {path} project {project}, whose memory is from elsewhere; nothing was read or written",
            hint="if it is the same project, run `engram projects confirm` in this folder, once",
        )


class WrongPassphraseError(SyncError):
    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"that is not the secret {path} is encrypted with; nothing was read or written",
            hint="ask who set it up, then `engram sync --encrypt` or `engram sync --encrypt-with KEYFILE`",
        )


class PassphraseMissingError(SyncError):
    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} is encrypted, and this machine does not know the passphrase; nothing was read or written",
            hint="`engram sync --encrypt` asks for the passphrase, `--encrypt-with KEYFILE` reads a key file; "
            "or set ENGRAM_SYNC_PASSPHRASE",
        )


class EncryptionChangedError(SyncError):
    def __init__(self, path: str, known: str, found: str) -> None:
        self.path, self.known, self.found = path, known, found
        super().__init__(
            f"{path} is encrypted with the key {found} now, not {known} as before; nothing was read or written",
            hint="find out who changed encryption.json; with the new secret: `engram sync --encrypt`",
        )


class PlainExportRefusedError(SyncError):
    def __init__(self, path: str, key_id: str) -> None:
        self.path, self.key_id = path, key_id
        super().__init__(
            f"this project is encrypted with the key {key_id} on this machine, and {path} does not say that it is; "
            "nothing was written",
            hint="find out who removed encryption.json, and bring it back from git's history; "
            "or run `engram sync --encrypt`",
        )


class SyncKeyError(SyncError):
    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path} cannot be used: {reason}", hint="put it back from a backup, or remove it")


class HookRefusedError(SyncError):
    def __init__(self, path: str, reason: str, *, lines: str) -> None:
        self.path, self.reason, self.lines = path, reason, lines
        super().__init__(f"{path} was left alone: {reason}", hint=f"put this into it yourself:\n{lines}")


class InvalidServerError(CloudError):
    def __init__(self, address: str, flaw: str) -> None:
        self.address, self.flaw = address[:200], flaw
        hint = "give https://HOST; http:// is for this machine alone, or with --insecure"
        super().__init__(f"{self.address!r} cannot be used as a server: {flaw}", hint=hint)


class NotLoggedInError(CloudError):
    def __init__(self) -> None:
        super().__init__("this machine is logged in to no server", hint="engram cloud login --server URL")


class NothingEnrolledError(CloudError):
    def __init__(self, server: str) -> None:
        self.server = server
        super().__init__(f"no project is shared with {server}", hint="engram cloud enroll PROJECT, or --all")


class TokenNotKeptError(CloudError):
    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"the token cannot be kept in {path}: {reason}", hint="make room, or the folder writable")


class CloudFailedError(CloudError):
    shown = ("reason_code",)

    """An exchange with the server failed. ``reason_code`` is a key of NEXT_STEPS.

    ``kind`` tells apart what is dealt with on the spot: ``too_large`` and ``bad_request`` of a body that was sent,
    ``answer_too_long`` of one that came. ``retry_after`` is the server's wish in seconds.
    """

    def __init__(
        self, reason_code: str, message: str, *, hint: str = "", kind: str = "", retry_after: float | None = None
    ) -> None:
        self.reason_code, self.kind, self.retry_after = reason_code, kind, retry_after
        super().__init__(message, hint=hint or next_step(reason_code))


NEXT_STEPS = {
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
    "dated_ahead": "change the memory, which gives it a true date, or leave it; see that the machine's clock is right",
    "of_another_project": "join or enroll the projects as the line says; the rows are then taken by themselves",
    "unreadable": "update engram on this machine, then `engram cloud status --retry`",
}


def next_step(reason_code: str) -> str:
    """Return what to do about a failure or a row that was set aside, '' when nothing is known."""
    return NEXT_STEPS.get(reason_code, "")
