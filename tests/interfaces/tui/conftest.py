"""The terminal interface over the memory of the folder widgets, driven by textual's pilot in this process."""

from __future__ import annotations

import asyncio
import contextlib
import io
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import pytest
from rich.console import Console
from rich.theme import Theme
from textual.pilot import Pilot
from textual.widgets import Static
from textual.worker import WorkerCancelled

from engram_py import Draft, Engram
from engram_py.interfaces.tui.app import TerminalApp
from engram_py.interfaces.tui.navigation import STYLES


@dataclass
class Seen:
    """A running interface, and what a person sees of it."""

    pilot: Pilot[None]
    app: TerminalApp

    async def press(self, *keys: str) -> None:
        await self.pilot.press(*keys)
        await self.settled()

    async def type(self, text: str) -> None:
        """Narrow the list by a text."""
        await self.press("slash")
        await self.press(*("space" if char == " " else char for char in text), "enter")

    async def settled(self) -> None:
        """Wait until nothing is being read."""
        await self.pilot.pause()
        for _ in range(3):  # a list asks for its preview when it is there
            with contextlib.suppress(WorkerCancelled):  # the cursor went on
                await self.app.workers.wait_for_complete()
            await self.pilot.pause()

    async def until(self, holds: Callable[[], bool]) -> None:
        """Wait for what another process or a timer brings about."""
        async with asyncio.timeout(30):
            while not holds():
                await asyncio.sleep(0.02)

    @property
    def screen(self) -> list[str]:
        """The lines on the screen."""
        return ["".join(segment.text for segment in line) for line in self.app.screen._compositor.render_strips()]

    @property
    def text(self) -> str:
        return "\n".join(self.screen)

    @property
    def list(self) -> list[str]:
        """The lines of the list that hold a row."""
        rows = self.app.rows
        return [line for y in range(rows.size.height) if (line := rows.render_line(y).text.strip())]

    @property
    def preview(self) -> str:
        """The text beside the list, in lines of 400 cells."""
        written = io.StringIO()
        parts = self.app.screen_stack[0].query_one("#preview", Static).content
        Console(width=400, file=written, theme=Theme(STYLES)).print(parts)
        return "\n".join(line.rstrip() for line in written.getvalue().splitlines())

    @property
    def status(self) -> str:
        return self._static("status")

    def _static(self, name: str) -> str:
        shown: Any = self.app.screen_stack[0].query_one(f"#{name}", Static).visual
        return str(shown.plain)


@asynccontextmanager
async def opened(
    app: Engram, *, project: str | None = "widgets", size: tuple[int, int] = (80, 24)
) -> AsyncIterator[Seen]:
    """The interface as ``engram tui`` opens it."""
    interface = TerminalApp(app, project=project)
    async with interface.run_test(size=size) as pilot:
        seen = Seen(pilot, interface)
        await seen.settled()
        yield seen


@pytest.fixture
def kept(app: Engram) -> Engram:
    """A memory of three decisions."""
    for title, text in (
        ("Access tokens live 15 minutes", "Refresh tokens live 30 days and rotate on use."),
        ("Prices are integers of cents", "Money(amount, currency) is the only constructor."),
        ("Webhooks may arrive twice", "The handler keeps the ids of events it has seen."),
    ):
        app.save(Draft(title, text, type="decision"))
    return app
