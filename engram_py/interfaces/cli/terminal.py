"""What a command prints, its progress, and what it asks."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING

import click

from engram_py.dataclass import is_dataclass, replace
from engram_py.errors import NotConfirmedError
from engram_py.text.fences import visible

if TYPE_CHECKING:
    from engram_py.settings import Settings


def show(value: object, settings: Settings, *, as_json: bool) -> None:
    """Print a result: JSON, a table on a terminal, or plain text; what is not the result goes to stderr."""
    from engram_py.interfaces.wording import render

    if as_json:
        print_value(render.to_json(value), "", as_json=True)
        return
    now = local_now(settings)
    notes = getattr(value, "warnings", ())
    if notes and is_dataclass(value) and not isinstance(value, type):
        value = replace(value, warnings=())
    if sys.stdout is None or not sys.stdout.isatty():
        text = render.text(value, now=now, full=True)
        click.echo(text, nl=bool(text))
    else:
        from engram_py.interfaces.cli.tables import print_table

        if not print_table(value, now):
            click.echo(printable(render.text(value, now=now, full=True)))
    print_notes(notes)


def print_notes(notes: Iterable[str]) -> None:
    """Print notes on stderr."""
    for note in notes:
        click.echo(f"note: {printable(note)}", err=True)


def print_value(value: object, text: str, *, as_json: bool) -> None:
    """Print a value as JSON, or ``text`` in its place."""
    if not as_json:
        click.echo(printable(text))
        return
    import json

    click.echo(json.dumps(value, ensure_ascii=False, indent=2))


def printable(text: str) -> str:
    """Return text without what could move the cursor, answer for the user, or hide."""
    return visible(text)


def local_now(settings: Settings) -> datetime:
    """Return the present time in the display zone."""
    if not settings.timezone:
        return settings.clock().astimezone()
    from zoneinfo import ZoneInfo

    return settings.clock().astimezone(ZoneInfo(settings.timezone))


@contextmanager
def progress(label: str) -> Iterator[Callable[[int, int], None] | None]:
    """Show a progress bar on stderr when that is a terminal; yield ``report(done, total)``, else None."""
    with progress_bars() as report:
        yield None if report is None else functools.partial(report, label)


@contextmanager
def progress_bars() -> Iterator[Callable[[str, int, int], None] | None]:
    """Show several progress bars; yield ``report(label, done, total)``, None when stderr is no terminal."""
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


def can_ask() -> bool:
    """Return whether standard input is a terminal, so that somebody can be asked."""
    return sys.stdin is not None and sys.stdin.isatty()


def confirmed(what: str, *, yes: bool) -> bool:
    """Return whether the user agrees to ``what``. Raises NotConfirmedError when nobody can be asked."""
    if yes:
        return True
    try:
        return click.confirm(f"{what[:1].upper()}{what[1:]}?", err=True)
    except click.Abort:
        if can_ask():  # Ctrl-C
            raise
        click.echo(err=True)
        raise NotConfirmedError(what) from None


def confirm(what: str, *, yes: bool) -> None:
    """Ask whether to do ``what``. Raises NotConfirmedError for a no as well."""
    if not confirmed(what, yes=yes):
        raise NotConfirmedError(what)


def text_argument(value: str) -> str:
    """Return an argument, or standard input for ``-``."""
    if value != "-":
        return value
    return sys.stdin.read() if sys.stdin is not None else ""
