"""The repositories directly below a folder, and the projects they stand for, within a time budget."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from engram_py.projects.names import slug_project

SKIPPED = frozenset(
    "node_modules vendor .venv venv __pycache__ target dist build .idea .vscode".split()  # noqa: SIM905
)

Naming = Callable[[Path], tuple[str, tuple[str, ...], str] | None]
Clock = Callable[[], float]


@dataclass(frozen=True, slots=True)
class Children:
    """The projects of the child repositories, sorted; ``only`` is the folder where there is exactly one."""

    names: tuple[str, ...] = ()
    only: Path | None = None
    warnings: tuple[str, ...] = ()


def scan_children(directory: Path, ignore: tuple[str, ...], naming: Naming, deadline: float, clock: Clock) -> Children:
    """The child repositories of ``directory``; past the ``deadline`` the answer is cut short and says so.

    Several checkouts of one repository are one project. Where two repositories share a name, the second is
    offered by its longer one. A scan that was cut short never claims to have found the only one.
    """
    folders, complete = _repositories(directory, ignore, deadline, clock)
    owners: dict[str, str] = {}
    for folder in folders:
        # Past the deadline a folder's name stands in for what its repository would say.
        complete = complete and clock() < deadline
        named = naming(folder) if complete else None
        if named is None:
            slug = slug_project(folder.name)
            named = (slug, (), str(folder)) if slug else None
        if named is not None:
            name, longer, identity = named
            free = next((each for each in (name, *longer) if owners.get(each, identity) == identity), name)
            owners.setdefault(free, identity)
    only = folders[0] if complete and len(owners) == 1 else None
    slow = f"{directory} has too many children to look at all of them in time"
    warnings = () if complete else (slow,)
    return Children(tuple(sorted(owners)), only, warnings)


def _repositories(directory: Path, ignore: tuple[str, ...], deadline: float, clock: Clock) -> tuple[list[Path], bool]:
    found: list[Path] = []
    try:
        with os.scandir(directory) as entries:
            for entry in entries:
                if clock() > deadline:
                    return sorted(found), False
                if _looks_like_repository(entry, ignore):
                    found.append(Path(entry.path))
    except OSError:
        return sorted(found), True
    return sorted(found), True


def _looks_like_repository(entry: os.DirEntry[str], ignore: tuple[str, ...]) -> bool:
    if entry.name.startswith(".") or entry.name in SKIPPED:
        return False
    if any(fnmatchcase(entry.name, pattern.rstrip("/")) for pattern in ignore):
        return False
    try:
        return entry.is_dir(follow_symlinks=False) and os.path.lexists(os.path.join(entry.path, ".git"))  # noqa: PTH118
    except OSError:
        return False
