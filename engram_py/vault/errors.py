"""Refusals of the vault."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from engram_py.doors import call
from engram_py.errors import ConflictError, InvalidInputError, NotFoundError, StoreError


class NoVaultError(NotFoundError):
    code = "no_vault"

    def __init__(self, project: str) -> None:
        self.project = project
        super().__init__(f"project {project!r} has no vault yet", hint=f"{call('vault init')} makes one")


class NotAVaultError(ConflictError):
    code = "not_a_vault"

    def __init__(self, root: Path, why: str) -> None:
        self.root = root
        super().__init__(f"{root} {why}", hint="choose an empty folder, or one that is a vault of this project")


class VaultEditedError(ConflictError):
    code = "vault_edited"

    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        super().__init__(
            f"edited since the last export: {', '.join(paths[:3])}{more}",
            hint=f"{call('vault import')} takes the edits in first; nothing was written",
        )


class VaultBusyError(ConflictError):
    code = "vault_busy"

    def __init__(self) -> None:
        super().__init__("another process works on the vault", hint="run it again in a minute")


class VaultFileError(StoreError):
    code = "vault_file"

    def __init__(self, path: Path | str, why: str) -> None:
        self.path = path
        super().__init__(f"{path}: {why}", hint="check the folder and its rights; what was done before that holds")


class OutsideVaultError(InvalidInputError):
    code = "outside_vault"

    def __init__(self, path: str) -> None:
        self.path = path[:200]
        super().__init__(
            f"{self.path!r} is not a path inside the vault",
            hint="give a relative path without .. and hidden names, as in knowledge/databases.md",
        )
