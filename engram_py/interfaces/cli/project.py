"""Commands for projects: init, projects."""

from __future__ import annotations

import click

from engram_py.interfaces.cli.support import (
    agreed,
    confirm,
    dry_run_option,
    here,
    json_option,
    memory,
    pass_json_on,
    refusing,
    show,
    yes_option,
)


@click.command("init")
@click.argument("name", required=False, help="The project; default: what the repository or folder suggests.")
@click.option("--force", is_flag=True, help="Write the file even when there is one.")
@json_option
@refusing
def init_command(name: str | None, force: bool, as_json: bool) -> None:
    """Write .engram.json at the top of the repository: which project it is, for everyone who clones it."""
    from engram_py.errors import InvalidProjectError
    from engram_py.projects.locate import locate
    from engram_py.projects.names import normalize_project
    from engram_py.projects.settings_file import write_project_settings

    found = locate(here())
    suggested = name if name is not None else found.name
    if suggested is None:
        raise InvalidProjectError("", "this folder does not suggest one, so it has to be given")
    project = normalize_project(suggested)
    root = found.repository.root if found.repository else here()
    path = write_project_settings(root, project, force=force)
    if as_json:
        import json

        click.echo(json.dumps({"path": str(path), "project": project}, ensure_ascii=False))
    else:
        click.echo(f"Wrote {path}: everything saved below it belongs to {project}. Commit it to share the name.")


@click.group("projects", invoke_without_command=True)
@json_option
@click.pass_context
def projects_command(ctx: click.Context, as_json: bool) -> None:
    """List, merge, rename and prune projects; alone it lists them."""
    if not pass_json_on(ctx, as_json=as_json):
        ctx.invoke(list_command, as_json=as_json)


@projects_command.command("list")
@json_option
@refusing
def list_command(as_json: bool = False) -> None:
    """List all projects, the most recently active first."""
    from engram_py.observations.listing import Listing

    with memory() as app:
        show(Listing("projects", app.projects.list()), app, as_json=as_json)


@projects_command.command("current")
@json_option
@refusing
def current_command(as_json: bool) -> None:
    """Print which project this folder is, and why."""
    with memory() as app:
        show(app.projects.current(), app, as_json=as_json)


@projects_command.command("merge")
@click.argument("names", nargs=-1, required=True, help="The projects to merge.")
@click.option("--into", "into", required=True, help="The project to merge into.")
@json_option
@refusing
def merge_command(names: tuple[str, ...], into: str, as_json: bool) -> None:
    """Merge projects into one; the old names keep working."""
    with memory() as app:
        show(app.merging.merge(names, into), app, as_json=as_json)


@projects_command.command("rename")
@click.argument("project", help="The project.")
@click.argument("name", help="The new name; no project may have it.")
@json_option
@refusing
def rename_command(project: str, name: str, as_json: bool) -> None:
    """Rename a project; the old name keeps working."""
    with memory() as app:
        show(app.merging.rename(project, name), app, as_json=as_json)


@projects_command.command("consolidate")
@click.argument("name", required=False, help="Only the projects like this one.")
@yes_option
@dry_run_option
@json_option
@refusing
def consolidate_command(name: str | None, yes: bool, dry_run: bool, as_json: bool) -> None:
    """Find projects whose names are alike, and merge each group after asking.

    Projects of different remotes are never put together. Without a terminal and --yes, nothing is merged.
    """
    from engram_py.observations.listing import Listing

    with memory() as app:
        groups = app.merging.alike(name)
        if dry_run or not groups:
            show(Listing("alike", groups), app, as_json=as_json)
            return
        done = []
        for group in groups:
            if agreed(f"merge {', '.join(group.names)} into {group.into}", yes=yes):
                done.append(app.merging.merge(group.names, group.into))
        show(Listing("merged", tuple(done)), app, as_json=as_json)


@projects_command.command("prune")
@yes_option
@dry_run_option
@json_option
@refusing
def prune_command(yes: bool, dry_run: bool, as_json: bool) -> None:
    """Remove empty projects, after asking. A project with restorable deletions is not empty."""
    with memory() as app:
        found = app.merging.prune(dry_run=True)
        if found.names and not dry_run:
            confirm(f"remove {', '.join(found.names)}", yes=yes)
            found = app.merging.prune()
        show(found, app, as_json=as_json)


@projects_command.command("alias")
@click.argument("alias", help="The other name.")
@click.argument("project", help="The project it means.")
@json_option
@refusing
def alias_command(alias: str, project: str, as_json: bool) -> None:
    """Make ALIAS another name of PROJECT."""
    with memory() as app:
        alias, project = app.merging.alias(alias, project)
    if as_json:
        import json

        click.echo(json.dumps({"alias": alias, "project": project}, ensure_ascii=False))
    else:
        click.echo(f"{alias} is {project} now")
