"""Commands for the file: stats, doctor, backup, restore, export, import, reindex; version and completion."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

import click

from engram_py.errors import StoreError
from engram_py.interfaces.cli.support import (
    here,
    json_option,
    memory,
    one_project_option,
    progress,
    refusing,
    settings,
    show,
)

_STREAM = Path("-")
SOURCES = (
    "claude-memory", "claude-transcripts", "instructions", "claude-mem", "server-memory", "basic-memory", "engram",
)  # fmt: skip


@click.command("version")
@json_option
def version_command(as_json: bool) -> None:
    """Print the version."""
    from engram_py.version import __version__

    click.echo(f'{{"version": "{__version__}"}}' if as_json else __version__)


@click.command("instance-id")
@json_option
@refusing
def instance_id_command(as_json: bool) -> None:
    """Print the id of this database, which its server shows as instance_id at /health."""
    with memory() as app:
        name = app.browsing.instance()
    click.echo(f'{{"instance_id": "{name}"}}' if as_json else name)


@click.command("stats")
@one_project_option
@json_option
@refusing
def stats_command(project: str | None, as_json: bool) -> None:
    """Count what is kept."""
    with memory() as app:
        show(app.contexts.stats(project), app, as_json=as_json)


@click.command("doctor")
@click.option("--check", metavar="NAME", help="Only this check, named as the report names it.")
@click.option("--fix", is_flag=True, help="Back up, then repair index, permissions and orphans.")
@json_option
@refusing
def doctor_command(check: str | None, fix: bool, as_json: bool) -> None:
    """Check the database. Exit code 1 when something is wrong."""
    loaded = settings()
    try:
        with memory() as app:
            report = app.doctor.examine(check=check, fix=fix, engram=as_json)
    except StoreError as exc:
        from engram_py.upkeep.doctor import report_unopened

        report = report_unopened(loaded.data_dir, exc)
    show(report, None, as_json=as_json)
    if report.status == "error":
        sys.exit(1)


@click.command("backup")
@click.argument("file", required=False, type=click.Path(path_type=Path), help="The new file; it must not exist.")
@json_option
@refusing
def backup_command(file: Path | None, as_json: bool) -> None:
    """Copy the database while it is in use, by default to backups/ in the data directory."""
    with memory() as app, progress("Backing up") as report:
        made = app.backups.create(here() / file if file else None, progress=report)
    show(made, app, as_json=as_json)


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path), help="A file made by `engram backup`.")
@json_option
@refusing
def restore_command(file: Path, as_json: bool) -> None:
    """Put the backup FILE in the database's place. What was there is kept and named."""
    from engram_py.upkeep.backups import restore

    loaded = settings()
    with progress("Restoring") as report:
        restored = restore(loaded.data_dir, here() / file, clock=loaded.clock, progress=report)
    show(restored, None, as_json=as_json)


@click.command("export")
@click.argument("file", required=False, type=click.Path(path_type=Path), help="- or none: standard output.")
@click.option("--format", "version", type=click.Choice(["0.1.0", "0.2.0"]), default="0.2.0", show_default=True,
              help="Engram's export version.")  # fmt: skip
@one_project_option
@json_option
@refusing
def export_command(file: Path | None, version: str, project: str | None, as_json: bool) -> None:
    """Write everything, or one project, as JSON that Engram reads too."""
    with memory() as app:
        target = sys.stdout if file in (None, _STREAM) else here() / file
        exported = app.transfer.export(target, project=project, version="0.1.0" if version == "0.1.0" else "0.2.0")
        if isinstance(target, Path):
            show(exported, app, as_json=as_json)


@click.command("import")
@click.argument("file", required=False, type=click.Path(path_type=Path), help="The export; - reads standard input.")
@click.option("--from", "kind", type=click.Choice(SOURCES), help="Import from another program; FILE is its path.")
@click.option("--dry-run", is_flag=True, help="With --from: count, and write nothing.")
@click.option("--project", help="With --from: file all of it under this project.")
@json_option
@refusing
def import_command(file: Path | None, kind: str | None, dry_run: bool, project: str | None, as_json: bool) -> None:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Twice changes nothing.

    With --from it reads what other programs kept, from FILE or from where that program keeps it: claude-memory and
    claude-transcripts (~/.claude/projects), claude-mem (~/.claude-mem/claude-mem.db), basic-memory (~/basic-memory),
    engram (~/.engram/engram.db), instructions (a CLAUDE.md or AGENTS.md, or a folder), server-memory (its file).
    """
    if kind is not None:
        _import_from(kind, file, project=project, dry_run=dry_run, as_json=as_json)
        return
    if file is None or dry_run or project is not None:
        raise click.UsageError("name the export to read; --dry-run and --project go with --from")
    with memory() as app, progress("Importing") as report:
        imported = app.transfer.import_file(_standard_input() if file == _STREAM else here() / file, progress=report)
    show(imported, app, as_json=as_json)


def _standard_input() -> BinaryIO:
    return sys.stdin.buffer if sys.stdin is not None else BytesIO()


def _import_from(kind: str, path: Path | None, *, project: str | None, dry_run: bool, as_json: bool) -> None:
    """Import from ``path``, or from where the program of that kind keeps its memory."""
    from engram_py.interchange.importers import KINDS

    usual = KINDS[kind][0]
    if path is None and not usual:
        raise click.UsageError(f"--from {kind} needs the path of the source")
    chosen = here() / path if path is not None else Path.home() / usual
    with memory() as app, progress("Importing") as report:
        done = app.adopting.adopt(kind, chosen, project=project, dry_run=dry_run, progress=report)
    show(done, app, as_json=as_json)


@click.command("reindex")
@json_option
@refusing
def reindex_command(as_json: bool) -> None:
    """Rebuild the search index: derived terms and full-text indexes. Others may search and save meanwhile; after an
    interruption the next run continues."""
    with memory() as app, progress("Indexing") as report:
        rebuilt = app.reindexing.run(progress=report)
    show(rebuilt, app, as_json=as_json)


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]), help="The shell to complete in.")
@json_option
def completion_command(shell: str, as_json: bool) -> None:
    """Print the script that completes commands and options with the Tab key.

    \b
    bash: engram completion bash > ~/.local/share/bash-completion/completions/engram
    zsh: engram completion zsh > a folder of $fpath, as _engram
    fish: engram completion fish > ~/.config/fish/completions/engram.fish
    """
    from click.shell_completion import get_completion_class

    from engram_py.interfaces.cli.main import cli

    completes = get_completion_class(shell)
    assert completes is not None
    script = completes(cli, {}, "engram", "_ENGRAM_COMPLETE").source()
    if as_json:
        import json

        script = json.dumps({"shell": shell, "script": script})
    click.echo(script)
