"""What comes in and goes out around anchors: files as somebody names them, and the report of a check."""

from __future__ import annotations

from engram_py.anchors.values import AnchorOrigin, AnchorState
from engram_py.dataclass import dataclass, field


@dataclass(frozen=True, slots=True)
class Reference:
    """A file as somebody named it; without ``start`` the whole of it is meant. ``sure`` is false for what merely
    looks like a path, and is worth no word when there is no such file. ``asked`` is the name as it was written, with
    its lines; ``odd`` when these were read as something else."""

    path: str
    start: int | None = None
    end: int | None = None
    origin: AnchorOrigin = "given"
    sure: bool = True
    asked: str = field(default="", compare=False)
    odd: bool = field(default=False, compare=False)


@dataclass(frozen=True, slots=True)
class StaleLine:
    """An observation whose files changed under it; ``anchors`` are those that did."""

    id: int
    title: str
    type: str
    project: str
    review_after: str | None
    updated_at: str
    anchors: tuple[AnchorState, ...]


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check of a project's anchors found; ``states`` counts them by state, and as ``elsewhere`` those of a
    branch that is not merged here, whose observations are listed apart."""

    project: str
    observations: int
    anchors: int
    states: dict[str, int]
    stale: tuple[StaleLine, ...]
    warnings: tuple[str, ...] = ()
    elsewhere: tuple[StaleLine, ...] = ()

    @property
    def blind(self) -> bool:
        """Whether there were files to look at and not one could be: in another folder than the repository's, say."""
        return bool(self.anchors) and set(self.states) == {"unknown"}
