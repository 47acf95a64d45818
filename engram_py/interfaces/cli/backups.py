"""Commands that copy the database and put a copy in its place."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from engram_py.base.database.filesystem import DATABASE_NAME
from engram_py.interfaces.cli.commands import (
    PATH,
    confirm,
    json_command,
    result_command,
    settings,
    show,
    yes_option,
)
from engram_py.interfaces.cli.progress import progress

if TYPE_CHECKING:
    from engram_py.app import Engram


@result_command("backup")
@click.argument("file", required=False, type=PATH, help="The new file; it must not exist.")
def backup_command(app: Engram, file: Path | None) -> object:
    """Copy the database while it is in use, by default to backups/ in the data directory."""
    with progress("Backing up", "no copy was made") as report:
        return app.backups.create(file, progress=report)


@click.command("restore")
@click.argument("file", type=PATH, help="A file made by `engram backup`.")
@yes_option
@json_command
def restore_command(file: Path, yes: bool, as_json: bool) -> None:
    """Replace the database by the backup FILE, after asking. The replaced file is kept, and its path is printed."""
    from engram_py.base.database.backup import check_backup, restore

    loaded = settings()
    there = loaded.data_dir / DATABASE_NAME
    if not yes and there.exists():
        check_backup(file, loaded.data_dir)
        confirm(f"put {file} in the place of {there}", yes=yes)
    with progress("Restoring", "the memory is whole, as it was or as in the backup") as report:
        restored = restore(loaded.data_dir, file, clock=loaded.clock, progress=report)
    show(restored, loaded, as_json=as_json)
