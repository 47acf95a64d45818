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
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

DESCRIPTORS = 64
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="limits of another process and 127.0.0.2 are Linux's")
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

    def connect(self, source: str = "127.0.0.1") -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=30, source_address=(source, 0))

    def status(self, target: str, source: str = "127.0.0.1") -> int:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=30, source_address=(source, 0))
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
    processor is left alone, another address is answered meanwhile, and everybody is afterwards."""
    before = len(server.log.read_bytes())
    with ExitStack() as open_ones:
        for _ in range(4 * DESCRIPTORS):
            open_ones.enter_context(server.connect())
        assert server.status(target, "127.0.0.2") == 200
        used = server.cpu_seconds()
        until = time.monotonic() + 2
        while time.monotonic() < until:
            server.connect().close()
            time.sleep(0.01)
        assert server.cpu_seconds() - used < 1.0
        assert server.status(target, "127.0.0.2") == 200
    said = server.log.read_bytes()[before:].decode()
    assert 1 <= said.count("\n") <= 2, said[:2_000]
    assert "connections" in said
    deadline = time.monotonic() + 30
    while True:
        try:
            assert server.status(target) == 200
            return
        except (OSError, http.client.HTTPException):  # those that went are still being let go
            assert time.monotonic() < deadline
            time.sleep(0.05)
