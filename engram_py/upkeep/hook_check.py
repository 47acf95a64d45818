"""What the doctor says of hooks: they fail silently, so somebody has to ask."""

from __future__ import annotations

from collections import Counter
from datetime import datetime
from pathlib import Path

from engram_py.sessions.spool_files import waiting_files
from engram_py.upkeep.hook_log import FILE, Failure, lately
from engram_py.upkeep.values import Check

_NAMED = 3
_NO_INPUT = "run by hand or by a script? An agent writes one JSON object to the hook's standard input"
_STEPS = {
    "timeout": "something holds the database or the disk is slow; run `engram doctor --check write_lock`",
    "index_damaged": "run `engram doctor --fix`",
    "store_busy": "look for a program that holds the database open for writing",
    "disk_full": "make room on the disk of the data directory",
    "not_spooled": "a prompt was lost: the data directory has no room, or cannot be written",
    "transcript_refused": "nothing to do: it is no file in a folder of the agent; only citations and turns are missing",
    "empty_input": _NO_INPUT,
    "input_is_not_json": _NO_INPUT,
    "input_is_no_object": _NO_INPUT,
    "input_too_large": "nothing to do: an event of more than 8 MB was passed over",
    "unknown_event": "the hook was registered by another version; run `engram setup` for that agent again",
    "cwd_missing": "the agent said it works in a folder that is not there; start it in the project's own folder",
}


def hooks_check(data_dir: Path, now: datetime) -> Check:
    """The failures of the last seven days by their reason, and what waits in the spool; a line of advice for each."""
    failures, waiting = lately(data_dir, now), len(waiting_files(data_dir))
    evidence: dict[str, object] = {"failures": len(failures), "waiting": waiting}
    if not failures and not waiting:
        return Check("hooks", "ok", "no hook failed in seven days", evidence)
    said = [f"{waiting} prompt(s) wait to be stored"] if waiting else []
    if not failures:
        return Check("hooks", "ok", "; ".join(said), evidence, "the next hook stores them")
    reasons = Counter(failure.reason for failure in failures).most_common()
    evidence |= {"reasons": dict(reasons), "last": _line(failures[-1])}
    counted = ", ".join(f"{reason} ({times})" for reason, times in reasons[:_NAMED])
    said = [f"{len(failures)} hook(s) failed in seven days: {counted}; last {_line(failures[-1])}", *said]
    steps = [f"{reason}: {_STEPS[reason]}" for reason, _ in reasons if reason in _STEPS]
    steps.append(f"each failure, and where it happened, is a line of {data_dir / FILE}")
    return Check("hooks", "warning", "; ".join(said), evidence, "\n".join(steps))


def _line(failure: Failure) -> str:
    return f"{failure.event} of {failure.agent} at {failure.at}"
