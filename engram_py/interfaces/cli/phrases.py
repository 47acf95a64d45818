"""Where a sentence tells an agent which tool to call next, a terminal is told the command."""

from __future__ import annotations

from engram_py.models.observation import Deleted, Detail, Results, Saved

_FOUND = " mem_get_observation(id) opens one."
_EARLIER = "; include_history=true shows them"
# What is said after a save and a deletion, at the ends of lines that hold no text of a memory but a title in quotes.
_ENDS = {
    "give each a verdict with mem_judge:": "give each a verdict with `engram judge`:",
    '"; it is hidden, hard_delete=true would destroy it': '"; it is hidden, `--hard` would destroy it',
}
_HINTS = {
    "then repeat the call with project=NAME": "then repeat the command with `--project NAME`",
    "pass project=NAME when you save": "give `--project NAME` when you save",
    "read the content with mem_get_observation": "read the content with `engram get`",
    "find the id with mem_search or mem_context": "find the id with `engram search` or `engram context`",
    "pass the judgment_id that mem_save answered": "pass the judgment_id that `engram save` answered",
}


def in_commands(text: str) -> str:
    """A note or an error."""
    for tool, command in _HINTS.items():
        text = text.replace(tool, command)
    return text


def result_in_commands(text: str, value: object) -> str:
    """A result: what a memory says itself stays as it is."""
    if isinstance(value, Results):
        head, newline, rest = text.partition("\n")
        return head.replace(_FOUND, " `engram get ID` opens one.") + newline + rest
    if isinstance(value, Detail):
        return _detail(text, value)
    if isinstance(value, Saved | Deleted):
        return "\n".join(_line(line) for line in text.split("\n"))
    return text


def _detail(text: str, value: Detail) -> str:
    """The last line says how to see more of the history; what stands before it is the memory's own."""
    before, newline, last = text.rpartition("\n")
    command = f"`engram history {value.observation.id}"
    if value.version_total and not value.versions:
        last = last.removesuffix(_EARLIER) + f"; {command}` shows them"
    elif value.next_cursor is not None:
        last = f"older versions: {command} --cursor {value.next_cursor}`"
    return before + newline + last


def _line(line: str) -> str:
    for tool, command in _ENDS.items():
        if line.endswith(tool):
            return line.removesuffix(tool) + command
    return line
