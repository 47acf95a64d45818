"""``engram note`` and ``engram vault``: the day's notes, and the memory as a folder of Markdown."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.commands import (
    PATH,
    dry_run_option,
    group,
    json_command,
    memory,
    prints_result,
    project_option,
)
from engram_py.interfaces.cli.terminal import text_argument

if TYPE_CHECKING:
    from engram_py.app import Engram

path_argument = click.argument("path", help="Relative to the vault, as in knowledge/databases.md.")


@click.command("note")
@click.argument("text", required=False, help="The note; - reads standard input. Left out, the notes are printed.")
@click.option("--day", help="Print the notes of this day, as in 2026-03-14 or yesterday.")
@project_option
@prints_result
def note_command(app: Engram, text: str | None, day: str | None, project: str | None) -> object:
    """Append a note to today's, or print those of a day."""
    if text is None:
        return app.notes.of_day(day, project=project)
    if day is not None:
        raise click.UsageError("--day prints notes; a new one is always today's")
    return app.notes.add(text_argument(text), project=project)


vault_command = group("vault", "The memory as a folder of Markdown: write it, edit it, take the edits back.")


@vault_command.command("init")
@click.argument("path", type=PATH, help="An empty folder, or a new one.")
@project_option
@prints_result
def init_command(app: Engram, path: Path, project: str | None) -> object:
    """Make PATH this project's vault, and write it."""
    return app.vault.init(path, project=project)


@vault_command.command("export")
@project_option
@prints_result
def export_command(app: Engram, project: str | None) -> object:
    """Write the memory as it is now."""
    return app.vault.export(project=project)


@vault_command.command("import")
@click.option("--prune", is_flag=True, help="Delete what is missing of an edited file; engram undelete brings it back.")
@dry_run_option
@project_option
@prints_result
def import_command(app: Engram, **options: Any) -> object:
    """Take in what was edited, item by item, and write the vault anew."""
    return app.vault.take_in(**options)


@vault_command.command("status")
@project_option
@prints_result
def status_command(app: Engram, project: str | None) -> object:
    """Print where the vault is, and what is not taken in or not written yet."""
    return app.vault.status(project=project)


@vault_command.command("watch")
@project_option
@json_command
def watch_command(project: str | None, *, as_json: bool) -> None:
    """Take in edits as they are saved, and write what changes, until Ctrl-C. Follows the folder with watchfiles where
    that is installed (engram-py[watch]), else looks every two seconds."""
    from engram_py.interfaces.cli.terminal import show
    from engram_py.vault.watching import watch

    with memory() as app:
        for done in watch(app.vault, project=project):
            show(done, app.settings, as_json=as_json)


@vault_command.command("write")
@path_argument
@click.argument("text", help="The text; - reads standard input.")
@click.option("--append", is_flag=True, help="Put it behind what is there.")
@project_option
@prints_result
def write_command(app: Engram, path: str, text: str, **options: Any) -> object:
    """Write a file of the vault."""
    return app.vault_files.write(path, text_argument(text), **options)


@vault_command.command("read")
@path_argument
@project_option
@json_command
def read_command(path: str, project: str | None, *, as_json: bool) -> None:
    """Print a file of the vault. Exit code 1: there is none of this path."""
    from engram_py.interfaces.cli.terminal import show

    with memory() as app:
        found = app.vault_files.read(path, project=project)
        show(found, app.settings, as_json=as_json)
    if not found.found:
        sys.exit(1)


@vault_command.command("list")
@click.argument("folder", required=False, default="", help="A folder of the vault; default: all of it.")
@project_option
@prints_result
def list_command(app: Engram, folder: str, project: str | None) -> object:
    """List the files of the vault."""
    return app.vault_files.list(folder, project=project)
