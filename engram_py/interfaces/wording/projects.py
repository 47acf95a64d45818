"""The words of projects: which one a folder is, lists, merges, renames."""

from __future__ import annotations

from datetime import datetime

from engram_py.interfaces.wording.phrases import Words, age, amount
from engram_py.projects.values import Alike, CurrentProject, Merged, ProjectLine, Pruned, Renamed


def _current(value: CurrentProject, now: datetime) -> str:
    name = value.project or "no single project"
    lines = [f"{name} (from {value.project_source}: {value.project_path})"]
    facts = {"remote": value.remote, "branch": value.branch, "candidates": ", ".join(value.candidates)}
    lines += [f"{key}: {fact}" for key, fact in facts.items() if fact]
    lines += ["no memory of it yet"] if value.project and not value.known else []
    lines += [f"hint: {value.hint}"] if value.hint else []
    return "\n".join(lines)


def _merged(value: Merged, now: datetime) -> str:
    moved = ", ".join(amount(getattr(value, f"{one}s"), one) for one in ("observation", "session", "prompt"))
    line = f"Merged {', '.join(value.merged)} into {value.into}: {moved}; the old names keep working"
    both = f"\n{amount(value.folded_topics, 'topic')} of both: each keeps both texts" if value.folded_topics else ""
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


WORDS: Words = {
    CurrentProject: _current,
    Merged: _merged,
    Renamed: lambda value, now: f"Renamed {value.project} to {value.name}; the old name keeps working",
    Alike: lambda value, now: f"{', '.join(value.names)} may be {value.into}",
    Pruned: _pruned,
    ProjectLine: _line,
}
