"""The words of syncing through a repository or with a server: what was read, written, refused, and where it stands."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from engram_py.base.errors import EngramError
from engram_py.interfaces.wording.phrases import Words, age, amount, clock, joined
from engram_py.interfaces.wording.reasons import spelled
from engram_py.recall.values import counted
from engram_py.sharing.sync.autosync.table import (
    CloudProject,
    CloudStatus,
    CloudSynced,
    Enrolled,
    LoggedIn,
    LoggedOut,
)
from engram_py.sharing.sync.errors import PassphraseMissingError
from engram_py.sharing.sync.git.table import (
    Adoption,
    ChunkRefusal,
    ChunksRead,
    ChunksWritten,
    Device,
    GitStatus,
    GitSynced,
    HandEdit,
    MemoriesRead,
    MemoriesWritten,
    Uncommitted,
)
from engram_py.sharing.sync.mutation import ReplicaDigest

_MOST_NAMED = 5


def synced(value: GitSynced) -> list[str]:
    """Two or three lines, and one for each thing that was refused now."""
    lines = adopted(value)
    if value.read is not None:
        is_text = value.memories_read is not None or value.memories_written is not None
        lines += [_read(value.read)] if value.read.chunks or not is_text else []
        lines += _refusals(value.read.refused, "refused")
        lines += _refusals(value.read.unreadable, "skipped a row of")
        lines += _refusals(value.read.cut, "cut a text of")
        if value.read.still_refused:
            refused = amount(value.read.still_refused, "chunk")
            lines.append(f"{refused} refused before; `engram sync --status` shows why")
        for project, rows in value.read.left_out.items():
            skipped = f"skipped {amount(rows, 'row')} of project {project}"
            if project in value.others:  # to import them would mix two repositories
                lines.append(
                    f"{skipped}, which is another repository's project on this machine; this is {value.project}"
                )
            else:
                step = f"`engram sync --project {project}` or --all imports them"
                lines.append(f"{skipped}; this is {value.project} ({step})")
    if value.memories_read is not None:
        lines += _memories_read(value.memories_read)
    if value.written is not None:
        lines.append(_written(value.written, value))
        if not value.written.chunks:
            lines += _uncommitted(value.uncommitted)
    if value.memories_written is not None:
        lines += _memories_written(value.memories_written, value)
    if value.encrypted and value.written is not None and value.written.chunks:
        lines.append("The files are encrypted, so nobody can review them")
    if value.unchecked:
        rows = sum(one.rows for one in value.unchecked)
        are = f"from {_authors(value)} {'is' if rows == 1 else 'are'} not checked"
        lines.append(f"{counted(rows)} {are}. If you trust them: `engram trust --project`")
    return lines


def _memories_read(value: MemoriesRead) -> list[str]:
    """Return what a reading of the files brought, and what stays as it is."""
    parts = [f"{value.applied.applied} new or updated" if value.applied.applied else "nothing new"]
    parts += [f"{amount(value.edited, 'file')} edited by hand"] if value.edited else []
    files = "its file was" if len(value.deleted) == 1 else "their files were"
    parts += [f"{len(value.deleted)} hidden, because {files} deleted"] if value.deleted else []
    told = f"Read {amount(value.files, 'memory file')}: {', '.join(parts)}."
    lines = [told if value.files or value.deleted else "No memory file is new."]
    if value.deleted:
        lines.append(f"Hidden: {_named(value.deleted)}. Restore the file in git to restore the memory")
    if value.branch:
        lines.append(
            f"{amount(len(value.branch), 'memory')} of this branch "
            f"{'is' if len(value.branch) == 1 else 'are'} marked as not checked until the branch is merged"
        )
    if waiting := [name for name in value.waiting if name not in {one.name for one in value.unsigned}]:
        lines.append(
            f"{amount(len(waiting), 'change')} {'applies' if len(waiting) == 1 else 'apply'} "
            f"after this branch is merged ({_named(waiting)})"
        )
    if value.unsigned:
        named = _named([one.title for one in value.unsigned])
        lines.append(
            f"{amount(len(value.unsigned), 'memory')} of yours edited by hand and not signed: {named}. "
            "`engram sync --mine` says that you made the edits"
        )
    lines += [f"refused {one.chunk}: {one.reason}" for one in value.refused[:_MOST_NAMED]]
    if value.more:
        lines.append("Not all files were read in time: `engram sync` reads the rest")
    return lines


def _memories_written(value: MemoriesWritten, whole: GitSynced) -> list[str]:
    lines: list[str] = []
    if value.written or value.removed:
        removed = f", {amount(len(value.removed), 'file')} removed" if value.removed else ""
        lines.append(
            f"Wrote {amount(len(value.written), 'file')}{removed} in {whole.folder}/memories; commit and push: "
            f"{_commit(whole.uncommitted)}"
        )
    else:
        lines += ["Every memory has its file.", *_uncommitted(whole.uncommitted)]
    if value.skipped:
        lines.append(
            f"These files were edited during the sync and kept: {_named(value.skipped)}. Run `engram sync` again"
        )
    return lines


def _named(names: Sequence[str]) -> str:
    return ", ".join(names[:_MOST_NAMED]) + (", …" if len(names) > _MOST_NAMED else "")


def _authors(value: GitSynced) -> str:
    names = dict.fromkeys(one.name or "an unnamed author" for one in value.unchecked)
    return joined([*names][:_MOST_NAMED])


def vouching(value: GitSynced) -> str:
    """Return the question whether the authors of a repository's memory are trusted."""
    rows = counted(sum(one.rows for one in value.unchecked))
    return (
        f"{rows} came from {_authors(value)} through {value.folder}. If you trust this folder, agents get them in "
        f"{value.project} under their authors' names, and so what it brings later. Trust it?"
    )


MERGE_DRIVER = (
    "Should git join two edits of a memory in this clone? Without it they conflict wherever both changed the file."
)


def hand_edits(edits: Sequence[HandEdit]) -> str:
    """Return the question whether the user made these edits of their own memories."""
    named = _named([f"{one.title} (by {one.author})" if one.author else one.title for one in edits])
    were = "was" if len(edits) == 1 else "were"
    yours = "Is the edit yours?" if len(edits) == 1 else "Are the edits yours?"
    return f"{amount(len(edits), 'memory')} of yours {were} edited by hand: {named}. {yours}"


def adopted(value: GitSynced) -> list[str]:
    """Return the new name of a repository that was renamed."""
    if value.adopted is None:
        return []
    moved = f" The memories of {value.adopted.name} moved there." if value.adopted.own else ""
    return [f"This repository is now project {value.project}, as in its .engram folder.{moved}"]


def adoption(value: Adoption) -> str:
    """Return the question whether it should."""
    parts = [f"{amount(value.own, 'memory')} {'moves' if value.own == 1 else 'move'}"] if value.own else []
    parts += [f"{value.project} already has memories, so both are merged"] if value.known else []
    effects = f" ({'; '.join(parts)}.)" if parts else ""
    here = f"This folder is project {value.name} on this machine, but .engram calls it {value.project}."
    return f"{here} Rename {value.name} to {value.project}?{effects}"


def hooked(value: GitSynced) -> list[str]:
    """Return what a git hook says: nothing where nothing happened."""
    lines: list[str] = []
    if value.read is not None and (value.read.applied.applied or value.read.refused):
        lines = [*adopted(value), _read(value.read), *_refusals(value.read.refused, "refused")]
    if value.memories_read is not None and (value.memories_read.applied.applied or value.memories_read.refused):
        lines += _memories_read(value.memories_read)
    if value.memories_written is not None and (value.memories_written.written or value.memories_written.removed):
        files = amount(len(value.memories_written.written) + len(value.memories_written.removed), "memory file")
        lines.append(f"{files} changed, not in this push yet: {_commit(value.uncommitted)} && git push")
    elif value.memories_written is not None:
        lines += [f"{line} && git push" for line in _uncommitted(value.uncommitted)]
    if value.written is not None and value.written.chunks:
        rows = amount(value.written.rows, "change")
        lines = [f"{rows} exported, not in this push yet: {_commit(value.uncommitted)} && git push"]
    elif value.written is not None:
        lines += [f"{line} && git push" for line in _uncommitted(value.uncommitted)]
    return lines


def hook_refused(error: EngramError | OSError) -> list[str]:
    """Return why a git hook did nothing, and what to do about it: nobody can be asked in a hook."""
    if isinstance(error, PassphraseMissingError):
        return [
            f"not synced: {error.path} is encrypted, and this machine does not know the passphrase",
            "run `engram sync --encrypt` here once: it asks for it",
        ]
    if isinstance(error, EngramError):
        return [f"not synced: {error.message}", *([spelled(error.next_step, "cli")] if error.hint else [])]
    return [f"not synced: {error}"]


def status(value: GitStatus) -> list[str]:
    sealed = ", encrypted" if value.encrypted else ""
    files = [amount(value.memories.files, "memory file")] if value.memories else []
    held = [*files, amount(value.chunks, "chunk")] if value.chunks or not files else files
    lines = [f"project {value.project}, {value.folder}: {', '.join(held)}{sealed}"]
    if not value.exists:
        lines = [f"project {value.project}: {value.folder} has no memories yet; `engram sync` writes the first"]
    changed = value.memories.changed if value.memories else 0
    news = [amount(value.waiting, "chunk")] * bool(value.waiting) + [amount(changed, "memory file")] * bool(changed)
    waiting = f"{' and '.join(news)} to import" if news else "nothing to import"
    lines.append(f"{waiting}; {'changes to export' if value.unsent else 'nothing to export'}")
    if value.memories is not None:
        lines += _memories_read(MemoriesRead(branch=value.memories.branch, waiting=value.memories.waiting))[1:]
        lines += [f"refused {one.chunk}: {one.reason}" for one in value.memories.refused]
    if value.elsewhere:
        lines.append(f"{amount(value.elsewhere, 'chunk')} written on other branches; a merge adds them")
    lines += _uncommitted(value.uncommitted)
    lines += _refusals(value.refused, "refused", most=len(value.refused))
    lines += _not_applied(value.deferred, value.dead)
    hooks = ", ".join(value.hooks) or "none (`engram sync --install-hooks`)"
    lines.append(f"git hooks: {hooks}")
    trusted = sum(device.trusted and not device.own for device in value.devices)
    lines.append(f"devices trusted: {trusted or 'none yet, so files of all devices are read'}")
    return lines


def _not_applied(deferred: int, dead: int) -> list[str]:
    """Return how many synced rows are not applied, and the command that lists them; nothing where all are."""
    rows = f"{amount(deferred + dead, 'synced row')} not applied ({deferred} waiting for another row)"
    return [f"{rows}: `engram conflicts deferred` shows why"] if deferred or dead else []


def devices(values: Sequence[Device]) -> list[str]:
    """Return one device on a line: its key, its name, and whether it is trusted."""
    chosen = any(device.trusted and not device.own for device in values)
    return [_line(device, _standing(device, chosen)) for device in values]


def untrusted(device: Device, values: Sequence[Device]) -> list[str]:
    """Return the state of a device that is no longer trusted, given all of them as they are now."""
    if any(one.trusted and not one.own for one in values):
        return [_line(device, _standing(device, chosen=True))]
    return [
        _line(device, "this device" if device.own else "removed"),
        "no device is trusted now: files of every device are read",
    ]


def digest(value: ReplicaDigest) -> list[str]:
    kinds = ", ".join(f"{amount(number, kind)}" for kind, number in sorted(value.counts.items()) if number)
    return [value.value, kinds or "nothing shared"]


def _line(device: Device, standing: str) -> str:
    return f"{device.key}  {device.device or '(never seen)':16}  {standing}"


def _standing(device: Device, chosen: bool) -> str:
    if device.own:
        return "this device"
    if device.trusted:
        return "trusted"
    return "not trusted" if chosen else "not trusted, but read (no device is trusted yet)"


def _read(value: ChunksRead) -> str:
    if not value.chunks:
        return "Imported nothing new."
    rows = value.applied
    said = f"Imported {amount(value.chunks, 'chunk')}: {amount(rows.applied, 'row')} new or updated"
    parts = [f"{rows.unchanged} already known"] if rows.unchanged else []
    parts += [f"{value.waiting} waiting for another row"] if value.waiting else []
    parts += [f"{rows.ahead} dated in the future"] if rows.ahead else []
    return ", ".join([said, *parts]) + "."


def _written(value: ChunksWritten, whole: GitSynced) -> str:
    if not value.chunks:
        return "Exported nothing new."
    names = ", ".join(value.chunks[:3]) + (", …" if len(value.chunks) > 3 else "")
    again, why = "", ""
    if value.lost and value.bytes:
        again = " once more"
        gone = "1 chunk written here is" if value.lost == 1 else f"{value.lost:,} chunks written here are"
        why = f", because {gone} lost or damaged"
    elif value.sealed:
        again = " once more, encrypted,"
    elif value.again and value.bytes:
        again = " once more"
    return (
        f"Exported {amount(value.rows, 'row')}{again} to {amount(len(value.chunks), 'chunk')} ({names}) in "
        f"{whole.folder}{why}; commit and push it: {_commit(whole.uncommitted)}"
    )


def _uncommitted(value: Uncommitted) -> list[str]:
    """Return what is not committed yet, and the command for it; nothing where all is."""
    kinds = {"chunk": value.chunks, "memory file": value.memories}
    number = sum(kinds.values())
    if not number:
        return []
    what = " and ".join(amount(count, kind) for kind, count in kinds.items() if count)
    said = f"{what} {'is' if number == 1 else 'are'} not committed"
    if value.ignored == number:
        said += ", and git ignores " + ("it" if number == 1 else "them")
    elif value.ignored:
        said += f", and git ignores {value.ignored:,} of them"
    return [f"{said}: {_commit(value)}"]


def _commit(value: Uncommitted) -> str:
    """Return the command that commits the folder, from wherever in the repository it is typed."""
    return f"git add {'-f ' if value.ignored else ''}:/.engram && git commit -m 'engram sync'"


def _refusals(values: Sequence[ChunkRefusal], what: str, *, most: int = _MOST_NAMED) -> Iterator[str]:
    for one in values[:most]:
        yield f"{what} chunk {one.chunk}: {one.reason}"
    if len(values) > most:
        yield f"… and {len(values) - most} more; `engram sync --status` lists them"


_MOST_SET_ASIDE = 10
_PLACES = {
    "keychain": "the system's keychain",
    "file": "a private file (no keychain found)",
    "variable": "ENGRAM_CLOUD_TOKEN",
}
_ACCESS = {
    "": "access not known yet",
    "read": "read only",
    "write": "read and write",
    "none": "not shown to this token",
    "paused": "paused by the server",
}


def _logged_in(value: LoggedIn, now: datetime) -> str:
    lines = [f"Logged in to {value.server} as {value.principal}; the token is in {_PLACES[value.kept_in]}"]
    if value.token_expires_at:
        lines.append(f"the token expires {clock(value.token_expires_at, now)}")
    if value.projects:
        lines.append(f"enrolled: {', '.join(value.projects)}")
    return "\n".join(lines)


def _enrolled(value: Enrolled, now: datetime) -> str:
    lines = [f"Enrolled {name}: it now syncs with {value.server}" for name in value.added]
    lines += [f"Unenrolled {name}: it no longer syncs" for name in value.removed]
    if not lines:
        lines = [f"Nothing changed; enrolled at {value.server}: {', '.join(value.projects) or 'nothing'}"]
    return "\n".join(lines)


def _status(value: CloudStatus, now: datetime) -> str:
    if not value.server:
        return "\n".join(["Not logged in to a server; nothing is sent anywhere", f"→ {value.next_step}"])
    who = f" as {value.principal}" if value.principal else ""
    where = f"; token in {_PLACES[value.kept_in]}" if value.kept_in else ""
    lines = [f"{value.server}{who}{where}", *_state(value, now)]
    if not value.projects:
        lines.append("no project is enrolled, so nothing is sent: engram cloud enroll PROJECT")
    lines += [line for one in value.projects for line in _project(one)]
    lines += list(_aside(value, now))
    lines += _not_applied(value.deferred, value.dead)
    return "\n".join([*lines, *([f"note: {value.notice}"] if value.notice else [])])


def summary(status: CloudStatus) -> list[str]:
    """Return one or two lines about sync with a server, none when this machine is not logged in."""
    if not status.server:
        return []
    pending = f", {amount(status.pending, 'change')} to send" if status.pending else ""
    rows = amount(status.set_aside_total, "change")
    aside = f", {rows} refused (`engram cloud status`)" if status.set_aside_total else ""
    names = ", ".join(project.name for project in status.projects) or "no project enrolled"
    lines = [f"server {status.server} ({names}): {status.phase}{pending}{aside}"]
    if status.reason_code:
        lines.append(f"  {status.reason_code}: {status.reason_message} → {status.next_step}")
    return lines


def _state(value: CloudStatus, now: datetime) -> Iterator[str]:
    last = f"last synced {age(value.last_success_at, now)} ago" if value.last_success_at else "not synced yet"
    if value.last_success_at and age(value.last_success_at, now) == "now":
        last = "last synced a moment ago" if value.reason_code else "synced a moment ago"
    off = "" if value.enabled else "; background sync is off (cloud_autosync, ENGRAM_CLOUD_AUTOSYNC)"
    yield f"{value.phase}: {last}{off}"
    if value.reason_code:
        yield f"{value.reason_code}: {value.reason_message}"
        yield f"→ {value.next_step}"
    if value.backoff_until:
        tries = f"{amount(value.consecutive_failures, 'failure')} in a row"
        at = clock(value.backoff_until, now, "%H:%M:%S %Z")
        yield f"next try {at}, after {tries}; `engram sync --cloud` tries now"


def _project(one: CloudProject) -> Iterator[str]:
    waits = f"{amount(one.pending, 'change')} to send" if one.pending else "nothing to send"
    if one.access == "read":
        waits = f"{amount(one.pending, 'change')} of this machine not sent" if one.pending else "nothing to send"
    yield f"- {one.name}: {_ACCESS[one.access]}; {waits}" + (f"; {one.reason_code}" if one.reason_code else "")
    if one.reason:
        yield f"  → {one.reason}"


def _aside(value: CloudStatus, now: datetime) -> Iterator[str]:
    if not value.set_aside_total:
        return
    rows = value.set_aside_total
    were, them = ("was", "it") if rows == 1 else ("were", "them")
    yield f"{amount(rows, 'change')} {were} refused. Fix {them} as shown, then `engram cloud status --retry`:"
    for one in value.set_aside[:_MOST_SET_ASIDE]:
        who = "the server refused" if one.direction == "push" else "this machine could not read"
        what = f"{who} {one.entity} {one.entity_key} of {one.project or '?'}: {one.reason_code}, {one.reason}"
        yield f"- {what} ({age(one.last_seen_at, now)}, tried {one.tries}×)"
        if one.next_step:
            yield f"  → {one.next_step}"
    if value.set_aside_total > _MOST_SET_ASIDE:
        yield f"- and {value.set_aside_total - _MOST_SET_ASIDE:,} more; --json names {len(value.set_aside)}"


def _synced(value: CloudSynced, now: datetime) -> str:
    if value.outcome == "busy":
        return f"Another engram process syncs with {value.server} now; `engram cloud status` shows its state"
    known = f" ({value.known:,} already known)" if value.known else ""
    waiting = f", {value.deferred:,} waiting" if value.deferred else ""
    sent = f"sent {value.sent + value.known:,}{known}"
    lines = [f"{value.server}: {sent}, received {value.received:,} ({value.applied:,} new{waiting})"]
    if value.set_aside:
        lines.append(f"{amount(value.set_aside, 'change')} refused; `engram cloud status` shows why")
    if value.outcome == "failed":
        lines += [f"sync failed: {value.reason_code}: {value.reason_message}", f"→ {value.next_step}"]
    return "\n".join(lines)


def unapplied(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return the synced rows that could not be applied, a line each, with the reason."""
    lines = (
        f"{row['id']} {row['entity']} {row['entity_key']} of {row['project']}: {row['apply_status']}, "
        f"{row['last_error'] or row['reason_code']}"
        for row in rows
    )
    return "\n".join(lines) or "Every synced row is applied"


WORDS: Words = {
    LoggedIn: _logged_in,
    LoggedOut: lambda value, now: (
        f"Logged out of {value.server}; nothing is sent or fetched now"
        if value.server
        else "This machine was not logged in"
    ),
    Enrolled: _enrolled,
    CloudStatus: _status,
    CloudSynced: _synced,
}
