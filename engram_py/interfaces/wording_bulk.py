"""The words of what is done to many observations at once."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

from engram_py.doors import call
from engram_py.interfaces.amounts import amount
from engram_py.interfaces.wording import age, notes
from engram_py.observations.listing import BulkDone, ObservationLine, Selection


def reached(value: Selection) -> str:
    """The counts of a selection: ``14 observations, 2 prompts and 1 session``."""
    parts = [amount(len(value.ids), "observation")]
    parts += [amount(len(value.prompts), "prompt")] if value.prompts else []
    parts += [amount(len(value.sessions), "session")] if value.sessions else []
    return " and ".join([", ".join(parts[:-1]), parts[-1]]) if len(parts) > 1 else parts[0]


def _selection(value: Selection, now: datetime) -> str:
    about = [f"{count} {name}" for name, count in value.types.items()]
    about += [f"{value.pinned} pinned"] if value.pinned else []
    head = f"{value.what}: {reached(value)}" + (f" ({', '.join(about)})" if about else "")
    lines = [head, *(f"  [#{row_id}] {title}" for row_id, title in value.titles)]
    more = len(value.ids) - len(value.titles)
    lines += [f"  and {more} more"] if more else []
    if value.prompts or value.sessions:
        lines.append("  Prompts and the summaries and raw messages of sessions are removed for good.")
    return "\n".join([*lines, *notes(value.warnings)])


def _done(value: BulkDone, now: datetime) -> str:
    if not (value.ids or value.prompts or value.sessions):
        return "\n".join([f"Nothing to change in {value.what}.", *notes(value.warnings)])
    line = f"{value.action.capitalize()} {amount(len(value.ids), 'observation')} of {value.what}"
    line += f", {amount(value.prompts, 'prompt')}" if value.prompts else ""
    line += f", {amount(value.sessions, 'session')}" if value.sessions else ""
    line += f"; {value.unchanged} needed no change" if value.unchanged else ""
    if value.action == "deleted" and value.ids:
        line += f". {call('deleted')} lists them, {call('undelete')} brings one back"
    return "\n".join([f"{line}.", *notes(value.warnings)])


def _line(value: ObservationLine, now: datetime) -> str:
    about = [value.type, age(value.updated_at, now), value.project]
    about += [value.scope] if value.scope != "project" else []
    about += ["pinned"] if value.pinned else []
    about += [f"deleted {age(value.deleted_at, now)}"] if value.deleted_at else []
    return f"[#{value.id}] {value.title} ({', '.join(about)})"


WORDS: dict[type, Callable[[Any, datetime], str]] = {Selection: _selection, BulkDone: _done, ObservationLine: _line}
