"""``engram init`` and ``engram projects``."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engram_py.interfaces.cli.collection import index_documents
from engram_py.interfaces.cli.commands import (
    dry_run_option,
    group,
    here,
    memory,
    prints_result,
    prints_value,
    yes_option,
)
from engram_py.interfaces.cli.terminal import confirm, confirmed
from engram_py.observations.listing import Listing

if TYPE_CHECKING:
    from engram_py.app import Engram


@click.command("init")
@click.argument("name", required=False, help="The project; default: what the repository or folder suggests.")
@click.option("--force", is_flag=True, help="Write the file even when there is one.")
@prints_value
def init_command(name: str | None, force: bool) -> tuple[object, str]:
    """Write .engram.json at the top of the repository: which project it is, for everyone who clones it."""
    from engram_py.projects.locate import locate
    from engram_py.projects.names import normalize_project
    from engram_py.projects.settings_file import write_project_settings
    from engram_py.projects.values import InvalidProjectError

    found = locate(here())
    suggested = name if name is not None else found.name
    if suggested is None:
        raise InvalidProjectError("", "this folder does not suggest one, so it has to be given")
    project = normalize_project(suggested)
    root = found.repository.root if found.repository else here()
    path = write_project_settings(root, project, force=force)
    with memory() as app:
        app.projects.confirm()
    said = f"Wrote {path}: everything saved below it belongs to {project}. Commit it to share the name."
    documents = index_documents()
    return {"path": str(path), "project": project}, "\n".join(filter(None, (said, documents)))


projects_command = group("projects", "List, merge, rename and prune projects; alone it lists them.", alone="list")


@projects_command.command("list")
@prints_result
def list_command(app: Engram) -> Listing:
    """List all projects, the most recently active first."""
    return Listing("projects", app.projects.list())


@projects_command.command("current")
@prints_result
def current_command(app: Engram) -> object:
    """Print which project this folder is, and why."""
    return app.projects.current()


@projects_command.command("confirm")
@prints_value
def confirm_command() -> tuple[object, str]:
    """Follow the project name in this folder's .engram.json, though that project has memory of other places."""
    with memory() as app:
        project = app.projects.confirm()
    return {"project": project}, f"This folder is project {project} from now on, as its .engram.json says."


@projects_command.command("merge")
@click.argument("names", nargs=-1, required=True, help="The projects to merge.")
@click.option("--into", "into", required=True, help="The project to merge into.")
@prints_result
def merge_command(app: Engram, names: tuple[str, ...], into: str) -> object:
    """Merge projects into one; the old names keep working."""
    return app.merging.merge(names, into)


@projects_command.command("rename")
@click.argument("project", help="The project.")
@click.argument("name", help="The new name; no project may have it.")
@prints_result
def rename_command(app: Engram, project: str, name: str) -> object:
    """Rename a project; the old name keeps working."""
    return app.merging.rename(project, name)


@projects_command.command("consolidate")
@click.argument("name", required=False, help="Only the projects like this one.")
@yes_option
@dry_run_option
@prints_result
def consolidate_command(app: Engram, name: str | None, yes: bool, dry_run: bool) -> Listing:
    """Find projects whose names are alike, and merge each group after asking.

    Projects of different remotes are never put together. Without a terminal and --yes, nothing is merged.
    """
    groups = app.merging.alike(name)
    if dry_run or not groups:
        return Listing("alike", groups)
    chosen = (one for one in groups if confirmed(f"merge {', '.join(one.names)} into {one.into}", yes=yes))
    return Listing("merged", tuple(app.merging.merge(one.names, one.into) for one in chosen))


@projects_command.command("prune")
@yes_option
@dry_run_option
@prints_result
def prune_command(app: Engram, yes: bool, dry_run: bool) -> object:
    """Remove empty projects, after asking. A project with restorable deletions is not empty."""
    found = app.merging.prune(dry_run=True)
    if not found.names or dry_run:
        return found
    confirm(f"remove {', '.join(found.names)}", yes=yes)
    return app.merging.prune()


@projects_command.command("alias")
@click.argument("alias", help="The other name.")
@click.argument("project", help="The project it means.")
@prints_value
def alias_command(alias: str, project: str) -> tuple[object, str]:
    """Make ALIAS another name of PROJECT."""
    with memory() as app:
        alias, project = app.merging.alias(alias, project)
    return {"alias": alias, "project": project}, f"{alias} is {project} now"
