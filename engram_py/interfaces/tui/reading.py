"""Ask the services of the open memory on a worker thread, as a person who looks."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import datetime
from typing import Any, TypeVar

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.doors import through
from engram_py.interfaces.cli.terminal import local_now

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class View:
    """What a list or a preview is made from: the memory, the time, and the project it is narrowed to, None for all."""

    app: Engram
    now: datetime
    project: str | None

    @property
    def place(self) -> dict[str, Any]:
        """The project, as most services take it."""
        return {"project": self.project, "all_projects": self.project is None}


class Reader:
    """Runs calls of services in threads, so that keys are answered meanwhile.

    Reading counts nothing as shown and teaches no search, as on the page: each call has a view of its own.
    """

    def __init__(self, app: Engram, project: str | None) -> None:
        self._app = app
        self.project = project

    async def ask(self, work: Callable[[View], T]) -> T:
        """Return what ``work`` makes of the memory. Raises what it raises."""
        return await asyncio.to_thread(self.ask_here, work)

    def ask_here(self, work: Callable[[View], T]) -> T:
        """Do the same in this thread."""
        with through("cli"):
            app = self._app.standing_in(None)
            with app.usage.paused():
                return work(View(app, local_now(app.settings), self.project))

    async def version(self) -> object:
        """Return what is another value after every write of any process."""
        return await asyncio.to_thread(self._app.store.version)
