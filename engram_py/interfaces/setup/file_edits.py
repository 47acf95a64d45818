"""The change of each file, planned as a whole and then applied.

A file that is as setup left it gets its kept original back. Any other is walked once, member by member, and each gives
way to ours or to what stood there before us.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

from engram_py.base.dataclass import dataclass
from engram_py.base.files import lines_of
from engram_py.interfaces.setup.formats import MISSING, Document, KeyPath, UnreadableTextError
from engram_py.interfaces.setup.manifest import (
    FileState,
    Record,
    SetupManifest,
    SetupRefusedError,
    decoded,
    digest,
    look,
    make_folders,
    refusing,
    replace,
)

Format = Literal["json", "commented-json", "toml", "yaml", "text", "own"]
_COMMAND_CHARS = 80


@dataclass(frozen=True, slots=True)
class Member:
    """Set this member to this value. ``lasting``: an existing value stays."""

    path: tuple[str, ...]
    value: Any
    lasting: bool = False


@dataclass(frozen=True, slots=True)
class ListItem:
    """Put this item into the list at ``path``; an item that runs ``engram hook … --agent AGENT`` is replaced."""

    path: tuple[str, ...]
    value: Any
    agent: str


@dataclass(frozen=True, slots=True)
class Text:
    """The text between our marks (format ``text``), or the whole of a file that is ours alone (``own``)."""

    body: str


Edit = Member | ListItem | Text


@dataclass(frozen=True, slots=True)
class FileEdits:
    """The edits of one file for one agent in one scope."""

    path: Path
    format: Format
    edits: tuple[Edit, ...]


@dataclass(frozen=True, slots=True)
class SetupChange:
    """The change of one file. ``after`` None deletes it. ``original`` is what is kept as the state before us.

    ``replaces`` says how a server started that somebody else had registered under our name. ``copy`` is where what is
    there now is kept, because our part of it was edited.
    """

    path: Path
    found: FileState
    after: bytes | None
    original: bytes | None = None
    replaces: str = ""
    copy: Path | None = None
    left: str = ""
    """The server of our name that stays, because setup did not write it."""

    @property
    def note(self) -> str:
        """A remark for people."""
        if self.left:
            return f"left: the server engram ({self.left}), which setup did not write; remove it by hand"
        return f"our part was edited; the file as it was is kept as {self.copy}" if self.copy else ""

    @property
    def kind(self) -> str:
        if self.found.data == self.after:
            return "unchanged"
        if self.after is None:
            return "removed"
        return "created" if self.found.data is None else "changed"

    def diff(self) -> str:
        """Return the change as a unified diff, empty where there is none."""
        before, after = ((data or b"").decode("utf-8", "replace") for data in (self.found.data, self.after))
        lines = difflib.unified_diff(
            lines_of(before, ends=True), lines_of(after, ends=True), str(self.path), str(self.path), n=2
        )
        return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


# --- plans ------------------------------------------------------------------------------------------------


def plan_setup(wanted: FileEdits, manifest: SetupManifest) -> SetupChange:
    """Return the change of a file that setup would make. Raises SetupRefusedError: it cannot be edited."""
    found = look(wanted.path)
    record = manifest.files.get(str(wanted.path))
    untouched = record is not None and found.data is not None and digest(found.data) == record.written
    put = walked(wanted, found.data)
    if walked(wanted, put.after).after != put.after:  # then setup would add to the file each time
        raise SetupRefusedError(str(wanted.path), "engram's entry could not be found in it again")
    if wanted.format == "own" and found.data not in (None, put.after) and not untouched:
        reason = "there is another file of this name, or this one was edited"
        raise SetupRefusedError(str(wanted.path), reason, step="move it away")
    if record is None:
        theirs = "" if put.theirs is MISSING else _started_by(put.theirs)
        return SetupChange(wanted.path, found, put.after, found.data, theirs)
    before = manifest.original(record)
    if untouched:
        return SetupChange(wanted.path, found, put.after, before)
    less = None if found.data is None else walked(wanted, found.data, taking_out=True, before=before).after
    copy = manifest.original_path(digest(found.data)) if found.data is not None and put.edited else None
    return SetupChange(wanted.path, found, put.after, less, copy=copy)


def plan_unsetup(files: list[FileEdits], manifest: SetupManifest, user: str) -> list[SetupChange]:
    """Return the changes that unsetup would make: back to the old bytes where only setup wrote the file.

    Raises SetupRefusedError: somebody edited a file meanwhile, and it cannot be parsed now.
    """
    changes = []
    planned = {str(wanted.path) for wanted in files}
    others = [path for path, record in manifest.files.items() if user in record.users and path not in planned]
    # Files of an earlier version or another setting of CODEX_HOME: what they held is known all the same.
    for wanted in [*files, *(FileEdits(Path(path), "text", ()) for path in others)]:
        record = manifest.files.get(str(wanted.path))
        shared = record is not None and [one for one in record.users if one != user]
        if not (shared and wanted.format in ("text", "own")):  # another agent still reads those lines
            changes.append(_plan_unsetup(wanted, manifest, record, last=not shared))
    return changes


def _plan_unsetup(wanted: FileEdits, manifest: SetupManifest, record: Record | None, *, last: bool) -> SetupChange:
    found = look(wanted.path)
    if found.data is None:
        return SetupChange(wanted.path, found, None)
    if record is None:  # only what setup itself would write is removed
        out = walked(wanted, found.data, taking_out=True, keeping_theirs=True)
        return SetupChange(wanted.path, found, out.after, left="" if out.theirs is MISSING else _started_by(out.theirs))
    before = manifest.original(record)
    if last and digest(found.data) == record.written:
        return SetupChange(wanted.path, found, before)
    out = walked(wanted, found.data, taking_out=True, before=before)
    copy = manifest.original_path(digest(found.data)) if out.edited else None
    return SetupChange(wanted.path, found, out.after, copy=copy)


def _started_by(server: Any) -> str:
    """Return how a server is started, for people to recognise it; never its environment, which holds secrets."""
    if not isinstance(server, dict):
        return "of another form"
    command, args = server.get("command", server.get("cmd")), server.get("args")
    words = command if isinstance(command, list) else [command, *(args if isinstance(args, list) else ())]
    line = " ".join(" ".join(word.split()) for word in words if isinstance(word, str))
    line = line or str(server.get("url") or server.get("httpUrl") or "no command")
    return line if len(line) <= _COMMAND_CHARS else f"{line[:_COMMAND_CHARS]}…"


# --- applying ---------------------------------------------------------------------------------------------


def apply_setup(changes: list[SetupChange], manifest: SetupManifest, user: str) -> None:
    """Write what setup planned. What was there is kept, and recorded, before each file is touched."""
    for change in changes:
        key = str(change.path)
        earlier = manifest.files.get(key)
        if change.after is None or (earlier is None and change.kind == "unchanged"):
            continue
        original = None if change.original is None else manifest.keep(change.original)
        users = [*(earlier.users if earlier else []), user]
        manifest.files[key] = Record(original, digest(change.after), list(dict.fromkeys(users)))
        manifest.save()
        made = [str(folder) for folder in make_folders(change.path)]
        if made:
            manifest.folders += made
            manifest.save()
        _write(change, manifest)


def apply_unsetup(changes: list[SetupChange], manifest: SetupManifest, user: str) -> None:
    """Write what unsetup planned, and forget about each file when it is done."""
    for change in changes:
        _write(change, manifest)
    after = {str(change.path): change.after for change in changes}
    for path, record in list(manifest.files.items()):
        if user in record.users:
            record.users.remove(user)
            left = after.get(path)
            record.written = record.written if left is None else digest(left)
            if not record.users:
                del manifest.files[path]
    manifest.remove_empty_folders()
    manifest.save()


def _write(change: SetupChange, manifest: SetupManifest) -> None:
    if change.copy is not None and change.found.data is not None:
        manifest.keep_copy(change.path, change.found.data)
    if change.kind != "unchanged":
        replace(change.path, change.after, found=change.found)


# --- the walk ---------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Walked:
    """A file after the walk. ``after`` None: it was ours alone, and goes. ``theirs`` is the value that stood under our
    name and is not ours, MISSING without one; ``edited``: our part held something else than we would write."""

    after: bytes | None
    theirs: Any
    edited: bool


def walked(
    wanted: FileEdits,
    data: bytes | None,
    *,
    taking_out: bool = False,
    before: bytes | None = None,
    keeping_theirs: bool = False,
) -> Walked:
    """Walk the edits through a file: put each in, or take each out, where what was there ``before`` comes back.

    ``keeping_theirs``: a member of our name that we did not write stays. Raises SetupRefusedError: the file cannot be
    parsed, or holds something else where our part belongs.
    """
    text, mark = decoded(wanted.path, data or b"")
    with refusing(wanted.path):
        if wanted.format not in ("text", "own"):
            document = Document(text, wanted.format)
            earlier = Document(decoded(wanted.path, before or b"")[0], wanted.format)
            theirs, edited = _walk(document, earlier, wanted.edits, taking_out, keeping_theirs)
            after: str | None = document.text()
        else:
            (after, edited), theirs = _walk_text(text, wanted, taking_out), MISSING
    return Walked(None if after is None else (mark + after).encode(), theirs, edited)


def _walk_text(text: str, wanted: FileEdits, taking_out: bool) -> tuple[str | None, bool]:
    body = "".join(one.body for one in wanted.edits if isinstance(one, Text))
    if wanted.format == "own":
        return (None if text == body else text) if taking_out else body, False
    less, more = without_block(text), with_block(text, body)
    return less if taking_out else more, bool(body) and text not in (less, more)


def _walk(
    document: Document, before: Document, edits: Sequence[Edit], taking_out: bool, keeping_theirs: bool
) -> tuple[Any, bool]:
    theirs, edited = MISSING, False
    for one in edits:
        if isinstance(one, Text):
            continue
        place, *more = _places(document, one)
        there = document.get(place)
        foreign = bool(more) or (there is not MISSING and there != one.value)
        for other in reversed(more):
            document.remove(other)
        was = MISSING
        if isinstance(one, Member):
            if one.lasting and (keeping_theirs or (there != one.value if taking_out else there is not MISSING)):
                continue
            was, theirs = before.get(place), there if foreign else theirs
            if foreign and keeping_theirs:
                continue
        edited |= foreign
        value = was if taking_out else one.value
        if value is not MISSING:
            document.set(place, value)
        else:
            document.remove(place)
            _prune(document, before, place[:-1])
    return theirs, edited


def _places(document: Document, edit: Member | ListItem) -> list[KeyPath]:
    """Return the path of a member; of an item those of all that are ours in its list, or the one behind its end."""
    if isinstance(edit, Member):
        return [edit.path]
    items = document.get(edit.path)
    items = items if isinstance(items, list) else []
    ours = [number for number, item in enumerate(items) if is_ours(item, edit.agent)]
    return [(*edit.path, number) for number in ours or [len(items)]]


def _prune(document: Document, before: Document, path: KeyPath) -> None:
    """Take away the objects and lists that are empty now and were not there before us."""
    while path and document.get(path) in ({}, []) and before.get(path) is MISSING:
        document.remove(path)
        path = path[:-1]


def is_ours(item: Any, agent: str) -> bool:
    """Return whether every command in a hooks item is an ``engram hook`` for this agent."""
    commands = list(_commands(item))
    pattern = re.compile(rf"\bengram.*\bhook [a-z-]+ --agent {re.escape(agent)}(\s|$)")
    return bool(commands) and all(pattern.search(one) for one in commands)


def _commands(value: Any) -> Sequence[str]:
    if isinstance(value, dict):
        own = [value["command"]] if isinstance(value.get("command"), str) else []
        return [*own, *(one for inner in value.values() for one in _commands(inner))]
    if isinstance(value, list):
        return [one for inner in value for one in _commands(inner)]
    return []


BEGIN = "<!-- engram:begin - `engram unsetup` removes this part -->"
END = "<!-- engram:end -->"


def with_block(text: str, body: str) -> str:
    """Return the text with our part, at its end if it had none.

    Raises UnreadableTextError: the marks are there, but not as one pair.
    """
    newline = "\r\n" if "\r\n" in text else "\n"
    block = f"{BEGIN}\n{body.strip()}\n{END}".replace("\n", newline)
    found = _span(text)
    if found is not None:
        return text[: found[0]] + block + text[found[1] :]
    if not text.strip():
        return block + newline
    gap = "" if text.endswith("\n") else newline
    return f"{text}{gap}{newline}{block}{newline}"


def without_block(text: str) -> str:
    """Return the text without our part and the empty line before it."""
    found = _span(text)
    if found is None:
        return text
    before, after = text[: found[0]], text[found[1] :]
    for newline in ("\r\n", "\n"):
        if after.startswith(newline):
            after = after.removeprefix(newline)
            before = before.removesuffix(newline) if before.endswith(newline * 2) else before
            break
    return before + after


def _span(text: str) -> tuple[int, int] | None:
    starts, ends = text.count(BEGIN), text.count(END)
    if not starts and not ends:
        return None
    start, end = text.find(BEGIN), text.find(END)
    if (starts, ends) != (1, 1) or end < start:
        raise UnreadableTextError(f"its marks {BEGIN} and {END} do not form one pair")
    return start, end + len(END)
