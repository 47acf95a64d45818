"""What processes that write at once do. They import this module, and pay for nothing that a test needs."""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import closing
from multiprocessing.queues import Queue
from pathlib import Path
from threading import Barrier
from typing import TypeAlias

from engram_py import Engram
from engram_py.base.database.store import Store
from engram_py.memory.observations.values import Draft
from engram_py.memory.projects.locate import write_binding

_barrier: Barrier


def join(barrier: Barrier) -> None:
    global _barrier  # noqa: PLW0603 - a spawned process can only be given a barrier when it starts
    _barrier = barrier


def save_many(folder: str, process: int, saves: int) -> list[str]:
    _barrier.wait(timeout=60)
    with Engram(folder, directory=folder, project="widgets") as app:
        drafts = (Draft(f"Row {row} of process {process}", f"Fact {process}-{row}.") for row in range(saves))
        return [app.save(draft).sync_id for draft in drafts]


def save_the_same(folder: str, saves: int) -> list[int]:
    """Save one text again and again, at the same moment as the others."""
    _barrier.wait(timeout=60)
    with Engram(folder, directory=folder, project="widgets") as app:
        return [app.save(Draft("Use pnpm", "Its lock file is committed.")).id for _ in range(saves)]


def open_many(folder: str, process: int, files: int) -> None:
    """Open each of so many new memories at the same moment as the others, and write to it."""
    for file in range(files):
        _barrier.wait(timeout=60)
        with closing(Store.open(Path(folder) / str(file))) as store, store.transaction():
            store.insert("meta", {"key": f"process-{process}", "value": "here"})


type_ = 0
Bound: TypeAlias = "Queue[tuple[str, str] | None]"
Binder: TypeAlias = "Callable[[str, str, Barrier, Bound], None]"


def bind(folder: str, name: str, barrier: Barrier, results: Bound) -> None:
    barrier.wait()
    binding = write_binding(Path(folder), name)
    results.put((binding.id, binding.project) if binding else None)


def bind_without_links(folder: str, name: str, barrier: Barrier, results: Bound) -> None:
    def refuse(*args: object) -> None:
        raise PermissionError

    os.link = refuse  # type: ignore[assignment]
    bind(folder, name, barrier, results)
