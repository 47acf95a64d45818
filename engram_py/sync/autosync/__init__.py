"""Keeps the memory in step with a server, in the background and on request. Off until somebody logs in and enrolls.

Nothing here is imported by a process that never syncs, but for the little that ``service`` needs to find that out.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
    from engram_py.sync.autosync.line import Progress
    from engram_py.sync.autosync.service import Autosync
    from engram_py.sync.autosync.values import CloudSynced


class _HasAutosync(Protocol):
    @property
    def autosync(self) -> Autosync: ...


def sync_cloud_now(app: _HasAutosync, progress: Progress | None = None) -> CloudSynced:
    """Fetch and send now, in the foreground. ``progress`` is told (what, done, total).

    Raises NotLoggedInError, NothingEnrolledError. What the server or the way to it does wrong is in the answer.
    """
    return app.autosync.sync_now(progress=progress)


def status_lines(app: _HasAutosync) -> list[str]:
    """How sync with a server is, in a line or two for a status of more than that; empty where there is no server."""
    status = app.autosync.status()
    if not status.server:
        return []
    waits = f", {status.pending:,} change(s) to send" if status.pending else ""
    aside = f", {status.set_aside_total:,} row(s) set aside (`engram cloud status`)" if status.set_aside_total else ""
    names = ", ".join(one.name for one in status.projects) or "no project enrolled"
    lines = [f"server {status.server} ({names}): {status.phase}{waits}{aside}"]
    if status.reason_code:
        lines.append(f"  {status.reason_code}: {status.reason_message} → {status.next_step}")
    return lines
