"""Settles the anchors that the working tree alone leaves open: their text moved, changed, or is gone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram_py.anchors.file_search import in_file, in_files, same_blob, siblings
from engram_py.anchors.git_search import Trace, trace
from engram_py.anchors.values import Anchor, AnchorState
from engram_py.anchors.worktree import Unread, WorkingTree
from engram_py.dataclass import replace
from engram_py.git.answers import GitAnswers
from engram_py.git.program import Deadline
from engram_py.git.repository import Repository

States = dict[int, tuple[AnchorState, ...]]


def settle(
    anchors: Sequence[Anchor],
    states: Mapping[int, Sequence[AnchorState]],
    repository: Repository,
    tree: WorkingTree,
    answers: GitAnswers,
    patience: Deadline,
) -> States:
    """The states of the observations with a stale anchor, told more exactly; by the observation's id.

    ``anchors`` are all of theirs, in the order of ``states``. The index knows files that only got another name; for
    all that is left git is asked, together.
    """
    now = {one.id: state for one, state in _paired(anchors, states)}
    for one in anchors:
        if now[one.id].state == "gone":
            now[one.id] = same_blob(one, tree) or now[one.id]
    open_ends = [one for one in anchors if now[one.id].stale]
    traces = trace(repository, open_ends, answers, patience) if open_ends else {}
    for one in open_ends:
        now[one.id] = _as_traced(one, now[one.id], traces[one.id], tree)
    grouped: dict[int, list[AnchorState]] = {}
    for anchor in anchors:
        grouped.setdefault(anchor.observation_id, []).append(now[anchor.id])
    return {observation_id: tuple(found) for observation_id, found in grouped.items()}


def _paired(
    anchors: Sequence[Anchor], states: Mapping[int, Sequence[AnchorState]]
) -> Sequence[tuple[Anchor, AnchorState]]:
    pending = {observation_id: iter(found) for observation_id, found in states.items()}
    return [(anchor, next(pending[anchor.observation_id])) for anchor in anchors]


def _as_traced(anchor: Anchor, state: AnchorState, found: Trace, tree: WorkingTree) -> AnchorState:
    """What history adds: the file's new name, a place among the files that changed with it, or who did it."""
    if found.path != anchor.path:
        file = tree.read(found.path)
        if moved := in_file(anchor, found.path, file, surely=True):
            return moved
        if isinstance(file, Unread) and not file.missing:
            return replace(state, state="unknown", now_path=found.path, reason=file.reason)
        if not isinstance(file, Unread):
            state = replace(state, state="changed", now_path=found.path)
    # Lines can leave a file that stays; a whole file that is still there changed, whatever copies of it there are.
    if anchor.lines is not None or state.state == "gone":
        # What a commit took away it may have put into another of its files; what is not committed stands nearby.
        nearby = found.candidates if found.departure else siblings(anchor, tree.root)
        if moved := in_files(anchor, nearby, tree):
            return moved
    # A file that is gone is told by who deleted it, whoever changed the text before.
    deed, uncommitted = found.departure, found.uncommitted
    if state.state == "gone":
        deed, uncommitted = found.removal, found.removal is None and (found.present or found.uncommitted)
    elif tree.is_linked(found.path):  # the history of the name is not that of the text
        return state
    if deed is None:
        return replace(
            state, uncommitted=uncommitted and (found.present or _may_be_committed(anchor, state, found.path, tree))
        )
    return replace(state, commit=deed.commit, author=deed.author, commits_ago=deed.commits_ago)


def _may_be_committed(anchor: Anchor, state: AnchorState, path: str, tree: WorkingTree) -> bool:
    """Whether a change is one that this repository waits for: not in a submodule, nor of a file it never had."""
    if anchor.blob is not None or tree.tracked is None or tree.tracked.get(path) is not None:
        return True
    return state.state != "gone" and not tree.is_nested(path)
