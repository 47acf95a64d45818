"""Commands in a terminal of their own, and what they show there."""

from __future__ import annotations

import os
import re
import struct
import sys
import unicodedata
from pathlib import Path

import pytest

from tests.forked import Server

needs_terminal = pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")

_STYLE = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


def in_terminal(columns: int, *words: str, typed: str = "", after: str = "", code: int = 0) -> str:
    """What the command writes to a terminal of this width, standard error included.

    ``typed`` waits in its input, or comes when ``after`` was written.
    """
    import fcntl
    import pty
    import termios

    terminal, other_end = pty.openpty()
    fcntl.ioctl(other_end, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
    environment = {name: value for name, value in os.environ.items() if name not in ("COLUMNS", "NO_COLOR")}
    with Server(
        words, cwd=Path.cwd(),
        stdin=other_end, stdout=other_end, stderr=other_end, env={**environment, "TERM": "xterm-256color"},
    ) as process:  # fmt: skip
        os.close(other_end)
        written = b""
        try:
            while True:
                if typed and after.encode() in written:
                    os.write(terminal, typed.encode())
                    typed = ""
                if not (chunk := os.read(terminal, 65_536)):
                    break
                written += chunk
        except OSError:  # Linux: the command has closed its end
            pass
    os.close(terminal)
    assert process.returncode == code, written.decode()
    return written.decode().replace("\r\n", "\n")


def plain(written: str) -> str:
    return _STYLE.sub("", written)


def width(line: str) -> int:
    return sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in line)


def control_sequences(written: str) -> list[str]:
    """What is in it of control sequences besides colours."""
    return re.findall(r"[\x00-\x08\x0b-\x1a\x1c-\x1f\x7f-\x9f]|\x1b(?!\[[0-9;]*m)", written)
