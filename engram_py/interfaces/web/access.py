"""The secrets of a server: what programs show, the link that opens the page once, its cookie, its forms' tokens.

A program shows what is in ``http.token``. The others are signed with a key that only this user can read, too, so the
command that makes a link need not ask the server, and a cookie outlives it. A new key (delete ``page.key``) ends every
cookie and link at once. A link is a file as well, which whoever uses it takes away: no other server lets it in again.
"""

from __future__ import annotations

import hmac
import secrets
import time
from collections.abc import Callable
from html import escape
from pathlib import Path

from engram_py.base.database.errors import DataDirError
from engram_py.base.files import read_secret, reason, write_atomically
from engram_py.interfaces.http.errors import HttpError


class NoPageError(HttpError):
    status = 404

    def __init__(self, path: str) -> None:
        super().__init__(f"no page is at {path[:200]}", hint="the links above lead to all pages")


KEY_NAME, TOKEN_NAME, LINKS = "page.key", "http.token", "page-links"
LINK_SECONDS, COOKIE_SECONDS = 600, 7 * 24 * 3600
_MOST_KEY = 1_000
_LEAST_KEY = 32


class Access:
    """Makes and checks the secrets of one memory's server. Everything raises DataDirError where none can be kept."""

    def __init__(self, data_dir: Path, *, now: Callable[[], float] = time.time) -> None:
        self._folder = data_dir
        self._now = now

    def bearer(self) -> str:
        """Return what a program must show, made when there is none."""
        return self._kept(TOKEN_NAME).decode("ascii", "replace").strip()

    def link_token(self) -> str:
        """Return a token that opens the page once, within ten minutes."""
        nonce = secrets.token_hex(8)
        self._write_link(nonce, "")
        return self._signed("link", LINK_SECONDS, nonce)

    def leading_to(self, address: str, token: str) -> Path:
        """Return a file that leads a browser to a link: other users see the words of a command, not what is in it."""
        nonce = token.split(".")[1]
        head = f'<!doctype html><meta http-equiv="refresh" content="0; url={escape(address)}">'
        return self._write_link(nonce, f'{head}<a href="{escape(address)}">The page of this memory</a>\n')

    def _write_link(self, nonce: str, page: str) -> Path:
        folder = self._folder / LINKS
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            for old in folder.iterdir():
                if old.stat().st_mtime < self._now() - LINK_SECONDS:
                    old.unlink(missing_ok=True)
            write_atomically(folder / f"{nonce}.html", page.encode(), exact=True)
        except OSError as exc:
            raise DataDirError(str(folder), reason(exc)) from exc
        return folder / f"{nonce}.html"

    def enter(self, token: str) -> str | None:
        """Return the cookie for whoever brings a link's token; None where it is not good, or not any more."""
        nonce = self._checked("link", token)
        if nonce is None:
            return None
        try:
            (self._folder / LINKS / f"{nonce}.html").unlink()
        except FileNotFoundError:
            return None
        except OSError as exc:
            raise DataDirError(str(self._folder / LINKS), reason(exc)) from exc
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
        return hmac.new(self._kept(KEY_NAME), f"{kind}\0{text}".encode("utf-8", "replace"), "sha256").hexdigest()

    def _kept(self, name: str) -> bytes:
        """Return a secret of this memory; made when there is none. Read each time: another process may have made a new
        one."""
        path = self._folder / name
        try:
            try:
                found = read_secret(path, _MOST_KEY)
            except FileNotFoundError:
                self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
                write_atomically(path, secrets.token_hex(_LEAST_KEY).encode(), exact=True, overwrite=False)
                found = read_secret(path, _MOST_KEY)
        except OSError as exc:
            raise DataDirError(str(path), reason(exc)) from exc
        if len(found) < _LEAST_KEY:  # an empty one would be known to everybody
            raise DataDirError(str(path), "it is too short to be a secret; delete it")
        return found
