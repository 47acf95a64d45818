"""The command line as somebody in the folder widgets uses it: in this process, as a process, and in a terminal."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from engram_py.interfaces.cli.main import cli
from tests import forked
from tests.template import ready

Run = Callable[..., Result]
Start = Callable[..., "Ended"]


@dataclass(frozen=True)
class Ended:
    code: int
    stdout: str
    stderr: str


def answer(result: Result) -> Any:
    """What a command with ``--json`` printed."""
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def refusal(result: Result, *, code: int = 1) -> str:
    """What a command that was refused wrote to standard error; it wrote nothing else."""
    assert (result.exit_code, result.stdout) == (code, ""), result.output
    return result.stderr


@pytest.fixture
def run(here: Path) -> Run:
    """``run("save", "title", "text")`` in this process."""

    def invoke(*words: str, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(cli, list(words), input=stdin, prog_name="engram")
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        return result

    return invoke


@pytest.fixture
def start(here: Path, data_dir: Path) -> Start:
    """The same as a process of its own, which finds the database made."""

    def started(*words: str, stdin: bytes = b"", **environment: str) -> Ended:
        ready(data_dir)
        code, stdout, stderr = forked.run(words, stdin=stdin, cwd=here, environ=environment)
        return Ended(code, stdout.decode(), stderr.decode())

    return started


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    """Somebody sits there: what a test gives as standard input is typed."""
    for module in ("sync", "commands", "encryption", "interchange", "vectors"):
        monkeypatch.setattr(f"engram_py.interfaces.cli.{module}.can_ask", lambda: True)
