"""Sync with a server: the account and its projects, sync now or in the background, the status.

Every server process imports this module, and most never sync: what sends requests is imported where it is used.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from datetime import datetime
from typing import TYPE_CHECKING, Any

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.runs import NamedLease
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import replace
from engram_py.base.errors import CloudError, InvalidArgumentError
from engram_py.base.settings import Settings
from engram_py.base.times import parse_time, to_text
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.projects import Core, Identities
from engram_py.memory.projects.values import normalize_project
from engram_py.sharing.sync.autosync import table
from engram_py.sharing.sync.autosync.login import (
    TOKEN_FILE,
    Login,
    current_login,
    delete_token,
    server_address,
    store_token,
    token_fingerprint,
    token_of,
)
from engram_py.sharing.sync.autosync.schedule import MOST_SECONDS, SyncWorker, remaining, stopped_after
from engram_py.sharing.sync.autosync.table import (
    TARGET,
    CloudProject,
    CloudStatus,
    CloudSynced,
    Enrolled,
    LoggedIn,
    LoggedOut,
    Phase,
    SetAside,
)
from engram_py.sharing.sync.errors import CloudFailedError, NotLoggedInError, next_step
from engram_py.sharing.sync.replica.table import deferred_counts, deferred_rows

if TYPE_CHECKING:
    from engram_py.sharing.sync.autosync.client import Progress, ServerListing
    from engram_py.sharing.sync.autosync.exchange import Exchange
    from engram_py.sharing.sync.replica.replica import Replica

_STOPPING_SECONDS = 2.0
_LEASE_PATIENCE_SECONDS = 10.0
_LEASE_LOOK_SECONDS = 0.25


class Autosync:
    """Sync with a server. Nothing is sent before somebody logs in and enrolls a project."""

    def __init__(self, core: Core, replica: Callable[[], Replica]) -> None:
        self._store, self._journal, self._settings = core.store, core.journal, core.settings
        self._replica = replica
        self._worker: SyncWorker | None = None

    # --- in the background ------------------------------------------------------------------------------

    def start(self) -> None:
        """Sync in the background from now on, once somebody has logged in: for a process that stays."""
        if self._worker is None and self._settings.cloud_autosync:
            self._worker = SyncWorker(self._store, self._journal, self._settings, self._exchange)
            self._worker.start()

    def stop(self) -> None:
        """End the background thread. What it has not sent is sent by the next process."""
        if self._worker is not None:
            self._worker.stop(seconds=_STOPPING_SECONDS)

    # --- the account ------------------------------------------------------------------------------------

    @property
    def account(self) -> Account:
        """Return what logs in and out, and enrolls projects."""
        return Account(self._store, self._journal, self._settings)

    def status(self) -> CloudStatus:
        """Return the status from the database, without asking the server."""
        return cloud_status(self._store, self._journal, self._settings)

    def deferred(
        self, *, status: str | None = None, limit: int = 50, offset: int = 0
    ) -> tuple[int, list[dict[str, Any]]]:
        """Return how many arrived rows could not be applied, and a page of them without their text."""
        counts = deferred_counts(self._store)
        total = counts.get(status, 0) if status else sum(counts.values())
        return total, deferred_rows(self._store, status=status, limit=limit, offset=offset)

    def replay(self) -> dict[str, int]:
        """Retry the deferred rows and return the counts."""
        before = sum(deferred_counts(self._store).values())
        done = self._replica().retry_deferred()
        after = deferred_counts(self._store)
        succeeded = done.applied + done.unchanged
        waits, dead = after.get("deferred", 0), after.get("dead", 0)
        return {"retried": before, "succeeded": succeeded, "failed": waits, "dead": dead}

    def credentials(self) -> tuple[str, str]:
        """Return the server and the token. Raises NotLoggedInError, CloudFailedError."""
        login = current_login(self._store, self._settings)
        if login is None:
            raise NotLoggedInError
        return login.server, token_of(self._store, login)

    # --- now --------------------------------------------------------------------------------------------

    def sync_now(self, *, progress: Progress | None = None) -> CloudSynced:
        """Fetch and send until both are at their ends, whatever failed before.

        What the server or the way to it does wrong is in the answer, as is that another process is at it.

        Raises NotLoggedInError, CloudError (nothing_enrolled), CloudFailedError (the server refused this token before).
        """
        server = self._ready()
        with closing(self._exchange(threading.Event())) as exchange:
            total = self._once(exchange, server, progress)
            while exchange.more and total.outcome == "done":
                total = _combined(total, self._once(exchange, server, progress))
        return total

    def catch_up(self, *, seconds: float) -> None:
        """Exchange until both are at their ends, for at most ``seconds``, unless failures before say to wait.

        For a process that nobody waits for. Never raises for the server's sake: how it went is in ``status``.
        """
        with stopped_after(seconds) as stopped, closing(self._exchange(stopped)) as exchange:
            for _ in _lease_attempts():
                done = exchange.once()
                while exchange.more and not stopped.is_set():
                    done = exchange.once()
                if done is None or done.outcome != "busy":
                    return

    def retry(self) -> CloudSynced:
        """Try again what was set aside, then sync. Raises as ``sync_now`` does."""
        server = self._ready()
        with closing(self._exchange(threading.Event())) as exchange:
            for _ in _lease_attempts():
                if exchange.retry_set_aside():
                    return self._once(exchange, server, None)
        return CloudSynced("busy", server)

    def _once(self, exchange: Exchange, server: str, progress: Progress | None) -> CloudSynced:
        for _ in _lease_attempts():
            done = exchange.once(now=True, progress=progress)
            if done is None:  # another process took the lease over, or the project was unenrolled meanwhile
                break
            if done.outcome != "busy":
                return done
        return CloudSynced("busy", server)

    def _ready(self) -> str:
        server, token = self.credentials()
        if not table.has_projects(self._store, server):
            raise CloudError(
                f"no project is shared with {server}",
                hint="run `engram cloud enroll PROJECT`, or `engram cloud enroll --all`",
                code="nothing_enrolled",
            )
        if table.is_refused_token(self._store, token_fingerprint(token)):
            raise CloudFailedError("auth_required", f"{server} does not take this token any more")
        return server

    def _exchange(self, stopped: threading.Event) -> Exchange:
        from engram_py.sharing.sync.autosync.exchange import Exchange

        return Exchange(self._store, self._journal, self._replica, self._settings, stopped=stopped)


def _lease_attempts() -> Iterator[None]:
    """Yield repeatedly while a person at a terminal may wait for another process's lease."""
    pause = threading.Event()
    for _ in range(int(_LEASE_PATIENCE_SECONDS / _LEASE_LOOK_SECONDS)):
        yield
        pause.wait(_LEASE_LOOK_SECONDS)


def _combined(one: CloudSynced, other: CloudSynced) -> CloudSynced:
    """Return the last outcome with the sums of both."""
    names = ("sent", "known", "received", "applied", "deferred", "set_aside")
    counts = {name: getattr(one, name) + getattr(other, name) for name in names}
    return replace(other, **counts, warnings=(*one.warnings, *other.warnings))


# --- the account ------------------------------------------------------------------------------------------

_LONGEST_TOKEN = 1_000
_FOREGROUND_SECONDS = 30.0

# State that a login resets, because it belongs to the token before.
_FRESH = {
    "phase": "idle",
    "reason_code": "",
    "reason_message": "",
    "push_failures": 0,
    "push_backoff_until": None,
    "pull_failures": 0,
    "pull_backoff_until": None,
    "refused_token": "",
    "instance": "",
    "last_attempt_at": None,
    "notice": "",
}


class Account:
    """The account of this machine at a server."""

    def __init__(self, store: Store, journal: Journal, settings: Settings) -> None:
        self._store = store
        self._journal = journal
        self._settings = settings

    def login(self, server: str, token: str, *, insecure: bool = False) -> LoggedIn:
        """Keep ``token`` for ``server``, once that server has said whose it is.

        Raises:
            InvalidServerError: no address, or http:// to another machine without ``insecure``.
            CloudFailedError: the server cannot be reached, or does not take the token. Nothing is kept then.
        """
        from engram_py.sharing.sync.autosync.client import CloudClient

        address = server_address(server or self._settings.cloud_server, insecure=insecure)
        token = _checked(token)
        with closing(CloudClient(address, token, whole_seconds=_FOREGROUND_SECONDS)) as client:
            who = client.whoami()
            grants = client.listing().grants or {}
        before = table.login(self._store)
        if before is not None and before["server"] != address:
            delete_token(self._store.path.parent, before["server"], before["kept_in"])
        try:
            place = store_token(self._store.path.parent, address, token)
        except OSError as exc:
            raise CloudError(
                f"the token cannot be kept in {self._store.path.parent / TOKEN_FILE}: {exc.strerror or str(exc)}",
                hint="free disk space, or make the folder writable",
                code="token_not_kept",
            ) from exc
        with self._store.transaction():
            values: dict[str, Any] = {"server": address, "principal": who.principal, "role": who.role, "kept_in": place}
            values |= {"token_expires_at": who.token_expires_at, "logged_in_at": self._journal.now()}
            self._store.insert("cloud_logins", {"id": 1, **values, "insecure": int(insecure)}, replace=True)
            table.set_state(self._store, TARGET, **_FRESH)
            table.set_projects(self._store, address, _names(self._store, address), access="")
        warnings = _environment_warnings(self._settings, address)
        enrolled = _names(self._store, address)
        if not enrolled:
            offered = f" (granted: {', '.join(sorted(grants)[:10])})" if grants else ""
            warnings.append(f"nothing is sent yet: `engram cloud enroll PROJECT`{offered}")
        return LoggedIn(address, who.principal, who.role, place, who.token_expires_at, enrolled, tuple(warnings))

    def logout(self) -> LoggedOut:
        """Forget the token. What is enrolled stays so, for the next login to the same server."""
        row = table.login(self._store)
        gone = row is None or delete_token(self._store.path.parent, row["server"], row["kept_in"])
        with self._store.transaction():
            self._store.execute("delete from cloud_logins")
            table.set_state(self._store, TARGET, **_FRESH)
        warnings = [] if gone else ["the keychain did not delete the token: remove the entry `engram` there"]
        if self._settings.cloud_token:
            warnings.append("ENGRAM_CLOUD_TOKEN is set and still counts as a login")
        return LoggedOut("" if row is None else row["server"], tuple(warnings))

    def enroll(self, names: Sequence[str], *, everything: bool = False) -> Enrolled:
        """Send these projects to the server from now on, and fetch them; ``everything``: all that it grants.

        Raises NotLoggedInError, InvalidProjectError, InvalidArgumentError; with ``everything`` CloudFailedError.
        """
        login = self._current_login()
        if not names and not everything:
            raise InvalidArgumentError("project", "", expected="one or more project names, or --all")
        asked = {normalize_project(name): self._canonical(name) for name in names}
        wanted, local = list(asked.values()), project_table.names(self._store)
        listing, warnings = self._listing(login, needed=everything)
        warnings += [f"{old} is called {now} now" for old, now in asked.items() if old != now]
        if everything:
            wanted += sorted(listing.grants or ())
            warnings += _unenrolled_warning([name for name in local if name not in wanted], listing)
        wanted = list(dict.fromkeys(wanted))
        with self._store.transaction():
            added = [name for name in wanted if table.enroll(self._store, login.server, name)]
            table.set_state(self._store, TARGET, last_attempt_at=None)  # the next look syncs
        warnings += [said for name in wanted if (said := _enrolled_warning(name, listing, here=name in local))]
        return Enrolled(
            login.server, added=tuple(added), projects=_names(self._store, login.server), warnings=tuple(warnings)
        )

    def unenroll(self, names: Sequence[str]) -> Enrolled:
        """Stop sending and fetching these projects. What the server has it keeps, and so does this machine."""
        login = self._current_login()
        known = set(_names(self._store, login.server))
        # A project that was enrolled under a name that is an alias now is still enrolled under that name.
        wanted = [name if name in known else self._canonical(name) for name in map(normalize_project, names)]
        with self._store.transaction():
            removed = [name for name in dict.fromkeys(wanted) if table.unenroll(self._store, login.server, name)]
        warnings = [f"{name} was not enrolled" for name in dict.fromkeys(wanted) if name not in removed]
        if removed:
            warnings.append("what the server has of it stays there")
        return Enrolled(
            login.server, removed=tuple(removed), projects=_names(self._store, login.server), warnings=tuple(warnings)
        )

    # --- helpers ----------------------------------------------------------------------------------------

    def _current_login(self) -> Login:
        login = current_login(self._store, self._settings)
        if login is None:
            raise NotLoggedInError
        return login

    def _listing(self, login: Login, *, needed: bool) -> tuple[ServerListing, list[str]]:
        """Return the server's listing, and warnings; only where it is ``needed`` does a silent server raise."""
        from engram_py.sharing.sync.autosync.client import CloudClient, ServerListing

        try:
            token = token_of(self._store, login)
            with closing(CloudClient(login.server, token, whole_seconds=_FOREGROUND_SECONDS)) as client:
                return client.listing(), []
        except CloudFailedError as failure:
            if needed:
                raise
            return ServerListing(), [f"not checked with the server: {failure.message}"]

    def _canonical(self, name: str) -> str:
        return Identities(self._store, self._journal).meant(normalize_project(name))


def _checked(token: str) -> str:
    token = token.strip()
    if not token:
        raise CloudFailedError("auth_required", "no token was given")
    if not token.isascii() or not token.isprintable() or " " in token or len(token) > _LONGEST_TOKEN:
        message = "that is no token: it holds blanks or other characters that none has"
        raise CloudFailedError("auth_required", message, hint="pass it as it was shown: one line, nothing else")
    return token


def _names(store: Store, server: str) -> tuple[str, ...]:
    return tuple(row["project"] for row in table.projects(store, server))


def _environment_warnings(settings: Settings, address: str) -> list[str]:
    said = []
    if settings.cloud_token:
        said.append("ENGRAM_CLOUD_TOKEN is set, and overrides this token")
    server = settings.cloud_server
    if server and server.rstrip("/") != address:
        said.append(f"ENGRAM_CLOUD_SERVER or cloud_server says {server}: nothing is sent until both agree")
    return said


def _unenrolled_warning(names: list[str], listing: ServerListing) -> list[str]:
    """Name the local projects that ``--all`` does not enroll: they are enrolled by name."""
    if not names:
        return []
    shown = ", ".join(names[:10])
    if listing.every == "write":
        return [f"not on the server yet, and not enrolled: {shown}; `engram cloud enroll NAME` sends one"]
    return [f"not granted to this token, and not enrolled: {shown}"]


def _enrolled_warning(name: str, listing: ServerListing, *, here: bool) -> str:
    """Return a warning about a project that was enrolled just now, or ''."""
    grant = (listing.grants or {}).get(name)
    if grant is None and not here:
        there = ", and the server does not show it to this token" if listing.grants is not None else ""
        step = f"`engram projects` lists the names; `engram cloud unenroll {name}` takes it back"
        return f"nothing here is called {name}{there}: {step}"
    if listing.grants is None:
        return ""
    if grant is None and listing.every == "write":
        return f"{name}: not on the server yet: your first push makes it"
    if grant is None:
        return f"{name}: the server does not show it to this token; it waits until it is granted"
    if grant.access == "read":
        return f"{name}: this token may read it, and not change it; changes here stay here"
    if grant.paused:
        why = f" ({grant.paused_reason})" if grant.paused_reason else ""
        return f"{name} is paused on the server{why}; it waits"
    return ""


# --- the status, from the database alone ------------------------------------------------------------------

MOST_SHOWN = 50
_TOKEN_ENDS_SECONDS = 7 * 86_400.0


def cloud_status(store: Store, journal: Journal, settings: Settings) -> CloudStatus:
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
    server = login.server if login else settings.cloud_server
    code, message = (row["reason_code"], row["reason_message"]) if row is not None else ("", "")
    if failure is not None:
        code, message = failure.reason_code, failure.message
    return CloudStatus(
        enabled=settings.cloud_autosync and failure is None,
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


def _phase(row: Row | None, settings: Settings, lease: NamedLease) -> Phase:
    if row is None:
        return "idle" if settings.cloud_autosync else "disabled"
    phase: Phase = row["phase"]
    if phase in ("pushing", "pulling"):
        return phase if lease.holder() else "idle"  # the process that synced may have been killed
    return phase if settings.cloud_autosync else "disabled"


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
