"""The words of sync with a server: logins, projects, how it is, what an exchange did."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from engram_py.interfaces.wording.phrases import Words, age, amount, clock
from engram_py.sync.autosync.values import (
    CloudProject,
    CloudStatus,
    CloudSynced,
    Enrolled,
    LoggedIn,
    LoggedOut,
    SetAside,
)

_MOST_NAMED = 10
_PLACES = {
    "keychain": "the system's keychain",
    "file": "a private file, there being no keychain",
    "variable": "ENGRAM_CLOUD_TOKEN",
}
_ACCESS = {
    "": "not asked yet",
    "read": "read only",
    "write": "read and write",
    "none": "not shown to this token",
    "paused": "paused by the server",
}


def _logged_in(value: LoggedIn, now: datetime) -> str:
    lines = [f"Logged in to {value.server} as {value.principal}; the token is in {_PLACES[value.kept_in]}"]
    if value.token_expires_at:
        lines.append(f"the token expires {clock(value.token_expires_at, now)}")
    if value.projects:
        lines.append(f"enrolled: {', '.join(value.projects)}")
    return "\n".join(lines)


def _logged_out(value: LoggedOut, now: datetime) -> str:
    if not value.server:
        return "This machine was not logged in"
    return f"Logged out of {value.server}; nothing is sent or fetched any more"


def _enrolled(value: Enrolled, now: datetime) -> str:
    lines = [f"Enrolled {name}: it is sent to {value.server} from now on, and fetched" for name in value.added]
    lines += [f"Unenrolled {name}: nothing of it is sent or fetched any more" for name in value.removed]
    if not lines:
        lines = [f"Nothing changed; enrolled at {value.server}: {', '.join(value.projects) or 'nothing'}"]
    return "\n".join(lines)


def _status(value: CloudStatus, now: datetime) -> str:
    if not value.server:
        return "\n".join(["Not logged in to a server; nothing is sent anywhere", f"→ {value.next_step}"])
    who = f" as {value.principal}" if value.principal else ""
    where = f"; token in {_PLACES[value.kept_in]}" if value.kept_in else ""
    lines = [f"{value.server}{who}{where}", *_state(value, now)]
    if not value.projects:
        lines.append("no project is enrolled, so nothing is sent: engram cloud enroll PROJECT")
    lines += [line for one in value.projects for line in _project(one)]
    lines += list(_aside(value, now))
    if value.deferred or value.dead:
        lines.append(
            f"{amount(value.deferred, 'row')} waiting for what they depend on, {value.dead} that cannot be applied"
        )
    return "\n".join([*lines, *([f"note: {value.notice}"] if value.notice else [])])


def summary(status: CloudStatus) -> list[str]:
    """Return one or two lines about sync with a server, none when this machine is not logged in."""
    if not status.server:
        return []
    pending = f", {amount(status.pending, 'change')} to send" if status.pending else ""
    rows = amount(status.set_aside_total, "row")
    aside = f", {rows} set aside (`engram cloud status`)" if status.set_aside_total else ""
    names = ", ".join(project.name for project in status.projects) or "no project enrolled"
    lines = [f"server {status.server} ({names}): {status.phase}{pending}{aside}"]
    if status.reason_code:
        lines.append(f"  {status.reason_code}: {status.reason_message} → {status.next_step}")
    return lines


def _state(value: CloudStatus, now: datetime) -> Iterator[str]:
    last = f"last in step {age(value.last_success_at, now)} ago" if value.last_success_at else "not in step yet"
    if value.last_success_at and age(value.last_success_at, now) == "now":
        last = "last in step a moment ago" if value.reason_code else "in step a moment ago"
    off = "" if value.enabled else "; not in the background (ENGRAM_CLOUD_AUTOSYNC, cloud_autosync)"
    yield f"{value.phase}: {last}{off}"
    if value.reason_code:
        yield f"{value.reason_code}: {value.reason_message}"
        yield f"→ {value.next_step}"
    if value.backoff_until:
        tries = f"{amount(value.consecutive_failures, 'failure')} in a row"
        at = clock(value.backoff_until, now, "%H:%M:%S %Z")
        yield f"next try {at}, after {tries}; `engram sync --cloud` tries now"


def _project(one: CloudProject) -> Iterator[str]:
    waits = f"{amount(one.pending, 'change')} waiting" if one.pending else "nothing waits"
    if one.access == "read":
        waits = f"{amount(one.pending, 'change')} of this machine not sent" if one.pending else "nothing is kept back"
    yield f"- {one.name}: {_ACCESS[one.access]}; {waits}" + (f"; {one.reason_code}" if one.reason_code else "")
    if one.reason:
        yield f"  → {one.reason}"


def _aside(value: CloudStatus, now: datetime) -> Iterator[str]:
    if not value.set_aside_total:
        return
    yield f"{amount(value.set_aside_total, 'row')} set aside; `engram cloud status --retry` offers them again:"
    for one in value.set_aside[:_MOST_NAMED]:
        yield f"- {_row(one)} ({age(one.last_seen_at, now)}, tried {one.tries}×)"
        if one.next_step:
            yield f"  → {one.next_step}"
    if value.set_aside_total > _MOST_NAMED:
        yield f"- and {value.set_aside_total - _MOST_NAMED:,} more; --json names {len(value.set_aside)}"


def _row(one: SetAside) -> str:
    who = "the server did not take" if one.direction == "push" else "this machine could not read"
    return f"{who} {one.entity} {one.entity_key} of {one.project or '?'}: {one.reason_code}, {one.reason}"


def _synced(value: CloudSynced, now: datetime) -> str:
    if value.outcome == "busy":
        return f"Another engram process syncs with {value.server} just now; `engram cloud status` shows how far it is"
    lines = [f"{value.server}: {_counts(value)}"]
    if value.set_aside:
        lines.append(f"{amount(value.set_aside, 'row')} set aside; `engram cloud status` says why")
    if value.outcome == "failed":
        lines += [f"not in step: {value.reason_code}: {value.reason_message}", f"→ {value.next_step}"]
    return "\n".join(lines)


def _counts(value: CloudSynced) -> str:
    known = f" ({value.known:,} it had)" if value.known else ""
    waiting = f", {value.deferred:,} wait for others" if value.deferred else ""
    return f"sent {value.sent + value.known:,}{known}, received {value.received:,} ({value.applied:,} new{waiting})"


def unapplied(rows: Sequence[Mapping[str, Any]], total: int) -> str:
    """Return the synced rows that could not be applied, a line each, with the reason."""
    lines = [
        f"{row['id']} {row['entity']} {row['entity_key']} of {row['project']}: {row['apply_status']}, "
        f"{row['last_error'] or row['reason_code']}"
        for row in rows
    ] or ["Nothing waits to be applied"]
    return "\n".join([*lines, *([f"and {total - len(rows):,} more"] if rows and total > len(rows) else [])])


WORDS: Words = {
    LoggedIn: _logged_in,
    LoggedOut: _logged_out,
    Enrolled: _enrolled,
    CloudStatus: _status,
    CloudSynced: _synced,
}
