"""Projects: which one a call belongs to, and how that was found out."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram_py.dataclass import dataclass
from engram_py.errors import ConflictError, InvalidInputError, NotFoundError
from engram_py.reasons import Sentence, Told, operation, reason, sentence

_MOST_NAMED = 50  # of the projects there are


class InvalidProjectError(InvalidInputError):
    def __init__(self, name: str, reason: str, *, hint: str | None = None) -> None:
        self.name, self.reason = name[:80], reason
        told = f"{self.name!r} is not a project name: {reason}" if hint is None else f"project {self.name!r}: {reason}"
        super().__init__(told, hint=hint or "pass a name such as widgets, not a path")


class AmbiguousProjectError(InvalidInputError):
    def __init__(self, directory: str, candidates: Sequence[str], *reasons: Told) -> None:
        self.directory, self.candidates, self.reasons = directory, list(candidates), reasons
        choices = ", ".join(self.candidates) or "none known yet"
        first, *others = reasons or (reason("no_project_here", nameless=False),)
        more = (part for one in others for part in ("; ", one))
        super().__init__(
            sentence(first, f": {directory}", *more, f" (candidates: {choices})"),
            hint=sentence("ask the user which project this belongs to, then repeat it with ", operation("project")),
        )

    def details(self) -> dict[str, Any]:
        return super().details() | {"available_projects": self.candidates, "project_path": self.directory}


class UnknownProjectError(NotFoundError):
    def __init__(self, name: str, similar: Sequence[str] = (), known: Sequence[str] = ()) -> None:
        self.name, self.similar, self.known = name[:80], list(similar), list(known)[:_MOST_NAMED]
        near = f"; similar: {', '.join(self.similar)}" if self.similar else ""
        super().__init__(
            f"no project {self.name!r}{near}", hint=sentence("list the projects with ", operation("projects"))
        )

    def details(self) -> dict[str, Any]:
        return super().details() | {"available_projects": list(dict.fromkeys((*self.similar, *self.known)))}


class AlreadyInitializedError(ConflictError):
    def __init__(self, path: str) -> None:
        self.path = path
        super().__init__(f"{path} exists", hint="edit it, or pass --force to write it again")


@dataclass(frozen=True, slots=True)
class Place:
    """The project a call belongs to.

    ``source`` says how it was found: explicit, session, override, config, git_remote, git_root,
    git_child, dir_basename, or (reads only, ``project`` empty) ambiguous, none, all. ``reads`` are the projects
    a search looks into, None meaning all of them.
    """

    project: str
    source: str
    path: str
    reads: tuple[str, ...] | None
    default_scope: str = "project"
    branch: str | None = None
    commit: str | None = None
    created: bool = False
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class CurrentProject:
    """The project of this process; never an error: ambiguity is in ``candidates`` and ``hint``."""

    project: str | None
    project_source: str
    project_path: str
    candidates: tuple[str, ...]
    remote: str | None
    branch: str | None
    known: bool
    hint: Sentence | None
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class ProjectLine:
    name: str
    observations: int
    sessions: int
    prompts: int
    last_activity_at: str | None
    aliases: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Alike:
    """Projects whose names are alike: ``into`` holds the most observations, ``names`` are the others."""

    into: str
    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Pruned:
    """The projects that were removed because nothing is kept of them; with ``dry_run``, that would be."""

    names: tuple[str, ...]
    dry_run: bool


@dataclass(frozen=True, slots=True)
class Renamed:
    """A project's old name, which goes on working, and its new one."""

    project: str
    name: str


@dataclass(frozen=True, slots=True)
class Merged:
    """The rows that moved when projects became one; the old names go on working as aliases."""

    into: str
    merged: tuple[str, ...]
    observations: int
    sessions: int
    prompts: int
    folded_topics: int
    warnings: tuple[Told, ...] = ()
