"""The words of ``engram why``: what a prompt is given unasked, and why."""

from __future__ import annotations

from typing import Any

_TRIVIAL = "it only keeps an agent going, so the hook does not open the memory"
_REASONS = {
    "off": "it is switched off (`engram on --status`)",
    "no_project": "the hook reads one project, and this folder does not name one (`engram projects current`)",
    "no_word": "no memory here has a word that says what it is about",
    "unlikely": "nothing there is likely to be needed for it",
    "shown_before": "the session was shown all of it before",
}


def why(values: dict[str, Any], search: str) -> str:
    """Return what a prompt is given and why, then what a search for it finds."""
    lines = []
    if values["heard"] is not None:
        where = f", looked in {values['looked_in']}" if values["looked_in"] else ""
        lines.append(f"Found by: {values['heard']}{where}.")
    if values["reason"]:
        lines.append(f"The agent is given nothing: {why_nothing(values)}.")
        lines += [f"  {one}" for one in nearly(values)]
    else:
        lines += [f"The agent is given {len(values['given'].encode()) // 4} tokens:", "", values["given"]]
    return "\n".join([*lines, "", "A search for the same words:", search])


def why_nothing(values: dict[str, Any]) -> str:
    """Return why a prompt is given nothing; empty where it is given something."""
    if not values["reason"]:
        return ""
    return str(values["not_merged"] or _REASONS.get(values["reason"], _TRIVIAL))


def nearly(values: dict[str, Any]) -> list[str]:
    """Return the memories that came nearest to being given, and how near."""
    return [
        f"[#{one['id']}] {one['title']} has {', '.join(one['words'])}:"
        f" {one['probability']:.0%} likely to be needed, {one['needed']:.0%} is asked"
        for one in values["nearest"]
    ]
