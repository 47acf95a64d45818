"""``engram sync --cloud``: one exchange with the server, in the foreground."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from engram_py.interfaces.cli.support import show

if TYPE_CHECKING:
    from engram_py.app import Engram


def sync_cloud(app: Engram, *, as_json: bool) -> None:
    """Exchange with the server and print what came of it; exit code 1 when they are not in step."""
    from engram_py.sync.autosync import sync_cloud_now

    with _bars() as report:
        done = sync_cloud_now(app, report)
    show(done, app, as_json=as_json)
    if done.outcome != "done":
        sys.exit(1)


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int], None] | None]:
    """A bar for each direction, on stderr when that is a terminal, else None."""
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                tasks[what] = bar.add_task(what, total=None)
            bar.update(tasks[what], completed=done, total=max(done, total) or None)

        yield report
