"""What became of anchors: first by the working tree alone, then, for what changed, by git's history."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.anchors.spans import place_of
from engram_py.anchors.values import NOT_HERE, NOT_READ, SAVED_OUTSIDE, Anchor, AnchorState
from engram_py.anchors.worktree import DIRECTORY, Content, Unread, WorkingTree


def local_states(anchors: Sequence[Anchor], tree: WorkingTree | None) -> tuple[AnchorState, ...]:
    """The states as far as the files tell: a text that moved to another file is ``changed`` or ``gone`` here."""
    if tree is None:
        return tuple(_unknown(anchor, _not_read(anchor, NOT_HERE)) for anchor in anchors)
    return tuple(local_state(anchor, tree.read(anchor.path) if anchor.digest else None) for anchor in anchors)


def local_state(anchor: Anchor, file: Content | Unread | None) -> AnchorState:
    """The state of one anchor in the file that stands at its path."""
    mark = anchor.mark
    if mark is None or file is None:
        return _unknown(anchor, _not_read(anchor, NOT_READ))
    if isinstance(file, Unread):
        if file.missing or file.reason == DIRECTORY:
            return _state(anchor, "gone")
        return _state(anchor, "fresh") if file.blob and file.blob == anchor.blob else _unknown(anchor, file.reason)
    if file.digest == anchor.file_digest:
        return _state(anchor, "fresh")
    if anchor.start_line is None or anchor.lines is None:
        same = not file.binary and file.text_digest == mark.digest
        return _state(anchor, "fresh" if same else "changed")
    place = place_of(file.lines, mark, anchor.start_line, anchor.lines)
    if place is None:
        return _state(anchor, "changed")
    if place == anchor.start_line:
        return _state(anchor, "fresh")
    return moved(anchor, anchor.path, place)


def moved(anchor: Anchor, path: str, start: int | None) -> AnchorState:
    end = None if start is None or anchor.lines is None else start + anchor.lines - 1
    return AnchorState(anchor.path, anchor.start_line, anchor.end_line, "moved", path, start, end)


def never_was(reason: str, states: Sequence[AnchorState]) -> tuple[AnchorState, ...]:
    """The states of an observation that was made on a branch which HEAD does not have: what is not here never was."""
    return tuple(
        AnchorState(one.path, one.start, one.end, "unknown", one.now_path, reason=reason) if one.stale else one
        for one in states
    )


def _state(anchor: Anchor, word: str) -> AnchorState:
    assert word in ("fresh", "changed", "gone")
    return AnchorState(anchor.path, anchor.start_line, anchor.end_line, word)  # type: ignore[arg-type]


def _not_read(anchor: Anchor, otherwise: str) -> str:
    """Why an anchor has no text to compare; the file may be another by now."""
    if anchor.reason is None or anchor.reason in (SAVED_OUTSIDE, NOT_READ):
        return anchor.reason or otherwise
    return f"{anchor.reason} when it was saved"


def _unknown(anchor: Anchor, reason: str) -> AnchorState:
    return AnchorState(anchor.path, anchor.start_line, anchor.end_line, "unknown", reason=reason)
