"""Runs the server: takes the address, says where it is, and ends without losing what was answered."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from pathlib import Path

from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.interfaces.hooks.background import update_documents
from engram_py.interfaces.http.sockets import listen, refuse_open_address
from engram_py.settings import DEFAULTS, Settings

CLOSING_SECONDS = 0.2
_WORKER = "AnyIO worker thread"


@dataclass(frozen=True, slots=True)
class Address:
    """Where to listen: a host and a port, or a unix socket instead."""

    host: str = "127.0.0.1"
    port: int = DEFAULTS["port"]
    socket: Path | None = None


def serve(
    settings: Settings,
    address: Address,
    *,
    directory: Path,
    project: str | None = None,
    tools: str | None = None,
    announce: Callable[[str], None],
) -> None:
    """Serve until a signal comes. ``announce`` is told the address once requests are taken.

    Raises:
        ServeError: the address is taken, cannot be used, or would be open to others without a token.
        StoreError: the database cannot be opened.
    """
    level = getattr(logging, settings.log_level.upper())
    logging.basicConfig(stream=sys.stderr, level=level, format="%(levelname)s %(name)s: %(message)s")
    if address.socket is None:
        refuse_open_address(address.host, token=settings.http_token)
    # As a server it also computes vectors and takes over what hooks could not store.
    app = Engram(settings=settings, directory=directory, project=project, session_mode="process")
    app.autosync.start()
    app.maintenance.start(app.tend)
    app.follow_documents(update_documents)
    try:
        with listen(address.host, address.port, address.socket) as listening:
            # Imported here: an address that is refused does not pay for what would be served there.
            from engram_py.interfaces.http.application import run

            run(app, listening, tools=tools, announce=announce)
    except BaseException:
        app.close()
        raise
    _leave_stuck_requests()
    app.close()


def _leave_stuck_requests() -> None:
    """End the process where a request waits for another process's lock and nobody for its answer.

    The threads of a loop that has ended are gone but for those at work; they hold what closing the memory needs.
    """
    for thread in threading.enumerate():
        if thread.name.startswith(_WORKER):
            thread.join(CLOSING_SECONDS)
            if thread.is_alive():
                sys.stderr.flush()
                os._exit(0)
