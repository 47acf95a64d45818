"""Services under a clock that tests move, in folders and git repositories that tests make."""

from __future__ import annotations

import atexit
import os
import shutil
import sqlite3
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from typing import Any, Protocol, TypeVar

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import EngramError
from engram_py.base.reasons import Reason, Sentence, Told
from engram_py.base.settings import Settings
from engram_py.interfaces.wording.reasons import spelled
from engram_py.memory.observations.values import Observation
from engram_py.memory.sessions.sessions import SessionMode
from tests.memory.anchors.repositories import AUTH, Repo, lines

# No Python reads values in each other so deeply: 3.11 reads a thousand, 3.13 ten thousand, 3.14 what its stack holds.
DEEP = 200_000
START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)

Raised = TypeVar("Raised", bound=EngramError)


class FakeClock:
    """Stands still until it is told to move."""

    def __init__(self, now: datetime = START) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now

    def advance(self, **amount: float) -> None:
        self.now += timedelta(**amount)


@contextmanager
def system_zone(patch: pytest.MonkeyPatch, name: str) -> Iterator[None]:
    """Let this process stand in a zone meanwhile. A system that cannot is no place for the test."""
    if not hasattr(time, "tzset"):
        pytest.skip("this system cannot change the zone of a process")
    with patch.context() as inner:
        inner.setenv("TZ", name)
        time.tzset()
        yield
    time.tzset()


def raising(family: type[Raised], code: str, *, match: str | None = None) -> pytest.RaisesExc[Raised]:
    """Expect an error of this family with this code."""
    return pytest.raises(family, match=match, check=lambda error: error.code == code)


def names(notes: Iterable[Told]) -> list[str]:
    """Return the name of each note; a note in a sentence of its own is named by its reason."""
    return [one.name for note in notes for one in _reasons(note)]


def facts(note: Told) -> dict[str, object]:
    """Return the facts of a note."""
    [one] = _reasons(note)
    return dict(one.facts)


def _reasons(note: Told) -> list[Reason]:
    if isinstance(note, Sentence):
        return [one for one in note.parts if isinstance(one, Reason)]
    return [note] if isinstance(note, Reason) else []


def words(*notes: Told) -> str:
    """Return notes as a terminal shows them, a line each."""
    return "\n".join(spelled(note, "cli") for note in notes)


class Alarms:
    """The calls that were put off, each with its delay, made when a test says so."""

    def __init__(self) -> None:
        self.set: list[tuple[float, Callable[[], object]]] = []

    def __call__(self, seconds: float, call: Callable[[], object]) -> Alarms:
        self.set.append((seconds, call))
        return self

    def start(self) -> None: ...

    def cancel(self) -> None: ...


@contextmanager
def locked(path: Path) -> Iterator[sqlite3.Connection]:
    """Another program in the middle of a write, which is rolled back."""
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("begin immediate")
        yield other
        other.rollback()


class Opener(Protocol):
    def __call__(
        self, directory: Path | None = None, *, project: str | None = None, mode: SessionMode = "manual"
    ) -> Engram: ...


class Git(Protocol):
    def __call__(self, folder: Path, *arguments: str, given: str | None = None) -> str: ...


class RepoMaker(Protocol):
    def __call__(self, path: str, *, remote: str | None = None, commit: bool = True) -> Path: ...


@pytest.fixture
def alarms() -> Alarms:
    return Alarms()


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock()


@pytest.fixture
def open_memory(data_dir: Path, folder: Path, clock: FakeClock) -> Iterator[Opener]:
    """Opens the same file again, as another process would."""
    with ExitStack() as stack:

        def opened(
            directory: Path | None = None, *, project: str | None = None, mode: SessionMode = "manual"
        ) -> Engram:
            settings = Settings(data_dir, clock=clock)
            memory = Engram(settings=settings, directory=directory or folder, project=project, session_mode=mode)
            return stack.enter_context(memory)

        yield opened


@pytest.fixture
def app(open_memory: Opener) -> Engram:
    """An open memory whose calls belong to project widgets, under the test's clock."""
    return open_memory()


ADA = dict.fromkeys(("GIT_AUTHOR_NAME", "GIT_COMMITTER_NAME"), "Ada")
ADA |= dict.fromkeys(("GIT_AUTHOR_EMAIL", "GIT_COMMITTER_EMAIL"), "ada@example.org")


def run_git(folder: Path, *arguments: str, given: str | None = None) -> str:
    command = ["git", "-c", "protocol.file.allow=always", *arguments]
    return subprocess.run(
        command, cwd=folder, input=given, check=True, capture_output=True, text=True, env={**ADA, **os.environ}
    ).stdout.strip()


@pytest.fixture
def git(monkeypatch: pytest.MonkeyPatch) -> Git:
    for name, value in ADA.items():
        monkeypatch.setenv(name, value)
    return run_git


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program called git, before the real one."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


@cache
def _first_commit() -> Path:
    """A repository with one commit on ``main``, made once and copied: git takes longer than most tests."""
    root = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    run_git(root, "init", "-q", "-b", "main")
    run_git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


@cache
def _two_files() -> Path:
    root = Path(shutil.copytree(_first_commit(), tempfile.mkdtemp(), dirs_exist_ok=True))
    atexit.register(shutil.rmtree, root, ignore_errors=True)
    Repo(root, run_git).commit("two files", {AUTH: lines("auth"), "src/login.py": lines("login")})
    return root


@pytest.fixture
def make_repo(tmp_path: Path, git: Git) -> RepoMaker:
    """A repository with one commit on ``main``, below the test's folder."""

    def make(path: str, *, remote: str | None = None, commit: bool = True) -> Path:
        root = tmp_path / path
        if commit:
            shutil.copytree(_first_commit(), root)
        else:
            root.mkdir(parents=True)
            git(root, "init", "-q", "-b", "main")
        if remote:
            git(root, "remote", "add", "origin", remote)
        return root

    return make


@pytest.fixture
def root(tmp_path: Path, git: Git) -> Path:
    """A repository with two committed files of forty lines."""
    return Path(shutil.copytree(_two_files(), tmp_path / "work" / "widgets"))


@pytest.fixture
def here(open_memory: Opener, root: Path) -> Engram:
    """An open memory in that repository."""
    return open_memory(root)


def draft(content: str, title: str = "Token lifetime", **fields: Any) -> Draft:
    return Draft(title, content, **fields)


def whole(app: Engram, observation_id: int) -> Observation:
    """What an observation says; looking at it leaves no trace, and those of other looks are left out."""
    with app.usage.paused():
        found = app.get(observation_id).observation
    return replace(found, access_count=0, last_accessed_at=None)


def rows_of(app: Engram, table: str) -> int:
    return int(app.store.value(f"select count(*) from {table}"))
