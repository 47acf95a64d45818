"""``engram export`` and ``engram import``."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Literal

import click

from engram_py.interfaces.cli.commands import PATH, here, one_project_option, prints_result
from engram_py.interfaces.cli.terminal import can_ask, printable, progress

if TYPE_CHECKING:
    from engram_py.app import Engram

_STREAM = Path("-")
SOURCES = (
    "claude-memory", "claude-transcripts", "instructions", "claude-mem", "server-memory", "basic-memory", "engram",
)  # fmt: skip


@click.command("export")
@click.argument("file", required=False, type=PATH, help="- or none: standard output.")
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
@click.argument("file", required=False, type=PATH, help="The export; - reads standard input.")
@click.option("--from", "kind", type=click.Choice(SOURCES), help="Import from another program; FILE is its path.")
@click.option("--dry-run", is_flag=True, help="With --from: count, and write nothing.")
@click.option("--project", help="With --from: file all of it under this project.")
@click.option("--trust", is_flag=True, help="The memories are your own; else they are kept apart, as not checked.")
@prints_result
def import_command(
    app: Engram, file: Path | None, kind: str | None, dry_run: bool, project: str | None, trust: bool
) -> object:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Twice changes nothing.

    What a file says of itself makes nothing yours: you are asked at a terminal, and --trust says so. What a program
    keeps in your home directory, at its usual place, is.

    With --from it reads what other programs kept, from FILE or from where that program keeps it: claude-memory and
    claude-transcripts (~/.claude/projects), claude-mem (~/.claude-mem/claude-mem.db), basic-memory (~/basic-memory),
    engram (~/.engram/engram.db), instructions (a CLAUDE.md or AGENTS.md, or a folder), server-memory (its file).
    """
    if kind is not None:
        path = _source(kind, file)
        own = file is None or dry_run or _is_own(path, trust)
        with progress("Importing") as report:
            return app.adopting.adopt(kind, path, project=project, dry_run=dry_run, trusted=own, progress=report)
    if file is None or dry_run or project is not None:
        raise click.UsageError("name the export to read; --dry-run and --project go with --from")
    own = _is_own(file, trust)
    with progress("Importing") as report:
        source = _standard_input() if file == _STREAM else here() / file
        return app.transfer.import_file(source, trusted=own, progress=report)


def _is_own(file: Path, said: bool) -> bool:
    """Return whether the user says that the memories of a file are their own."""
    if said or file == _STREAM or not can_ask():
        return said
    return click.confirm(printable(f"Are the memories in {file} your own? Others stay apart, as not checked"), err=True)


def _standard_input() -> BinaryIO:
    return sys.stdin.buffer if sys.stdin is not None else BytesIO()


def _source(kind: str, path: Path | None) -> Path:
    """Return the path to import from; by default where the program of that kind keeps its memory."""
    from engram_py.interchange.importers import KINDS

    usual = KINDS[kind][0]
    if path is None and not usual:
        raise click.UsageError(f"--from {kind} needs the path of the source")
    return here() / path if path is not None else Path.home() / usual
