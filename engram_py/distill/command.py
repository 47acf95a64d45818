"""Have a program write the digest: JSON on its standard input, JSON on its standard output, within a time limit."""

from __future__ import annotations

import contextlib
import json
import os
import shlex
import signal
import subprocess
import threading
from pathlib import Path

from engram_py.distill.answers import MOST_BYTES, digest_in
from engram_py.distill.asking import session_json
from engram_py.distill.values import Digest, DistillerFailed, Facts, Source
from engram_py.lazy import logger_of

logger = logger_of(__name__)

_WINDOWS_FLAGS = 0x08000000 | 0x00000200  # subprocess.CREATE_NO_WINDOW, CREATE_NEW_PROCESS_GROUP
# An agent that writes the digest starts hooks of its own: they are to keep nothing of it.
_ENVIRONMENT = {"ENGRAM_ENABLED": "off"}


class CommandDistiller:
    """The distiller of the setting ``distill_command``: any program, started without a shell."""

    source: Source = "command"

    def __init__(self, command: str, *, seconds: float) -> None:
        self._command = command
        self._seconds = seconds

    def distill(self, facts: Facts) -> Digest | None:
        """Return what the program answers. Raises DistillerFailed: it is missing, fails, hangs or answers no digest."""
        try:
            words = shlex.split(self._command, posix=os.name != "nt")
        except ValueError as exc:
            raise DistillerFailed("distiller_unreadable", counts=False) from exc
        answer = self._answer(words, json.dumps(session_json(facts)).encode("utf-8", "replace"))
        return digest_in(answer.decode("utf-8", "replace"))

    def _answer(self, words: list[str], given: bytes) -> bytes:
        try:
            process = subprocess.Popen(
                words,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.DEVNULL,
                cwd=Path.home(),  # not in the session's folder, which may have settings of its own for the program
                env=os.environ | _ENVIRONMENT,
                start_new_session=os.name != "nt",
                creationflags=_WINDOWS_FLAGS if os.name == "nt" else 0,
            )
        except (OSError, ValueError, RuntimeError) as exc:
            raise DistillerFailed("distiller_missing", counts=False) from exc
        expired = threading.Event()

        def end() -> None:
            expired.set()
            _kill(process)

        timer = threading.Timer(self._seconds, end)
        timer.daemon = True
        timer.start()
        try:
            return _talk(process, given, expired)
        finally:
            timer.cancel()
            _kill(process)


def _talk(process: subprocess.Popen[bytes], given: bytes, expired: threading.Event) -> bytes:
    """Return what a program prints that is given this. Raises DistillerFailed."""
    assert process.stdin is not None
    assert process.stdout is not None

    def write() -> None:
        assert process.stdin is not None
        with contextlib.suppress(OSError, ValueError), process.stdin:
            process.stdin.write(given)

    # A program may answer before it has read everything, or never read.
    threading.Thread(target=write, daemon=True).start()
    with process.stdout:
        out = process.stdout.read(MOST_BYTES + 1)
    if len(out) > MOST_BYTES:
        raise DistillerFailed("answer_too_long")
    try:
        status = process.wait(timeout=1)
    except subprocess.TimeoutExpired:
        status = 0  # it answered, closed its output and does not end: its answer counts
    if expired.is_set():
        raise DistillerFailed("timeout")
    if status != 0:
        raise DistillerFailed(f"exit_{status}")
    return out


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End the program and what it started."""
    with contextlib.suppress(OSError):
        if os.name == "posix":
            os.killpg(process.pid, signal.SIGKILL)
        else:
            process.kill()
    if process.poll() is None:
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            process.kill()
            process.wait(timeout=1)
