"""``engram retag`` and ``engram delete``, of several observations at once."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from engram_py.interfaces.cli.commands import OBSERVATION_ID, many_options, prints_result
from engram_py.interfaces.cli.terminal import confirm, printable
from engram_py.observations.listing import Listing
from engram_py.observations.values import Change

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram_py.app import Engram
    from engram_py.observations.listing import Selection

_KINDS = {"obs": "obs", "observation": "obs", "session": "session", "project": "project", "prompt": "prompt"}


@click.command("retag")
@click.argument("ids", nargs=-1, metavar="[ID]...", type=OBSERVATION_ID, help="Their numbers.")
@click.option("--type", help="The new type.")
@click.option("--scope", help="The new scope: project, personal or global.")
@many_options
@prints_result
def retag_command(
    app: Engram,
    ids: tuple[int, ...],
    where: str | None,
    type: str | None,
    scope: str | None,
    yes: bool,
    dry_run: bool,
    **projects: Any,
) -> object:
    """Change the type or scope of observations, by number or with --where by filters.

    With --where the matches are shown first, and the command asks.
    """
    _one_of(ids, where)
    if type is None and scope is None:
        raise click.UsageError("pass --type or --scope with the new value")
    rows = app.observations
    selection = rows.select_ids(ids) if where is None else rows.select(where, **projects)
    if dry_run:
        return selection
    if where is not None:
        what = " and ".join(f"{name} {new}" for name, new in (("type", type), ("scope", scope)) if new)
        _confirm(app, selection, f"give {{}} {what}", yes=yes)
    return rows.change_selected(selection, Change(type=type, scope=scope))


@click.command("delete")
@click.argument("words", nargs=-1, metavar="[ID]...", help="Numbers; or session ID, project NAME, prompt ID.")
@click.option("--hard", is_flag=True, help="Destroy observations and their history; by number only.")
@many_options
@prints_result
def delete_command(
    app: Engram, words: tuple[str, ...], where: str | None, hard: bool, yes: bool, dry_run: bool, **projects: Any
) -> object:
    """Hide observations by number, or destroy them with --hard.

    What --hard, --where, `delete session`, `delete project` and `delete prompt` reach is shown and asked about first.
    Observations are hidden, and `engram undelete` brings them back; prompts and summaries of sessions are removed for
    good.
    """
    kind = _KINDS.get(words[0], "") if len(words) > 1 else ""
    names = words[1:] if kind else words
    _one_of(names, where)
    if kind == "prompt":
        return delete_prompts(app, _numbers(names), yes=yes, **projects)
    if kind in ("session", "project") and len(names) > 1:
        raise click.UsageError(f"one {kind} at a time")
    if hard and (where is not None or kind in ("session", "project")):
        raise click.UsageError("--hard takes numbers only: engram delete 12 13 --hard")
    rows = app.observations
    if where is not None:
        selection = rows.select(where, **projects)
    elif kind == "session":
        selection = rows.select_session(names[0])
    elif kind == "project":
        selection = rows.select_project(names[0])
    else:
        return _delete_by_number(app, _numbers(names), hard=hard, yes=yes, dry_run=dry_run)
    if dry_run:
        return selection
    _confirm(app, selection, "delete {}", yes=yes)
    return rows.delete_selected(selection)


def _delete_by_number(app: Engram, ids: tuple[int, ...], *, hard: bool, yes: bool, dry_run: bool) -> object:
    if dry_run or hard:
        selection = app.observations.select_ids(ids, hard=hard)
        if dry_run:
            return selection
        _confirm(app, selection, "destroy {} for good", yes=yes)
    done = app.observations.delete_many(ids, hard=hard)
    return done[0] if len(done) == 1 else Listing("deleted", done)


def delete_prompts(app: Engram, ids: Sequence[int], *, yes: bool, **projects: Any) -> Listing:
    """Show the prompts, ask, and remove them for good. Raises PromptNotFoundError, NotConfirmedError."""
    from engram_py.interfaces.wording.phrases import amount, one_line

    found = app.prompts.named(ids, **projects)
    if not yes:
        for prompt in found:
            click.echo(printable(f"[{prompt.id}] {one_line(prompt.content)}"), err=True)
    confirm(f"destroy {amount(len(found), 'prompt')} for good", yes=yes)
    return Listing("deleted", app.prompts.delete_many([prompt.id for prompt in found]))


def _numbers(words: tuple[str, ...]) -> tuple[int, ...]:
    ctx = click.get_current_context()
    return tuple(OBSERVATION_ID.convert(word, ctx.command.params[0], ctx) for word in words)


def _one_of(words: tuple[object, ...], where: str | None) -> None:
    if bool(words) == (where is not None):
        raise click.UsageError("give numbers, or --where FILTERS" if not words else "numbers and --where: give one")


def _confirm(app: Engram, selection: Selection, todo: str, *, yes: bool) -> None:
    """Show what would be reached, and ask, unless that is nothing. Raises NotConfirmedError."""
    if not (selection.ids or selection.prompts or selection.sessions):
        return
    from engram_py.interfaces.wording import render
    from engram_py.interfaces.wording.observations import reached

    if not yes:
        click.echo(printable(render.text(selection, now=app.journal.moment())), err=True)
    confirm(todo.format(reached(selection)), yes=yes)
