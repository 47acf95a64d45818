"""Decide what a prompt is given unasked, and say why where it is nothing: for the hook, and for ``engram why``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from engram_py.app import Engram
from engram_py.observations.values import Observation

if TYPE_CHECKING:
    from engram_py.context.values import Context

Reason = Literal["", "no_project", "no_cue", "nothing_fits", "shown_before"]

_QUERY_CHARS = 8_000


@dataclass(frozen=True, slots=True)
class Deserved:
    """What a prompt is given: ``context`` is what was looked up, ``reason`` why nothing of it is shown."""

    context: Context | None
    reason: Reason = ""

    @property
    def shown(self) -> Context | None:
        """What the agent is given; None for nothing."""
        return None if self.reason else self.context


def deserved(app: Engram, prompt: str, session_id: str) -> Deserved:
    """The one section that a prompt deserves. What holds always was said at the session's start."""
    from engram_py.context.hook_gate import surely_nothing

    place = app.projects.for_read(session_id=session_id)
    if not place.project:
        return Deserved(None, "no_project")  # several projects, or none: nobody asked to see all of them
    today = app.journal.moment().astimezone(None).date()
    if app.settings.gate != "off" and surely_nothing(app.store, prompt[:_QUERY_CHARS], place.reads, today):
        return Deserved(None, "no_cue")
    context = app.contexts.assemble(session_id=session_id, query=prompt, mode="query", unasked=True)
    known = app.citations.visible(session_id, "prompt", "session", "compact")
    sections = tuple(section for section in context.sections if section.name != "overrides" and section.items)
    found = replace(context, sections=sections)
    if not sections:
        return Deserved(found, "nothing_fits" if found.cue else "no_cue")
    if all(isinstance(item, Observation) and item.id in known for section in sections for item in section.items):
        return Deserved(found, "shown_before")
    return Deserved(found)
