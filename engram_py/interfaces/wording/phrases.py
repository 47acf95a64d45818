"""Phrases that several results share: amounts, ages, and what became of the files an observation is about."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engram_py.base.reasons import Told, amount, plural
from engram_py.base.times import ago, parse_time
from engram_py.interfaces.wording.reasons import Door, spelled
from engram_py.memory.anchors.values import AnchorState, Checked, StaleLine
from engram_py.memory.privacy.provenance import RELAYED, WAITS

if TYPE_CHECKING:
    from engram_py.memory.sessions.values import SessionLine

__all__ = ["amount", "plural"]  # every interface asks for them here

Words = dict[type, Callable[[Any, datetime], str]]
# Words that name an operation: the door spells it.
SpelledWords = dict[type, Callable[[Any, datetime, Door], str]]

LINE_CHARS = 200
_TURNS = ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
_LOOKED_AT = 4  # of a text that begins with blanks and line ends
_DOORS = {"git": "from .engram", "cloud": "from the team's server", "import": "imported"}


def counted_as(number: float, things: str) -> str:
    """Return a number and the plural name of what was counted, which is singular for one."""
    one = f"{things[:-3]}y" if things.endswith("ies") else things.removesuffix("s")
    return f"{number:,g} {one if number == 1 else things}"


def joined(parts: Sequence[str]) -> str:
    """``14 observations, 2 prompts and 1 session``."""
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else "".join(parts)


def plain_line(words: str, limit: int) -> str:
    """Return one line of at most ``limit`` characters without control or direction characters."""
    kept = "".join("\N{REPLACEMENT CHARACTER}" if _moves(char) else char for char in words)
    line = " ".join(kept.split())
    return line if len(line) <= limit else line[: limit - 1] + "…"


def _moves(char: str) -> bool:
    control = unicodedata.category(char) in ("Cc", "Cs") and not char.isspace()
    return control or unicodedata.bidirectional(char) in _TURNS


def filled(parts: Iterable[str], separator: str = ", ") -> str:
    """Join the parts that are not empty."""
    return separator.join(filter(None, parts))


def beyond_project(scope: str) -> str:
    """Return the scope where it is wider than the project, else ""."""
    return scope if scope != "project" else ""


def age(moment: str | None, now: datetime) -> str:
    parsed = parse_time(moment)
    return ago(parsed, now) if parsed else "?"


def clock(moment: str | None, now: datetime, shape: str = "%Y-%m-%d %H:%M %Z") -> str:
    """Return a time in the zone of ``now``: the reader's own on the command line, else UTC."""
    parsed = parse_time(moment)
    return f"{parsed.astimezone(now.tzinfo):{shape}}" if parsed else "?"


def last_active(line: SessionLine, now: datetime) -> str:
    """Return how long ago a session was active, and when it started where that differs."""
    started = age(line.started_at, now)
    active = age(line.last_activity_at or line.started_at, now)
    return active if active == started else f"{active} (started {started})"


def notes(warnings: Iterable[Told], door: Door) -> list[str]:
    return [f"note: {spelled(warning, door)}" for warning in warnings]


def one_line(text: str, limit: int = LINE_CHARS) -> str:
    """Return the beginning of a text on one line; of a long one, no more is looked at than can be shown."""
    begins = text[: limit * _LOOKED_AT]
    line = " ".join(begins.split())
    return line if len(line) <= limit and len(begins) == len(text) else line[: limit - 1] + "…"


def whence(unchecked: str | None, author: str | None = None) -> list[str]:
    """Return whose a row is that is not the user's own: ``by alice``, or of what nobody here trusted ``from .engram, by
    alice, not checked``."""
    if unchecked is None:
        return [f"by {one_line(author, 40)}"] if author else []
    if unchecked == WAITS:
        return ["waits for review"]
    source, _, name = unchecked.partition("\n")
    passed = "passed on " if source.startswith(RELAYED) else ""
    door = source.removeprefix(RELAYED).partition(":")[0]
    return [
        filled(
            (f"{passed}{_DOORS.get(door, 'from elsewhere')}", f"by {one_line(name, 40)}" if name else "", "not checked")
        )
    ]


# the code of a session without a summary → why it has none; of any other code the code itself
_NO_SUMMARY = {
    "no_signals": "nothing new to summarize",
    "low_novelty": "too little text",
    "agent_summary": "the agent wrote its own",
    "summary_deleted": "it was deleted",
    "recording_off": "recording is off",
    "memory_disabled": "engram is off",
    "no_time": "no time was left",
    "nothing_notable": "nothing worth keeping",
    "session_deleted": "the session was deleted",
    "daily_tokens_spent": "the tokens of the day are spent",
    "no_turns": "no messages",
    "no_retention": "raw messages are not kept",
    "extraction": "none was asked for",
}


def summary_outcome(result: str) -> str:
    """``no summary, too little text (79 characters)`` for ``skipped:low_novelty:79chars``."""
    state, _, rest = result.partition(":")
    why, _, number = rest.partition(":")
    match state:
        case "distilled":
            return "summarized"
        case "pending":
            return "not summarized yet"
        case "dead_letter":
            return f"no summary, given up after {amount(int(rest), 'attempt')}" if rest.isdecimal() else "no summary"
        case "failed":
            return f"failed, {rest}"
        case "skipped" | "no_signals":
            count = f" ({number.removesuffix('chars')} characters)" if number else ""
            if why.endswith("_summary") and why not in _NO_SUMMARY:
                return f"has a better summary{count}"
            return f"no summary, {_NO_SUMMARY.get(why or state, why)}{count}"
    return result


_MOST_ANCHORS = 4  # of one observation, in a list
_COUNTED = {"elsewhere": "only on another branch"}


def anchor(state: AnchorState, *, with_path: bool = True) -> str:
    """Return one anchor: ``src/auth.py:10-20 changed 3 commits ago by Ada``; empty for a fresh one without its path."""
    path = place(state.path, state.start, state.end) if with_path else ""
    match state.state:
        case "moved":
            said = f"moved to {_now(state)}"
        case "changed":
            where = f", now in {state.now_path}" if state.now_path else ""
            said = f"changed{_when(state)}{where}"
        case "gone":
            said = f"gone{_when(state)}"
        case "unknown":
            why = spelled(state.reason, "python") if state.reason else ""
            said = why if state.elsewhere else f"unknown ({why})" if why else "unknown"
        case _:
            said = "fresh" if with_path else ""
    return f"{path} {said}".strip()


def place(path: str, start: int | None, end: int | None) -> str:
    """Return a path with its lines, as in ``src/auth.py:10-20``."""
    if start is None:
        return path
    return f"{path}:{start}" if end in (None, start) else f"{path}:{start}-{end}"


def _now(state: AnchorState) -> str:
    """Return where the text stands now: within its file the lines alone."""
    if state.now_path not in (None, state.path) or state.now_start is None:
        return place(state.now_path or state.path, state.now_start, state.now_end)
    if state.now_end in (None, state.now_start):
        return f"line {state.now_start}"
    return f"lines {state.now_start}-{state.now_end}"


def _when(state: AnchorState) -> str:
    if state.uncommitted:
        return ", not committed yet"
    if state.commits_ago is None:
        return ""
    by = f" by {state.author}" if state.author else ""
    ago = "1 commit" if state.commits_ago == 1 else f"{state.commits_ago:,} commits"
    return f" {ago} ago{by}" if state.commits_ago else f" in the last commit{by}"


def _checked(value: Checked, now: datetime) -> str:
    if not value.anchors:
        return f"No memory of {value.project or 'this folder'} is linked to a file"
    states = ", ".join(f"{count} {_COUNTED.get(word, word)}" for word, count in value.states.items())
    of, are = amount(value.observations, "memory"), "is" if len(value.stale) == 1 else "are"
    said = f"{len(value.stale)} of {of} with files {are} stale in {value.project} (files: {states})"
    if not value.stale and set(value.states) == {"unknown"}:
        said = f"No file of {amount(value.observations, 'memory')} of {value.project} could be read (files: {states})"
    lines = [said]
    lines += [_stale(line, now, within=value.project) for line in value.stale]
    if value.stale:
        lines.append("`engram get ID` shows one, `engram review ID` confirms it, `engram update ID` corrects it.")
    lines += ["Not stale, but their files are only on another branch:"] if value.elsewhere else []
    lines += [_stale(line, now, within=value.project) for line in value.elsewhere]
    return "\n".join(lines)


def _stale(value: StaleLine, now: datetime, *, within: str | None = None) -> str:
    """``within`` is the project that all the lines beside it are of, and that was said above."""
    about = [value.type, *([value.project] if value.project != within else []), age(value.updated_at, now)]
    head = f"[#{value.id}] {value.title} ({', '.join(about)})"
    return f"{head}: {anchors(value.anchors)}"


def anchors(states: Sequence[AnchorState]) -> str:
    """Return the anchors of one observation on one line; a file is not named beside its lines."""
    spans = {(state.path, state.state) for state in states if state.start is not None}
    states = [state for state in states if state.start is not None or (state.path, state.state) not in spans]
    more = f"; and {len(states) - _MOST_ANCHORS} more" if len(states) > _MOST_ANCHORS else ""
    return "; ".join(anchor(state) for state in states[:_MOST_ANCHORS]) + more


WORDS: Words = {
    Checked: _checked,
    StaleLine: _stale,
    AnchorState: lambda value, now: anchor(value),
}
