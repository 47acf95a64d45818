"""The words of what looks after the file: findings, backups, exports and imports."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Any

from engram_py.interchange.results import Counts, Exported, Imported
from engram_py.upkeep.values import Backup, Check, Report, Restored

_MOST_REASONS = 5


def _report(value: Report, now: datetime) -> str:
    count = value.summary
    head = f"{value.status}: {count['ok']} ok, {count['warnings']} warnings, {count['errors']} errors ({value.path})"
    lines = [head] + ([f"backup before repair: {value.backup}"] if value.backup else [])
    return "\n".join([*lines, *(line for check in value.checks for line in _check(check))])


def _check(check: Check) -> Sequence[str]:
    line = f"{check.result:7} {check.check_id}: {check.message}" + (" (repaired)" if check.fixed else "")
    steps = [] if check.result == "ok" else (check.safe_next_step or "").splitlines()
    return [line, *(f"        → {step}" for step in steps)]


def _backup(value: Backup, now: datetime) -> str:
    return f"Backed up {value.observations} observations to {value.path} ({value.bytes:,} bytes)"


def _restored(value: Restored, now: datetime) -> str:
    kept = f"; what was there is kept in {value.kept}" if value.kept else ""
    return f"Restored {value.observations} observations from {value.source} to {value.path}{kept}"


def _exported(value: Exported, now: datetime) -> str:
    return (
        f"Exported {value.observations} observations, {value.sessions} sessions, {value.prompts} prompts, "
        f"{value.relations} relations to {value.path} (format {value.version}, {value.bytes:,} bytes)"
    )


def _imported(value: Imported, now: datetime) -> str:
    kinds = ("observations", "sessions", "prompts", "relations")
    lines = [f"Imported {value.path} (format {value.version})"]
    lines += [_counts(kind, getattr(value, kind)) for kind in kinds]
    lines += [_counts(kind, found) for kind in ("versions", "tombstones") if (found := getattr(value, kind)).read]
    lines += [f"redacted {value.redacted} secret or private part(s)"] if value.redacted else []
    return "\n".join([*lines, *(f"note: {warning}" for warning in value.warnings)])


def _counts(kind: str, counts: Counts) -> str:
    invalid = f", {counts.invalid} invalid" if counts.invalid else ""
    why = "; ".join(f"{reason}: {rows}" for reason, rows in list(counts.reasons.items())[:_MOST_REASONS])
    said = f"{kind}: {counts.read} read, {counts.new} new, {counts.newer} newer, {counts.skipped} skipped{invalid}"
    return f"{said} ({why})" if why else said


WORDS: dict[type, Callable[[Any, datetime], str]] = {
    Report: _report,
    Backup: _backup,
    Restored: _restored,
    Exported: _exported,
    Imported: _imported,
}
