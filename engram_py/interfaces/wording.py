"""The words of each kind of result. ``[#12]`` is an observation's handle wherever one is shown."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from functools import singledispatch
from importlib import import_module

from engram_py.doors import call
from engram_py.interfaces.amounts import amount
from engram_py.observations.values import (
    Deleted,
    Detail,
    Neighbour,
    Pinned,
    RelationNote,
    Reviewed,
    Saved,
    Timeline,
    Undeleted,
    Updated,
)
from engram_py.times import ago, parse_time

_RELATED = {"related": "related to", "compatible": "compatible with", "conflicts": "conflicts with"}


@singledispatch
def text(value: object, now: datetime) -> str:
    """The words of a result; registered for each kind of observation below, for the rest in the modules beside."""
    # What a search never shows costs it nothing.
    for name in ("work", "bulk", "care", "eval", "anchors", "vectors", "cost", "cloud", "privacy"):
        words = import_module(f"engram_py.interfaces.wording_{name}").WORDS.get(type(value))
        if words is not None:
            return str(words(value, now))
    raise TypeError(f"nothing says {type(value).__name__}")


def age(moment: str | None, now: datetime) -> str:
    parsed = parse_time(moment)
    return ago(parsed, now) if parsed else "?"


def clock(moment: str | None, now: datetime, shape: str = "%Y-%m-%d %H:%M %Z") -> str:
    """A time in the zone of ``now``: the reader's own on the command line, else UTC."""
    parsed = parse_time(moment)
    return f"{parsed.astimezone(now.tzinfo):{shape}}" if parsed else "?"


def notes(warnings: Iterable[str]) -> list[str]:
    return [f"note: {warning}" for warning in warnings]


def relation(note: RelationNote) -> str:
    """``superseded_by [#49] Its title``."""
    end = f"[#{note.id}]" if note.id is not None else "a deleted observation"
    gone = " (deleted)" if note.deleted and note.id else ""
    return f"{_RELATED.get(note.label, note.label)} {end} {note.title}".rstrip() + gone


@text.register
def _saved(value: Saved, now: datetime) -> str:
    verb = {"added": "Saved", "updated": f"Revised (revision {value.revision_count})", "duplicate": "Already known"}
    lines = [f'{verb[value.outcome]} [#{value.id}] "{value.title}" ({value.type}) in {value.project}']
    if value.scope != "project":
        lines[0] += f", {value.scope}"
    topic = call("topic", key=value.suggested_topic_key)
    if value.topic_holder is not None:
        lines.append(f"Near [#{value.topic_holder}]: {topic} revises that one instead.")
    elif value.suggested_topic_key:
        lines.append(f"{topic} revises it later.")
    if value.candidates:
        older = ", ".join(f'[#{one.id}] "{one.title}" (judgment_id={one.judgment_id})' for one in value.candidates)
        lines.append(f"May relate to {older}; {call('judge')} says how.")
    return "\n".join([*lines, *notes(value.warnings)])


@text.register
def _updated(value: Updated, now: datetime) -> str:
    if value.outcome == "unchanged":
        return f'Unchanged [#{value.id}] "{value.title}": it says so already'
    what = f'Updated [#{value.id}] "{value.title}" in {value.project}: {", ".join(value.changed)}'
    what += f" (revision {value.revision_count})"
    return "\n".join([what, *notes(value.warnings)])


def _history(value: Detail, now: datetime) -> list[str]:
    """Earlier texts and supersessions as one line of events, newest first."""
    events = [
        (one.created_at, f"--- version {one.version}, of {clock(one.created_at, now)}: {one.title}", one.content)
        for one in value.versions
    ]
    for step in value.line:
        why = f": {step.reason}" if step.reason else ""
        replaced = f"[#{step.newer}] {step.newer_title} replaced [#{step.older}] {step.older_title}"
        older = step.older_content if step.older != value.observation.id else ""
        events.append((step.at, f"--- {clock(step.at, now)}: {replaced}{why}", older))
    events.sort(key=lambda event: event[0], reverse=True)
    return [line for _, head, body in events for line in ("", head, *([body] if body else []))]


@text.register
def _detail(value: Detail, now: datetime) -> str:
    row = value.observation
    marks = [row.type, row.project, f"{clock(row.updated_at, now)}, {age(row.updated_at, now)}"]
    marks += [row.scope] if row.scope != "project" else []
    marks += ["pinned"] if row.pinned else []
    marks += [f"revision {row.revision_count}"] if row.revision_count > 1 else []
    marks += ["NEEDS REVIEW"] if value.state == "needs_review" else []
    lines = [f"[#{row.id}] {row.title}", f"({' · '.join(marks)})"]
    facts = {"topic": row.topic_key, "aliases": row.aliases, "branch": row.git_branch, "session": row.session_id}
    lines.append(" ".join(f"{name}: {fact}" for name, fact in facts.items() if fact))
    if value.anchors:
        from engram_py.interfaces.wording_anchors import anchors

        lines.append(f"files: {anchors(value.anchors)}")
    lines += [relation(note) for note in value.relations]
    lines += ["", row.content]
    if value.version_total and not value.versions:
        lines += ["", f"{amount(value.version_total, 'earlier version')}; {call('history', id=row.id)} shows all."]
    lines += _history(value, now)
    if value.next_cursor is not None:
        lines += ["", f"older versions: {call('older', id=row.id, cursor=value.next_cursor)}"]
    return "\n".join([*lines, *notes(value.warnings)])


@text.register
def _deleted(value: Deleted, now: datetime) -> str:
    if value.hard:
        rest = f"; {amount(value.relations_orphaned, 'relation')} orphaned" if value.relations_orphaned else ""
        return f'Destroyed [#{value.id}] "{value.title}" and its versions; this cannot be undone{rest}'
    return f'Deleted [#{value.id}] "{value.title}"; it is hidden, {call("destroy")} would destroy it'


@text.register
def _timeline(value: Timeline, now: datetime) -> str:
    focus = value.focus
    head = f"Session {value.session_id} ({clock(value.session_started_at, now)}), {value.total_in_session} observations"
    lines = [head, *(_neighbour(row, now) for row in value.before)]
    lines += [f">>> [#{focus.id}] [{focus.type}] {focus.title} <<<", focus.content]
    return "\n".join([*lines, *(_neighbour(row, now) for row in value.after), *notes(value.warnings)])


def _neighbour(row: Neighbour, now: datetime) -> str:
    return f"[#{row.id}] {clock(row.created_at, now, '%H:%M')} [{row.type}] {row.title}"


@text.register
def _undeleted(value: Undeleted, now: datetime) -> str:
    return f'Back again: [#{value.id}] "{value.title}" in {value.project}'


@text.register
def _pinned(value: Pinned, now: datetime) -> str:
    return f'{"Pinned" if value.pinned else "Unpinned"} [#{value.id}] "{value.title}"'


@text.register
def _reviewed(value: Reviewed, now: datetime) -> str:
    due = "no date for a next one"
    if value.review_after:
        due = f"next review {clock(value.review_after, now, '%Y-%m-%d')}"
    return f'Reviewed [#{value.id}] "{value.title}"; {due}'
