"""What files said when an observation was saved about them, beside what they say now."""

from __future__ import annotations

from engram_py.anchors.spans import place_of
from engram_py.anchors.values import Anchor, AnchorState, FileTexts
from engram_py.anchors.worktree import MAX_FILE, OUTSIDE, Content, Unread, WorkingTree, is_relative
from engram_py.git.history import is_commit
from engram_py.git.program import Deadline, ask_git
from engram_py.git.repository import Repository

NOT_COMMITTED = "git does not have the text that it was saved about"
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
    before, after = (one.data.decode("utf-8", "replace") for one in (then, now))
    return FileTexts(state, before, after, span=_span(anchor, then))


def _then(anchor: Anchor, repository: Repository, deadline: Deadline) -> Content | str:
    """Return the file as it was saved about, or for a span one that holds its lines; else why there is none."""
    if not is_relative(anchor.path):
        return OUTSIDE
    commit, blob = (one if one and is_commit(one) else None for one in (anchor.git_commit, anchor.blob))
    for name in filter(None, (blob, commit and f"{commit}:{anchor.path}")):
        answer = ask_git(repository.root, "cat-file", "blob", name, deadline=deadline, limit=MAX_FILE)
        if answer is None or not answer[1]:
            continue
        found = Content(answer[0])
        if anchor.digest is not None and (_span(anchor, found) or anchor.digest in (found.digest, found.text_digest)):
            return found
    return NOT_COMMITTED


def _span(anchor: Anchor, file: Content) -> tuple[int, int] | None:
    """Return the first and last line of the anchor's span in ``file``, from 1; None where it has none there."""
    if anchor.mark is None or anchor.start_line is None or anchor.lines is None:
        return None
    start = place_of(file.lines, anchor.mark, anchor.start_line, anchor.lines)
    return None if start is None else (start, start + anchor.lines - 1)
