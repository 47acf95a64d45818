"""The words of what keeps the database well: findings of the doctor, backups, a rebuilt index."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

from engram_py.files import lines_of
from engram_py.interfaces.wording.phrases import Words, amount, clock
from engram_py.upkeep.values import (
    Backup,
    Check,
    Hot,
    HotReport,
    Maintained,
    PassDone,
    Reindexed,
    Report,
    Restored,
    Runs,
)


def _report(value: Report, now: datetime) -> str:
    count = value.summary
    head = f"{value.status}: {count['ok']} ok, {count['warnings']} warnings, {count['errors']} errors ({value.path})"
    lines = [head] + ([f"backup before repair: {value.backup}"] if value.backup else [])
    return "\n".join([*lines, *(line for check in value.checks for line in _check(check))])


def _check(check: Check) -> Sequence[str]:
    line = f"{check.result:7} {check.check_id}: {check.message}" + (" (repaired)" if check.fixed else "")
    steps = [] if check.result == "ok" else lines_of(check.safe_next_step or "")
    return [line, *(f"        → {step}" for step in steps)]


def _restored(value: Restored, now: datetime) -> str:
    kept = f"; what was there is kept in {value.kept}" if value.kept else ""
    return f"Restored {amount(value.observations, 'observation')} from {value.source} to {value.path}{kept}"


def _reindexed(value: Reindexed, now: datetime) -> str:
    rows = f"{amount(value.observations, 'observation')} and {amount(value.prompts, 'prompt')}"
    lines = [f"Indexed {rows}; {value.rewritten} had terms of another version"]
    lines += ["continued where an earlier run was interrupted"] if value.resumed else []
    lines += ["the index was damaged and was made anew first"] if value.mended else []
    return "\n".join(lines)


def _maintained(value: Maintained, now: datetime) -> str:
    if value.busy:
        return "Another process tends the memory just now; ask again in a minute"
    return "\n".join(map(_pass, value.passes)) or "Nothing is due"


def _pass(one: PassDone) -> str:
    lines = [f"{one.name}: {one.status} in {one.ms:,} ms"]
    lines += [f"  {step.name}: {step.error or _counted(step.counts)}" for step in one.steps]
    return "\n".join(lines)


def _counted(counts: Mapping[str, float]) -> str:
    return ", ".join(f"{value:,g} {name}" for name, value in counts.items() if value) or "nothing to do"


def _runs(value: Runs, now: datetime) -> str:
    lines = [
        f"{one.name}: {amount(one.runs, 'run')} in 30 days, {one.success:.0%} succeeded, {one.mean_ms:,} ms each"
        for one in value.passes
    ]
    lines += [
        f"{clock(one.at, now, '%Y-%m-%d %H:%M')} {one.name} {one.status}: {one.detail or _counted(one.counts)}"
        for one in value.runs
    ]
    return "\n".join(lines) or "Upkeep did not run yet"


def _hot(value: HotReport, now: datetime) -> str:
    if not value.observations and not value.entities:
        return "Nothing was used yet: searches and contexts count what they show"
    lines = [f"{amount(value.total, 'use')} in all", *map(_hot_line, value.observations)]
    return "\n".join([*lines, *(["Entities"] if value.entities else []), *map(_hot_line, value.entities)])


def _hot_line(one: Hot) -> str:
    last = f", last {one.last_accessed_at[:10]}" if one.last_accessed_at else ""
    return f"[#{one.id}] {one.title} ({one.kind}): {one.access_count:,} times{last}, {one.tier}"


WORDS: Words = {
    Report: _report,
    Backup: lambda value, now: (
        f"Backed up {amount(value.observations, 'observation')} to {value.path} ({value.bytes:,} bytes)"
    ),
    Restored: _restored,
    Reindexed: _reindexed,
    Maintained: _maintained,
    Runs: _runs,
    HotReport: _hot,
}
