"""Decide what a prompt is given unasked (``engram why`` asks for the reason), and which observations a text shows."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Literal

from engram_py.app import Engram
from engram_py.dataclass import dataclass, replace
from engram_py.files import lines_of
from engram_py.lazy import regex
from engram_py.observations.values import Observation

if TYPE_CHECKING:
    from engram_py.context.values import Context, Item
    from engram_py.recall.values import Near

Reason = Literal["", "no_project", "no_word", "unlikely", "shown_before"]

_QUERY_CHARS = 8_000
_HANDLE = regex(r"\[#([0-9]{1,18})\]")


@dataclass(frozen=True, slots=True)
class Deserved:
    """What a prompt is given: ``context`` is what was looked up, ``reason`` why nothing of it is shown, ``nearest``
    what came nearest to being given."""

    context: Context | None
    reason: Reason = ""
    nearest: Sequence[Near] = ()

    @property
    def shown(self) -> Context | None:
        """What the agent is given; None for nothing."""
        return None if self.reason else self.context


def deserved(app: Engram, prompt: str, session_id: str) -> Deserved:
    """Return the one section that a prompt deserves, without what the session was given before.

    The statements that hold always were given at the session's start.
    """
    from engram_py.context.prompt_kinds import look_up, phrase_in

    place = app.projects.for_read(session_id=session_id)
    if not place.project:
        return Deserved(None, "no_project")  # several projects, or none: nobody asked to see all of them
    looked_up, today = None, app.journal.moment().astimezone(None).date()
    if app.settings.gate != "off" and phrase_in(prompt[:_QUERY_CHARS], today) is None:
        looked_up = look_up(app.store, prompt[:_QUERY_CHARS], place.reads, today)
        if not looked_up.likely():  # most prompts: assembling a context loads much more
            nearest = looked_up.nearest()
            return Deserved(None, "unlikely" if nearest else "no_word", nearest)
    context = app.contexts.assemble(
        session_id=session_id, query=prompt, mode="query", unasked=True, looked_up=looked_up
    )
    known = app.citations.visible(session_id, "prompt", "session", "compact")
    found = tuple(section for section in context.sections if section.name != "overrides" and section.items)
    new = (replace(one, items=tuple(item for item in one.items if not _is_known(item, known))) for one in found)
    left = tuple(section for section in new if section.items)
    if not left:
        return Deserved(replace(context, sections=found), "shown_before" if found else "unlikely")
    return Deserved(replace(context, sections=left))


def _is_known(item: Item, known: Collection[int]) -> bool:
    return isinstance(item, Observation) and item.id in known


def shown_sizes(context: Context, text: str) -> dict[int, int]:
    """Return the observations that a text shows, with the bytes of their lines; numbers in contents do not count."""
    held = {item.id for section in context.sections for item in section.items if isinstance(item, Observation)}
    held |= set(context.remarks.summaries.values())
    sizes: dict[int, int] = {}
    for line in lines_of(text):
        handle = _HANDLE.search(line)
        if handle and int(handle[1]) in held:
            sizes[int(handle[1])] = len(line.encode()) + 1
    return sizes


def shown_whole(context: Context, text: str) -> set[int]:
    """Return the observations whose content a text holds to the last word."""
    printed = " ".join(text.split())
    rows = [item for section in context.sections for item in section.items if isinstance(item, Observation)]
    return {row.id for row in rows if f"[#{row.id}]" in printed and " ".join(row.content.split()) in printed}
