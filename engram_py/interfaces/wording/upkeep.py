"""The words of what keeps the database well (findings of the doctor, backups, a rebuilt index, vectors), of what the
memory costs, and of ``engram setup``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from engram_py.files import lines_of
from engram_py.interfaces.wording.phrases import Words, amount, clock, counted_as
from engram_py.ledger.costs import Cost, tokens_of
from engram_py.upkeep.values import (
    Backup,
    Check,
    Encryption,
    Hot,
    HotReport,
    Maintained,
    PassDone,
    Reindexed,
    Report,
    Restored,
    Runs,
)
from engram_py.vectors.values import Embedded, TurnedOff, VectorState

if TYPE_CHECKING:
    from engram_py.interfaces.setup.installing import Done


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


def _encryption(value: Encryption, now: datetime) -> str:
    files = f", and {amount(value.files, 'file')} beside it" if value.files else ""
    if value.encryption == "off":
        return f"The memory is plain{files}: {value.path}"
    lines = [f"The memory is encrypted{files}: {value.path}", f"The key is {value.key}"]
    lines += [f"note: {file} can still be read" for file in value.readable]
    return "\n".join(lines)


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
    return ", ".join(counted_as(value, name) for name, value in counts.items() if value) or "nothing to do"


def _runs(value: Runs, now: datetime) -> str:
    lines = [
        f"{one.name}: {amount(one.runs, 'run')} in 30 days, {one.success:.0%} succeeded, {one.mean_ms:,} ms each"
        for one in value.passes
    ]
    lines += [
        f"{clock(one.at, now, '%Y-%m-%d %H:%M')} {one.name} {one.status}: {one.detail or _counted(one.counts)}"
        for one in value.runs
    ]
    since = [f"{amount(value.facts_since_synthesis, 'fact')} since the last synthesis"]
    return "\n".join([*lines, *since] if lines else ["Upkeep did not run yet"])


def _hot(value: HotReport, now: datetime) -> str:
    if not value.observations and not value.entities:
        return "Nothing was used yet: searches and contexts count what they show"
    lines = [f"{amount(value.total, 'use')} in all", *map(_hot_line, value.observations)]
    return "\n".join([*lines, *(["Entities"] if value.entities else []), *map(_hot_line, value.entities)])


def _hot_line(one: Hot) -> str:
    last = f", last {one.last_accessed_at[:10]}" if one.last_accessed_at else ""
    return f"[#{one.id}] {one.title} ({one.kind}): {amount(one.access_count, 'time')}{last}, {one.tier}"


_UNKNOWN = "unknown: no transcript was read; `engram setup` adds the hooks that read them"


def _cost(value: Cost, now: datetime) -> str:
    lines = [_head(value), "", *_doors(value), *_sessions(value), "", *_shares(value)]
    if value.models:
        tokens, dollars = f"{value.models.tokens:,}", f"${value.models.dollars:.2f}"
        lines += ["", _row("models that summarized sessions, 30 days", dollars, tokens)]
    if value.profiles:
        lines += ["", *_profiles(value)]
    return "\n".join(lines)


def _head(value: Cost) -> str:
    what = f"session {value.session_id}" if value.session_id else "all sessions"
    what += f" of project {value.project}" if value.project else ""
    return f"Cost of {what}{f' since {value.since} (UTC)' if value.since else ''}; a token is 4 bytes"


def _doors(value: Cost) -> Iterator[str]:
    if not value.doors:
        yield "Nothing counted yet: answers of hooks, MCP tools and HTTP routes are counted from now on"
        return
    yield _row("answered", "calls", "tokens")
    for one in value.doors:
        yield _row(f"{one.door} {one.name}", f"{one.calls:,}", f"{one.tokens:,}")
    calls, size = sum(one.calls for one in value.doors), sum(one.bytes for one in value.doors)
    yield _row("all", f"{calls:,}", f"{tokens_of(size):,}")


def _sessions(value: Cost) -> Iterator[str]:
    if value.session_id is not None or not value.sessions:
        return
    yield from ("", _row(f"sessions ({value.session_count:,}), most expensive first", "calls", "tokens"))
    for one in value.sessions:
        place = f" ({one.project})" if one.project else ""
        yield _row(f"{one.id or 'unknown session'}{place}", f"{one.calls:,}", f"{one.tokens:,}")


def _shares(value: Cost) -> Iterator[str]:
    yield _row("memories", "number", "tokens")
    shares = {"injected unasked": value.injected, "recalled by tools": value.recalled}
    for name, share in (shares | {"cited": value.cited, "never used": value.never_used}).items():
        yield _row(name, f"{share.observations:,}", f"{share.tokens:,}") if share else f"{name:40} {_UNKNOWN}"


def _profiles(value: Cost) -> Iterator[str]:
    instructions = tokens_of(value.profiles[0].instruction_bytes)
    yield _row(f"each session, {instructions:,} for instructions", "tools", "tokens")
    for one in value.profiles:
        yield _row(f"profile {one.profile}", f"{one.tools:,}", f"{one.tokens:,}")


def _row(name: str, *cells: str) -> str:
    return f"{name:40}" + "".join(f"{cell:>9}" for cell in cells)


_OFF = "Vectors are off; searches go by words alone.\n→ run `engram vectors on`"


def _state(value: VectorState, now: datetime) -> str:
    if not value.embedder:
        return f"{_OFF}\n{_megabytes(value.bytes)} of vectors are kept" if value.bytes else _OFF
    left = value.lacking
    lines = [f"{value.embedder}: {value.done:,} of {value.observations:,} observations have vectors"]
    lines += [f"and {value.documents_done:,} of {value.documents:,} passages of documents"] if value.documents else []
    costs = [f"{_megabytes(value.model_bytes)} for the model"] if value.model_bytes else []
    costs += [f"{_megabytes(value.bytes)} in the database"] if value.bytes else []
    costs += [f"{value.question_ms:.0f} ms a question"] if value.question_ms else []
    if costs:
        lines.append("costs " + ", ".join(costs))
    if value.runtime:
        lines.append(f"runs on {value.runtime}")
    if value.host:
        lines.append(f"texts are sent to {value.host}")
    lines += [f"also kept: {name}" for name in value.others]
    if value.problem:
        lines.append(f"problem: {value.problem}\n→ {value.hint}")
    elif left:
        lines.append(f"→ run `engram vectors on` for the {left:,} left; a running server computes them by itself")
    return "\n".join(lines)


def _megabytes(size: int) -> str:
    return f"{size / 1e6:,.1f} MB" if size >= 50_000 else f"{size:,} bytes"


def _embedded(value: Embedded, now: datetime) -> str:
    what = f"{amount(value.observations, 'observation')}, {amount(value.passages, 'passage')}"
    what += f", {amount(value.documents, 'passage')} of documents" if value.documents else ""
    return f"Computed vectors of {what}, in {value.seconds:.1f} s\n{_state(value.state, now)}"


def _turned_off(value: TurnedOff, now: datetime) -> str:
    if value.deleted:
        return f"Vectors are off; those of {amount(value.deleted, 'observation')} and the models are deleted"
    kept = f" The vectors of {amount(value.kept, 'observation')} are kept." if value.kept else ""
    return f"Vectors are off; searches go by words alone.{kept}"


def description(done: Done, *, dry_run: bool) -> str:
    """Return what was done, or would be, a line for each step."""
    lines = [f"{done.title} ({done.scope})" + ("" if done.changed else ": nothing to change")]
    for step in done.steps:
        if dry_run and step.diff:
            lines.append(step.diff.rstrip("\n"))
        elif done.changed:
            lines.append(f"  {'would be ' if dry_run else ''}{step.kind}: {step.what}")
        if step.replaces:
            verb = "would replace" if dry_run else "replaced"
            lines.append(f"  {verb} your server engram ({step.replaces}); unsetup brings it back")
        if step.note:
            lines.append(f"  {step.note}")
    if done.changed and not dry_run and done.note:
        lines += [f"  {note}" for note in lines_of(done.note)]
    return "\n".join(lines)


WORDS: Words = {
    Report: _report,
    Backup: lambda value, now: (
        f"Backed up {amount(value.observations, 'observation')} to {value.path} ({value.bytes:,} bytes)"
    ),
    Encryption: _encryption,
    Restored: _restored,
    Reindexed: _reindexed,
    Maintained: _maintained,
    Runs: _runs,
    HotReport: _hot,
    Cost: _cost,
    VectorState: _state,
    Embedded: _embedded,
    TurnedOff: _turned_off,
}
