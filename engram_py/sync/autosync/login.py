"""The login of this machine: server address, account and where the token is. Nothing here uses the network."""

from __future__ import annotations

import ipaddress
from urllib.parse import urlsplit

from engram_py.database.store import Row, Store
from engram_py.dataclass import dataclass, field
from engram_py.sync.autosync import table, tokens
from engram_py.sync.autosync.problems import Problem
from engram_py.sync.autosync.settings import CloudSettings
from engram_py.sync.errors import InvalidServerError


@dataclass(frozen=True, slots=True)
class Login:
    """A server and how to get its token. ``kept_in`` is ``keychain``, ``file`` or ``variable``."""

    server: str
    principal: str
    role: str
    kept_in: str
    token_expires_at: str | None = None
    since: str = ""
    given: str = field(default="", repr=False)


def current_login(store: Store, settings: CloudSettings) -> Login | None:
    """Return the login of this machine, None without one. A token in the environment counts as a login.

    Raises Problem when what is set does not fit together: the token that is kept goes to the server it was made for.
    """
    row = table.login(store)
    if not settings.server and row is None:
        return None
    server = _server(settings.server, row)
    if settings.token and server:
        return Login(server, "", "", "variable", given=settings.token)
    if row is None:
        return None
    if server != row["server"]:
        message = f"this machine is logged in to {row['server']}, and ENGRAM_CLOUD_SERVER or cloud_server says {server}"
        raise Problem("cloud_config_error", message)
    names = ("server", "principal", "role", "kept_in", "token_expires_at", "logged_in_at")
    return Login(*(row[name] for name in names))


def token_of(store: Store, found: Login) -> str:
    """Return the token of a login. Raises Problem when it cannot be read."""
    token = found.given or tokens.kept(store.path.parent, found.server, found.kept_in)
    if not token:
        place = "the keychain is locked or does not hold it" if found.kept_in == "keychain" else "its file is not there"
        raise Problem("cloud_config_error", f"the token for {found.server} cannot be read: {place}")
    return token


def _server(setting: str, row: Row | None) -> str:
    if not setting:
        return str(row["server"]) if row is not None else ""
    try:
        return server_address(setting, insecure=row is not None and bool(row["insecure"]))
    except InvalidServerError as exc:
        raise Problem("cloud_config_error", exc.message) from exc


_LONGEST = 500
_PORTS = {"http": 80, "https": 443}


def server_address(text: str, *, insecure: bool = False) -> str:
    """Return the canonical form of a server's address: scheme, host, port, path, no slash at the end.

    Raises InvalidServerError: it is no such address, holds a password, or is http:// to another machine and
    ``insecure`` was not said.
    """
    given = text.strip()
    try:
        parts = urlsplit(given)
        port = parts.port
        host = (parts.hostname or "").encode("idna").decode() if not _is_ip(parts.hostname) else parts.hostname or ""
    except ValueError as exc:
        raise InvalidServerError(given, "it is no address") from exc
    if parts.scheme not in _PORTS or not host or len(given) > _LONGEST or not given.isprintable() or " " in given:
        raise InvalidServerError(given, "it is not https://HOST or https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise InvalidServerError(f"{parts.scheme}://…@{host}", "it holds a user or a password; a token is given apart")
    if parts.query or parts.fragment:
        raise InvalidServerError(given, "it holds a ? or a #")
    if parts.scheme == "http" and not insecure and not is_loopback(host):
        raise InvalidServerError(given, "the token and the memory would go over the network unencrypted")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}"


def is_loopback(host: str) -> bool:
    """Return whether ``host`` is this machine. Names other than localhost are not resolved."""
    if _is_ip(host):
        return ipaddress.ip_address(host).is_loopback
    return host.lower() == "localhost"


def _is_ip(host: str | None) -> bool:
    try:
        ipaddress.ip_address(host or "")
    except ValueError:
        return False
    return True
