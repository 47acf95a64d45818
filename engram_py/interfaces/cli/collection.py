"""``engram collection``: the repository's history, its documents, and folders of one's own; ``engram tour`` of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engram_py.interfaces.cli.commands import (
    all_option,
    dry_run_option,
    group,
    here,
    memory,
    prints_result,
    project_option,
    project_options,
    settings,
)
from engram_py.interfaces.cli.terminal import progress_bars

if TYPE_CHECKING:
    from engram_py.app import Engram

name_argument = click.argument("name", help="Its name, as `engram collection list` shows it.")

collection_command = group(
    "collection", "Index documents: git history, docs, folders; alone it lists them.", alone="list"
)


def index_documents() -> str:
    """Index what the repository of this folder has, unless that is switched off; what there is, in words."""
    from engram_py.git.repository import find_repository

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


@collection_command.command("list")
@project_options
@prints_result
def list_command(app: Engram, project: str | None, all_projects: bool) -> object:
    """List the collections of the project."""
    return app.documents.collections(project=project, all_projects=all_projects)


@collection_command.command("add")
@click.argument("path", help="A folder or a file.")
@click.option("--name", help="Its name; default: the folder's.")
@click.option("--glob", multiple=True, help="Which files, as in '*.md,notes/*.txt'; default: every kind of text.")
@click.option("--context", help="What these documents are, shown with each hit.")
@project_option
@prints_result
def add_command(
    app: Engram, path: str, name: str | None, glob: tuple[str, ...], context: str | None, project: str | None
) -> object:
    """Add PATH as a collection and index it."""
    return app.documents.add(path, name=name, glob=glob, context=context, project=project)


@collection_command.command("update")
@click.argument("name", required=False, help="Only this collection; default: all that are included.")
@project_option
@prints_result
def update_command(app: Engram, name: str | None, project: str | None) -> object:
    """Index what changed since the last time."""
    with progress_bars() as report:
        return app.documents.update(name, project=project, report=report)


@collection_command.command("remove")
@name_argument
@project_option
@prints_result
def remove_command(app: Engram, name: str, project: str | None) -> object:
    """Forget a collection; its files stay. `git` and `docs` stay excluded until they are included."""
    return app.documents.remove(name, project=project)


@collection_command.command("include")
@name_argument
@project_option
@prints_result
def include_command(app: Engram, name: str, project: str | None) -> object:
    """Let updates and searches read a collection."""
    return app.documents.include(name, project=project)


@collection_command.command("exclude")
@name_argument
@project_option
@prints_result
def exclude_command(app: Engram, name: str, project: str | None) -> object:
    """Leave a collection out of updates and of searches that do not name it."""
    return app.documents.include(name, included=False, project=project)


@collection_command.command("context")
@name_argument
@click.argument("text", help="What the documents are; empty takes it back.")
@click.option("--prefix", default="/", show_default=True, help="Only below this path.")
@project_option
@prints_result
def context_command(app: Engram, name: str, text: str, prefix: str, project: str | None) -> object:
    """Say what the documents of a collection are; every hit shows it."""
    return app.documents.describe(name, text, prefix=prefix, project=project)


@collection_command.command("cleanup")
@dry_run_option
@project_option
@all_option
@prints_result
def cleanup_command(app: Engram, dry_run: bool, project: str | None, all_projects: bool) -> object:
    """Forget documents that are gone from their collections."""
    return app.documents.cleanup(project=project, all_projects=all_projects, dry_run=dry_run)


@click.command("tour")
@project_option
@prints_result
def tour_command(app: Engram, project: str | None) -> object:
    """Show the three most telling things that this repository's history and documents answer already."""
    with progress_bars() as report:
        app.documents.update(project=project, report=report)
    return app.documents.tour(project=project)
