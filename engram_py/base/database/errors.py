"""Failures of the file, its folder and its disk."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.base.errors import InvalidInputError, StoreError, TransferError


class DataDirError(StoreError):
    code = "data_dir_unusable"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"cannot use {path} as the data directory: {reason}",
            hint="set ENGRAM_DATA_DIR to a writable directory on a local disk",
        )


class StoreTooNewError(StoreError):
    code = "store_too_new"

    def __init__(self, path: str, unknown: Sequence[str]) -> None:
        self.path, self.unknown = path, list(unknown)
        super().__init__(
            f"{path} was written by a newer engram (it has {', '.join(unknown)}); it was left untouched",
            hint="upgrade engram-py; to stay with this version, `engram restore` the copy from before the upgrade, "
            "`engram-before-…` in the folder backups beside it, or set ENGRAM_DATA_DIR to another directory",
        )


class StoreDamagedError(StoreError):
    code = "store_damaged"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} is damaged: {reason}; it was left as it is",
            hint="run `engram doctor`; `engram restore BACKUP` puts a backup in its place and keeps the damaged file",
        )


class StoreKeyError(StoreError):
    code = "key_missing"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} is encrypted and stays closed: {reason}",
            hint="unlock the keychain, or fix the key file or ENGRAM_KEY_COMMAND, and try again; if the key is lost, "
            "`engram rekey --recovery` takes the recovery key that you wrote down; without one, `engram decrypt "
            "--set-aside` keeps the files and starts an empty memory",
        )


class KeyNotKeptError(StoreError):
    code = "key_not_kept"

    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"no key was made: {reason}",
            hint="`engram encrypt --key-file PATH` keeps the key in a file that you choose, ENGRAM_KEY_COMMAND names a "
            "program that prints it; nothing was changed",
        )


class InvalidKeyError(InvalidInputError):
    code = "invalid_key"

    def __init__(self, source: str, reason: str) -> None:
        self.source, self.reason = source, reason
        super().__init__(
            f"{source} {reason}",
            hint="nothing was changed; a key has the 56 letters and digits that were shown, or 64 hexadecimal ones",
        )


class IndexDamagedError(StoreError):
    code = "index_damaged"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"the search index in {path} is damaged: {reason}",
            hint="run `engram doctor --fix`; it rebuilds the index",
        )


class StoreGoneError(StoreError):
    code = "store_gone"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} was removed or renamed while this process had it open; nothing was written",
            hint="put the file back, or run `engram restore BACKUP`; to start an empty memory, start this server again",
        )


class StoreReplacedError(StoreError):
    code = "store_replaced"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} was replaced or removed during this write, which went into the old file",
            hint="repeat the call",
        )


class StoreBusyError(StoreError):
    code = "store_busy"

    def __init__(self, path: str, waited_seconds: float) -> None:
        self.path, self.waited_seconds = path, waited_seconds
        super().__init__(
            f"{path} stayed locked by another process for {waited_seconds:.0f} s; nothing was written",
            hint="try again; `engram doctor --check write_lock` tests whether the file can be written",
        )


class StoreFullError(StoreError):
    code = "disk_full"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"no space left to write {path}", hint="nothing was written; free some disk space and repeat")


class StoreReadOnlyError(StoreError):
    code = "store_read_only"

    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(
            f"{path} cannot be written; it can be read",
            hint="to save, change its permissions, or copy its folder and set ENGRAM_DATA_DIR to the copy",
        )


class StoreIOError(StoreError):
    code = "store_io"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"reading or writing {path} failed: {reason}", hint="run `engram doctor`")


class StoreForeignError(StoreError):
    code = "store_foreign"

    def __init__(self, path: str, tables: Sequence[str]) -> None:
        from shlex import quote  # only who meets such a file pays for it

        self.path, self.tables = path, list(tables)
        is_engram = {"sessions", "observations"} <= set(tables)
        then = f"; then `engram import --from engram {quote(path)}` copies it" if is_engram else ""
        super().__init__(
            f"{path} is a database of {'Engram, the program in Go' if is_engram else 'another program'} "
            f"(tables {', '.join(tables[:5])}); "
            "it was left untouched",
            hint=f"set ENGRAM_DATA_DIR to another directory{then}",
        )


class InvalidBackupError(TransferError):
    code = "invalid_backup"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(f"{path} cannot be restored: {reason}; nothing was changed", hint="choose another backup")
