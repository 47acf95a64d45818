"""What is about a file: what is anchored to it, and what names it in words."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.anchors.anchors import Anchors
from engram_py.database.store import Store
from engram_py.recall.index import table as index
from engram_py.recall.query.parse import phrase


class NamedFiles:
    """Finds observations by file where somebody asks for it. A path that was not there when it was saved has no anchor;
    the text still names it."""

    def __init__(self, store: Store, anchors: Anchors) -> None:
        self._store = store
        self._anchors = anchors

    def of_file(self, path: str, *, limit: int = 100, projects: Sequence[str] | None = None) -> list[int]:
        """Ids of the live observations anchored to ``path`` (see ``Anchors.of_file``; a name without a dot may be a
        folder's), then the newest that name it in title or text."""
        found = self._anchors.of_file(path, limit=limit, projects=projects)
        if "." not in path and not path.endswith("/"):
            found += self._anchors.of_file(f"{path}/", limit=limit, projects=projects)
        words = phrase(path.replace("\\", "/"))
        if words and ("." in path or "/" in path.strip("/")):
            found += index.newest_seen(self._store, f"{{title content}} : {words}", projects=projects, limit=limit)
        return list(dict.fromkeys(found))
