"""A client that costs next to nothing: JSON-RPC lines over the pipes of a server process."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from types import TracebackType
from typing import Any, Self

PROTOCOL = "2025-06-18"
ONE_TOOL_SERVER = Path(__file__).resolve().parent / "one_tool_server.py"


class ServerDied(Exception):
    """A server ended, or broke the protocol, while it was measured; holds the end of its standard error."""


def engram_command(*arguments: str) -> list[str]:
    """``engram …`` as it is installed beside this Python."""
    script = Path(sys.executable).with_name("engram")
    return [str(script), *arguments] if script.exists() else [sys.executable, "-m", "engram_py", *arguments]


def one_tool_command() -> list[str]:
    return [sys.executable, str(ONE_TOOL_SERVER)]


def environment(data_dir: Path) -> dict[str, str]:
    """This process's environment, with no setting of the user's in it."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")}
    return kept | {"ENGRAM_DATA_DIR": str(data_dir)}


class Server:
    """A running server process. A context manager; leaving it closes stdin and waits for the end."""

    def __init__(self, command: list[str], *, data_dir: Path, folder: Path) -> None:
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (closed by close)
        self._number = 0
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            cwd=folder,
            env=environment(data_dir),
        )

    def initialize(self) -> dict[str, Any]:
        """The handshake; what the server says of itself."""
        about = {"name": "bench", "version": "1"}
        told = self.request("initialize", protocolVersion=PROTOCOL, capabilities={}, clientInfo=about)
        self._send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return told

    def request(self, method: str, **params: Any) -> dict[str, Any]:
        result: dict[str, Any] = json.loads(self.exchange(method, **params)[0])["result"]
        return result

    def exchange(self, method: str, **params: Any) -> tuple[bytes, float]:
        """The line that answers a request, and the seconds from writing the one to having read the other."""
        self._number += 1
        line = _line({"jsonrpc": "2.0", "id": self._number, "method": method, "params": params})
        start = time.perf_counter()
        answer = self._answer(line)
        elapsed = time.perf_counter() - start
        values = json.loads(answer)
        if "result" not in values or values["id"] != self._number:
            raise ServerDied(f"{method} was answered {answer[:300]!r}")
        return answer, elapsed

    def call(self, tool: str, **arguments: Any) -> tuple[dict[str, Any], float]:
        """A tool's result and the seconds it took; a refusal is a failure of the measurement."""
        result, elapsed = self.try_call(tool, **arguments)
        if result.get("isError"):
            raise ServerDied(f"{tool} was refused: {result['content'][0]['text'][:300]}")
        return result, elapsed

    def try_call(self, tool: str, **arguments: Any) -> tuple[dict[str, Any], float]:
        answer, elapsed = self.exchange("tools/call", name=tool, arguments=arguments)
        return json.loads(answer)["result"], elapsed

    def close(self) -> None:
        assert self.process.stdin
        assert self.process.stdout
        with contextlib.suppress(BrokenPipeError):
            self.process.stdin.close()
        try:
            self.process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
            raise
        finally:
            self.process.stdout.close()
            self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _answer(self, line: bytes) -> bytes:
        assert self.process.stdin
        assert self.process.stdout
        try:
            self.process.stdin.write(line)
            self.process.stdin.flush()
            answer = self.process.stdout.readline()
        except BrokenPipeError:
            answer = b""
        if not answer:
            self._errors.seek(0)
            said = self._errors.read()[-2000:].decode(errors="replace")
            raise ServerDied(f"the server ended: {said}")
        return answer

    def _send(self, message: dict[str, Any]) -> None:
        assert self.process.stdin
        self.process.stdin.write(_line(message))
        self.process.stdin.flush()


def text_of(result: dict[str, Any]) -> str:
    """The text of a tool's answer."""
    return str(result["content"][0]["text"])


def _line(message: dict[str, Any]) -> bytes:
    return json.dumps(message, ensure_ascii=False).encode() + b"\n"
