"""The words of anchors: what became of the files an observation is about."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

from engram_py.anchors.values import AnchorState, Checked, StaleLine
from engram_py.interfaces.wording.phrases import Words, age, amount
from engram_py.interfaces.wording.reasons import spelled

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
        return f"No observation of {value.project or 'this place'} names a file"
    states = ", ".join(f"{count} {_COUNTED.get(word, word)}" for word, count in value.states.items())
    stale = f"{len(value.stale)} of {value.observations}" if value.stale else f"None of {value.observations}"
    said = f"{stale} observations with files went stale in {value.project} (files: {states})"
    if not value.stale and set(value.states) == {"unknown"}:
        said = f"Whether {amount(value.observations, 'observation')} of {value.project} went stale is not known: "
        said += f"none of the files could be looked at (files: {states})"
    lines = [said]
    lines += [_stale(line, now, within=value.project) for line in value.stale]
    if value.stale:
        lines.append("`engram get ID` shows one, `engram review ID` confirms it, `engram update ID` corrects it.")
    lines += ["Not stale, but not in the history of what is checked out:"] if value.elsewhere else []
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
