"""Finds observations by the place their file has now, when it was another one that was recorded."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence

from engram_py.models.anchor import AnchorState
from engram_py.models.observation import Observation
from engram_py.services.anchor_places import Here
from engram_py.store import anchors as table
from engram_py.store.database import Store

_MOST_PATHS = 2_000  # looked for on the disk, at a few microseconds each
_MOST_ROWS = 10

StatesOf = Callable[[Sequence[Observation]], Mapping[int, Sequence[AnchorState]]]


def moved_to(
    store: Store, path: str, here: Here, states: StatesOf, *, projects: Sequence[str] | None, limit: int
) -> list[int]:
    """Ids of observations of the project here whose file of that name is gone from its place, and is ``path`` (or ends
    in it) now as far as ``states`` can tell; the newest first.

    Files that got another name are not looked for: each file that is gone would have to be followed through history.
    """
    names = sorted(name for name in here.names if projects is None or name in projects)
    if here.tree is None or not names:
        return []
    name = path.rsplit("/", 1)[-1]
    known = [one for one in table.paths(store, names, limit=_MOST_PATHS) if one.rsplit("/", 1)[-1] == name]
    gone = [one for one in known if not _is_there(here.tree.root, one)]
    rows = table.at_paths(store, gone, projects=names, limit=_MOST_ROWS) if gone else []
    found = states(rows) if rows else {}
    return [row.id for row in rows if any(_is_at(state, path) for state in found.get(row.id, ()))][:limit]


def _is_at(state: AnchorState, path: str) -> bool:
    now = state.now_path
    return now is not None and now != state.path and (now == path or now.endswith(f"/{path}"))


def _is_there(root: str, path: str) -> bool:
    try:
        return os.path.lexists(f"{root}/{path}")
    except (OSError, ValueError):
        return True  # no path at all, so it did not move either
