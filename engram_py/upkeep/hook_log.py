"""The log of what went wrong in hooks: one line of JSON each, never a word of a prompt, bounded, private."""

from __future__ import annotations

import contextlib
import json
import os
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from engram_py.files import read_bounded
from engram_py.times import parse_time, to_text

FILE = "hooks.log"
MOST_BYTES = 256 * 1024
LATELY = timedelta(days=7)
# What is no failure: the hook did its work, and only says why it was silent.
HARMLESS = frozenset({"ambiguous_project", "transcript_missing"})
_VALUE_CHARS = 200


@dataclass(frozen=True, slots=True)
class Failure:
    at: str
    agent: str
    event: str
    reason: str


def append(data_dir: Path, *, now: datetime, agent: str, event: str, reason: str, **details: int | str) -> None:
    """Add a line; never fails, and waits for nobody. Of two that write at once, both are there."""
    record = details | {"at": to_text(now), "agent": agent, "event": event, "reason": reason}
    line = json.dumps({name: str(value)[:_VALUE_CHARS] for name, value in record.items()}) + "\n"
    path = data_dir / FILE
    with contextlib.suppress(OSError, ValueError):
        if path.exists() and path.stat().st_size > MOST_BYTES:
            _halve(path)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
        descriptor = os.open(path, flags, 0o600)
        try:
            os.write(descriptor, line.encode())
        finally:
            os.close(descriptor)


def _halve(path: Path) -> None:
    """Keep the later half. A line that is added meanwhile may be lost: it is a log."""
    partial = path.with_name(f".{FILE}.{os.getpid()}")
    kept = path.read_bytes()[-MOST_BYTES // 2 :].partition(b"\n")[2]
    descriptor = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(descriptor, "wb") as file:
        file.write(kept)
    partial.replace(path)


def lately(data_dir: Path, now: datetime) -> list[Failure]:
    """The failures of the last seven days, oldest first. Lines that are no such record are passed over."""
    try:
        lines = read_bounded(data_dir / FILE, 4 * MOST_BYTES).splitlines()
    except OSError:
        return []
    found = (_failure(line, now) for line in lines)
    return [one for one in found if one]


def _failure(line: bytes, now: datetime) -> Failure | None:
    try:
        record: Any = json.loads(line)
        at = parse_time(record["at"])
        failure = Failure(record["at"], str(record["agent"]), str(record["event"]), str(record["reason"]))
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return None
    return failure if at and at >= now - LATELY and failure.reason not in HARMLESS else None
