"""Show how far a long command is, say what Ctrl-C leaves, and compute the vectors that are pending after one."""

from __future__ import annotations

import functools
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from engram_py.base.dataclass import replace
from engram_py.base.reasons import reason
from engram_py.interfaces.background import start_in_background

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.recall.vectors.values import Embedded

# Observations that a command computes vectors of, beyond that it takes minutes; a passage of a document is as long as
# ten of them.
_MOST_AT_ONCE, _OF_A_PASSAGE = 2_000, 10
_PATIENCE_SECONDS = 5.0  # of a person who waits for the command
_FEW = 16  # no bar for these
_COMPUTED = "the vectors so far are kept, and `engram vectors on` computes the rest"
GOES_ON = "what was done so far is kept; the same command continues from there"


@contextmanager
def interruptible(kept: str = GOES_ON) -> Iterator[None]:
    """Say on stderr what was ``kept`` when Ctrl-C ends the block."""
    try:
        yield
    except KeyboardInterrupt:
        click.echo(f"\nengram: stopped; {kept}", err=True)
        raise


@contextmanager
def progress(label: str, kept: str = GOES_ON) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar on stderr when that is a terminal; yield ``report(done, total)``, else None."""
    with progress_bars(kept) as report:
        yield None if report is None else functools.partial(report, label)


@contextmanager
def progress_bars(kept: str = GOES_ON) -> Iterator[Callable[[str, int, int], None] | None]:
    """Show several progress bars; yield ``report(label, done, total)``, None when stderr is no terminal.

    Ctrl-C says what was ``kept``.
    """
    with interruptible(kept), _bars() as report:
        yield report


@contextmanager
def _bars() -> Iterator[Callable[[str, int, int], None] | None]:
    if sys.stderr is None or not sys.stderr.isatty():
        yield None
        return
    from rich.console import Console
    from rich.progress import Progress, TaskID

    with Progress(console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, TaskID] = {}

        def report(label: str, done: int, total: int) -> None:
            if label not in tasks:
                tasks[label] = bar.add_task(label, total=None)
            bar.update(tasks[label], completed=done, total=max(done, total) or None)

        yield report


def compute_vectors(app: Engram, *, wait: bool = False) -> Embedded:
    """Compute what is pending. Of a large memory the rest goes on in the background, and a warning says how long.

    Raises EmbedderError.
    """
    memories, documents = app.vectors.pending()
    whole = wait or memories + documents * _OF_A_PASSAGE <= _MOST_AT_ONCE
    many = memories + documents > _FEW
    with progress("Computing vectors", _COMPUTED) if many else interruptible(_COMPUTED) as report:
        done = app.vectors.compute(progress=report, seconds=None if whole else _PATIENCE_SECONDS)
    left = done.state.lacking
    if not left or whole or reason("vectors_elsewhere") in done.warnings:
        return done
    folder, setting = app.settings.data_dir.absolute(), app.settings.embedder
    start_in_background("engram_py", "--data-dir", str(folder), "vectors", "on", setting, "--wait", folder=folder)
    minutes = math.ceil(left * done.seconds / max(1, done.observations + done.documents) / 60)
    said = (
        f"the other {left:,} are computed in the background, about {minutes:,} min; `engram vectors` shows the progress"
    )
    return replace(done, warnings=(*done.warnings, said))
