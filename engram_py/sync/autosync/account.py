"""Log in to a server and out, and choose the projects that it gets."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import Any

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import InvalidArgumentError
from engram_py.projects import table as project_table
from engram_py.projects.identities import Identities
from engram_py.projects.names import normalize_project
from engram_py.sync.autosync import table
from engram_py.sync.autosync.answers import Listing
from engram_py.sync.autosync.client import CloudClient
from engram_py.sync.autosync.login import (
    TOKEN_FILE,
    Login,
    current_login,
    delete_token,
    server_address,
    store_token,
    token_of,
)
from engram_py.sync.autosync.settings import TARGET, CloudSettings
from engram_py.sync.autosync.values import Enrolled, LoggedIn, LoggedOut
from engram_py.sync.errors import CloudFailedError, NotLoggedInError, TokenNotKeptError

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

    def __init__(self, store: Store, journal: Journal, settings: CloudSettings) -> None:
        self._store = store
        self._journal = journal
        self._settings = settings

    def login(self, server: str, token: str, *, insecure: bool = False) -> LoggedIn:
        """Keep ``token`` for ``server``, once that server has said whose it is.

        Raises:
            InvalidServerError: no address, or http:// to another machine without ``insecure``.
            CloudFailedError: the server cannot be reached, or does not take the token. Nothing is kept then.
        """
        address = server_address(server or self._settings.server, insecure=insecure)
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
            raise TokenNotKeptError(str(self._store.path.parent / TOKEN_FILE), exc.strerror or str(exc)) from exc
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
        warnings = [] if gone else ["the keychain did not give the token up: remove the entry `engram` there"]
        if self._settings.token:
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

    def _listing(self, login: Login, *, needed: bool) -> tuple[Listing, list[str]]:
        """Return the server's listing, and warnings; only where it is ``needed`` does a silent server raise."""
        try:
            token = token_of(self._store, login)
            with closing(CloudClient(login.server, token, whole_seconds=_FOREGROUND_SECONDS)) as client:
                return client.listing(), []
        except CloudFailedError as failure:
            if needed:
                raise
            return Listing(), [f"not checked with the server: {failure.message}"]

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


def _environment_warnings(settings: CloudSettings, address: str) -> list[str]:
    said = []
    if settings.token:
        said.append("ENGRAM_CLOUD_TOKEN is set, and wins over what was kept now")
    if settings.server and settings.server.rstrip("/") != address:
        said.append(f"ENGRAM_CLOUD_SERVER or cloud_server says {settings.server}: nothing is sent until both agree")
    return said


def _unenrolled_warning(names: list[str], listing: Listing) -> list[str]:
    """Name the local projects that ``--all`` does not enroll: they are enrolled by name."""
    if not names:
        return []
    shown = ", ".join(names[:10])
    if listing.every == "write":
        return [f"not on the server yet, and not enrolled: {shown}; `engram cloud enroll NAME` sends one"]
    return [f"not granted to this token, and not enrolled: {shown}"]


def _enrolled_warning(name: str, listing: Listing, *, here: bool) -> str:
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
