"""Looks for a text that is not where it was, in the few files it may have gone to."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path, PurePosixPath

from engram_py.anchors.spans import distinctive, find_span, place_of
from engram_py.anchors.states import moved
from engram_py.anchors.values import Anchor, AnchorState
from engram_py.anchors.worktree import Content, Unread, WorkingTree
from engram_py.times import parse_time

_MOST_SIBLINGS = 12
_MOST_ENTRIES = 2_000
_LEAST_FILE = 64  # bytes: every repository has several files that are empty, or nearly


def in_file(anchor: Anchor, path: str, file: Content | Unread, *, surely: bool) -> AnchorState | None:
    """Where the anchor's text stands in another file. Unless that is ``surely`` the same file under a new name, the
    text must say enough not to be there by chance."""
    mark = anchor.mark
    if mark is None:
        return None
    if isinstance(file, Unread):
        return moved(anchor, path, anchor.start_line) if file.blob and file.blob == anchor.blob else None
    if anchor.lines is None or anchor.start_line is None:
        same = file.digest == anchor.file_digest or (not file.binary and file.text_digest == mark.digest)
        return moved(anchor, path, None) if same and (surely or len(file.data) >= _LEAST_FILE) else None
    if surely:
        place = place_of(file.lines, mark, anchor.start_line, anchor.lines)
        return None if place is None else moved(anchor, path, place)
    places = find_span(file.lines, mark, anchor.lines)
    if len(places) != 1 or not distinctive(file.lines[places[0] : places[0] + anchor.lines]):
        return None
    return moved(anchor, path, places[0] + 1)


def in_files(anchor: Anchor, paths: Iterable[str], tree: WorkingTree) -> AnchorState | None:
    for path in paths:
        if path != anchor.path and (found := in_file(anchor, path, tree.read(path), surely=False)):
            return found
    return None


def same_blob(anchor: Anchor, tree: WorkingTree) -> AnchorState | None:
    """The file under another name, as git tracks it: a rename that was staged, or committed without a change."""
    if tree.tracked is None or anchor.blob is None:
        return None
    same = [*islice(tree.tracked.with_blob(anchor.blob), 2)]
    if len(same) != 1 or same[0].path == anchor.path:
        return None
    return in_file(anchor, same[0].path, tree.read(same[0].path), surely=True)


def siblings(anchor: Anchor, root: str) -> Iterator[str]:
    """Files of the same kind in the anchor's folder that were written since it was recorded, the newest first."""
    folder = PurePosixPath(anchor.path).parent
    recorded = parse_time(anchor.recorded_at) or datetime.now(UTC)
    found: list[tuple[float, str]] = []
    try:
        with os.scandir(Path(root, folder)) as entries:
            for count, entry in enumerate(entries):
                if count >= _MOST_ENTRIES:
                    break
                if entry.name.endswith(PurePosixPath(anchor.path).suffix) and entry.is_file(follow_symlinks=False):
                    written = entry.stat(follow_symlinks=False).st_mtime
                    if written >= recorded.timestamp() - 1:
                        found.append((written, entry.name))
    except (OSError, ValueError):
        return
    for _, name in sorted(found, reverse=True)[:_MOST_SIBLINGS]:
        yield (folder / name).as_posix()
