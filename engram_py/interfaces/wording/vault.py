"""The words of what the vault does."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram_py.doors import call
from engram_py.interfaces.wording.phrases import Words, amount, one_line
from engram_py.vault.values import Applied, Exported, FileList, FileText, FileWritten, Imported, VaultStatus

_SHOWN = 20


def _exported(value: Exported, now: datetime) -> str:
    done = f"{value.root}: {amount(value.files, 'file')}, {len(value.written):,} written"
    return f"{done}, {len(value.removed):,} removed" if value.removed else done


def _imported(value: Imported, now: datetime) -> str:
    if not value.applied:
        return f"{value.root}: nothing was edited since the last export"
    lines = [_applied(one) for one in value.applied]
    if value.exported is not None:
        lines.append(_exported(value.exported, now))
    elif value.dry_run:
        lines.append("Nothing was changed; without --dry-run it is.")
    return "\n".join(lines)


def _applied(one: Applied) -> str:
    handle = f" [#{one.id}]" if one.id is not None else ""
    why = f" ({one.said})" if one.said else ""
    return f"{one.path}: {one.outcome}{handle} {one_line(one.title, 80)}{why}"


def _status(value: VaultStatus, now: datetime) -> str:
    lines = [f"{value.root}: project {value.project}, {amount(value.files, 'file')}, {value.own:,} of your own"]
    lines += _some(value.edited, f"edited by you; {call('vault import')} takes that in")
    lines += _some(value.behind, f"behind the memory; {call('vault export')} writes that")
    return "\n".join(lines) if len(lines) > 1 else f"{lines[0]}; up to date"


def _some(paths: Sequence[str], said: str) -> list[str]:
    shown = [f"  {path}" for path in paths[:_SHOWN]]
    more = [f"  and {len(paths) - _SHOWN:,} more"] if len(paths) > _SHOWN else []
    return [f"{amount(len(paths), 'file')} {said}", *shown, *more] if paths else []


def _text(value: FileText, now: datetime) -> str:
    if value.found:
        return value.text
    near = f"; near: {', '.join(value.near)}" if value.near else ""
    return f"No file {value.path}{near}"


WORDS: Words = {
    Exported: _exported,
    Imported: _imported,
    VaultStatus: _status,
    FileText: _text,
    FileList: lambda value, now: "\n".join(value.files) or "No files",
    FileWritten: lambda value, now: "\n".join(
        (f"Written to {value.path} ({value.bytes:,} bytes)", *map(_applied, value.applied))
    ),
}
