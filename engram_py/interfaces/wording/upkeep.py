"""The words of what keeps the database well: findings of the doctor, backups, a rebuilt index, runs of upkeep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from engram_py.base.database.backup import Backup, Restored
from engram_py.base.files import lines_of
from engram_py.interfaces.wording.phrases import Words, amount, clock, counted_as, summary_outcome
from engram_py.upkeep.values import (
    Check,
    Encryption,
    Maintained,
    PassDone,
    Reindexed,
    Report,
    Runs,
)


def _report(value: Report, now: datetime) -> str:
    count = value.summary
    counts = f"{count['ok']} ok, {amount(count['warnings'], 'warning')}, {amount(count['errors'], 'error')}"
    lines = [f"{value.status}: {counts} ({value.path})"]
    lines += [f"backup before repair: {value.backup}"] if value.backup else []
    return "\n".join([*lines, *(line for check in value.checks for line in _check(check))])


def _check(check: Check) -> Sequence[str]:
    line = f"{check.result:7} {check.check_id}: {check.message}" + (" (repaired)" if check.fixed else "")
    steps = [] if check.result == "ok" else lines_of(check.safe_next_step or "")
    return [line, *(f"        → {step}" for step in steps)]


def _encryption(value: Encryption, now: datetime) -> str:
    files = f", with {amount(value.files, 'other file')}" if value.files else ""
    if value.encryption == "off":
        return f"The database is not encrypted{files}: {value.path}"
    lines = [f"The database is encrypted{files}: {value.path}", f"The key is {value.key}"]
    lines += [f"note: {file} is not encrypted" for file in value.readable]
    return "\n".join(lines)


def _reindexed(value: Reindexed, now: datetime) -> str:
    rows = f"{amount(value.observations, 'observation')} and {amount(value.prompts, 'prompt')}"
    older = f"; {value.rewritten} {'was' if value.rewritten == 1 else 'were'} indexed by an older version"
    lines = [f"Indexed {rows}{older if value.rewritten else ''}"]
    lines += ["continued where an earlier run was interrupted"] if value.resumed else []
    lines += ["the index was damaged and was rebuilt first"] if value.mended else []
    return "\n".join(lines)


def _maintained(value: Maintained, now: datetime) -> str:
    if value.busy:
        return "Upkeep is running in another process. Try again in a minute."
    return "\n".join(map(_pass, value.passes)) or "Nothing is due"


def _pass(one: PassDone) -> str:
    lines = [f"{one.name}: {one.status} in {one.ms:,} ms"]
    lines += [f"  {step.name}: {step.error or _counted(step.counts)}" for step in one.steps]
    return "\n".join(lines)


def _counted(counts: Mapping[str, float]) -> str:
    return ", ".join(counted_as(value, name) for name, value in counts.items() if value) or "nothing to do"


def _runs(value: Runs, now: datetime) -> str:
    lines = [
        f"{one.name}: {amount(one.runs, 'run')} in 30 days, {one.success:.0%} succeeded, {one.mean_ms:,} ms each"
        for one in value.passes
    ]
    lines += [
        f"{clock(one.at, now, '%Y-%m-%d %H:%M')} {one.name} {one.status}: "
        f"{summary_outcome(one.detail) or _counted(one.counts)}"
        for one in value.runs
    ]
    since = [f"{amount(value.facts_since_synthesis, 'new fact')} since summaries were last written"]
    return "\n".join([*lines, *since] if lines else ["Upkeep has not run yet"])


WORDS: Words = {
    Report: _report,
    Backup: lambda value, now: (
        f"Backed up {amount(value.observations, 'observation')} to {value.path} ({value.bytes:,} bytes)"
    ),
    Encryption: _encryption,
    Restored: lambda value, now: (
        f"Restored {amount(value.observations, 'observation')} from {value.source} to {value.path}"
        f"{f'; the old database is kept in {value.kept}' if value.kept else ''}"
    ),
    Reindexed: _reindexed,
    Maintained: _maintained,
    Runs: _runs,
}
