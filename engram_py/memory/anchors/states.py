"""Compute the states of anchors: from the working tree alone, then, for changed ones, from the index and git's
history."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from engram_py.base.dataclass import replace
from engram_py.base.reasons import Reason, reason
from engram_py.base.times import parse_time
from engram_py.memory.anchors.values import NOT_READ, SAVED_OUTSIDE, Anchor
from engram_py.memory.anchors.worktree import DIRECTORY, Content, Unread, WorkingTree, distinctive, find_span, place_of
from engram_py.memory.observations.values import AnchorState, AnchorWord

# Imported where something changed: most answers show nothing that did.
if TYPE_CHECKING:
    from engram_py.base.git.answers import GitAnswers
    from engram_py.base.git.program import Deadline
    from engram_py.base.git.repository import Repository
    from engram_py.memory.anchors.trace import Trace

_MOST_SIBLINGS = 12
_MOST_ENTRIES = 2_000
_LEAST_FILE = 64  # bytes: every repository has several files that are empty, or nearly


def local_states(anchors: Sequence[Anchor], tree: WorkingTree | None) -> tuple[AnchorState, ...]:
    """Return the states as far as the files tell: a text that moved to another file is ``changed`` or ``gone`` here."""
    if tree is None:
        return tuple(_unread(anchor, reason("not_in_repository")) for anchor in anchors)
    return tuple(_local_state(anchor, tree.read(anchor.path) if anchor.digest else None) for anchor in anchors)


def refined_states(
    anchors: Mapping[int, Sequence[Anchor]],
    states: Mapping[int, Sequence[AnchorState]],
    repository: Repository,
    tree: WorkingTree,
    answers: GitAnswers,
    deadline: Deadline,
) -> dict[int, tuple[AnchorState, ...]]:
    """Return the ``local_states`` of observations, told more exactly where they are stale; all by the observation's id.

    The index knows files that only got another name; for all that is left git is asked, together.
    """
    from engram_py.memory.anchors.trace import trace

    every = [anchor for some in anchors.values() for anchor in some]
    now = {anchor.id: state for row, some in anchors.items() for anchor, state in zip(some, states[row], strict=True)}
    for anchor in every:
        if now[anchor.id].state == "gone":
            now[anchor.id] = renamed_file(anchor, tree) or now[anchor.id]
    stale = [anchor for anchor in every if now[anchor.id].stale]
    traces = trace(repository, stale, answers, deadline) if stale else {}
    for anchor in stale:
        now[anchor.id] = _as_traced(anchor, now[anchor.id], traces[anchor.id], tree)
    return {row: tuple(now[anchor.id] for anchor in some) for row, some in anchors.items()}


def unmerged_states(why: Reason, states: Sequence[AnchorState]) -> tuple[AnchorState, ...]:
    """Return the states of an observation of an unmerged branch: what is missing here never was here."""
    return tuple(
        AnchorState(state.path, state.start, state.end, "unknown", state.now_path, reason=why) if state.stale else state
        for state in states
    )


def _local_state(anchor: Anchor, file: Content | Unread | None) -> AnchorState:
    mark = anchor.mark
    if mark is None or file is None:
        return _unread(anchor, reason("not_read"))
    if isinstance(file, Unread):
        if file.missing or file.reason == DIRECTORY:
            return _state(anchor, "gone")
        same = file.blob is not None and file.blob == anchor.blob
        return _state(anchor, "fresh") if same else _state(anchor, "unknown", reason("unreadable", problem=file.reason))
    if file.digest == anchor.file_digest:
        return _state(anchor, "fresh")
    if anchor.start_line is None or anchor.lines is None:
        same = not file.binary and file.text_digest == mark.digest
        return _state(anchor, "fresh" if same else "changed")
    place = place_of(file.lines, mark, anchor.start_line, anchor.lines)
    if place is None or place == anchor.start_line:
        return _state(anchor, "changed" if place is None else "fresh")
    return _moved(anchor, anchor.path, place)


def _state(anchor: Anchor, word: AnchorWord, why: Reason | None = None) -> AnchorState:
    return AnchorState(anchor.path, anchor.start_line, anchor.end_line, word, reason=why)


def _moved(anchor: Anchor, path: str, start: int | None) -> AnchorState:
    end = None if start is None or anchor.lines is None else start + anchor.lines - 1
    return AnchorState(anchor.path, anchor.start_line, anchor.end_line, "moved", path, start, end)


_STORED = {SAVED_OUTSIDE: reason("saved_outside"), NOT_READ: reason("not_read")}


def _unread(anchor: Anchor, otherwise: Reason) -> AnchorState:
    """Return the state of an anchor that has no text to compare; the file may be another by now."""
    if anchor.reason is None:
        return _state(anchor, "unknown", otherwise)
    return _state(anchor, "unknown", _STORED.get(anchor.reason) or reason("unreadable_then", problem=anchor.reason))


def _as_traced(anchor: Anchor, state: AnchorState, traced: Trace, tree: WorkingTree) -> AnchorState:
    """Return the state with what history adds: a new name, another file, or who changed it."""
    if traced.path != anchor.path:
        file = tree.read(traced.path)
        if elsewhere := _in_file(anchor, traced.path, file, surely=True):
            return elsewhere
        if isinstance(file, Unread) and not file.missing:
            return replace(
                state, state="unknown", now_path=traced.path, reason=reason("unreadable", problem=file.reason)
            )
        if not isinstance(file, Unread):
            state = replace(state, state="changed", now_path=traced.path)
    # Lines can leave a file that stays; a whole file that is still there changed, whatever copies of it there are.
    if anchor.lines is not None or state.state == "gone":
        # What a commit took away it may have put into another of its files; what is not committed stands nearby.
        nearby = traced.candidates if traced.changed_by else _siblings(anchor, tree.root)
        if elsewhere := _in_files(anchor, nearby, tree):
            return elsewhere
    # Of a file that is gone the commit that deleted it is named, not an earlier one that changed the text.
    event, uncommitted = traced.changed_by, traced.uncommitted
    if state.state == "gone":
        event, uncommitted = traced.deleted_by, traced.deleted_by is None and (traced.present or traced.uncommitted)
    elif tree.is_linked(traced.path):  # the history of the name is not that of the text
        return state
    if event is None:
        return replace(
            state, uncommitted=uncommitted and (traced.present or _may_be_committed(anchor, state, traced.path, tree))
        )
    return replace(state, commit=event.commit, author=event.author, commits_ago=event.commits_ago)


def _may_be_committed(anchor: Anchor, state: AnchorState, path: str, tree: WorkingTree) -> bool:
    """Return whether a change waits for a commit here: not one in a submodule, nor of an untracked file."""
    if anchor.blob is not None or tree.tracked is None or tree.tracked.get(path) is not None:
        return True
    return state.state != "gone" and not tree.is_nested(path)


def _in_file(anchor: Anchor, path: str, file: Content | Unread, *, surely: bool) -> AnchorState | None:
    """Return the state of an anchor whose text stands in another file.

    Unless that is ``surely`` the same file renamed, the text must say enough not to be there by chance.
    """
    mark = anchor.mark
    if mark is None:
        return None
    if isinstance(file, Unread):
        return _moved(anchor, path, anchor.start_line) if file.blob and file.blob == anchor.blob else None
    if anchor.lines is None or anchor.start_line is None:
        same = file.digest == anchor.file_digest or (not file.binary and file.text_digest == mark.digest)
        return _moved(anchor, path, None) if same and (surely or len(file.data) >= _LEAST_FILE) else None
    if surely:
        place = place_of(file.lines, mark, anchor.start_line, anchor.lines)
        return None if place is None else _moved(anchor, path, place)
    places = find_span(file.lines, mark, anchor.lines)
    if len(places) != 1 or not distinctive(file.lines[places[0] : places[0] + anchor.lines]):
        return None
    return _moved(anchor, path, places[0] + 1)


def _in_files(anchor: Anchor, paths: Iterable[str], tree: WorkingTree) -> AnchorState | None:
    for path in paths:
        if path != anchor.path and (elsewhere := _in_file(anchor, path, tree.read(path), surely=False)):
            return elsewhere
    return None


def renamed_file(anchor: Anchor, tree: WorkingTree) -> AnchorState | None:
    """Return the file under another name, as git tracks it: a rename that was staged, or committed without a change."""
    if tree.tracked is None or anchor.blob is None:
        return None
    same = [*islice(tree.tracked.with_blob(anchor.blob), 2)]
    if len(same) != 1 or same[0].path == anchor.path:
        return None
    return _in_file(anchor, same[0].path, tree.read(same[0].path), surely=True)


def _siblings(anchor: Anchor, root: str) -> Iterator[str]:
    """Yield the files of the same kind in the folder that were written since the anchor, newest first."""
    folder = PurePosixPath(anchor.path).parent
    recorded = parse_time(anchor.recorded_at) or datetime.now(UTC)
    siblings: list[tuple[float, str]] = []
    try:
        with os.scandir(Path(root, folder)) as entries:
            for count, entry in enumerate(entries):
                if count >= _MOST_ENTRIES:
                    break
                if entry.name.endswith(PurePosixPath(anchor.path).suffix) and entry.is_file(follow_symlinks=False):
                    written = entry.stat(follow_symlinks=False).st_mtime
                    if written >= recorded.timestamp() - 1:
                        siblings.append((written, entry.name))
    except (OSError, ValueError):
        return
    for _, name in sorted(siblings, reverse=True)[:_MOST_SIBLINGS]:
        yield (folder / name).as_posix()
