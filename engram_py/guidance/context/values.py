"""Values of a context: its sections, their items, and the counts of the whole memory."""

from __future__ import annotations

from datetime import tzinfo
from typing import TYPE_CHECKING, Literal, get_args

from engram_py.base.dataclass import dataclass, field
from engram_py.base.reasons import Sentence, Told
from engram_py.memory.observations.values import Observation
from engram_py.memory.sessions.values import Prompt, Said, SessionLine

if TYPE_CHECKING:
    from engram_py.memory.anchors.values import AnchorState
    from engram_py.recall.documents.values import Overview

Mode = Literal["session", "query", "cascade", "full"]
MODES: tuple[Mode, ...] = get_args(Mode)


@dataclass(frozen=True, slots=True)
class Remarks:
    """Remarks on single items, by their ids: of observations, and of sessions.

    ``excerpts`` are pieces of an observation's content to show instead of its beginning. ``gists`` are what a
    session's summary says besides its next steps, ``saved`` the last rows of a session without a summary.
    ``instead_of`` names the row that an item replaced.
    """

    instead_of: dict[int, str] = field(default_factory=dict)
    branches: dict[int, str] = field(default_factory=dict)
    files: dict[int, tuple[AnchorState, ...]] = field(default_factory=dict)
    excerpts: dict[int, str] = field(default_factory=dict)
    summaries: dict[str, int] = field(default_factory=dict)
    gists: dict[str, str] = field(default_factory=dict)
    next_steps: dict[str, tuple[str, ...]] = field(default_factory=dict)
    saved: dict[str, tuple[Observation, ...]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OwnFile:
    """A file of the person's vault, by its path there."""

    path: str
    content: str


Item = Observation | SessionLine | Prompt | Said | OwnFile


# The section whose items are named in one line and not quoted.
POINTED = "related"


@dataclass(frozen=True, slots=True)
class Section:
    """Things of one kind, in the order they are shown; an empty one is left out when rendered.

    ``note`` qualifies the whole section. ``lines`` 0 shows each item on one line, else up to that many of its own.
    """

    name: str
    items: tuple[Item, ...] = ()
    note: str | Sentence = ""
    lines: int = 0


@dataclass(frozen=True, slots=True)
class Context:
    """Sections within a budget of bytes; rendering leaves out what does not fit, from the end.

    ``section`` and ``cue`` say, in mode ``query``, what the gate picked and recognised. ``memories`` is how many
    the project sees (mode ``session``), counted no further than a little over ``MOST_COUNTED``. ``withheld`` counts
    imported texts that read like an order. ``unmerged`` are the branches, one for each memory, that keep from a prompt
    what it would get, where it gets nothing. ``today`` and ``zone`` are the reader's own, None the system's.
    ``documents`` are told of where nothing is kept yet.
    """

    project: str
    project_source: str
    sections: tuple[Section, ...]
    max_bytes: int
    mode: Mode = "session"
    memories: int = 0
    compact: bool = False
    remarks: Remarks = field(default_factory=Remarks)
    section: str | None = None
    cue: str | None = None
    withheld: int = 0
    unmerged: tuple[str, ...] = ()
    today: str = ""
    zone: tzinfo | None = None
    warnings: tuple[Told, ...] = ()
    documents: Overview | None = None

    def items(self, name: str) -> tuple[Item, ...]:
        """Return what the section of this name holds, nothing when there is none."""
        return next((section.items for section in self.sections if section.name == name), ())

    @property
    def pinned(self) -> tuple[Observation, ...]:
        return tuple(item for item in self.items("pinned") if isinstance(item, Observation))

    @property
    def recent(self) -> tuple[Observation, ...]:
        return tuple(item for item in self.items("recent") if isinstance(item, Observation))

    @property
    def sessions(self) -> tuple[SessionLine, ...]:
        return tuple(item for item in self.items("sessions") if isinstance(item, SessionLine))

    @property
    def prompts(self) -> tuple[Prompt, ...]:
        return tuple(item for item in self.items("prompts") if isinstance(item, Prompt))
