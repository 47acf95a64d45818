"""Tell which session a server process belongs to: that of the hook which the same agent started."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

from engram_py.database.store import Store
from engram_py.sessions import table

_MOST_ANCESTORS = 6
# How many programs may stand between an agent and its hook and its server together: a shell, `uv run`.
_MOST_BETWEEN = 2


def ancestors() -> tuple[str, ...]:
    """Return the processes above this one, the parent first, each as its id and, on Linux, when it started.

    Elsewhere only the parent is known.
    """
    found, pid = list[str](), os.getppid()
    while pid > 0 and len(found) < _MOST_ANCESTORS:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            fields = stat[stat.rindex(")") + 2 :].split()
            parent, started = int(fields[1]), fields[19]  # proc(5): fields 4 and 22
        except (OSError, ValueError, IndexError):
            return (*found, str(pid))
        found.append(f"{pid}:{started}")
        pid = parent
    return tuple(found)


def hosted(store: Store, project: str, hosts: Sequence[str]) -> str | None:
    """Return the live session of ``project`` whose hook ran below the same agent as a process below ``hosts``."""
    best: tuple[int, str] | None = None
    for session_id, known in table.hosted(store, project):  # the latest first
        above = json.loads(known)
        between = [above.index(host) + place for place, host in enumerate(hosts) if host in above]
        if between and min(between) <= _MOST_BETWEEN and (best is None or min(between) < best[0]):
            best = (min(between), session_id)
    return best[1] if best else None
