"""The log of failed hooks: one JSON line each, without any prompt, bounded and private; its check, and the check
of the command that agents start.
"""

from __future__ import annotations

import base64
import contextlib
import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import StoreError
from engram_py.base.files import read_bounded, write_atomically
from engram_py.base.reasons import amount
from engram_py.base.times import parse_time, to_text
from engram_py.memory.sessions.spool_files import waiting_files
from engram_py.upkeep.values import Check

if TYPE_CHECKING:
    from engram_py.base.database.store import Store

FILE = "hooks.log"
MOST_BYTES = 256 * 1024
LATELY = timedelta(days=7)
# What is no failure: the hook did its work, and only says why it was silent.
HARMLESS = frozenset({"ambiguous_project", "transcript_missing"})
_VALUE_CHARS = 200
_COMMANDS = ("engram", "engram-py")
_LARGEST_SCRIPT = 1024 * 1024


@dataclass(frozen=True, slots=True)
class Failure:
    at: str
    agent: str
    event: str
    reason: str


def append(data_dir: Path, *, now: datetime, agent: str, event: str, reason: str, **details: int | str) -> None:
    """Add a line; never fails, and waits for nobody. Of two that write at once, both are there."""
    from engram_py.base.capture.redact import redact  # a hook that fails is rare
    from engram_py.base.database.keys import MARK, seal

    record = details | {"at": to_text(now), "agent": agent, "event": event, "reason": reason}
    line = json.dumps({name: redact(str(value)).text[:_VALUE_CHARS] for name, value in record.items()}).encode()
    path = data_dir / FILE
    with contextlib.suppress(OSError, ValueError, StoreError):
        line = seal(data_dir, line)
        line = (base64.b64encode(line) if line.startswith(MARK) else line) + b"\n"
        if path.exists() and path.stat().st_size > MOST_BYTES:
            # Keeps the later half. A line that is added meanwhile may be lost: it is a log.
            write_atomically(path, path.read_bytes()[-MOST_BYTES // 2 :].partition(b"\n")[2])
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, line)
        finally:
            os.close(descriptor)


def lately(data_dir: Path, now: datetime, key: bytes = b"") -> list[Failure]:
    """Return the failures of the last seven days, oldest first. Lines that are no such record are passed over."""
    try:
        lines = read_bounded(data_dir / FILE, 4 * MOST_BYTES).splitlines()
    except OSError:
        return []
    failures = (_failure(line, now) for line in _opened(data_dir, lines, key))
    return [failure for failure in failures if failure]


def _opened(data_dir: Path, lines: list[bytes], key: bytes) -> Iterator[bytes]:
    from engram_py.base.database.keys import unseal

    for line in lines:
        with contextlib.suppress(ValueError, StoreError):
            yield line if line.startswith(b"{") else unseal(data_dir, base64.b64decode(line), key)


def _failure(line: bytes, now: datetime) -> Failure | None:
    try:
        record: Any = json.loads(line)
        at = parse_time(record["at"])
        failure = Failure(record["at"], str(record["agent"]), str(record["event"]), str(record["reason"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return failure if at and at >= now - LATELY and failure.reason not in HARMLESS else None


_NAMED = 3
_NO_INPUT = "nothing to do if you ran the hook by hand; an agent writes one JSON object to its standard input"
_STEPS = {
    "timeout": "the database is locked, or the disk is slow; run `engram doctor --check write_lock`",
    "index_damaged": "run `engram doctor --fix`",
    "store_busy": "another program writes to the database; close it",
    "disk_full": "free space on the disk of the data directory",
    "not_spooled": "a prompt was lost; free disk space, or make the data directory writable",
    "transcript_refused": "nothing to do; the file is no transcript of the agent; only citations and turns are missing",
    "transcript_unheard": "this version cannot read the agent's transcripts; it keeps the prompts but not the turns; "
    "upgrade engram, or report the agent's version",
    "transcript_damaged": "nothing to do; lines of the agent's transcript are no JSON, the others are read",
    "empty_input": _NO_INPUT,
    "input_is_not_json": _NO_INPUT,
    "input_is_no_object": _NO_INPUT,
    "input_too_large": "nothing to do; an event of more than 8 MB was skipped",
    "unknown_event": "another version set this hook up; run `engram setup NAME` again",
    "cwd_missing": "the agent names a folder that does not exist; start it in the project's folder",
}


def hooks_check(store: Store, now: datetime) -> Check:
    """Return the failures of the last seven days by reason, what waits in the spool, the agents whose hooks never ran
    though setup wrote them, and advice for each."""
    data_dir = store.path.parent
    failures, waiting, silent = lately(data_dir, now, store.key), len(waiting_files(data_dir)), _never_ran(store)
    evidence: dict[str, object] = {"failures": len(failures), "waiting": waiting}
    notes = [f"{amount(waiting, 'prompt')} waiting to be stored"] if waiting else []
    notes += [f"no hook of {agent} ran since setup wrote them at {at}" for agent, (at, _) in silent.items()]
    if not failures:
        if silent:
            evidence["never_ran"] = list(silent)
        used = any(is_used or to_text(now - timedelta(days=1)) > at for at, is_used in silent.values())
        steps = ["the next hook stores them"] * bool(waiting) + [_TRUST] * bool(silent)
        message = "; ".join(notes) or "no hook failed in seven days"
        return Check("hooks", "warning" if used else "ok", message, evidence, "\n".join(steps) or None)
    reasons = Counter(failure.reason for failure in failures).most_common()
    evidence |= {"reasons": dict(reasons), "last": _line(failures[-1])}
    counted = ", ".join(f"{reason} ({times})" for reason, times in reasons[:_NAMED])
    notes = [f"{amount(len(failures), 'hook')} failed in seven days: {counted}; last {_line(failures[-1])}", *notes]
    steps = [f"{reason}: {_STEPS[reason]}" for reason, _ in reasons if reason in _STEPS] + [_TRUST] * bool(silent)
    steps.append(f"{data_dir / FILE} has a line for each failure")
    return Check("hooks", "warning", "; ".join(notes), evidence, "\n".join(steps))


def command_check() -> Check:
    """Return which program `engram` is on the PATH: shared files of a project and plugins start it by its name."""
    import shutil  # a hook that failed has no use for it

    found = {name: path for name in _COMMANDS if (path := shutil.which(name))}
    ours = [name for name, path in found.items() if _is_ours(path)]
    said = ", ".join(f"`{name}` is {path}{'' if name in ours else ', another program'}" for name, path in found.items())
    message = f"{said}; this one runs from {sys.prefix}" if said else "`engram` is not on the PATH"
    if "engram" in ours or not found:
        return Check("command", "ok", message, {"commands": found})
    if ours:
        return Check(
            "command",
            "ok",
            message,
            {"commands": found},
            "another program is named `engram`; run this one as `engram-py`",
        )
    step = "another program is named `engram`; put the folder of `engram-py` on the PATH, or use its whole path"
    return Check("command", "warning", message, {"commands": found}, step)


def _is_ours(path: str) -> bool:
    """Return whether a program starts engram_py: its launcher, in any environment and on Windows too, names it."""
    try:
        return b"engram_py" in read_bounded(Path(path).resolve(), _LARGEST_SCRIPT)
    except OSError:
        return False  # Engram is a binary of several megabytes


# --- hooks that setup wrote -------------------------------------------------------------------------------

_EXPECTED = Path("setup") / "hooks.json"
_TRUST = (
    "start the agent once; if no hook runs: in Codex type /hooks and trust them, in another agent allow them in its "
    "settings, or run `engram setup NAME` again"
)
# What a hook leaves and a server does not: the processes above it, a transcript it read, a prompt.
_RAN = """
select count(*), coalesce(sum(exists (select 1 from session_hosts where session_id = sessions.id)
    or exists (select 1 from transcripts where session_id = sessions.id)
    or exists (select 1 from user_prompts where session_id = sessions.id)), 0)
from sessions where (agent = :agent or agent like :client) and updated_at >= :at
"""
# What an agent calls itself to a server, where that is not its name or begins with it: codex-mcp-client.
_CLIENTS = {"vscode": "Visual Studio Code%"}


def expect(data_dir: Path, agent: str, now: datetime | None) -> None:
    """Note that setup wrote hooks for an agent, or (None) that it took them out."""
    expected = _expected(data_dir)
    expected.pop(agent, None)
    if now is not None:
        expected[agent] = to_text(now)
    with contextlib.suppress(OSError):
        write_atomically(data_dir / _EXPECTED, json.dumps(expected).encode())


def _expected(data_dir: Path) -> dict[str, str]:
    try:
        expected = json.loads(read_bounded(data_dir / _EXPECTED, MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return {agent: at for agent, at in expected.items() if parse_time(str(at))} if isinstance(expected, dict) else {}


def _never_ran(store: Store) -> dict[str, tuple[str, bool]]:
    """Return the agents whose hooks left nothing since setup: when that was, and whether its server was used since."""
    silent: dict[str, tuple[str, bool]] = {}
    for agent, at in sorted(_expected(store.path.parent).items()):
        [(sessions, ran)] = store.tuples(_RAN, agent=agent, client=_CLIENTS.get(agent, f"{agent}-%"), at=at)
        if not ran:
            silent[agent] = (at, sessions > 0)
    return silent


def _line(failure: Failure) -> str:
    return f"{failure.event} of {failure.agent} at {failure.at}"
