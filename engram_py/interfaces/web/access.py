"""Who may see the page: a link that opens it once, then a cookie; and the token that every form carries.

All of them are signed with a key that only this user can read, so the command that makes a link need not ask the
server, and a cookie outlives it. A new key (delete ``page.key``) ends every cookie and link at once.
"""

from __future__ import annotations

import hmac
import secrets
import threading
import time
from collections.abc import Callable
from pathlib import Path

from engram_py.database.errors import DataDirError
from engram_py.files import read_bounded, reason, write_atomically

KEY_NAME = "page.key"
LINK_SECONDS, COOKIE_SECONDS = 600, 7 * 24 * 3600
_MOST_KEY = 1_000
_LEAST_KEY = 32


class Access:
    """Makes and checks the link, the cookie and the forms' tokens of one memory's page."""

    def __init__(self, data_dir: Path, *, now: Callable[[], float] = time.time) -> None:
        self._path = data_dir / KEY_NAME
        self._now = now
        self._used: dict[str, int] = {}
        self._lock = threading.Lock()

    def link_token(self) -> str:
        """Return a token that opens the page once, within ten minutes. Raises DataDirError."""
        return self._signed("link", LINK_SECONDS, secrets.token_hex(8))

    def enter(self, token: str) -> str | None:
        """Return the cookie for whoever brings a link's token; None where it is not good, or not any more."""
        nonce = self._checked("link", token)
        if nonce is None:
            return None
        with self._lock:
            now = self._now()
            self._used = {one: until for one, until in self._used.items() if until > now}
            if nonce in self._used:
                return None
            self._used[nonce] = int(now) + LINK_SECONDS + 1
        return self._signed("cookie", COOKIE_SECONDS, secrets.token_hex(8))

    def visitor(self, cookie: str) -> str | None:
        """Return the name of the visitor that a cookie was made for; None for any other cookie."""
        return self._checked("cookie", cookie)

    def form_token(self, visitor: str) -> str:
        """Return what a form of this visitor must carry: no other page can know it."""
        return self._mac("form", visitor)

    def is_form_token(self, visitor: str, given: str) -> bool:
        return hmac.compare_digest(self.form_token(visitor).encode(), given.encode("utf-8", "replace"))

    def _signed(self, kind: str, seconds: int, name: str) -> str:
        body = f"{int(self._now()) + seconds}.{name}"
        return f"{body}.{self._mac(kind, body)}"

    def _checked(self, kind: str, token: str) -> str | None:
        body, _, mac = token.rpartition(".")
        until, _, name = body.partition(".")
        if not hmac.compare_digest(self._mac(kind, body).encode(), mac.encode("utf-8", "replace")):
            return None
        return name if int(until) > self._now() else None

    def _mac(self, kind: str, text: str) -> str:
        return hmac.new(self._key(), f"{kind}\0{text}".encode("utf-8", "replace"), "sha256").hexdigest()

    def _key(self) -> bytes:
        """Return the key of this memory; made when there is none. Read each time: another process may have made a new
        one."""
        try:
            try:
                found = read_bounded(self._path, _MOST_KEY)
            except FileNotFoundError:
                write_atomically(self._path, secrets.token_hex(_LEAST_KEY).encode(), exact=True, overwrite=False)
                found = read_bounded(self._path, _MOST_KEY)
        except OSError as exc:
            raise DataDirError(str(self._path), reason(exc)) from exc
        if len(found) < _LEAST_KEY:  # an empty key would be known to everybody
            raise DataDirError(str(self._path), "it is too short to be a key; delete it")
        return found
