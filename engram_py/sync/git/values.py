"""Values of sync through git: results, status, devices."""

from __future__ import annotations

from engram_py.dataclass import dataclass, field
from engram_py.privacy.trust import Arrival
from engram_py.sync.mutation import Applied


@dataclass(frozen=True, slots=True)
class ChunkRefusal:
    """A chunk that was refused, or a part of it, and the reason."""

    chunk: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChunksRead:
    """The result of an import.

    ``rows`` counts what the chunks hold: applied, known already, deferred, unreadable and left out add up to it.
    ``left_out`` counts rows of projects that are not this repository's, by project. ``refused`` are chunks that were
    looked at now; ``still_refused`` counts those of earlier times. ``cut``
    names the rows of which only the beginning is kept. ``waiting`` rows lack what they depend on. ``more``:
    there was no time for all of it.
    """

    chunks: int = 0
    rows: int = 0
    applied: Applied = field(default_factory=Applied)
    refused: tuple[ChunkRefusal, ...] = ()
    still_refused: int = 0
    unreadable: tuple[ChunkRefusal, ...] = ()
    cut: tuple[ChunkRefusal, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True)
class ChunksWritten:
    """The result of an export.

    ``again``: what this machine had exported before was written once more. ``lost`` counts its chunks that were gone or
    damaged, which is one reason; ``sealed`` says that what was in plain chunks is encrypted now, which is another.
    """

    chunks: tuple[str, ...] = ()
    rows: int = 0
    bytes: int = 0
    again: bool = False
    lost: int = 0
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """The number of chunks that git has not committed; ``ignored`` of them match .gitignore."""

    chunks: int = 0
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class Adoption:
    """A repository called ``name`` here whose chunks are all of ``project``.

    ``own`` counts the observations that ``name`` has here; ``known`` says that ``project`` has memory here, made
    somewhere else.
    """

    name: str
    project: str
    own: int = 0
    known: bool = False

    @property
    def is_free(self) -> bool:
        """Whether nobody has to be asked, because no memory is merged with another."""
        return not self.own and not self.known


@dataclass(frozen=True, slots=True)
class GitSynced:
    """The result of a sync; a half that was not asked for is None. ``adopted``: the repository now has the project of
    its chunks. ``unchecked`` are authors here of whom nobody has said whether they are trusted."""

    project: str
    folder: str
    encrypted: bool
    read: ChunksRead | None
    written: ChunksWritten | None
    warnings: tuple[str, ...] = ()
    uncommitted: Uncommitted = field(default_factory=Uncommitted)
    adopted: Adoption | None = None
    unchecked: tuple[Arrival, ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """A device that signed chunks here, or is trusted. ``own`` is this one."""

    device: str
    key: str
    trusted: bool
    own: bool = False


@dataclass(frozen=True, slots=True)
class GitStatus:
    """The state of a repository's folder. ``waiting`` chunks are not imported; ``unsent``: there are rows to export."""

    project: str
    folder: str
    exists: bool
    encrypted: bool
    chunks: int
    waiting: int
    unsent: bool
    refused: tuple[ChunkRefusal, ...] = ()
    elsewhere: int = 0
    hooks: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    deferred: int = 0
    dead: int = 0
    uncommitted: Uncommitted = field(default_factory=Uncommitted)
