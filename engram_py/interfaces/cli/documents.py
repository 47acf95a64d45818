"""``engram collection``: the repository's history, its documents, and folders of one's own; ``engram tour`` of them;
``engram note`` and ``engram vault``: the day's notes, and the memory as a folder of Markdown.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.base.files import here
from engram_py.interfaces.cli.commands import (
    PATH,
    all_option,
    dry_run_option,
    group,
    json_command,
    limit_option,
    memory,
    options_of,
    project_option,
    project_options,
    result_command,
    settings,
    show,
    text_argument,
)
from engram_py.interfaces.cli.progress import progress_bars
from engram_py.interfaces.operations import IMPORT_VAULT, WRITE_FILE

if TYPE_CHECKING:
    from engram_py.app import Engram


name_argument = click.argument("name", help="Its name, as `engram collection list` shows it.")

collection_command = group(
    "collection", "Index documents: git history, docs, folders; by default it lists them.", alone="list"
)


def index_documents() -> str:
    """Index what the repository of this folder has, unless that is switched off; what there is, in words."""
    from engram_py.base.git.repository import find_repository

    chosen = settings()
    if not chosen.documents or find_repository(here()) is None:
        return ""
    from engram_py.interfaces.wording.documents import holdings

    with memory() as app:
        if not app.projects.for_read().project:
            return ""
        with progress_bars() as report:
            app.documents.update(report=report)
        found = app.documents.overview()
    return f"Indexed {holdings(found)}; `engram tour` shows the best." if not found.is_nothing else ""


@result_command("list", limit_option(100, whole=True), project_options, of=collection_command)
def list_command(app: Engram, project: str | None, all_projects: bool) -> object:
    """List the collections of the project."""
    return app.documents.collections(project=project, all_projects=all_projects)


@result_command("add", of=collection_command)
@click.argument("path", type=PATH, help="A folder or a file.")
@click.option("--name", help="Its name; default: the folder's.")
@click.option("--glob", multiple=True, help="Which files, as in '*.md,notes/*.txt'; default: every kind of text.")
@click.option("--context", help="What these documents are; each hit shows it.")
@project_option
def add_command(
    app: Engram, path: Path, name: str | None, glob: tuple[str, ...], context: str | None, project: str | None
) -> object:
    """Add PATH as a collection and index it."""
    return app.documents.add(str(path), name=name, glob=glob, context=context, project=project)


@result_command("update", of=collection_command)
@click.argument("name", required=False, help="Only this collection; default: all that are included.")
@project_option
def update_command(app: Engram, name: str | None, project: str | None) -> object:
    """Index what changed since the last time."""
    with progress_bars() as report:
        return app.documents.update(name, project=project, report=report)


@result_command("remove", name_argument, project_option, of=collection_command)
def remove_command(app: Engram, name: str, project: str | None) -> object:
    """Forget a collection; its files stay. `git` and `docs` come back only with `engram collection include NAME`."""
    return app.documents.remove(name, project=project)


@result_command("include", name_argument, project_option, of=collection_command)
def include_command(app: Engram, name: str, project: str | None) -> object:
    """Include a collection in updates and searches."""
    return app.documents.include(name, project=project)


@result_command("exclude", name_argument, project_option, of=collection_command)
def exclude_command(app: Engram, name: str, project: str | None) -> object:
    """Exclude a collection from updates, and from searches that do not name it."""
    return app.documents.include(name, included=False, project=project)


@result_command("context", name_argument, of=collection_command)
@click.argument("text", help="What the documents are. An empty text removes it.")
@click.option("--prefix", default="/", show_default=True, help="Only below this path.")
@project_option
def context_command(app: Engram, name: str, text: str, prefix: str, project: str | None) -> object:
    """Describe the documents of a collection; every hit shows the text."""
    return app.documents.describe(name, text, prefix=prefix, project=project)


@result_command("cleanup", dry_run_option, project_option, all_option, of=collection_command)
def cleanup_command(app: Engram, dry_run: bool, project: str | None, all_projects: bool) -> object:
    """Forget documents that are gone from their collections."""
    return app.documents.cleanup(project=project, all_projects=all_projects, dry_run=dry_run)


@result_command("tour", project_option)
def tour_command(app: Engram, project: str | None) -> object:
    """Show three questions that this repository's history and documents already answer."""
    with progress_bars() as report:
        app.documents.update(project=project, report=report)
    return app.documents.tour(project=project)


path_argument = click.argument("path", help="Relative to the vault, as in knowledge/databases.md.")


@result_command("note")
@click.argument("text", required=False, help="The note; - reads standard input. Without it, print the notes.")
@click.option("--day", help="Print the notes of this day, as in 2026-03-14 or yesterday.")
@project_option
def note_command(app: Engram, text: str | None, day: str | None, project: str | None) -> object:
    """Append a note to today's notes, or print the notes of a day."""
    if text is None:
        return app.notes.of_day(day, project=project)
    if day is not None:
        raise click.UsageError("--day prints notes; a new one is always today's")
    return app.notes.add(text_argument(text), project=project)


vault_command = group("vault", "Keep the memory as a folder of Markdown files: write it, and import your edits.")


@result_command("init", of=vault_command)
@click.argument("path", type=PATH, help="An empty folder, or a new one.")
@project_option
def init_command(app: Engram, path: Path, project: str | None) -> object:
    """Make PATH the vault of this project and write the memory there."""
    return app.vault.init(path, project=project)


@result_command("export", project_option, of=vault_command)
def export_command(app: Engram, project: str | None) -> object:
    """Write the memory to the vault."""
    return app.vault.export(project=project)


@result_command("import", options_of(IMPORT_VAULT), of=vault_command)
@click.option("--mine", is_flag=True, help="Say that the edits are yours, in a folder that git shares.")
def import_command(app: Engram, mine: bool, **given: Any) -> object:
    """Read your edits into the memory, then write the vault again.

    `engram undelete` brings back what --prune deletes.
    """
    return IMPORT_VAULT(app, given, mine=mine)


@result_command("status", project_option, of=vault_command)
def status_command(app: Engram, project: str | None) -> object:
    """Print where the vault is, and which files are edited or out of date."""
    return app.vault.status(project=project)


@vault_command.command("watch")
@project_option
@json_command
def watch_command(project: str | None, *, as_json: bool) -> None:
    """Import edits and write changes continuously, until Ctrl-C. Without the package watchfiles it looks every two
    seconds."""
    from engram_py.sharing.vault.vault import watch

    with memory() as app:
        for done in watch(app.vault, project=project):
            show(done, app.settings, as_json=as_json)


@result_command("write", options_of(WRITE_FILE), of=vault_command)
def write_command(app: Engram, **given: Any) -> object:
    """Write a file of the vault."""
    return WRITE_FILE(app, given)


@vault_command.command("read")
@path_argument
@project_option
@json_command
def read_command(path: str, project: str | None, *, as_json: bool) -> None:
    """Print a file of the vault. Exit code 1: no such file."""
    with memory() as app:
        found = app.vault_files.read(path, project=project)
        show(found, app.settings, as_json=as_json)
    if not found.found:
        sys.exit(1)


@vault_command.command("exists")
@path_argument
@project_option
@json_command
def exists_command(path: str, project: str | None, *, as_json: bool) -> None:
    """Exit with 0 if the vault has the file, else with 1."""
    with memory() as app:
        exists = app.vault_files.exists(path, project=project)
    if as_json:
        click.echo("true" if exists else "false")
    sys.exit(not exists)


@result_command("list", of=vault_command)
@click.argument("folder", required=False, default="", help="A folder of the vault; default: all of it.")
@limit_option(100, whole=True)
@project_option
def list_files(app: Engram, folder: str, project: str | None) -> object:
    """List the files of the vault."""
    return app.vault_files.list(folder, project=project)
