"""Where this machine is logged in, as far as can be told without asking anybody."""

from __future__ import annotations

from dataclasses import dataclass, field

from engram_py.database.store import Row, Store
from engram_py.errors import InvalidServerError
from engram_py.sync.autosync import table, tokens
from engram_py.sync.autosync.address import server_address
from engram_py.sync.autosync.problems import Problem
from engram_py.sync.autosync.settings import CloudSettings


@dataclass(frozen=True, slots=True)
class Standing:
    """A server and how to get the token for it. ``kept_in`` is ``keychain``, ``file`` or ``variable``."""

    server: str
    principal: str
    role: str
    kept_in: str
    token_expires_at: str | None = None
    since: str = ""
    given: str = field(default="", repr=False)


def standing(store: Store, settings: CloudSettings) -> Standing | None:
    """None when nobody logged in. A token of the environment counts as a login to the server that is set.

    Raises Problem when what is set does not fit together: the token that is kept goes to the server it was made for.
    """
    row = table.login(store)
    if not settings.server and row is None:
        return None
    server = _server(settings.server, row)
    if settings.token and server:
        return Standing(server, "", "", "variable", given=settings.token)
    if row is None:
        return None
    if server != row["server"]:
        message = f"this machine is logged in to {row['server']}, and ENGRAM_CLOUD_SERVER or cloud_server says {server}"
        raise Problem("cloud_config_error", message)
    names = ("server", "principal", "role", "kept_in", "token_expires_at", "logged_in_at")
    return Standing(*(row[name] for name in names))


def token_of(store: Store, found: Standing) -> str:
    """Raises Problem when the token is not where it was put."""
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
