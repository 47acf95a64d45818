"""Commands for the file: stats, doctor, backup, restore, export, import, reindex; version and completion."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from engram_py.errors import StoreError
from engram_py.interfaces.cli.support import (
    here,
    json_command,
    json_option,
    memory,
    one_project_option,
    prints_result,
    progress,
    settings,
    show,
)

if TYPE_CHECKING:
    from engram_py.app import Engram

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
@json_command
def instance_id_command(as_json: bool) -> None:
    """Print the id of this database, which its server shows as instance_id at /health."""
    with memory() as app:
        name = app.browsing.instance()
    click.echo(f'{{"instance_id": "{name}"}}' if as_json else name)


@click.command("stats")
@one_project_option
@prints_result
def stats_command(app: Engram, project: str | None) -> object:
    """Count what is kept."""
    return app.contexts.stats(project)


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
    show(report, None, as_json=as_json)
    if report.status == "error":
        sys.exit(1)


@click.command("backup")
@click.argument("file", required=False, type=click.Path(path_type=Path), help="The new file; it must not exist.")
@prints_result
def backup_command(app: Engram, file: Path | None) -> object:
    """Copy the database while it is in use, by default to backups/ in the data directory."""
    with progress("Backing up") as report:
        return app.backups.create(here() / file if file else None, progress=report)


@click.command("restore")
@click.argument("file", type=click.Path(path_type=Path), help="A file made by `engram backup`.")
@json_command
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
@prints_result
def export_command(app: Engram, file: Path | None, version: Literal["0.1.0", "0.2.0"], project: str | None) -> object:
    """Write everything, or one project, as JSON that Engram reads too."""
    target = sys.stdout if file in (None, _STREAM) else here() / file
    exported = app.transfer.export(target, project=project, version=version)
    return exported if isinstance(target, Path) else None


@click.command("import")
@click.argument("file", required=False, type=click.Path(path_type=Path), help="The export; - reads standard input.")
@click.option("--from", "kind", type=click.Choice(SOURCES), help="Import from another program; FILE is its path.")
@click.option("--dry-run", is_flag=True, help="With --from: count, and write nothing.")
@click.option("--project", help="With --from: file all of it under this project.")
@prints_result
def import_command(app: Engram, file: Path | None, kind: str | None, dry_run: bool, project: str | None) -> object:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Twice changes nothing.

    With --from it reads what other programs kept, from FILE or from where that program keeps it: claude-memory and
    claude-transcripts (~/.claude/projects), claude-mem (~/.claude-mem/claude-mem.db), basic-memory (~/basic-memory),
    engram (~/.engram/engram.db), instructions (a CLAUDE.md or AGENTS.md, or a folder), server-memory (its file).
    """
    if kind is not None:
        path = _source(kind, file)
        with progress("Importing") as report:
            return app.adopting.adopt(kind, path, project=project, dry_run=dry_run, progress=report)
    if file is None or dry_run or project is not None:
        raise click.UsageError("name the export to read; --dry-run and --project go with --from")
    with progress("Importing") as report:
        return app.transfer.import_file(_standard_input() if file == _STREAM else here() / file, progress=report)


def _standard_input() -> BinaryIO:
    return sys.stdin.buffer if sys.stdin is not None else BytesIO()


def _source(kind: str, path: Path | None) -> Path:
    """Return the path to import from; by default where the program of that kind keeps its memory."""
    from engram_py.interchange.importers import KINDS

    usual = KINDS[kind][0]
    if path is None and not usual:
        raise click.UsageError(f"--from {kind} needs the path of the source")
    return here() / path if path is not None else Path.home() / usual


@click.command("reindex")
@prints_result
def reindex_command(app: Engram) -> object:
    """Rebuild the search index: derived terms and full-text indexes. Others may search and save meanwhile; after an
    interruption the next run continues."""
    with progress("Indexing") as report:
        return app.reindexing.run(progress=report)


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
