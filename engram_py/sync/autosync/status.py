"""The status of sync with a server, from the database alone: for the CLI, the doctor and the HTTP route."""

from __future__ import annotations

from datetime import datetime
from typing import Any

from engram_py.database.journal import Journal
from engram_py.database.lease import NamedLease
from engram_py.database.store import Row, Store
from engram_py.sync.autosync import table
from engram_py.sync.autosync.login import Login, current_login
from engram_py.sync.autosync.schedule import MOST_SECONDS, passed, remaining
from engram_py.sync.autosync.settings import TARGET, CloudSettings
from engram_py.sync.autosync.values import CloudProject, CloudStatus, Phase, SetAside
from engram_py.sync.errors import CloudFailedError, next_step
from engram_py.sync.replica.table import deferred_counts
from engram_py.times import parse_time, to_text
from engram_py.upkeep.values import Check

MOST_SHOWN = 50
_QUIET_SECONDS = 86_400.0
_TOKEN_ENDS_SECONDS = 7 * 86_400.0


def cloud_status(store: Store, journal: Journal, settings: CloudSettings) -> CloudStatus:
    """Return the status; it costs a few queries and no request."""
    row, failure, login, now = table.state(store, TARGET), None, None, journal.moment()
    try:
        login = current_login(store, settings)
    except CloudFailedError as exc:
        failure = exc
    counts = deferred_counts(store)
    facts: dict[str, Any] = {name: counts.get(name, 0) for name in ("deferred", "dead")}
    facts |= {name: row[name] if row is not None else None for name in ("last_attempt_at", "last_success_at")}
    if login is None and failure is None:
        return CloudStatus(enabled=False, next_step="engram cloud login --server URL", **facts)
    server = login.server if login else settings.server
    code, message = (row["reason_code"], row["reason_message"]) if row is not None else ("", "")
    if failure is not None:
        code, message = failure.reason_code, failure.message
    return CloudStatus(
        enabled=settings.autosync and failure is None,
        server=server,
        principal=login.principal if login else "",
        kept_in=login.kept_in if login else "",
        phase=_phase(row, settings, NamedLease(store, journal, TARGET)),
        reason_code=code,
        reason_message=message,
        next_step=next_step(code),
        consecutive_failures=max(row["push_failures"], row["pull_failures"]) if row else 0,
        backoff_until=_backoff(row, now),
        projects=tuple(_project(store, one) for one in table.projects(store, server)),
        set_aside_total=table.count_set_aside(store, server),
        set_aside=tuple(_set_aside(one) for one in table.set_aside(store, server, limit=MOST_SHOWN)),
        notice=_notice(store, row, login, now),
        **facts,
    )


def sync_check(store: Store, journal: Journal, settings: CloudSettings) -> Check:
    """Return the doctor's check of sync."""
    status = cloud_status(store, journal, settings)
    evidence: dict[str, object] = {"server": status.server, "phase": status.phase, "reason_code": status.reason_code}
    evidence |= {"set_aside": status.set_aside_total, "deferred": status.deferred, "dead": status.dead}
    if not status.server:
        return Check("sync", "ok", "not logged in to a server; nothing is sent anywhere", evidence)
    if status.reason_code:
        return Check("sync", "warning", f"{status.server}: {status.reason_message}", evidence, status.next_step)
    if status.set_aside_total:
        message = f"{status.set_aside_total} row(s) were not taken; the rest is in step with {status.server}"
        return Check("sync", "warning", message, evidence, "`engram cloud status` names them and says why")
    if not status.projects:
        step = "engram cloud enroll PROJECT"
        return Check("sync", "ok", f"logged in to {status.server}; no project is enrolled", evidence, step)
    stale = status.enabled and passed(status.last_success_at, journal.moment(), seconds=_QUIET_SECONDS)
    if stale and status.pending:
        message = f"{status.pending} change(s) wait, and {status.server} was not reached for a day"
        return Check("sync", "warning", message, evidence, "`engram sync --cloud` tries now and says what is wrong")
    said = f"in step with {status.server}" if not status.pending else f"{status.pending} change(s) wait to be sent"
    return Check("sync", "ok", said, evidence)


def _phase(row: Row | None, settings: CloudSettings, lease: NamedLease) -> Phase:
    if row is None:
        return "idle" if settings.autosync else "disabled"
    phase: Phase = row["phase"]
    if phase in ("pushing", "pulling"):
        return phase if lease.holder() else "idle"  # the process that synced may have been killed
    return phase if settings.autosync else "disabled"


def _backoff(row: Row | None, now: datetime) -> str | None:
    if row is None:
        return None
    waits = [row[name] for name in ("push_backoff_until", "pull_backoff_until")]
    return max((one for one in waits if remaining(one, now, most=MOST_SECONDS)), default=None)


def _project(store: Store, row: Row) -> CloudProject:
    code = row["push_reason"] or row["pull_reason"]
    return CloudProject(row["project"], row["access"], table.pending(store, row), code, next_step(code))


def _set_aside(row: Row) -> SetAside:
    names = ("direction", "entity", "entity_key", "project", "reason_code", "reason", "repairable", "tries")
    facts = {name: row[name] for name in (*names, "last_seen_at")} | {"repairable": bool(row["repairable"])}
    return SetAside(**facts, next_step=next_step(row["reason_code"]))


def _notice(store: Store, row: Row | None, login: Login | None, now: datetime) -> str:
    said = [row["notice"]] if row is not None and row["notice"] else []
    if login is None:
        return "; ".join(said)
    for name, became in table.merged_away(store, login.server).items():
        said.append(f"{name} is part of {became} now: `engram cloud enroll {became}` if that is to be shared")
    ends = parse_time(login.token_expires_at)
    if ends is not None and (ends - now).total_seconds() < _TOKEN_ENDS_SECONDS:
        said.append(f"the token ends at {to_text(ends)}: get a new one, then `engram cloud login`")
    return "; ".join(said)
