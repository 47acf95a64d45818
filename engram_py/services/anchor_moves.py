"""Finds observations by the file that holds their text now, when it was another one that was recorded."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from engram_py.models.anchor import Anchor, AnchorState
from engram_py.models.observation import Observation
from engram_py.project.spans import digest_of, probes_of
from engram_py.project.worktree import Content, WorkingTree
from engram_py.services.anchor_history import Trace
from engram_py.services.anchor_places import Here
from engram_py.services.anchor_search import in_file
from engram_py.store import anchors as table
from engram_py.store import observations as observation_table
from engram_py.store.database import Store

# What this may cost a search, however large the memory, the tree and its history are.
_ANCHORS_COMPARED = 10_000  # by the hash of one line
_ANCHORS_READ = 2_000  # by their paths, which are looked for on the disk
_MOST_GONE = 64  # paths followed through history
_MOST_TARGETS = 4
_MOST_ROWS = 100

StatesOf = Callable[[Sequence[Observation]], Mapping[int, Sequence[AnchorState]]]
TracesOf = Callable[[Sequence[Anchor]], Mapping[int, Trace]]


def moved_to(
    store: Store,
    path: str,
    here: Here,
    states: StatesOf,
    traces: TracesOf,
    *,
    projects: Sequence[str] | None,
    limit: int,
) -> list[int]:
    """Ids of observations of the project here that were recorded for another file and are in ``path`` (or a file that
    ends in it) now, as ``states`` tells it.

    Only that file is read. Either it holds the text of one of the newest anchors, or it is what became of a file that
    is gone.
    """
    names = sorted(name for name in here.names if projects is None or name in projects)
    if here.tree is None or not names:
        return []
    recorded = table.newest_paths(store, names, limit=_ANCHORS_READ)
    targets = _targets(path, here, recorded)
    if not targets:
        return []
    same_name = table.paths_named(store, names, posixpath.basename(path), limit=_ANCHORS_READ)
    held = [one for target in targets for one in _held_by(store, target, here.tree, names)]
    sources = _sources(store, targets, _gone(same_name, recorded, targets, here.tree.root), names, traces)
    rows = observation_table.by_ids(store, held[:_MOST_ROWS]) if held else {}
    rows |= {row.id: row for row in table.at_paths(store, sources, projects=names, limit=_MOST_ROWS)} if sources else {}
    known = states([*rows.values()]) if rows else {}
    moved = [row for row in rows.values() if any(_is_at(state, path) for state in known.get(row.id, ()))]
    return [row.id for row in sorted(moved, key=lambda row: (row.updated_at, row.id), reverse=True)][:limit]


def _targets(path: str, here: Here, recorded: Iterable[str]) -> list[str]:
    """The files that ``path`` names: as git tracks them, or below a folder of one that was recorded."""
    assert here.tree is not None
    index = here.tree.index
    tracked = index.ending_in(path, most=_MOST_TARGETS) if index is not None else []
    folders = dict.fromkeys(map(posixpath.dirname, recorded))
    named = [path, *tracked, *(posixpath.join(folder, path) for folder in folders)]
    return [*islice((one for one in dict.fromkeys(named) if _is_there(here.tree.root, one)), _MOST_TARGETS)]


def _held_by(store: Store, target: str, tree: WorkingTree, names: Sequence[str]) -> list[int]:
    """Observations that were recorded for another file and whose text ``target`` holds."""
    file = tree.read(target)
    if not isinstance(file, Content):
        return []
    digests = [file.digest] if file.binary else [file.digest, digest_of(file.lines)]
    probes = () if file.binary else probes_of(file.lines)
    found = table.alike(store, probes, digests, projects=names, limit=_ANCHORS_COMPARED)
    return [
        one.observation_id
        for one in found
        if one.path != target and any(in_file(one, target, file, surely=surely) for surely in (True, False))
    ]


def _gone(same_name: Sequence[str], recorded: Sequence[str], targets: Sequence[str], root: str) -> list[str]:
    """Paths without a file, those first that most likely got the name of a target."""
    kinds = {posixpath.splitext(target)[1] for target in targets}
    alike = (one for one in recorded if posixpath.splitext(one)[1] in kinds)
    every = dict.fromkeys((*same_name, *alike, *recorded))
    return [*islice((one for one in every if not _is_there(root, one)), _MOST_GONE)]


def _sources(
    store: Store, targets: Sequence[str], gone: Sequence[str], names: Sequence[str], traces: TracesOf
) -> list[str]:
    """Those of the paths that are gone whose file is called like a target now."""
    anchors = table.newest_at(store, gone, projects=names) if gone else []
    followed = traces(anchors) if anchors else {}
    return [one.path for one in anchors if followed[one.id].path in targets]


def _is_at(state: AnchorState, path: str) -> bool:
    now = state.now_path
    return now is not None and now != state.path and (now == path or now.endswith(f"/{path}"))


def _is_there(root: str, path: str) -> bool:
    try:
        mode = os.lstat(f"{root}/{path}").st_mode
    except (FileNotFoundError, NotADirectoryError):
        return False
    except (OSError, ValueError):
        return True  # no path at all, so it did not move either
    return not stat.S_ISDIR(mode)
