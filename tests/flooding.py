"""A server as a process with few file descriptors, and more connections than it can have."""

from __future__ import annotations

import http.client
import os
import re
import socket
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

DESCRIPTORS = 64
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of another process are Linux's")
_START_SECONDS = 60
_WITH_FEW = f"""
import resource, runpy
resource.setrlimit(resource.RLIMIT_NOFILE, ({DESCRIPTORS}, {DESCRIPTORS}))
runpy.run_module("engram_py", run_name="__main__")
"""


@dataclass
class Scarce:
    process: subprocess.Popen[bytes]
    port: int
    log: Path

    def connect(self, timeout: float = 30) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=timeout)

    def status(self, target: str) -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30)
        try:
            connection.request("GET", target)
            return connection.getresponse().status
        finally:
            connection.close()

    def cpu_seconds(self) -> float:
        fields = Path(f"/proc/{self.process.pid}/stat").read_text(encoding="ascii").rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def scarce(log: Path, words: Sequence[str], environment: dict[str, str], folder: Path) -> Iterator[Scarce]:
    """``engram`` with ``words`` that serve, once it listens, with ``DESCRIPTORS`` file descriptors at most."""
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", _WITH_FEW, *words],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stderr=stream,
        )
    try:
        deadline = time.monotonic() + _START_SECONDS
        while not (said := re.search(r"serves http://[^ ;]*:(\d+)", log.read_text(encoding="utf-8"))):
            assert process.poll() is None, log.read_text(encoding="utf-8")
            assert time.monotonic() < deadline, "the server did not start"
            time.sleep(0.05)
        yield Scarce(process, int(said[1]), log)
    finally:
        process.kill()
        process.wait(30)


def check_flood(server: Scarce, target: str) -> None:
    """More connections than descriptors, held open and some of them again and again: the log stays short, the
    processor is left alone, and everybody is answered afterwards."""
    with ExitStack() as open_ones:
        for _ in range(2 * DESCRIPTORS):
            open_ones.enter_context(server.connect())
        used = server.cpu_seconds()
        until = time.monotonic() + 3
        while time.monotonic() < until:
            with suppress(OSError):  # those that wait to be accepted are many already
                server.connect(timeout=0.1).close()
            time.sleep(0.01)
        assert server.cpu_seconds() - used < 1.5
    deadline = time.monotonic() + 30
    while True:
        try:
            assert server.status(target) == 200
            break
        except (OSError, http.client.HTTPException):  # those that went are still being let go
            assert time.monotonic() < deadline
            time.sleep(0.05)
    logged = server.log.read_text(encoding="utf-8")
    assert 1 <= logged.count("ERROR") <= 3, logged[:2_000]
    assert len(logged) < 20_000
