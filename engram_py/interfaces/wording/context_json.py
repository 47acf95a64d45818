"""A context as JSON-ready values: what its text shows of each row, and no more bytes than it may have."""

from __future__ import annotations

import json
from typing import Any

from engram_py.context.values import Context, Item, OwnFile
from engram_py.interfaces.wording.anchors import anchor
from engram_py.interfaces.wording.context import PREVIEW_CHARS
from engram_py.interfaces.wording.phrases import one_line, whence
from engram_py.observations.values import Observation
from engram_py.sessions.values import Said, SessionLine


def context_values(context: Context) -> dict[str, Any]:
    """Return the sections under their names, cut from the end when they do not fit, which ``truncated`` says."""
    values: dict[str, Any] = {
        "project": context.project,
        "project_source": context.project_source,
        "mode": context.mode,
        "max_bytes": context.max_bytes,
        "truncated": False,
    }
    if context.mode == "session":
        values["memories"] = context.memories
        found = context.documents
        counts = {"commits": found.commits, "decisions": found.decisions, "documents": found.documents} if found else {}
        values |= {"documents": counts} if counts else {}
    if context.mode == "query":
        values |= {"section": context.section, "cue": context.cue}
        values |= {"unmerged": list(context.unmerged)} if context.unmerged else {}
        notes = [section.note for section in context.sections if section.note]
        values |= {"note": notes[0]} if notes else {}
    if context.today:
        values["date"] = context.today
    values |= {section.name: [] for section in context.sections}
    values["warnings"] = list(context.warnings)
    room = context.max_bytes - _size(values)
    for section in context.sections:
        for item in section.items:
            told = _item(item, context)
            room -= _size(told) + 1
            if room < 0:
                values["truncated"] = True
                return values
            values[section.name].append(told)
    return values


def _item(item: Item, context: Context) -> dict[str, Any]:
    if isinstance(item, Observation):
        return _observation(item, context)
    if isinstance(item, OwnFile):
        return {"path": item.path, "content": item.content}
    if isinstance(item, SessionLine):
        told = {name: getattr(item, name) for name in ("id", "project", "agent", "started_at", "ended_at")}
        told |= {"last_activity_at": item.last_activity_at} if item.last_activity_at else {}
        told["summary"] = one_line(item.summary) if item.summary else None
        steps = context.remarks.next_steps.get(item.id)
        handle = context.remarks.summaries.get(item.id)
        told |= {"observations": item.observations}
        saved = context.remarks.saved.get(item.id)
        told |= {"last_saved": [{"id": row.id, "title": row.title} for row in saved]} if saved else {}
        return told | ({"summary_id": handle} if handle else {}) | ({"next_steps": list(steps)} if steps else {})
    told = {"id": item.id, "project": item.project, "content": one_line(item.content)}
    if isinstance(item, Said):
        return told | {"layer": item.layer, "session_id": item.session_id, "created_at": item.said_at}
    return told | {"created_at": item.created_at}


def _observation(row: Observation, context: Context) -> dict[str, Any]:
    names = ("id", "sync_id", "type", "project", "scope", "topic_key", "pinned", "origin", "review_after", "updated_at")
    told = {name: getattr(row, name) for name in names} | {"title": one_line(row.title)}
    remarks = context.remarks
    said = {
        "unchecked": ", ".join(whence(row.unchecked)),
        "replaced": remarks.instead_of.get(row.id),
        "elsewhere": remarks.branches.get(row.id),
        "files": [anchor(state) for state in remarks.files.get(row.id, ())],
    }
    told |= {name: value for name, value in said.items() if value}
    text = remarks.excerpts.get(row.id, row.content)
    return told if context.compact else told | {"preview": one_line(text, PREVIEW_CHARS)}


def _size(values: object) -> int:
    return len(json.dumps(values, ensure_ascii=False, separators=(",", ":")).encode())
