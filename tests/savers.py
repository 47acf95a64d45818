"""What processes that save at once do. They import this module, and pay for nothing that a test needs."""

from __future__ import annotations

from contextlib import closing
from pathlib import Path
from threading import Barrier

from engram_py import Engram
from engram_py.database.store import Store
from engram_py.observations.values import Draft

_barrier: Barrier


def join(barrier: Barrier) -> None:
    global _barrier  # noqa: PLW0603 - a spawned process can only be given a barrier when it starts
    _barrier = barrier


def save_many(folder: str, process: int, saves: int) -> list[str]:
    _barrier.wait(timeout=60)
    with Engram(folder, directory=folder, project="widgets") as app:
        drafts = (Draft(f"Row {row} of process {process}", f"Fact {process}-{row}.") for row in range(saves))
        return [app.save(draft).sync_id for draft in drafts]


def open_many(folder: str, process: int, files: int) -> None:
    """Open each of so many new memories at the same moment as the others, and write to it."""
    for file in range(files):
        _barrier.wait(timeout=60)
        with closing(Store.open(Path(folder) / str(file))) as store, store.transaction():
            store.insert("meta", {"key": f"process-{process}", "value": "here"})
