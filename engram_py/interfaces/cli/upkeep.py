"""Commands that check the database, copy it, put a copy in its place, run upkeep and rebuild the index."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from engram_py.base.database.filesystem import DATABASE_NAME
from engram_py.base.errors import StoreError
from engram_py.interfaces.cli.commands import (
    PATH,
    confirm,
    json_command,
    limit_option,
    memory,
    result_command,
    settings,
    show,
    yes_option,
)
from engram_py.interfaces.cli.progress import interruptible, progress

if TYPE_CHECKING:
    from engram_py.app import Engram


@click.command("doctor")
@click.option("--check", metavar="NAME", help="Only this check, by its name in the report.")
@click.option("--fix", is_flag=True, help="Back up, then repair index, permissions and orphans.")
@json_command
def doctor_command(check: str | None, fix: bool, as_json: bool) -> None:
    """Check the database. Exit code 1 when something is wrong."""
    loaded = settings()
    try:
        with memory() as app:
            report = app.doctor.examine(check=check, fix=fix, engram=as_json)
    except StoreError as exc:
        from engram_py.upkeep.doctor import report_unopened

        report = report_unopened(loaded.data_dir, exc)
    show(report, loaded, as_json=as_json)
    if report.status == "error":
        sys.exit(1)


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


@result_command("reindex")
def reindex_command(app: Engram) -> object:
    """Rebuild the search index. Searches and saves work meanwhile; after an interruption the next run continues."""
    with progress("Indexing") as report:
        return app.reindexing.run(progress=report)


@result_command("maintain")
@click.argument(
    "name",
    metavar="[PASS]",
    required=False,
    help="distill: summarize sessions; heartbeat: find entities in new rows; consolidate: archive unused derived "
    "memories; synthesize: write entity summaries. Default: all that are due.",
)
def maintain_command(app: Engram, name: str | None) -> object:
    """Run upkeep now: summarize sessions, find entities in new rows, archive unused derived memories, write summaries.

    Servers do this by themselves, and so does the end of a session. Only derived memories are archived.
    """
    with interruptible("what was finished is kept, and the rest stays due"):
        return app.maintenance.run(name)


@result_command("runs")
@click.argument("name", metavar="[PASS]", required=False, help="Only this pass.")
@limit_option(20)
def runs_command(app: Engram, name: str | None, limit: int) -> object:
    """List the latest runs of upkeep, with results and duration."""
    return app.upkeep_reports.runs(name=name, limit=limit)
