"""Runs the team's server: brings its database up, takes the address, and serves until a signal comes."""

from __future__ import annotations

import asyncio
import ipaddress
import logging
import sys
from collections.abc import Callable

from engram_py.cloud.application import build_cloud_application
from engram_py.cloud.server import prepare
from engram_py.cloud.settings import CloudSettings
from engram_py.interfaces.http.listening import listen
from engram_py.interfaces.http.loop import server_of


def serve(settings: CloudSettings, *, host: str, port: int, announce: Callable[[str], None]) -> None:
    """Serve until a signal comes. ``announce`` is told what was done to the database, and the address.

    Raises:
        CloudServerError: the database cannot be used, or others would reach a server that knows nobody.
        ServeError: the address is taken or cannot be used.
    """
    logging.basicConfig(stream=sys.stderr, level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    logging.getLogger("psycopg.pool").setLevel(logging.ERROR)  # it warns of each retry; a request says it once
    done = asyncio.run(prepare(settings, open_to="" if _is_loopback(host) else host))
    if done:
        announce(f"Brought the database up: {', '.join(done)}.")
    with listen(host, port, None) as listening:
        said = f"engram cloud serves {listening.shown}; Ctrl-C ends it."
        application = build_cloud_application(settings)
        server_of(application, started=lambda: announce(said)).run(sockets=[listening.socket])


def _is_loopback(host: str) -> bool:
    if host.lower() == "localhost":
        return True
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return False
