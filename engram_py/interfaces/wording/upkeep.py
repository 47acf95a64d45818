"""The words of what keeps the database well: findings of the doctor, backups, a rebuilt index."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, amount
from engram_py.upkeep.values import Backup, Check, Reindexed, Report, Restored


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
    return f"Backed up {amount(value.observations, 'observation')} to {value.path} ({value.bytes:,} bytes)"


def _restored(value: Restored, now: datetime) -> str:
    kept = f"; what was there is kept in {value.kept}" if value.kept else ""
    return f"Restored {amount(value.observations, 'observation')} from {value.source} to {value.path}{kept}"


def _reindexed(value: Reindexed, now: datetime) -> str:
    rows = f"{amount(value.observations, 'observation')} and {amount(value.prompts, 'prompt')}"
    lines = [f"Indexed {rows}; {value.rewritten} had terms of another version"]
    lines += ["continued where an earlier run was interrupted"] if value.resumed else []
    lines += ["the index was damaged and was made anew first"] if value.mended else []
    return "\n".join(lines)


WORDS: Words = {Report: _report, Backup: _backup, Restored: _restored, Reindexed: _reindexed}
