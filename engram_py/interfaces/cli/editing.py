"""Commands that correct or confirm an observation: edit, undo, revert, review, check."""

from __future__ import annotations

import os
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.errors import EngramError, InvalidArgumentError
from engram_py.interfaces.cli.support import (
    OBSERVATION_ID,
    can_ask,
    json_command,
    limit_option,
    memory,
    prints_result,
    project_option,
    project_options,
    settings,
    show,
)

if TYPE_CHECKING:
    from engram_py.app import Engram
    from engram_py.observations.values import Change, Observation


id_argument = click.argument("observation_id", metavar="ID", type=OBSERVATION_ID, help="Its number, as in 12 or #12.")

# The head of the edited file: what a line is called there, and the field it is.
_FIELDS = {"title": "title", "type": "type", "scope": "scope", "topic": "topic_key"}


@click.command("edit")
@id_argument
@json_command
def edit_command(observation_id: int, as_json: bool) -> None:
    """Edit an observation in $VISUAL or $EDITOR; its old text stays in its history.

    The file begins with its title, type, scope and topic, then a blank line, then the text. Where somebody changed the
    observation meanwhile, nothing is overwritten: it stays as it is, and the edited file is kept and named.
    """
    if not can_ask() and not {"VISUAL", "EDITOR"} & os.environ.keys():
        expected = "set where there is no terminal; `engram update` takes the new text as an argument"
        raise InvalidArgumentError("EDITOR", None, expected=expected)
    with memory() as app:
        base = app.observations.get(observation_id).observation
    file = _written(base)
    try:
        click.edit(filename=str(file))
        change = _read(file.read_text(encoding="utf-8"), base)
        with memory() as app:
            updated = app.observations.update(base.id, change, base=base)
            show(updated, app, as_json=as_json)
    except (EngramError, click.ClickException, OSError, UnicodeDecodeError):
        if _is_edited(file, base):
            click.echo(f"note: your text is kept in {file}", err=True)
        else:
            file.unlink(missing_ok=True)
        raise
    file.unlink(missing_ok=True)


@click.command("undo")
@id_argument
@prints_result
def undo_command(app: Engram, observation_id: int) -> object:
    """Bring back a deleted observation, or the title and text it had before. Undoing twice is redoing."""
    return app.observations.undo(observation_id)


@click.command("revert")
@id_argument
@click.option(
    "--version", type=int, help="The version; default: the latest earlier one. `engram history ID` lists them."
)
@prints_result
def revert_command(app: Engram, observation_id: int, version: int | None) -> object:
    """Bring back an earlier title and text; what they replace becomes a version."""
    return app.observations.revert(observation_id, version)


def _text(row: Observation) -> str:
    head = [f"{name}: {getattr(row, field) or ''}".rstrip() for name, field in _FIELDS.items()]
    return "\n".join([*head, "", row.content, ""])


def _written(row: Observation) -> Path:
    """Write the observation to a file beside the database that only its owner can read."""
    folder = settings().data_dir / "edits"
    folder.mkdir(mode=0o700, exist_ok=True)
    handle, name = tempfile.mkstemp(prefix=f"{row.id}-", suffix=".md", dir=folder)
    with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
        file.write(_text(row))
    return Path(name)


def _is_edited(file: Path, row: Observation) -> bool:
    try:
        return file.read_bytes() != _text(row).encode()
    except OSError:
        return False


def _read(text: str, base: Observation) -> Change:
    """Return the changes from ``base``. Raises InvalidArgumentError for an invalid head."""
    from engram_py.observations.values import Change

    head, blank, content = text.replace("\r\n", "\n").lstrip("\ufeff").partition("\n\n")
    found: dict[str, str] = {}
    for line in head.splitlines():
        name, colon, value = line.partition(":")
        if not colon or name.strip().lower() not in _FIELDS:
            expected = f"{', '.join(f'{one}:' for one in _FIELDS)}, then a blank line, then the text"
            raise InvalidArgumentError("the file's head", line, expected=expected)
        found[_FIELDS[name.strip().lower()]] = value.strip()
    if not blank:
        raise InvalidArgumentError("the file", head, expected="a head, a blank line and a text")
    changed = {name: value for name, value in found.items() if value != (getattr(base, name) or "")}
    if content.strip() != base.content.strip():
        changed["content"] = content
    said: dict[str, Any] = changed or {"title": base.title}
    return Change(**said)


@click.command("check")
@click.option("--strict", is_flag=True, help="Exit with 1 when something is stale, or no file could be checked.")
@project_option
@json_command
def check_command(strict: bool, project: str | None, as_json: bool) -> None:
    """List observations whose files changed since: they may be out of date."""
    with memory() as app:
        checked = app.anchors.check(project)
        show(checked, app, as_json=as_json)
    if strict and (checked.stale or checked.blind):
        sys.exit(1)


@click.command("review")
@click.argument(
    "observation_id", metavar="[ID]", type=OBSERVATION_ID, required=False, help="The observation that is still true."
)
@project_options
@limit_option(10)
@prints_result
def review_command(app: Engram, observation_id: int | None, **options: Any) -> object:
    """List what is due for review, or confirm that ID still holds."""
    if observation_id is not None:
        return app.observations.mark_reviewed(observation_id)
    return app.observations.due_for_review(**options)
