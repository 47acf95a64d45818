"""Results and refusals of exports and imports. A command that exports loads no pydantic."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from engram_py.base.dataclass import dataclass, field
from engram_py.base.errors import TransferError
from engram_py.base.reasons import Told

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Exported:
    path: str
    version: str
    bytes: int
    sessions: int
    observations: int
    prompts: int
    relations: int


@dataclass(slots=True)
class Counts:
    """The rows of one kind in an import: new, newer than here, skipped, invalid.

    ``read`` is counted in the source; the other four add up to it. ``reasons`` says why rows were not taken.
    """

    read: int = 0
    new: int = 0
    newer: int = 0
    skipped: int = 0
    invalid: int = 0
    reasons: dict[str, int] = field(default_factory=dict)

    def skip(self, reason: str, *, rows: int = 1) -> None:
        self.skipped += rows
        self._because(reason, rows)

    def reject(self, reason: str, *, rows: int = 1) -> None:
        self.invalid += rows
        self._because(reason, rows)

    def _because(self, reason: str, rows: int) -> None:
        if rows:
            self.reasons[reason] = self.reasons.get(reason, 0) + rows


@dataclass(frozen=True, slots=True)
class Imported:
    path: str
    version: str
    sessions: Counts
    observations: Counts
    prompts: Counts
    relations: Counts
    redacted: int
    warnings: tuple[Told, ...] = ()
    versions: Counts = field(default_factory=Counts)
    tombstones: Counts = field(default_factory=Counts)
    trusted: bool = True


class InvalidExportError(TransferError):
    """``foreign``: the file is of another program or kind, so the command is wrong, and no try again helps."""

    def __init__(self, path: str, reason: str, *, foreign: bool = False) -> None:
        self.path, self.reason = path, reason
        self.exit_code = 2 if foreign else 1
        super().__init__(
            f"{path} is not an export this version can read: {reason}",
            hint="nothing was imported; give a file that `engram export` or Engram (0.1.0, 0.2.0) wrote, or name its "
            "program: `engram import --from KIND FILE`",
        )


class InvalidSourceError(TransferError):
    """``foreign``: the source is there, and is of another program or kind."""

    def __init__(self, path: str, kind: str, reason: str, *, foreign: bool = False) -> None:
        self.path, self.kind, self.reason = path, kind, reason
        self.exit_code = 2 if foreign else 1
        super().__init__(
            f"{path} cannot be imported as {kind}: {reason}",
            hint="nothing was imported; `engram import --help` lists the kinds and where each is kept",
        )


# The block that is ours in an export, and the name of the signature in it.
OWN, SIGNATURE = "engram_py", "signature"


def signed_export(document: Mapping[str, Any]) -> dict[str, str]:
    """Return what the signature of an export covers: every value of it but the signature."""
    own = {name: value for name, value in document[OWN].items() if name != SIGNATURE}
    text = json.dumps({**document, OWN: own}, sort_keys=True, separators=(",", ":"))
    return {"entity": "export", "digest": hashlib.sha256(text.encode()).hexdigest()}
