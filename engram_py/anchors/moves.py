"""Finds observations by the file that holds their text now, when it was another one that was recorded."""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from engram_py.anchors import table
from engram_py.anchors.spans import MOST_COPIES, digest_of
from engram_py.anchors.trace import Trace
from engram_py.anchors.values import Anchor, AnchorState
from engram_py.anchors.worktree import Content, CurrentRepository, WorkingTree
from engram_py.database.store import Store
from engram_py.observations import table as observation_table
from engram_py.observations.values import Observation

# What this may cost a search, however large the memory, the tree and its history are.
_ANCHORS_COMPARED = 10_000  # by the hash of one line
_BYTES_HASHED = 8 << 20  # of those that hold such a line
_LINE_COSTS = 32  # bytes, at least
_ANCHORS_READ = 2_000  # by their paths, which are looked for on the disk
_MOST_GONE = 64  # paths followed through history
_MOST_TARGETS = 4
_MOST_ROWS = 500  # compared as a whole, however many are asked for
_LEAST_ROWS = 100

StatesOf = Callable[[Sequence[Observation]], Mapping[int, Sequence[AnchorState]]]
TracesOf = Callable[[Sequence[Anchor]], Mapping[int, Trace]]


def moved_to(
    store: Store,
    path: str,
    here: CurrentRepository,
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
    names = _names(here, projects)
    if here.tree is None or not names:
        return []
    recorded = _recorded(store, names)
    targets = _targets(path, here, recorded)
    if not targets:
        return []
    same_name = table.paths_named(store, names, posixpath.basename(path), limit=_ANCHORS_READ)
    most = min(max(limit, _LEAST_ROWS), _MOST_ROWS)
    held = _held_by(store, targets, here.tree, names, most=most)
    sources = _sources(store, targets, _gone(same_name, recorded, targets, here.tree.root), names, traces)
    rows = observation_table.by_ids(store, held) if held else {}
    rows |= {row.id: row for row in table.at_paths(store, sources, projects=names, limit=most)} if sources else {}
    known = states([*rows.values()]) if rows else {}
    moved = [row for row in rows.values() if any(_is_at(state, path) for state in known.get(row.id, ()))]
    return [row.id for row in sorted(moved, key=lambda row: (row.updated_at, row.id), reverse=True)][:limit]


def moved_below(
    store: Store,
    folder: str,
    here: CurrentRepository,
    states: StatesOf,
    traces: TracesOf,
    *,
    projects: Sequence[str] | None,
    limit: int,
) -> list[int]:
    """The same for ``folder``, which ends in ``/``: those recorded for files that are gone and are below it now."""
    names = _names(here, projects)
    if here.tree is None or not names or not os.path.isdir(f"{here.tree.root}/{folder}"):  # noqa: PTH112
        return []
    root = here.tree.root
    recorded = _recorded(store, names)
    gone = [one for one in dict.fromkeys(recorded) if not one.startswith(folder) and not _is_there(root, one)]
    likely = [one for one in gone if any(_is_there(root, folder + tail) for tail in _tails(one))]
    followed = [*islice(dict.fromkeys((*likely, *gone)), _MOST_GONE)]
    anchors = table.newest_at(store, followed, projects=names) if followed else []
    ends = traces(anchors) if anchors else {}
    sources = dict.fromkeys((*likely, *(one.path for one in anchors if ends[one.id].path.startswith(folder))))
    most = min(max(limit, _LEAST_ROWS), _MOST_ROWS)
    rows = table.at_paths(store, [*sources], projects=names, limit=most) if sources else []
    known = states(rows) if rows else {}
    moved = [row.id for row in rows if any(_is_below(state, folder) for state in known.get(row.id, ()))]
    return moved[:limit]


def _tails(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(1, len(parts))]


def _is_below(state: AnchorState, folder: str) -> bool:
    return state.now_path is not None and state.now_path.startswith(folder) and not state.path.startswith(folder)


def _names(here: CurrentRepository, projects: Sequence[str] | None) -> list[str]:
    """What the project here goes by, of those that are asked."""
    return sorted(name for name in here.names if projects is None or name in projects)


def _recorded(store: Store, names: Sequence[str]) -> list[str]:
    """The paths of the newest anchors."""
    return [one for name in names for one in table.newest_paths(store, name, limit=_ANCHORS_READ)]


def _targets(path: str, here: CurrentRepository, recorded: Iterable[str]) -> list[str]:
    """The files that ``path`` names: itself, or where it is a part those that git tracks or that stand below a folder
    of one that was recorded."""
    assert here.tree is not None
    if _is_there(here.tree.root, path):
        return [path]
    listed = here.tree.tracked.ending_in(path) if here.tree.tracked is not None else ()
    tracked = [one.path for one in islice(listed, _MOST_TARGETS)]
    folders = dict.fromkeys(map(posixpath.dirname, recorded))
    named = [*tracked, *(posixpath.join(folder, path) for folder in folders)]
    return [*islice((one for one in dict.fromkeys(named) if _is_there(here.tree.root, one)), _MOST_TARGETS)]


def _held_by(store: Store, targets: Sequence[str], tree: WorkingTree, names: Sequence[str], *, most: int) -> list[int]:
    """``most`` observations that were recorded for another file and whose text one of the targets
    holds, the newest first."""
    held: dict[int, None] = {}
    for target in targets:
        file = tree.read(target)
        if not isinstance(file, Content):
            continue
        digests = [file.digest] if file.binary else [file.digest, file.text_digest]
        probes = () if file.binary else file.lines.by_probe
        texts = _Texts(file)
        for name in names:
            for one in table.alike(store, target, probes, digests, project=name, limit=_ANCHORS_COMPARED):
                if len(held) >= most:
                    return list(held)
                if one.observation_id not in held and texts.hold(one):
                    held[one.observation_id] = None
    return list(held)


class _Texts:
    """The texts of one file, each hashed once, and no more of them than a search can wait for."""

    def __init__(self, file: Content) -> None:
        self._file = file
        self._left = _BYTES_HASHED
        self._digests: dict[tuple[int, int], str] = {}

    def hold(self, one: table.Likeness) -> bool:
        if one.probe is None or one.lines is None:
            return True  # the whole file, which was found by its digest
        offset, _, line = one.probe.partition(".")
        likely = self._file.lines.by_probe.get(line, ())[:MOST_COPIES]
        return any(self._digest(at - int(offset), one.lines) == one.digest for at in likely)

    def _digest(self, first: int, count: int) -> str | None:
        found = self._digests.get((first, count))
        if found is None and first >= 0 and first + count <= len(self._file.lines) and self._left > 0:
            span = self._file.lines[first : first + count]
            self._left -= sum(map(len, span)) + _LINE_COSTS * count
            found = self._digests[first, count] = digest_of(span)
        return found


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
