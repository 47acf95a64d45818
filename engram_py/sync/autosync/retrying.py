"""Offers again what was set aside."""

from __future__ import annotations

from engram_py.database.store import Row
from engram_py.sync.autosync import table
from engram_py.sync.autosync.line import Line
from engram_py.sync.autosync.pull import Pull
from engram_py.sync.autosync.push import resend

_AT_ONCE = 50


def retry(line: Line) -> None:
    """Both directions, and what arrived without what it depends on. Raises Problem, Stopped, LeaseLost."""
    rows = table.set_aside(line.store, line.server, limit=100_000)
    mine = [row for row in rows if row["direction"] == "push"]
    for start in range(0, len(mine), _AT_ONCE):
        part = mine[start : start + _AT_ONCE]
        done = resend(line, [(row["entity"], row["entity_key"], row["project"]) for row in part])
        line.commit("push", (), {}, aside=done.aside, taken=done.taken)
    enrolled = [row["project"] for row in table.projects(line.store, line.server)]
    for row in rows:
        if row["direction"] == "pull" and row["remote_seq"]:
            _fetch(line, row, [row["project"]] if row["project"] in enrolled else enrolled)
    line.replica.retry_deferred()


def _fetch(line: Line, row: Row, names: list[str]) -> None:
    """Ask for one entry again; the server may have another one of it by now, or none."""
    line.go_on()
    page = line.client.pull(since=row["remote_seq"] - 1, projects=names, limit=1)
    if not page.entries or page.entries[0][0] != row["remote_seq"]:
        line.commit("pull", (), {}, taken=[(row["entity"], row["entity_key"])])
        return
    Pull().take(line, names, page, {})
