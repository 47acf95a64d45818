"""Refusals of files to import."""

from __future__ import annotations

from engram_py.errors import TransferError


class InvalidExportError(TransferError):
    code = "invalid_export"

    def __init__(self, path: str, reason: str) -> None:
        self.path, self.reason = path, reason
        super().__init__(
            f"{path} is not an export this version can read: {reason}",
            hint="nothing was imported; export again with engram 0.1.0/0.2.0 format",
        )


class InvalidSourceError(TransferError):
    code = "invalid_source"

    def __init__(self, path: str, kind: str, reason: str) -> None:
        self.path, self.kind, self.reason = path, kind, reason
        super().__init__(
            f"{path} cannot be imported as {kind}: {reason}",
            hint="nothing was imported; `engram import --help` lists the kinds and where each is kept",
        )
