"""Values of a vault: items of files, edits of a person, their outcomes; refusals."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from engram_py.base.dataclass import dataclass, field
from engram_py.base.errors import ConflictError, InvalidInputError, NotFoundError, StoreError
from engram_py.base.reasons import Told, operation, sentence
from engram_py.memory.observations.values import Observation

Action = Literal["revise", "add", "delete", "describe", "keep"]


@dataclass(frozen=True, slots=True)
class VaultEdge:
    """A link from an entity to another, by a predicate such as ``works_at``."""

    predicate: str
    target: str
    sync_id: str
    evidence: str | None = None  # the sync id of the fact that says so


@dataclass(frozen=True, slots=True)
class EntityPage:
    """The page of an entity. ``row`` is its own observation, where it has one; ``replaced_by`` are the sync ids of what
    replaced each fact of its history."""

    slug: str
    name: str
    kind: str
    aliases: tuple[str, ...]
    archived: bool
    row: Observation | None
    facts: tuple[Observation, ...]
    history: tuple[Observation, ...]
    edges: tuple[VaultEdge, ...]
    replaced_by: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Shelf:
    """The rows of a vault, each in the list of the file that is its home."""

    identity: tuple[Observation, ...]
    memory: tuple[Observation, ...]
    log: tuple[Observation, ...]
    days: tuple[Observation, ...]
    entities: tuple[EntityPage, ...]


def is_entity(path: str) -> bool:
    """Return whether the file of this path is the page of an entity."""
    return path.startswith("life/") and path.endswith("/summary.md")


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a file: ``raw`` is its text as the file has it, ``anchor`` the sync id behind it ("" of a new one).

    ``title`` and ``type`` are None where the item does not say them; ``day`` is that of the heading it stands below."""

    raw: str
    anchor: str
    content: str
    title: str | None = None
    type: str | None = None
    topic_key: str | None = None
    day: str | None = None


@dataclass(frozen=True, slots=True)
class VaultPage:
    """A generated file. ``heads`` are its lines that are no items, ``tail`` what the person wrote below them, ``front``
    the values of its front matter, ``rest`` what was put below the tail since the last export and is no item."""

    path: str
    items: tuple[Item, ...]
    heads: tuple[str, ...]
    text: str = ""
    tail: str = ""
    front: Mapping[str, str] = field(default_factory=dict)
    rest: str = ""


@dataclass(frozen=True, slots=True)
class Edit:
    """One thing a person changed in a file. ``conflict``: the memory changed it meanwhile as well. An item that would
    ``describe`` an entity has its kind as ``type``, and its aliases as ``content``."""

    action: Action
    path: str
    item: Item
    row: Observation | None = None
    conflict: bool = False


@dataclass(frozen=True, slots=True)
class Applied:
    """The outcome of an edit: ``outcome`` is that of a save, ``updated``, ``deleted``, ``kept`` or ``refused``."""

    path: str
    action: Action
    outcome: str
    title: str
    id: int | None = None
    said: str = ""


@dataclass(frozen=True, slots=True)
class VaultExported:
    """The files that an export wrote; paths are relative to ``root``."""

    root: str
    files: int
    written: tuple[str, ...]
    removed: tuple[str, ...]
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class VaultImported:
    """The result of an import, or with ``dry_run`` what it would do."""

    root: str
    applied: tuple[Applied, ...]
    dry_run: bool
    exported: VaultExported | None = None
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class VaultStatus:
    """The place of the vault, what a person edited there since the last export, and what the memory changed."""

    root: str
    project: str
    files: int
    edited: tuple[str, ...]
    behind: tuple[str, ...]
    own: int
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class FileText:
    """A file of the vault; not ``found`` it has no text, and ``near`` are files with similar names."""

    path: str
    found: bool
    text: str
    near: tuple[str, ...] = ()
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryPath:
    """A file of the memory as files, with its ``content`` (of JSON the value), or a folder with its ``entries``."""

    path: str
    kind: Literal["file", "directory"]
    content: Any = None
    entries: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class FileList:
    """The files below a folder of the vault, relative to its root."""

    files: tuple[str, ...]
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class FileWritten:
    """A file that was written, and what an import made of it where the memory owns it."""

    path: str
    bytes: int
    applied: tuple[Applied, ...] = ()
    warnings: tuple[Told, ...] = field(default=())


class NoVaultError(NotFoundError):
    def __init__(self, project: str) -> None:
        self.project = project
        super().__init__(f"project {project!r} has no vault yet", hint=sentence(operation("vault init"), " makes one"))


class NotAVaultError(ConflictError):
    def __init__(self, root: Path, why: str) -> None:
        self.root = root
        super().__init__(f"{root} {why}", hint="choose an empty folder, or a vault of this project")


class VaultEditedError(ConflictError):
    def __init__(self, paths: Sequence[str]) -> None:
        self.paths = tuple(paths)
        more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
        super().__init__(
            f"edited since the last export: {', '.join(paths[:3])}{more}",
            hint=sentence("nothing was written; run ", operation("vault import"), " first"),
        )


class VaultBusyError(ConflictError):
    def __init__(self) -> None:
        super().__init__("another process uses the vault", hint="try again in a minute")


class VaultFileError(StoreError):
    def __init__(self, path: Path | str, why: str, *, hint: str = "") -> None:
        self.path = path
        step = "check the folder's permissions and run the command again; files already written are kept"
        super().__init__(f"{path}: {why}", hint=hint or step)


class OutsideVaultError(InvalidInputError):
    def __init__(self, path: str) -> None:
        self.path = path[:200]
        super().__init__(
            f"{self.path!r} is not a path inside the vault",
            hint="give a relative path without .. and hidden names, as in knowledge/databases.md",
        )
