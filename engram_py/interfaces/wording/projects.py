"""The words of projects (which one a folder is, lists, merges, renames), of what is recorded, shown and cleared, and of
exports and imports.
"""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import SpelledWords, Words, age, amount, joined, whence
from engram_py.interfaces.wording.reasons import Door, spelled
from engram_py.memory.privacy.clear import Cleared
from engram_py.memory.privacy.signatures import KeyPhrase, KeyShown
from engram_py.memory.privacy.switches import Allowed, SwitchState
from engram_py.memory.privacy.trust import Arrival, Arrivals, TrustChanged
from engram_py.memory.projects.values import Alike, CurrentProject, Merged, ProjectLine, Pruned, Renamed
from engram_py.recall.values import counted
from engram_py.sharing.interchange.results import Counts, Exported, Imported


def _current(value: CurrentProject, now: datetime, door: Door) -> str:
    name = value.project or "no single project"
    lines = [f"{name} (from {value.project_source}: {value.project_path})"]
    facts = {"remote": value.remote, "branch": value.branch, "candidates": ", ".join(value.candidates)}
    lines += [f"{key}: {fact}" for key, fact in facts.items() if fact]
    lines += ["it has no memories yet"] if value.project and not value.known else []
    lines += [f"hint: {spelled(value.hint, door)}"] if value.hint else []
    return "\n".join(lines)


def _merged(value: Merged, now: datetime) -> str:
    moved = ", ".join(amount(getattr(value, f"{one}s"), one) for one in ("observation", "session", "prompt"))
    verb = "Would merge" if value.dry_run else "Merged"
    line = f"{verb} {', '.join(value.merged)} into {value.into}: {moved}; the old names keep working"
    topics = amount(value.folded_topics, "topic")
    both = f"\n{topics} existed in both projects; both texts are kept" if value.folded_topics else ""
    return line + both


def _pruned(value: Pruned, now: datetime) -> str:
    if not value.names:
        return "No project is empty."
    verb = "Would remove" if value.dry_run else "Removed"
    return f"{verb} {amount(len(value.names), 'empty project')}: {', '.join(value.names)}"


def _line(item: ProjectLine, now: datetime) -> str:
    also = f" (also {', '.join(item.aliases)})" if item.aliases else ""
    active = f", last active: {age(item.last_activity_at, now)}" if item.last_activity_at else ""
    return f"{item.name}: {amount(item.observations, 'observation')}, {amount(item.sessions, 'session')}{active}{also}"


_NAMES = {"enabled": "engram", "record": "recording", "inject": "injecting"}


def _state(value: SwitchState, now: datetime) -> str:
    lines = [f"{f'In {value.project}' if value.project else 'Here'}: {_allowed(value.allowed)}."]
    lines += [
        f"ENGRAM_{switch.upper()} is {_on(on)}, which overrides the rest" for switch, on in value.environment.items()
    ]
    for one in value.choices:
        where = "everywhere" if one.scope == "all" else f"{one.scope} {one.name}"
        lines.append(f"{where}: {_NAMES[one.switch]} {_on(one.on)}")
    return "\n".join(lines)


def _allowed(value: Allowed) -> str:
    if not value.enabled:
        return "engram is off: hooks do nothing"
    return f"engram is on, recording is {_on(value.record)}, injecting is {_on(value.inject)}"


def _on(value: bool) -> str:
    return "on" if value else "off"


def clearing(value: Cleared) -> list[str]:
    """Return what is about to be destroyed, and the copies that stay."""
    lines = [f"This destroys {_what(value)}."]
    if value.copies:
        lines.append(f"{amount(value.copies, 'backup')} in {value.backups} may still hold it.")
    if value.what != "turns":
        lines.append(
            "Synced machines and servers delete their copies at their next sync."
            if value.everywhere
            else "Synced machines and servers keep their copies; --everywhere destroys those too."
        )
        lines.append("Exports and committed files in .engram still contain the text.")
    return [*lines, "Only a backup restores it: `engram backup` makes one."]


def _what(value: Cleared) -> str:
    parts = [amount(count, _ROWS.get(name, name.removesuffix("s"))) for name, count in value.counts.items() if count]
    rows = joined(parts) or "nothing"
    if value.session_id:
        return f"{rows} of session {value.session_id}"
    return f"{rows} of project {value.project}" if value.project else f"{rows} of all projects"


_ROWS = {"versions": "earlier text", "turns": "raw message"}


def _arrival(one: Arrival) -> str:
    [door] = whence(f"{one.source}\n{one.name}")
    state = "trusted" if one.trusted else "not checked"
    key = f" ({one.author})" if one.author and one.author != one.name else ""
    where = joined(one.projects) or "no project"
    return f"{door.removesuffix(', not checked')}{key}: {counted(one.rows)} in {where}, {state}"


def _trust(value: TrustChanged, now: datetime) -> str:
    rows = counted(value.rows)
    if value.trusted:
        return f"Trusted: {rows}. Agents get what these authors write in their project, under their names."
    return f"No longer trusted: {rows}. Agents see everything from there marked as not checked."


def _key(value: KeyShown, now: datetime) -> str:
    former = [f"also yours, from before: {key}" for key in value.former]
    head = f"Your key is now {value.key}" if value.is_new else f"Your key: {value.key}"
    return "\n".join(
        [head, *former, f"kept in {value.path}; `engram key export` prints the phrase for another machine"]
    )


_KINDS = ("observations", "sessions", "prompts", "relations")
_MOST_REASONS = 5


def _exported(value: Exported, now: datetime) -> str:
    counts = ", ".join(amount(getattr(value, kind), kind.removesuffix("s")) for kind in _KINDS)
    return f"Exported {counts} to {value.path} (format {value.version}, {value.bytes:,} bytes)"


def _imported(value: Imported, now: datetime) -> str:
    lines = [f"Imported {value.path} (format {value.version})"]
    lines += [_counts(kind, getattr(value, kind)) for kind in _KINDS]
    lines += [_counts(kind, found) for kind in ("versions", "tombstones") if (found := getattr(value, kind)).read]
    lines += [f"redacted {amount(value.redacted, 'secret or private part')}"] if value.redacted else []
    if value.observations.new and not value.trusted:
        lines.append(
            "Agents see the new memories marked as not checked: no pin, preference or next step of a session is given. "
            f"If they are your own: `engram import --mine {value.path}`; if you trust them: `engram trust --project`."
        )
    return "\n".join(lines)


def _counts(kind: str, counts: Counts) -> str:
    invalid = f", {counts.invalid} invalid" if counts.invalid else ""
    why = "; ".join(f"{reason}: {rows}" for reason, rows in list(counts.reasons.items())[:_MOST_REASONS])
    said = f"{kind}: {counts.read} read, {counts.new} new, {counts.newer} updated, {counts.skipped} skipped{invalid}"
    return f"{said} ({why})" if why else said


WORDS: Words = {
    Merged: _merged,
    Renamed: lambda value, now: f"Renamed {value.project} to {value.name}; the old name keeps working",
    Alike: lambda value, now: f"{', '.join(value.names)} may be the same as {value.into}",
    Pruned: _pruned,
    ProjectLine: _line,
    Arrivals: lambda value, now: "\n".join(map(_arrival, value.items)) or "All memories here are your own.",
    KeyShown: _key,
    KeyPhrase: lambda value, now: value.phrase,
    TrustChanged: _trust,
    SwitchState: _state,
    Cleared: lambda value, now: (
        f"Destroyed {_what(value)}." if any(value.counts.values()) else "There is nothing to destroy."
    ),
    Exported: _exported,
    Imported: _imported,
}

SPELLED: SpelledWords = {
    CurrentProject: _current,
}
