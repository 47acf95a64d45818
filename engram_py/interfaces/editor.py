"""Let a person change an observation as text in their own editor."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TypeVar

import click

from engram_py.base.database.driver import KEY_STATE
from engram_py.base.errors import EngramError, InvalidArgumentError
from engram_py.base.files import lines_of, write_atomically
from engram_py.memory.observations.arguments import change_from, edited_texts
from engram_py.memory.observations.values import EDITED, Change, Observation

# The head of the edited file: what a line is called there, and the field it is.
_FIELDS = {name.removesuffix("_key"): name for name in EDITED if name != "content"}

T = TypeVar("T")


def edit_in_editor(base: Observation, data_dir: Path, keep: Callable[[Change], T]) -> T:
    """Open ``base`` in $VISUAL or $EDITOR, and return what ``keep`` makes of the changes.

    After a failure the edited file is kept, and a note of the exception names it.

    Raises click.ClickException for an editor that fails, InvalidArgumentError for an invalid head, OSError,
    UnicodeDecodeError, and what ``keep`` raises.
    """
    file = _written(base, data_dir)
    try:
        click.edit(filename=str(file))
        done = keep(_read(file.read_text(encoding="utf-8"), base))
    except (EngramError, click.ClickException, OSError, UnicodeDecodeError) as exc:
        if _is_edited(file, base):
            exc.add_note(f"your text is kept in {file}")
        else:
            file.unlink(missing_ok=True)
        raise
    file.unlink(missing_ok=True)
    return done


def _text(row: Observation) -> str:
    texts = edited_texts(row)
    head = [f"{name}: {texts[field]}".rstrip() for name, field in _FIELDS.items()]
    return "\n".join([*head, "", row.content, ""])


def _written(row: Observation, data_dir: Path) -> Path:
    """Write the observation to a file that only its owner can read: beside the database, or where that is encrypted, in
    memory where the system has such a folder."""
    import tempfile

    folder = data_dir / "edits"
    if (data_dir / KEY_STATE).exists():
        folder = Path(os.environ.get("XDG_RUNTIME_DIR") or tempfile.gettempdir())
    folder.mkdir(mode=0o700, exist_ok=True)
    file = folder / f"{row.id}-{os.urandom(4).hex()}.md"
    write_atomically(file, _text(row).encode())
    return file


def _is_edited(file: Path, row: Observation) -> bool:
    try:
        return file.read_bytes() != _text(row).encode()
    except OSError:
        return False


def _read(text: str, base: Observation) -> Change:
    """Return the changes from ``base``. Raises InvalidArgumentError for an invalid head."""
    head, blank, content = text.replace("\r\n", "\n").lstrip("\ufeff").partition("\n\n")
    found: dict[str, str] = {}
    for line in lines_of(head):
        name, colon, value = line.partition(":")
        if not colon or name.strip().lower() not in _FIELDS:
            step = (
                f"the header lines are {', '.join(f'{one}:' for one in _FIELDS)}; then a blank line and the text follow"
            )
            raise InvalidArgumentError("file", said=f"{line[:80]!r} is not a header line", step=step)
        found[_FIELDS[name.strip().lower()]] = value.strip()
    if not blank:
        raise InvalidArgumentError(
            "file", said="the edited file has no text", step="the file needs header lines, a blank line, then the text"
        )
    found["content"] = base.content if content.strip() == base.content.strip() else content
    return change_from(base, found) or Change(title=base.title)
