"""Where a sentence tells an agent which tool to call next, a terminal is told the command."""

from __future__ import annotations

# Whole phrases: a memory that has the name of a tool in its own words keeps it.
_PHRASES = {
    "best first. mem_get_observation(id) opens one.": "best first. `engram get ID` opens one.",
    "give each a verdict with mem_judge:": "give each a verdict with `engram judge`:",
    "it is hidden, hard_delete=true would destroy it": "it is hidden, `--hard` would destroy it",
    "read the content with mem_get_observation": "read the content with `engram get`",
    "pass the judgment_id that mem_save answered": "pass the judgment_id that `engram save` answered",
    "list the projects with mem_list_projects": "list the projects with `engram projects`",
    "(mem_merge_projects joins": "(`engram projects merge` joins",
}


def in_commands(text: str) -> str:
    for tool, command in _PHRASES.items():
        text = text.replace(tool, command)
    return text
