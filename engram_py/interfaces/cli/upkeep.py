"""Commands for the database: stats, cost, doctor, backup, restore, reindex, and the passes of upkeep."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.dataclass import replace
from engram_py.errors import StoreError
from engram_py.interfaces.cli.commands import (
    PATH,
    here,
    json_command,
    limit_option,
    memory,
    one_project_option,
    prints_result,
    prints_value,
    project_options,
    settings,
)
from engram_py.interfaces.cli.terminal import progress, show

if TYPE_CHECKING:
    from engram_py.app import Engram


@click.command("instance-id")
@prints_value
def instance_id_command() -> tuple[object, str]:
    """Print the id of this database, which its server shows as instance_id at /health."""
    with memory() as app:
        name = app.browsing.instance()
    return {"instance_id": name}, name


@click.command("stats")
@one_project_option
@prints_result
def stats_command(app: Engram, project: str | None) -> object:
    """Count what is kept."""
    return app.contexts.stats(project)


@click.command("cost")
@click.option("--session", "session_id", help="Count one session only.")
@one_project_option
@click.option("--days", type=click.IntRange(min=1), help="Count the last days only, today included (UTC).")
@prints_result
def cost_command(app: Engram, **options: Any) -> object:
    """Show what answers and injections took in tokens (bytes / 4), which memories were injected, recalled, cited and
    never used, and what the tools' schemas and the instructions cost each session.

    Answers through hooks, MCP and HTTP are counted, on this machine only; those of the command line are not.
    """
    from engram_py.interfaces.mcp.profiles import profile_costs

    return replace(app.costs.of(**options), profiles=profile_costs())


@click.command("doctor")
@click.option("--check", metavar="NAME", help="Only this check, named as the report names it.")
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


@click.command("backup")
@click.argument("file", required=False, type=PATH, help="The new file; it must not exist.")
@prints_result
def backup_command(app: Engram, file: Path | None) -> object:
    """Copy the database while it is in use, by default to backups/ in the data directory."""
    with progress("Backing up") as report:
        return app.backups.create(here() / file if file else None, progress=report)


@click.command("restore")
@click.argument("file", type=PATH, help="A file made by `engram backup`.")
@json_command
def restore_command(file: Path, as_json: bool) -> None:
    """Put the backup FILE in the database's place. What was there is kept and named."""
    from engram_py.upkeep.backups import restore

    loaded = settings()
    with progress("Restoring") as report:
        restored = restore(loaded.data_dir, here() / file, clock=loaded.clock, progress=report)
    show(restored, loaded, as_json=as_json)


@click.command("reindex")
@prints_result
def reindex_command(app: Engram) -> object:
    """Rebuild the search index: derived terms and full-text indexes. Others may search and save meanwhile; after an
    interruption the next run continues."""
    with progress("Indexing") as report:
        return app.reindexing.run(progress=report)


@click.command("maintain")
@click.argument(
    "name", metavar="[PASS]", required=False, help="heartbeat, consolidate or synthesize; default: what is due."
)
@prints_result
def maintain_command(app: Engram, name: str | None) -> object:
    """Tend the memory now: notice names, let what nobody uses fade, write summaries.

    Servers do that by themselves, and so does the end of a session. Only what was derived fades or is put away.
    """
    return app.maintenance.run(name)


@click.command("runs")
@click.argument("name", metavar="[PASS]", required=False, help="Only this pass.")
@limit_option(20)
@prints_result
def runs_command(app: Engram, name: str | None, limit: int) -> object:
    """List the latest runs of upkeep: what they did, and how long they took."""
    return app.upkeep_reports.runs(name=name, limit=limit)


@click.command("hot")
@click.argument("count", metavar="[N]", type=int, required=False, default=10, help="How many of each.")
@project_options
@prints_result
def hot_command(app: Engram, count: int, project: str | None, *, all_projects: bool) -> object:
    """List the memories and the entities that are used most."""
    return app.upkeep_reports.hot(limit=count, project=project, all_projects=all_projects)
