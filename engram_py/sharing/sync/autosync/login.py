"""The login of this machine: server address, account, and the token, in the system's keychain or a private file.

Nothing here uses the network.
"""

from __future__ import annotations

import contextlib
import ipaddress
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal, TypeVar
from urllib.parse import urlsplit

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.files import read_secret, write_atomically
from engram_py.base.lazy import logger_of
from engram_py.base.settings import Settings, is_loopback
from engram_py.sharing.sync.autosync import table
from engram_py.sharing.sync.errors import CloudFailedError, InvalidServerError

logger = logger_of(__name__)

TOKEN_FILE = "cloud-token.json"  # noqa: S105 (a file name)
_SERVICE = "engram"
_LONGEST_FILE = 10_000
_LONGEST_ADDRESS = 500
_PORTS = {"http": 80, "https": 443}

T = TypeVar("T")


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


def current_login(store: Store, settings: Settings) -> Login | None:
    """Return the login of this machine, None without one. A token in the environment counts as a login.

    Raises CloudFailedError when what is set does not fit together: a stored token goes to the server it was made for.
    """
    row = table.login(store)
    server = str(row["server"]) if row is not None else ""
    if settings.cloud_server:
        try:
            server = server_address(settings.cloud_server, insecure=row is not None and bool(row["insecure"]))
        except InvalidServerError as exc:
            raise CloudFailedError("cloud_config_error", exc.message) from exc
    if settings.cloud_token and server:
        return Login(server, "", "", "variable", given=settings.cloud_token)
    if row is None:
        return None
    if server != row["server"]:
        message = f"this machine is logged in to {row['server']}, and ENGRAM_CLOUD_SERVER or cloud_server says {server}"
        raise CloudFailedError("cloud_config_error", message)
    names = ("server", "principal", "role", "kept_in", "token_expires_at", "logged_in_at")
    return Login(*(row[name] for name in names))


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
    readable = len(given) <= _LONGEST_ADDRESS and given.isprintable() and " " not in given
    if parts.scheme not in _PORTS or not host or not readable:
        raise InvalidServerError(given, "it is not https://HOST or https://HOST:PORT")
    if parts.username is not None or parts.password is not None:
        raise InvalidServerError(f"{parts.scheme}://…@{host}", "it has a user or a password; give the token separately")
    if parts.query or parts.fragment:
        raise InvalidServerError(given, "it has a ? or a #")
    if parts.scheme == "http" and not insecure and not is_loopback(host):
        raise InvalidServerError(given, "the token and the memory would go over the network unencrypted")
    shown = f"[{host}]" if ":" in host else host
    place = shown if port in (None, _PORTS[parts.scheme]) else f"{shown}:{port}"
    return f"{parts.scheme}://{place}{parts.path.rstrip('/')}"


def _is_ip(host: str | None) -> bool:
    try:
        ipaddress.ip_address(host or "")
    except ValueError:
        return False
    return True


# --- the token ------------------------------------------------------------------------------------------------


def token_of(store: Store, login: Login) -> str:
    """Return the token of a login. Raises CloudFailedError when it cannot be read."""
    token = login.given or stored_token(store.path.parent, login.server, login.kept_in)
    if not token:
        place = "the keychain is locked or does not hold it" if login.kept_in == "keychain" else "its file is not there"
        raise CloudFailedError("cloud_config_error", f"the token for {login.server} cannot be read: {place}")
    return token


def store_token(data_dir: Path, server: str, token: str) -> Literal["keychain", "file"]:
    """Store ``token`` for ``server`` in place of an earlier one. Raises OSError when it cannot be written."""
    if _keep_in_keychain(server, token):
        _delete_file(data_dir)
        return "keychain"
    write_atomically(data_dir / TOKEN_FILE, json.dumps({"server": server, "token": token}).encode())
    return "file"


def stored_token(data_dir: Path, server: str, place: str) -> str:
    """Return the token of that server, '' when it is missing or the keychain is locked."""
    if place == "keychain":
        return _ask_keychain(lambda keyring: keyring.get_password(_SERVICE, server) or "", otherwise="")
    try:
        values = json.loads(read_secret(data_dir / TOKEN_FILE, _LONGEST_FILE))
    except (OSError, ValueError, RecursionError):
        return ""
    if not isinstance(values, dict) or values.get("server") != server:
        return ""
    token = values.get("token")
    return token if isinstance(token, str) else ""


def delete_token(data_dir: Path, server: str, place: str) -> bool:
    """Delete the token; return whether it is certainly gone."""

    def delete(keyring: Any) -> bool:
        if keyring.get_password(_SERVICE, server) is not None:
            keyring.delete_password(_SERVICE, server)
        return keyring.get_password(_SERVICE, server) is None

    _delete_file(data_dir)
    if place == "keychain":
        return _ask_keychain(delete, otherwise=False)
    return not (data_dir / TOKEN_FILE).exists()


def token_fingerprint(token: str) -> str:
    """Return a short hash of a token, which reveals nothing of it."""
    import hashlib

    return hashlib.sha256(b"engram token " + token.encode("utf-8", "replace")).hexdigest()[:12]


def _keep_in_keychain(server: str, token: str) -> bool:
    def keep(keyring: Any) -> bool:
        keyring.set_password(_SERVICE, server, token)
        return bool(keyring.get_password(_SERVICE, server) == token)

    return _ask_keychain(keep, otherwise=False)


def _ask_keychain(ask: Callable[[Any], T], *, otherwise: T) -> T:
    from engram_py.base.database.keys import NoKey, ask_keychain

    try:
        return ask_keychain(ask)
    except NoKey as exc:
        logger.info("%s", exc)
        return otherwise


def _delete_file(data_dir: Path) -> None:
    with contextlib.suppress(OSError):
        (data_dir / TOKEN_FILE).unlink()
