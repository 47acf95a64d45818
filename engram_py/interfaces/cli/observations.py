"""Commands for observations: save, read, correct, confirm, put away; ``engram retag`` and ``engram delete`` of several
at once. ``engram edit`` opens one as a file: a head of its fields, a blank line, the text.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any

import click

from engram_py.base.errors import EngramError, InvalidArgumentError
from engram_py.base.text.normalize import visible
from engram_py.interfaces.cli.commands import (
    OBSERVATION_ID,
    can_ask,
    confirm,
    id_argument,
    ids_argument,
    json_command,
    limit_option,
    many_options,
    memory,
    options_of,
    project_option,
    project_options,
    result_command,
    show,
)
from engram_py.interfaces.editor import edit_in_editor
from engram_py.interfaces.input_checks import names_document
from engram_py.interfaces.operations import SAVE, TIMELINE, UPDATE
from engram_py.memory.observations.listing import Listing
from engram_py.memory.observations.values import Change, Observation

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram_py.app import Engram
    from engram_py.memory.observations.listing import Selection
    from engram_py.memory.observations.values import Observation


@result_command("save", options_of(SAVE))
def save_command(app: Engram, **given: Any) -> object:
    """Save an observation."""
    return SAVE(app, given, origin="user")


@result_command("get")
@click.argument(
    "name", metavar="ID", help="A number as in 12 or #12, or a document: path:from:count or commit:1a2b3c4."
)
@click.option("--history", is_flag=True, help="With earlier versions.")
@click.option("--from", "first", type=int, help="The first line of a document to print.")
@click.option("--count", type=int, help="The number of lines of a document, at most 400.")
@project_option
def get_command(app: Engram, name: str, history: bool, **lines: Any) -> object:
    """Print a whole observation, or lines of a document; a glob or a comma list prints several documents."""
    number = name if names_document(name) else OBSERVATION_ID.convert(name, None, None)
    return app.open(number, history=history, **lines)


@result_command("history", id_argument)
@click.option("--cursor", type=int, help="Continue from an earlier page.")
def history_command(app: Engram, observation_id: int, cursor: int | None) -> object:
    """Print an observation, its earlier versions, newest first, and which memories replaced which."""
    return app.observations.get(observation_id, history=True, cursor=cursor)


@result_command("timeline", options_of(TIMELINE))
def timeline_command(app: Engram, **given: Any) -> object:
    """Print what was saved before and after an observation in its session."""
    return TIMELINE(app, given)


@result_command("update", options_of(UPDATE))
def update_command(app: Engram, **given: Any) -> object:
    """Correct an observation; its old text stays in its history."""
    return UPDATE(app, given, by="person")


@result_command("pin", id_argument)
def pin_command(app: Engram, observation_id: int) -> object:
    """Keep an observation on top of every session's context."""
    return app.observations.pin(observation_id)


@result_command("unpin", id_argument)
def unpin_command(app: Engram, observation_id: int) -> object:
    """Stop keeping an observation on top."""
    return app.observations.pin(observation_id, pinned=False)


@result_command("undo")
@click.argument(
    "observation_id",
    metavar="[ID]",
    type=OBSERVATION_ID,
    required=False,
    help="The number of an observation: undo its newest change.",
)
@click.option("--list", "listed", is_flag=True, help="List the last changes and undo nothing.")
@click.option("--change", type=int, metavar="N", help="The change with this number in --list.")
@limit_option(20)
def undo_command(app: Engram, observation_id: int | None, listed: bool, change: int | None, limit: int) -> object:
    """Undo the newest change of this machine: a save, edit, retag, pin, move, deletion, archiving or verdict.

    Run it again to go further back. With ID: undo the newest change of that observation; run it again to redo. A change
    is not undone if the observation changed later. Undoing a save deletes the observation.
    """
    if sum((observation_id is not None, listed, change is not None)) > 1:
        raise click.UsageError("give ID, --list or --change")
    if listed:
        return Listing("changes", app.changes.listed(max(1, limit)))
    return app.changes.undo(observation_id, change=change)


@result_command("revert", id_argument)
@click.option(
    "--version", type=int, help="The version; default: the latest earlier one. `engram history ID` lists them."
)
def revert_command(app: Engram, observation_id: int, version: int | None) -> object:
    """Bring back an earlier title and text; the replaced ones become a version."""
    return app.observations.revert(observation_id, version)


@result_command("undelete", ids_argument)
def undelete_command(app: Engram, ids: tuple[int, ...]) -> object:
    """Bring back observations that were deleted without --hard."""
    return _for_each(app, ids, app.observations.undelete, "undeleted")


@result_command("archive", ids_argument)
def archive_command(app: Engram, ids: tuple[int, ...]) -> object:
    """Take observations out of searches and contexts without deleting them. `engram search is:archived` lists them."""
    return _for_each(app, ids, lambda one: app.observations.update(one, Change(archived=True)), "archived")


@result_command("unarchive", ids_argument)
def unarchive_command(app: Engram, ids: tuple[int, ...]) -> object:
    """Take observations out of the archive."""
    return _for_each(app, ids, lambda one: app.observations.update(one, Change(archived=False)), "archived")


@result_command("accept", ids_argument)
def accept_command(app: Engram, ids: tuple[int, ...]) -> object:
    """Make derived, imported or synced observations your own. They are no longer archived by upkeep, and agents get
    them.
    """
    return _for_each(app, ids, app.observations.accept, "accepted")


@result_command("move", ids_argument)
@click.option("--to", "project", required=True, help="The project to move them to.")
def move_command(app: Engram, ids: tuple[int, ...], project: str) -> object:
    """Move observations to another project; their sessions stay."""
    return _for_each(app, ids, lambda one: app.observations.move(one, project), "moved")


def _for_each(app: Engram, ids: tuple[int, ...], change: Callable[[int], object], name: str) -> object:
    """Change each observation, all in one transaction; return the one result, or a list of that ``name``."""
    with app.store.transaction():
        done = tuple(change(one) for one in dict.fromkeys(ids))
    return done[0] if len(done) == 1 else Listing(name, done)


@result_command("review")
@click.argument(
    "observation_id",
    metavar="[ID]",
    type=OBSERVATION_ID,
    required=False,
    help="The number of an observation that is still true.",
)
@project_options
@limit_option(10)
def review_command(app: Engram, observation_id: int | None, **options: Any) -> object:
    """List memories that are due for review, or confirm that ID still holds."""
    if observation_id is not None:
        return app.observations.mark_reviewed(observation_id)
    return app.observations.due_for_review(**options)


@click.command("edit")
@id_argument
@json_command
def edit_command(observation_id: int, as_json: bool) -> None:
    """Edit an observation in $VISUAL or $EDITOR; its old text stays in its history.

    The file begins with its title, type, scope and topic, then a blank line, then the text. If the observation changed
    meanwhile, nothing is overwritten; the edited file is kept, and its path is printed.
    """
    if not can_ask() and not {"VISUAL", "EDITOR"} & os.environ.keys():
        step = f"set EDITOR, or run `engram update {observation_id} --content TEXT`"
        raise InvalidArgumentError("EDITOR", said="there is no terminal for an editor", step=step)
    with memory() as app:
        base, data_dir = app.observations.get(observation_id).observation, app.settings.data_dir
    try:
        edit_in_editor(base, data_dir, partial(_keep, base, as_json))
    except (EngramError, click.ClickException, OSError, UnicodeDecodeError) as exc:
        for note in getattr(exc, "__notes__", ()):
            click.echo(f"note: {note}", err=True)
        raise


def _keep(base: Observation, as_json: bool, change: Change) -> None:
    with memory() as app:
        show(app.observations.update(base.id, change, base=base, by="person"), app.settings, as_json=as_json)


_KINDS = {"obs": "obs", "observation": "obs", "session": "session", "project": "project", "prompt": "prompt"}


@result_command("retag")
@click.argument("ids", nargs=-1, metavar="[ID]...", type=OBSERVATION_ID, help="Their numbers.")
@click.option("--type", help="The new type.")
@click.option("--scope", help="The new scope: project, personal or global.")
@many_options
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
    """Change the type or scope of observations, by number or, with --where, by filters.

    With --where the command lists the matches and asks first.
    """
    _one_of(ids, where)
    if type is None and scope is None:
        raise click.UsageError("pass --type or --scope with the new value")
    rows = app.bulk
    selection = rows.select_ids(ids) if where is None else rows.select(where, **projects)
    if dry_run:
        return selection
    if where is not None:
        what = " and ".join(f"{name} {new}" for name, new in (("type", type), ("scope", scope)) if new)
        _confirm(app, selection, f"give {{}} {what}", yes=yes)
    return rows.change_selected(selection, Change(type=type, scope=scope))


@result_command("delete")
@click.argument("words", nargs=-1, metavar="[ID]...", help="Numbers; or session ID, project NAME, prompt ID.")
@click.option("--hard", is_flag=True, help="Destroy observations and their history; by number only.")
@many_options
def delete_command(
    app: Engram, words: tuple[str, ...], where: str | None, hard: bool, yes: bool, dry_run: bool, **projects: Any
) -> object:
    """Hide observations, or all of a session or project; --hard destroys observations by number.

    With --hard, --where, session, project or prompt the command lists what it deletes and asks first. `engram undelete`
    brings hidden observations back. Prompts and summaries of sessions are removed for good.
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
    rows = app.bulk
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
        selection = app.bulk.select_ids(ids, hard=hard)
        if dry_run:
            return selection
        _confirm(app, selection, "destroy {} for good", yes=yes)
    done = app.observations.delete_many(ids, hard=hard)
    return done[0] if len(done) == 1 else Listing("deleted", done)


def delete_prompts(app: Engram, ids: Sequence[int], *, yes: bool, **projects: Any) -> Listing:
    """Show the prompts, ask, and remove them for good. Raises NotFoundError (prompt_not_found), NotConfirmedError."""
    from engram_py.interfaces.wording.phrases import amount, one_line

    found = app.prompts.named(ids, **projects)
    if not yes:
        for prompt in found:
            click.echo(visible(f"[{prompt.id}] {one_line(prompt.content)}"), err=True)
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
        click.echo(visible(render.text(selection, now=app.journal.calendar.local, door="cli")), err=True)
    confirm(todo.format(reached(selection)), yes=yes)
