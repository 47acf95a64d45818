"""Commands for several observations: list, retag, delete, undelete, archive."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from engram_py.interfaces.cli.support import (
    OBSERVATION_ID,
    all_option,
    confirm,
    dry_run_option,
    json_option,
    limit_option,
    memory,
    printable,
    project_option,
    refusing,
    scope_option,
    show,
    where_option,
    yes_option,
)

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.observations.listing import Selection

_KINDS = {"obs": "obs", "observation": "obs", "session": "session", "project": "project", "prompt": "prompt"}


@click.command("list")
@click.argument("filters", nargs=-1, help="type: topic: project: scope: file: branch: since: until: is:pinned.")
@click.option("--type", "kind", help="Only this type; several with commas.")
@click.option("--deleted", is_flag=True, help="List what was deleted and can be restored.")
@scope_option
@project_option
@all_option
@limit_option(20)
@json_option
@refusing
def list_command(
    filters: tuple[str, ...],
    kind: str | None,
    deleted: bool,
    scope: str | None,
    project: str | None,
    all_projects: bool,
    limit: int,
    as_json: bool,
) -> None:
    """List observations, latest change first. `engram search` finds by words."""
    with memory() as app:
        rows = app.observations.listed(
            " ".join(filters),
            project=project,
            all_projects=all_projects,
            type=kind,
            scope=scope,
            deleted=deleted,
            limit=limit,
        )
        show(rows, app, as_json=as_json)


recent_command = list_command


@click.command("retag")
@click.argument("ids", nargs=-1, metavar="[ID]...", type=OBSERVATION_ID, help="Their numbers.")
@where_option
@click.option("--type", "kind", help="The new type.")
@click.option("--scope", help="The new scope: project, personal or global.")
@project_option
@all_option
@yes_option
@dry_run_option
@json_option
@refusing
def retag_command(
    ids: tuple[int, ...],
    where: str | None,
    kind: str | None,
    scope: str | None,
    project: str | None,
    all_projects: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Change the type or scope of observations, by number or with --where by filters.

    With --where the matches are shown first, and the command asks.
    """
    from engram_py.observations.values import Change

    _one_of(ids, where)
    if kind is None and scope is None:
        raise click.UsageError("pass --type or --scope with the new value")
    with memory() as app:
        rows = app.observations
        if where is None:
            selection = rows.select_ids(ids)
        else:
            selection = rows.select(where, project=project, all_projects=all_projects)
        what = " and ".join([*([f"type {kind}"] if kind else []), *([f"scope {scope}"] if scope else [])])
        if _agreed(app, selection, f"give {{}} {what}", asks=where is not None, yes=yes, dry=dry_run, as_json=as_json):
            show(rows.change_selected(selection, Change(type=kind, scope=scope)), app, as_json=as_json)


@click.command("delete")
@click.argument("words", nargs=-1, metavar="[ID]...", help="Numbers; or session ID, project NAME, prompt ID.")
@where_option
@click.option("--hard", is_flag=True, help="Destroy observations and their history; by number only.")
@project_option
@all_option
@yes_option
@dry_run_option
@json_option
@click.pass_context
@refusing
def delete_command(
    ctx: click.Context,
    words: tuple[str, ...],
    where: str | None,
    hard: bool,
    project: str | None,
    all_projects: bool,
    yes: bool,
    dry_run: bool,
    as_json: bool,
) -> None:
    """Hide observations by number, or destroy them with --hard.

    What --where, `delete session ID` and `delete project NAME` reach is shown and asked about first. Observations are
    hidden, and `engram undelete` brings them back; prompts and summaries of sessions are removed for good.
    """
    kind = _KINDS.get(words[0], "") if len(words) > 1 else ""
    names = words[1:] if kind else words
    _one_of(names, where)
    if kind == "prompt":
        _delete_prompts(_numbers(ctx, names), as_json=as_json)
        return
    if kind in ("session", "project") and len(names) > 1:
        raise click.UsageError(f"one {kind} at a time")
    if hard and (where is not None or kind in ("session", "project")):
        raise click.UsageError("--hard takes numbers only: engram delete 12 13 --hard")
    with memory() as app:
        rows = app.observations
        if where is not None:
            selection = rows.select(where, project=project, all_projects=all_projects)
        elif kind == "session":
            selection = rows.select_session(names[0])
        elif kind == "project":
            selection = rows.select_project(names[0])
        else:
            _delete_by_number(app, _numbers(ctx, names), hard=hard, dry=dry_run, as_json=as_json)
            return
        if _agreed(app, selection, "delete {}", asks=True, yes=yes, dry=dry_run, as_json=as_json):
            show(rows.delete_selected(selection), app, as_json=as_json)


@click.command("undelete")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", type=OBSERVATION_ID, help="Their numbers.")
@json_option
@refusing
def undelete_command(ids: tuple[int, ...], as_json: bool) -> None:
    """Bring back observations that were deleted without --hard."""
    from engram_py.observations.listing import Listing

    with memory() as app:
        with app.store.transaction():
            done = tuple(app.observations.undelete(one) for one in dict.fromkeys(ids))
        show(done[0] if len(ids) == 1 else Listing("undeleted", done), app, as_json=as_json)


def _put_away(ids: tuple[int, ...], *, archived: bool, as_json: bool) -> None:
    from engram_py.observations.listing import Listing
    from engram_py.observations.values import Change

    change = Change(archived=archived)
    with memory() as app:
        with app.store.transaction():
            done = tuple(app.observations.update(one, change) for one in dict.fromkeys(ids))
        show(done[0] if len(done) == 1 else Listing("archived", done), app, as_json=as_json)


@click.command("archive")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", type=OBSERVATION_ID, help="Their numbers.")
@json_option
@refusing
def archive_command(ids: tuple[int, ...], as_json: bool) -> None:
    """Put observations away: out of searches and contexts, kept whole. `engram search is:archived` lists them."""
    _put_away(ids, archived=True, as_json=as_json)


@click.command("unarchive")
@click.argument("ids", nargs=-1, required=True, metavar="ID...", type=OBSERVATION_ID, help="Their numbers.")
@json_option
@refusing
def unarchive_command(ids: tuple[int, ...], as_json: bool) -> None:
    """Take observations out of the archive."""
    _put_away(ids, archived=False, as_json=as_json)


def _delete_by_number(app: Engram, ids: tuple[int, ...], *, hard: bool, dry: bool, as_json: bool) -> None:
    if dry:
        show(app.observations.select_ids(ids), app, as_json=as_json)
    elif len(ids) == 1:
        show(app.observations.delete(ids[0], hard=hard), app, as_json=as_json)
    else:
        show(app.observations.delete_many(ids, hard=hard), app, as_json=as_json)


def _delete_prompts(ids: tuple[int, ...], *, as_json: bool) -> None:
    from engram_py.observations.listing import Listing

    with memory() as app:
        show(Listing("deleted", tuple(app.prompts.delete(one) for one in ids)), app, as_json=as_json)


def _numbers(ctx: click.Context, words: tuple[str, ...]) -> tuple[int, ...]:
    return tuple(OBSERVATION_ID.convert(word, ctx.command.params[0], ctx) for word in words)


def _one_of(words: tuple[object, ...], where: str | None) -> None:
    if bool(words) == (where is not None):
        raise click.UsageError("give numbers, or --where FILTERS" if not words else "numbers and --where: give one")


def _agreed(app: Engram, selection: Selection, todo: str, *, asks: bool, yes: bool, dry: bool, as_json: bool) -> bool:
    """Return whether to go on: shows what would be reached, and asks where ``asks``. Raises NotConfirmedError."""
    if dry:
        show(selection, app, as_json=as_json)
        return False
    if asks and (selection.ids or selection.prompts or selection.sessions):
        from engram_py.interfaces import render
        from engram_py.interfaces.wording_bulk import reached

        if not yes:
            click.echo(printable(render.text(selection, now=app.journal.moment())), err=True)
        confirm(todo.format(reached(selection)), yes=yes)
    return True
