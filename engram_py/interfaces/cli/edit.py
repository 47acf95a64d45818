"""``engram edit``: an observation in the user's editor."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from engram_py.errors import EngramError, InvalidArgumentError
from engram_py.interfaces.cli.commands import id_argument, json_command, memory, settings
from engram_py.interfaces.cli.terminal import can_ask, show

if TYPE_CHECKING:
    from engram_py.observations.values import Change, Observation


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
            show(updated, app.settings, as_json=as_json)
    except (EngramError, click.ClickException, OSError, UnicodeDecodeError):
        if _is_edited(file, base):
            click.echo(f"note: your text is kept in {file}", err=True)
        else:
            file.unlink(missing_ok=True)
        raise
    file.unlink(missing_ok=True)


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
