"""A PostgreSQL of the tests' own: Debian's programs over a temporary directory, asked through a unix socket."""

from __future__ import annotations

import ctypes
import os
import pwd
import shutil
import signal
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path

import psycopg
import pytest

# What makes a crash safe makes tests slow; nothing here outlives its test.
_CONFIGURATION = """
listen_addresses = ''
fsync = off
synchronous_commit = off
full_page_writes = off
max_connections = 120
shared_buffers = 64MB
"""


_PR_SET_PDEATHSIG = 1
_PRCTL = ctypes.CDLL(None).prctl if sys.platform == "linux" else None


@dataclass
class Cluster:
    """A running server. ``create`` makes an empty database and gives its address."""

    directory: Path
    _numbers: Iterator[int] = field(default_factory=lambda: count(1))

    def url(self, database: str) -> str:
        return f"postgresql://engram@/{database}?host={self.directory}"

    def create(self) -> str:
        name = f"engram_{next(self._numbers)}"
        with psycopg.connect(self.url("postgres"), autocommit=True) as connection:
            connection.execute(f"create database {name}".encode())
        return self.url(name)


def programs() -> Path | None:
    """Where initdb is: on the PATH, or where Debian keeps each version's own."""
    found = shutil.which("initdb")
    if found:
        return Path(found).parent
    versions = Path("/usr/lib/postgresql").glob("*/bin/initdb")
    newest = max(versions, key=lambda path: int(path.parent.parent.name), default=None)
    return newest.parent if newest else None


@contextmanager
def cluster() -> Iterator[Cluster]:
    """A cluster for as long as it is wanted; skips the test, with the reason, where there cannot be one."""
    where = programs()
    if where is None:
        pytest.skip("PostgreSQL is not installed (Debian: apt-get install postgresql)")
    user = _user()
    # pytest's own directories are closed to the user who runs PostgreSQL, and too long for a socket.
    directory = Path(tempfile.mkdtemp(prefix="engram-pg-"))
    try:
        if user:
            shutil.chown(directory, user)
        data = directory / "data"
        _run(where / "initdb", "-D", data, "-U", "engram", "-A", "trust", "-E", "UTF8", "--no-locale", user=user)
        with (data / "postgresql.conf").open("a", encoding="utf-8") as file:
            file.write(f"{_CONFIGURATION}unix_socket_directories = '{directory}'\n")
        with _postmaster(where, data, directory, user):
            yield Cluster(directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


@contextmanager
def _postmaster(where: Path, data: Path, directory: Path, user: str | None) -> Iterator[None]:
    """The server itself, as a child that does not outlive this process, however that ends."""
    with (directory / "log").open("wb") as log:
        process = subprocess.Popen(
            [where / "postgres", "-D", data],
            user=user,
            extra_groups=[] if user else None,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            preexec_fn=_die_with_parent,  # noqa: PLW1509 - one call into the kernel, which takes no lock
        )
        try:
            while not _answers(Cluster(directory).url("postgres")):
                if process.poll() is not None:
                    pytest.skip(f"PostgreSQL does not start here: {(directory / 'log').read_text()[-500:]}")
            yield
        finally:
            process.send_signal(signal.SIGQUIT)  # at once: nothing here is kept
            process.wait(30)


def _answers(url: str) -> bool:
    try:
        psycopg.connect(url).close()
    except psycopg.OperationalError:
        return False
    return True


def _die_with_parent() -> None:
    if _PRCTL is not None:
        _PRCTL(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _user() -> str | None:
    """Who runs it: PostgreSQL refuses to be root."""
    if os.geteuid() != 0:
        return None
    for name in ("postgres", "nobody"):
        try:
            pwd.getpwnam(name)
        except KeyError:
            continue
        return name
    pytest.skip("PostgreSQL does not run as root, and there is no user postgres or nobody")


def _run(*command: object, user: str | None) -> None:
    done = subprocess.run(
        [str(word) for word in command],
        user=user,
        extra_groups=[] if user else None,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode != 0:
        pytest.skip(f"PostgreSQL does not start here: {done.stderr.strip()[-500:]}")
