"""Commands that write an export, and read exports and the memories of other programs."""

from __future__ import annotations

import sys
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import click

from engram_py.base.files import in_home
from engram_py.base.text.normalize import visible
from engram_py.interfaces.cli.commands import (
    PATH,
    STREAM,
    can_ask,
    one_project_option,
    result_command,
)
from engram_py.interfaces.cli.progress import progress

if TYPE_CHECKING:
    from engram_py.app import Engram


SOURCES = (
    "claude-memory", "claude-transcripts", "instructions", "claude-mem", "server-memory", "basic-memory", "engram",
)  # fmt: skip


@result_command("export")
@click.argument("file", required=False, type=PATH, help="The file to write; default, or with -: standard output.")
@click.option("--format", "version", type=click.Choice(["0.1.0", "0.2.0"]), default="0.2.0", show_default=True,
              help="Engram's export version.")  # fmt: skip
@click.option("--plain", is_flag=True, help="Write the export of an encrypted memory unencrypted.")
@one_project_option
def export_command(
    app: Engram, file: Path | None, version: Literal["0.1.0", "0.2.0"], plain: bool, project: str | None
) -> object:
    """Write everything, or one project, as JSON that Engram reads too. The export of an encrypted memory is encrypted;
    only machines with the key can import it.
    """
    target = sys.stdout if file in (None, STREAM) else file
    exported = app.transfer.export(target, project=project, version=version, plain=plain)
    if app.store.key:
        said = "anyone can read this export" if plain else "The export is encrypted; --plain writes it unencrypted."
        click.echo(f"note: {said}", err=True)
    return exported if isinstance(target, Path) else None


@result_command("import")
@click.argument("file", required=False, type=PATH, help="The export; - reads standard input.")
@click.option("--from", "kind", type=click.Choice(SOURCES), help="Import from another program; FILE is its path.")
@click.option("--dry-run", is_flag=True, help="With --from: count the memories, and write nothing.")
@click.option("--project", help="With --from: put all memories into this project.")
@click.option("--mine", is_flag=True, help="Say that the memories are your own history; else they are not checked.")
@click.option("--trust", is_flag=True, hidden=True, help="The same as --mine.")
def import_command(
    app: Engram, file: Path | None, kind: str | None, dry_run: bool, project: str | None, mine: bool, trust: bool
) -> object:
    """Read an export of Engram (0.1.0, 0.2.0) or of this program: all of it or nothing. Importing it again changes
    nothing.

    A memory that you exported yourself, on a machine with your key, is your own, and so is what lies in a program's
    usual place in your home directory. Of any other file the command asks; --mine says yes. Else its memories count
    as not checked: pins, preferences and next steps of sessions are not given to agents.

    With --from it reads the memory of another program, from FILE or from its usual place: claude-memory and
    claude-transcripts (~/.claude/projects), claude-mem (~/.claude-mem/claude-mem.db), basic-memory (~/basic-memory),
    engram (~/.engram/engram.db), instructions (a CLAUDE.md or AGENTS.md, or a folder), server-memory (its file).
    """
    if kind is not None:
        path = _source(kind, file)
        own = file is None or dry_run or _is_own(path, mine or trust)
        with progress("Importing", _IMPORTED) as report:
            return app.importers.adopt(kind, path, project=project, dry_run=dry_run, trusted=own, progress=report)
    if file is None or dry_run or project is not None:
        raise click.UsageError("name the export to read; --dry-run and --project go with --from")
    own = _is_own(file, mine or trust)
    with progress("Importing", _IMPORTED) as report:
        source = (sys.stdin.buffer if sys.stdin is not None else BytesIO()) if file == STREAM else file
        return app.transfer.import_file(source, trusted=own, progress=report)


_IMPORTED = "the import was done completely or not at all; running the same command again is safe"


def _is_own(file: Path, said: bool) -> bool:
    """Return whether the user says that the memories of a file are their own."""
    if said or file == STREAM or not can_ask() or not file.exists():  # the import says that it is missing
        return said
    return click.confirm(
        visible(f"Is {file} your own history? Otherwise agents see its memories marked as not checked."), err=True
    )


def _source(kind: str, path: Path | None) -> Path:
    """Return the path to import from; by default where the program of that kind keeps its memory."""
    from engram_py.sharing.interchange.importers import KINDS

    usual = KINDS[kind][0]
    if path is None and not usual:
        raise click.UsageError(f"--from {kind} needs the path of the source")
    return path if path is not None else in_home(usual)
