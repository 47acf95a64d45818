"""A process with vectors: it answers each line of stdin, a question, with a line of JSON.

Arguments: the data directory, the embedder, and flags: ``stuck`` never answers a question about a cliff, ``bare`` has
no numpy, ``command`` does not stay.
"""

from __future__ import annotations

import json
import sys
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

if "bare" in sys.argv:
    sys.modules["numpy"] = None  # type: ignore[assignment]

from engram_py.base.database.store import Store
from engram_py.recall.vectors.vectors import Vectors


class Loader:
    """Loads the embedder that counts letters, and counts how often."""

    def __init__(self) -> None:
        self.loads = 0

    def __call__(self, *_: Any, **__: Any) -> Any:
        from tests.embedders import TinyEmbedder

        self.loads += 1
        embedder = TinyEmbedder()
        if "stuck" in sys.argv:
            embedder.refuses = _stick
        return embedder


def _stick(text: str) -> None:
    if "cliff" in text:
        sys.stdout.write("stuck\n")
        sys.stdout.flush()
        time.sleep(600)


def main() -> None:
    loader = Loader()
    vectors = Vectors(
        Store.open(Path(sys.argv[1])), lambda: datetime(2026, 3, 1, 10, tzinfo=UTC), embedder=sys.argv[2], load=loader
    )
    if "command" not in sys.argv:
        vectors.start()
    print(json.dumps({"started": True}), flush=True)
    for line in sys.stdin:
        started = time.monotonic()
        near = vectors.nearest(line.strip())
        answer = {
            "hits": [row for row, _ in near.hits],
            "note": near.note and near.note.name,
            "loads": loader.loads,
            "process": vectors.state().process,
            "seconds": time.monotonic() - started,
        }
        print(json.dumps(answer), flush=True)
    vectors.close()


if __name__ == "__main__":
    main()
