"""Find observations by the file that holds their text now, when it was another one that was recorded; and put what
files said when an observation was saved beside what they say now.
"""

from __future__ import annotations

import os
import posixpath
import stat
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

from engram_py.base.database.store import Store
from engram_py.base.git.answers import is_commit
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.git.repository import Repository
from engram_py.memory.anchors import table
from engram_py.memory.anchors.trace import Trace
from engram_py.memory.anchors.values import Anchor, FileTexts
from engram_py.memory.anchors.worktree import (
    MAX_FILE,
    MOST_COPIES,
    OUTSIDE,
    Content,
    CurrentRepository,
    Unread,
    WorkingTree,
    digest_of,
    is_relative,
    place_of,
)
from engram_py.memory.observations import table as observation_table
from engram_py.memory.observations.values import AnchorState, Observation

NOT_COMMITTED = "git does not have the file as it was at the save"
BINARY = "it is binary"


def texts_of(
    anchor: Anchor, state: AnchorState, repository: Repository, tree: WorkingTree, deadline: Deadline
) -> FileTexts:
    """Return both texts of the file of a stale anchor; ``why`` where one of them cannot be shown."""
    then = _then(anchor, repository, deadline)
    if isinstance(then, str):
        return FileTexts(state, why=then)
    path = state.now_path or state.path
    now = Content(b"") if state.state == "gone" and state.now_path is None else tree.read(path)
    if isinstance(now, Unread):
        return FileTexts(state, why=now.reason)
    if then.binary or now.binary:
        return FileTexts(state, why=BINARY)
    before, after = (file.data.decode("utf-8", "replace") for file in (then, now))
    return FileTexts(state, before, after, span=_span(anchor, then))


def _then(anchor: Anchor, repository: Repository, deadline: Deadline) -> Content | str:
    """Return the file as it was at the save, or for a span a version that holds its lines; else why there is none."""
    if not is_relative(anchor.path):
        return OUTSIDE
    commit, blob = (text if text and is_commit(text) else None for text in (anchor.git_commit, anchor.blob))
    for name in filter(None, (blob, commit and f"{commit}:{anchor.path}")):
        answer = ask_git(repository.root, "cat-file", "blob", name, deadline=deadline, limit=MAX_FILE)
        if answer is None or not answer[1]:
            continue
        file = Content(answer[0])
        if anchor.digest is not None and (_span(anchor, file) or anchor.digest in (file.digest, file.text_digest)):
            return file
    return NOT_COMMITTED


def _span(anchor: Anchor, file: Content) -> tuple[int, int] | None:
    """Return the first and last line of the anchor's span in ``file``, from 1; None where it has none there."""
    if anchor.mark is None or anchor.start_line is None or anchor.lines is None:
        return None
    start = place_of(file.lines, anchor.mark, anchor.start_line, anchor.lines)
    return None if start is None else (start, start + anchor.lines - 1)


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


class Moves:
    """Looks among the observations of the project here, of those that are asked, for what got another file.

    ``states`` tells where the text of an observation is now, ``traces`` what its file was called last.
    """

    def __init__(
        self,
        store: Store,
        here: CurrentRepository,
        states: StatesOf,
        traces: TracesOf,
        *,
        projects: Sequence[str] | None,
        limit: int,
    ) -> None:
        self._store = store
        self._tree = here.tree
        self._root = here.tree.root if here.tree is not None else ""
        self._states = states
        self._traces = traces
        self._names = sorted(name for name in here.names if projects is None or name in projects)
        self._limit = limit
        self._most = min(max(limit, _LEAST_ROWS), _MOST_ROWS)

    def into_file(self, path: str) -> list[int]:
        """Return the ids of observations that were recorded for another file and are in ``path`` now.

        Only that file is read. It holds the text of one of the newest anchors, or replaced a file that is gone.
        """
        if self._tree is None or not self._names:
            return []
        recorded = self._newest_paths()
        targets = self._targets(path, recorded, self._tree)
        if not targets:
            return []
        held = observation_table.by_ids(self._store, self._held_by(targets, self._tree))
        kinds = {posixpath.splitext(target)[1] for target in targets}
        same_name = table.paths_named(self._store, self._names, posixpath.basename(path), limit=_ANCHORS_READ)
        alike = (old for old in recorded if posixpath.splitext(old)[1] in kinds)
        # Those first that most likely got the name of a target.
        gone = (old for old in dict.fromkeys((*same_name, *alike, *recorded)) if not self._is_there(old))
        ends = self._present_names(islice(gone, _MOST_GONE))
        renamed = self._at([old for old, end in ends.items() if end in targets])

        def is_at(now: str) -> bool:
            return now == path or now.endswith(f"/{path}")

        return self._moved((held | {row.id: row for row in renamed}).values(), is_at)

    def into_folder(self, folder: str) -> list[int]:
        """Return the same for ``folder``, which ends in ``/``: files that are gone and are below it now."""
        if not self._names or not os.path.isdir(f"{self._root}/{folder}"):  # noqa: PTH112
            return []
        gone = [path for path in self._newest_paths() if not path.startswith(folder) and not self._is_there(path)]
        likely = [path for path in gone if any(self._is_there(folder + tail) for tail in _tails(path))]
        ends = self._present_names(islice(dict.fromkeys((*likely, *gone)), _MOST_GONE))
        rows = self._at([*dict.fromkeys((*likely, *(path for path, end in ends.items() if end.startswith(folder))))])
        return self._moved(rows, lambda now: now.startswith(folder))

    def _moved(self, rows: Iterable[Observation], is_wanted: Callable[[str], bool]) -> list[int]:
        """Return the observations with a text that went where it ``is_wanted``, the newest first."""
        rows = sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)
        states = self._states(rows)

        def went(state: AnchorState) -> bool:
            return state.now_path is not None and is_wanted(state.now_path) and not is_wanted(state.path)

        return [row.id for row in rows if any(map(went, states.get(row.id, ())))][: self._limit]

    def _newest_paths(self) -> list[str]:
        newest = (table.newest_paths(self._store, name, limit=_ANCHORS_READ) for name in self._names)
        return [*dict.fromkeys(path for paths in newest for path in paths)]

    def _at(self, paths: Sequence[str]) -> list[Observation]:
        return table.at_paths(self._store, paths, projects=self._names, limit=self._most) if paths else []

    def _present_names(self, paths: Iterable[str]) -> dict[str, str]:
        anchors = table.newest_at(self._store, [*paths], projects=self._names)
        traces = self._traces(anchors) if anchors else {}
        return {anchor.path: traces[anchor.id].path for anchor in anchors}

    def _targets(self, path: str, recorded: Iterable[str], tree: WorkingTree) -> list[str]:
        """Return the files that ``path`` names: itself, or those that end in it and are tracked or beside a recorded
        one."""
        if self._is_there(path):
            return [path]
        tracked = (file.path for file in tree.tracked.ending_in(path)) if tree.tracked is not None else ()
        folders = dict.fromkeys(map(posixpath.dirname, recorded))
        named = [*islice(tracked, _MOST_TARGETS), *(posixpath.join(folder, path) for folder in folders)]
        return [*islice(filter(self._is_there, dict.fromkeys(named)), _MOST_TARGETS)]

    def _held_by(self, targets: Sequence[str], tree: WorkingTree) -> list[int]:
        """Return the observations recorded for another file whose text one of the targets holds, the newest first."""
        held: dict[int, None] = {}
        for target in targets:
            file = tree.read(target)
            if not isinstance(file, Content):
                continue
            digests = [file.digest] if file.binary else [file.digest, file.text_digest]
            probes = () if file.binary else file.lines.by_probe
            texts = _Texts(file)
            for name in self._names:
                for row in table.alike(self._store, target, probes, digests, project=name, limit=_ANCHORS_COMPARED):
                    if len(held) >= self._most:
                        return list(held)
                    if row.observation_id not in held and texts.hold(row):
                        held[row.observation_id] = None
        return list(held)

    def _is_there(self, path: str) -> bool:
        try:
            mode = os.lstat(f"{self._root}/{path}").st_mode
        except (FileNotFoundError, NotADirectoryError):
            return False
        except (OSError, ValueError):
            return True  # no path at all, so it did not move either
        return not stat.S_ISDIR(mode)


def _tails(path: str) -> list[str]:
    parts = path.split("/")
    return ["/".join(parts[at:]) for at in range(1, len(parts))]


class _Texts:
    """The texts of one file, each hashed once, and no more of them than a search can wait for."""

    def __init__(self, file: Content) -> None:
        self._file = file
        self._left = _BYTES_HASHED
        self._digests: dict[tuple[int, int], str] = {}

    def hold(self, likeness: table.Likeness) -> bool:
        if likeness.probe is None or likeness.lines is None:
            return True  # the whole file, which was found by its digest
        offset, _, line = likeness.probe.partition(".")
        likely = self._file.lines.by_probe.get(line, ())[:MOST_COPIES]
        return any(self._digest(at - int(offset), likeness.lines) == likeness.digest for at in likely)

    def _digest(self, first: int, count: int) -> str | None:
        digest = self._digests.get((first, count))
        if digest is None and first >= 0 and first + count <= len(self._file.lines) and self._left > 0:
            span = self._file.lines[first : first + count]
            self._left -= sum(map(len, span)) + _LINE_COSTS * count
            digest = self._digests[first, count] = digest_of(span)
        return digest
