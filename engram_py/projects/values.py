"""Projects: which one a call belongs to, and how that was found out."""

from __future__ import annotations

from engram_py.dataclass import dataclass


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
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CurrentProject:
    """Where this process stands; never an error: ambiguity is in ``candidates`` and ``hint``."""

    project: str | None
    project_source: str
    project_path: str
    candidates: tuple[str, ...]
    remote: str | None
    branch: str | None
    known: bool
    hint: str | None
    warnings: tuple[str, ...] = ()


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
    """What moved when projects became one; the old names go on working as aliases."""

    into: str
    merged: tuple[str, ...]
    observations: int
    sessions: int
    prompts: int
    folded_topics: int
    warnings: tuple[str, ...] = ()
