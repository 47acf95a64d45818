"""Plan the changes of setup and unsetup as a whole, then apply them one file after the other."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Any

from engram_py.dataclass import dataclass
from engram_py.dataclass import replace as replace_fields
from engram_py.files import lines_of
from engram_py.interfaces.setup.edits import FileEdits, Member, altered, applied, replaced, withdrawn
from engram_py.interfaces.setup.errors import SetupRefusedError
from engram_py.interfaces.setup.files import Found, decoded, digest, look, make_folders, refusing, remove, replace
from engram_py.interfaces.setup.jsonc import MISSING
from engram_py.interfaces.setup.manifest import Manifest, Record

_COMMAND_CHARS = 80


@dataclass(frozen=True, slots=True)
class Change:
    """The change of one file. ``after`` None deletes it. ``original`` is what is kept as the state before us.

    ``replaces`` says how a server started that somebody else had registered under our name. ``copy`` is where what is
    there now is kept, because our part of it was edited.
    """

    path: Path
    found: Found
    after: bytes | None
    original: bytes | None = None
    replaces: str = ""
    copy: Path | None = None
    left: str = ""
    """The server of our name that stays, because setup did not write it."""

    @property
    def note(self) -> str:
        """What people should know of it besides."""
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


def plan_setup(wanted: FileEdits, manifest: Manifest) -> Change:
    """Return the change of a file that setup would make. Raises SetupRefusedError: it cannot be edited."""
    found = look(wanted.path)
    record = manifest.files.get(str(wanted.path))
    ours = record is not None and found.data is not None and digest(found.data) == record.written
    after = _edited(wanted, found)
    if _edited(wanted, Found(after)) != after:  # then setup would add to the file each time
        raise SetupRefusedError(str(wanted.path), "an entry of ours would not be found again in it")
    if wanted.format == "own" and found.data not in (None, after) and not ours:
        raise SetupRefusedError(str(wanted.path), "there is another file of this name, or this one was edited")
    original = found.data
    if record is not None:
        original = manifest.original(record) if ours else _without_us(wanted, found, manifest, record)
    # Where setup was before, what stands there is ours: of an earlier version, say.
    theirs = MISSING if record is not None else _replaced(wanted, found)
    copy = _copy(wanted, found, manifest) if record is not None and not ours else None
    return Change(wanted.path, found, after, original, "" if theirs is MISSING else _started_by(theirs), copy)


def plan_unsetup(files: list[FileEdits], manifest: Manifest, user: str) -> list[Change]:
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


def apply_setup(changes: list[Change], manifest: Manifest, user: str) -> None:
    """Write what setup planned. What was there is kept, and recorded, before each file is touched."""
    for change in changes:
        key = str(change.path)
        earlier = manifest.files.get(key)
        if change.after is None or (earlier is None and change.kind == "unchanged"):
            continue
        original = None if change.original is None else manifest.keep(change.original)
        users = [*(earlier.users if earlier else []), user]
        record = Record(original, digest(change.after), list(dict.fromkeys(users)))
        manifest.files[key] = record
        manifest.save()
        made = [str(folder) for folder in make_folders(change.path)]
        if made:
            manifest.folders += made
            manifest.save()
        if change.kind != "unchanged":
            _keep_copy(change, manifest)
            replace(change.path, change.after, found=change.found)


def apply_unsetup(changes: list[Change], manifest: Manifest, user: str) -> None:
    """Write what unsetup planned, and forget about each file when it is done."""
    for change in changes:
        _keep_copy(change, manifest)
        if change.after is None:
            if change.found.data is not None and look(change.path).data != change.found.data:
                raise SetupRefusedError(str(change.path), "another program changed it just now; run the command again")
            remove(change.path)
        elif change.kind != "unchanged":
            replace(change.path, change.after, found=change.found)
    for path, record in list(manifest.files.items()):
        left = [one for one in record.users if one != user]
        if user in record.users and left:
            record.users = left
            changed = [one for one in changes if str(one.path) == path and one.after is not None]
            record.written = digest(changed[0].after or b"") if changed else record.written
        elif user in record.users:
            del manifest.files[path]
    manifest.remove_empty_folders()
    manifest.save()


def _keep_copy(change: Change, manifest: Manifest) -> None:
    if change.copy is not None and change.found.data is not None:
        manifest.keep_copy(change.path, change.found.data)


def _started_by(server: Any) -> str:
    """Return how a server is started, for people to recognise it; never its environment, which holds secrets."""
    if not isinstance(server, dict):
        return "of another form"
    command, args = server.get("command"), server.get("args")
    words = command if isinstance(command, list) else [command, *(args if isinstance(args, list) else ())]
    line = " ".join(" ".join(word.split()) for word in words if isinstance(word, str))
    line = line or str(server.get("url") or server.get("httpUrl") or "no command")
    return line if len(line) <= _COMMAND_CHARS else f"{line[:_COMMAND_CHARS]}…"


def _plan_unsetup(wanted: FileEdits, manifest: Manifest, record: Record | None, *, last: bool) -> Change:
    found = look(wanted.path)
    if found.data is None:
        return Change(wanted.path, found, None)
    if record is not None and last and digest(found.data) == record.written:
        return Change(wanted.path, found, manifest.original(record))
    if record is not None and record.original == digest(found.data):  # setup was cut off before it wrote the file
        return Change(wanted.path, found, found.data)
    if wanted.format == "own" and (record is None or digest(found.data) != record.written):
        ours = "".join(getattr(one, "body", "") for one in wanted.edits).encode()
        return Change(wanted.path, found, None if found.data == ours else found.data)
    if record is None:
        return _plan_unrecorded(wanted, found, manifest)
    copy = _copy(wanted, found, manifest)
    return Change(wanted.path, found, _without_us(wanted, found, manifest, record), copy=copy)


def _plan_unrecorded(wanted: FileEdits, found: Found, manifest: Manifest) -> Change:
    """Return the change for a file without a record: only what setup itself would write is removed."""
    theirs = _replaced(wanted, found)
    if theirs is MISSING:
        return Change(wanted.path, found, _without_us(wanted, found, manifest, None))
    others = tuple(one for one in wanted.edits if not isinstance(one, Member) or one.lasting)
    less = _without_us(replace_fields(wanted, edits=others), found, manifest, None)
    return Change(wanted.path, found, less, left=_started_by(theirs))


def _copy(wanted: FileEdits, found: Found, manifest: Manifest) -> Path | None:
    """Return where the file is kept as it is now, None unless our part of it was edited."""
    data = found.data or b""
    with refusing(wanted.path):
        return manifest.original_path(digest(data)) if altered(decoded(wanted.path, data)[0], wanted) else None


def _replaced(wanted: FileEdits, found: Found) -> Any:
    with refusing(wanted.path):
        return replaced(decoded(wanted.path, found.data or b"")[0], wanted)


def _edited(wanted: FileEdits, found: Found) -> bytes:
    text, mark = decoded(wanted.path, found.data or b"")
    with refusing(wanted.path):
        return (mark + applied(text, wanted)).encode()


def _without_us(wanted: FileEdits, found: Found, manifest: Manifest, record: Record | None) -> bytes | None:
    """Return the present content without what setup put there."""
    if found.data is None:
        return None
    kept = manifest.original(record) if record else None
    text, mark = decoded(wanted.path, found.data)
    original = None if kept is None else decoded(wanted.path, kept)[0]
    with refusing(wanted.path):
        less = withdrawn(text, wanted, original)
    return None if less is None else (mark + less).encode()
