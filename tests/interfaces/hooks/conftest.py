"""``engram hook`` as an agent runs it: a process, JSON on its stdin, whatever it prints on its stdout."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.app import Engram as App
from engram_py.base.database.connection import connect
from engram_py.base.settings import Settings
from engram_py.interfaces.hooks.entry import MOST_LIMIT_MS
from tests import forked
from tests.template import ready

Hook = Callable[..., "Answered"]


@dataclass(frozen=True)
class Answered:
    code: int
    stdout: bytes
    stderr: str
    seconds: float

    @property
    def context(self) -> str:
        """What Claude Code would pass on to its model."""
        if not self.stdout:
            return ""
        return str(json.loads(self.stdout)["hookSpecificOutput"]["additionalContext"])

    @property
    def text(self) -> str:
        return self.stdout.decode()


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A home directory that holds everything of the test, so that transcripts in it are those of an agent."""
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in ("CLAUDE_PROJECT_DIR", "GEMINI_PROJECT_DIR", "QWEN_PROJECT_DIR", "CURSOR_PROJECT_DIR", "USER_PROMPT"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


@pytest.fixture
def hook(folder: Path, data_dir: Path) -> Hook:
    """``hook("user-prompt", prompt="…")``: session s1 of Claude Code in the folder widgets, unless told otherwise.

    It has the longest limit there is, so that only tests which set a shorter one depend on time.
    """
    ready(data_dir)

    def call(
        event: str,
        *options: str,
        agent: str = "claude-code",
        limit_ms: int = MOST_LIMIT_MS,
        stdin: bytes | None = None,
        environ: dict[str, str] | None = None,
        **fields: Any,
    ) -> Answered:
        data = stdin if stdin is not None else json.dumps({"session_id": "s1", "cwd": str(folder), **fields}).encode()
        words = ["hook", event, "--agent", agent, f"--limit-ms={limit_ms}", *options]
        begun = time.perf_counter()
        code, stdout, stderr = forked.run(words, stdin=data, cwd=folder, environ=environ or {})
        return Answered(code, stdout, stderr.decode(), time.perf_counter() - begun)

    return call


def patched(code: str, *words: str, cwd: Path | None = None, **fields: Any) -> subprocess.CompletedProcess[bytes]:
    """A hook of the program after ``code`` has changed it."""
    start = "import sys\nfrom engram_py.interfaces.hooks.entry import main\nmain(sys.argv[1:])\n"
    data = json.dumps({"session_id": "s1", "cwd": str(cwd), **fields} if cwd else fields).encode()
    command = [sys.executable, "-c", f"{code}\n{start}", *words]
    return subprocess.run(command, input=data, capture_output=True, timeout=60, check=False)


@pytest.fixture
def transcript(home: Path) -> str:
    """The path of one in which the user asked why the gateway is slow."""
    path = home / "transcript.jsonl"
    said = {"type": "user", "uuid": "u1", "message": {"role": "user", "content": "why is the gateway slow?"}}
    path.write_text(json.dumps(said) + "\n")
    return str(path)


@pytest.fixture
def memory(data_dir: Path, folder: Path) -> Iterator[App]:
    """The same memory, as a test looks into it."""
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        yield app


@pytest.fixture
def logged(data_dir: Path) -> Callable[[], list[str]]:
    """The reasons in the log so far."""

    def read() -> list[str]:
        path = data_dir / "hooks.log"
        return [json.loads(line)["reason"] for line in path.read_text().splitlines()] if path.exists() else []

    return read


@contextmanager
def locked(data_dir: Path, kind: str = "immediate") -> Iterator[None]:
    """Somebody else holds the database: ``immediate`` for writing, ``exclusive`` for everything."""
    with closing(connect(data_dir / "engram.db")) as other:
        if kind == "exclusive":
            other.execute("pragma locking_mode = exclusive")
            other.execute("pragma journal_mode = delete")
        other.execute(f"begin {kind}")
        yield
        other.rollback()


def prompts_of(memory: App) -> list[str]:
    return [prompt.content for prompt in memory.prompts.recent(all_projects=True, limit=200)][::-1]
