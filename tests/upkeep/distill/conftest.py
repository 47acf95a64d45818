"""The memory of these tests: under a clock that they move, with turns that they say, beside a real git."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.times import to_text
from engram_py.memory.observations.values import Observation
from engram_py.memory.sessions.transcript_formats import spoken
from engram_py.upkeep.distill.distilling import Distilling
from engram_py.upkeep.distill.values import Digest, Distilled, Distiller, DistillerFailed, SessionFacts, Source
from tests.support import FakeClock, Git, Opener

WORK = "Make the login form refuse an empty password, and write a test for it."
DID = "The form refuses it now.\n\n## Decisions\n- Refuse an empty password in the form, not in the API\n"
MORE = "And one thing more: let the form say so in red, next to the field, and show it in the test as well."


@dataclass
class Stub:
    """A distiller whose answers a test decides: a digest, a failure, or something that happens meanwhile."""

    answers: list[Digest | Exception | None] = field(default_factory=lambda: [Digest("The stub wrote this.")])
    meanwhile: Callable[[], object] = lambda: None
    source: Source = "command"
    asked: list[SessionFacts] = field(default_factory=list)

    def distill(self, facts: SessionFacts) -> Digest | None:
        self.asked.append(facts)
        self.meanwhile()
        answer = self.answers[min(len(self.asked), len(self.answers)) - 1]
        if isinstance(answer, Exception):
            raise answer
        return answer


def failing(reason: str = "exit_1", *, counts: bool = True) -> DistillerFailed:
    return DistillerFailed(reason, counts=counts)


def say(app: Engram, *texts: str, session: str = "s1", directory: Path | None = None) -> None:
    """Turns of the person and the agent by turns, as a hook buffers them; the first is the person's."""
    state = app.sessions.start(session, directory=str(directory) if directory else None)
    now = to_text(app.settings.clock())
    turns = [spoken("assistant" if number % 2 else "user", text) for number, text in enumerate(texts)]
    said = [replace(turn, said_at=now) for turn in turns if turn is not None]
    app.transcripts.keep(said, session_id=session, project=state.session.project)


def distilling(app: Engram, model: Distiller | None = None, **settings: object) -> Distilling:
    """The service of an open memory, with another distiller or other settings."""
    return Distilling(
        replace(app.core, settings=replace(app.settings, **settings)),  # type: ignore[arg-type]
        lambda: app.episodes,
        lambda: app.spool,
        lambda: app.learning,
        app.switches,
        model=model,
    )


def only(results: tuple[Distilled, ...]) -> Distilled:
    [result] = results
    return result


def episodes(app: Engram) -> list[Observation]:
    """The live summaries, in the order they were made."""
    rows = app.store.rows(
        "select id from observations where type = 'session_summary' and deleted_at is null order by id"
    )
    with app.usage.paused():
        return [app.get(row["id"]).observation for row in rows]


def waiting(app: Engram, session: str = "s1") -> int:
    """How many turns of a session wait."""
    sql = "select count(*) from turns where session_id = :id and distilled_at is null"
    return int(app.store.value(sql, id=session))


class Checkout:
    """A repository under the test's clock: what is committed and written is dated by it."""

    def __init__(self, folder: Path, git: Git, clock: FakeClock, patch: pytest.MonkeyPatch) -> None:
        self.folder, self._git, self._clock, self._patch = folder, git, clock, patch

    def git(self, *arguments: str) -> str:
        self._clock.advance(seconds=5)
        for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):
            self._patch.setenv(name, f"{int(self._clock().timestamp())} +0000")
        before = {path: path.stat().st_mtime_ns for path in self._files()}
        done = self._git(self.folder, *arguments)
        for path in self._files():  # git writes with the time of the machine
            if before.get(path) != path.stat().st_mtime_ns:
                self._date(path)
        return done

    def write(self, name: str, text: str) -> None:
        self._clock.advance(seconds=5)
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        self._date(path)

    def commit(self, subject: str, **files: str) -> str:
        for name, text in files.items():
            self.write(f"src/{name}.py", text)
        self.git("add", "-A")
        self.git("commit", "-q", "-m", subject)
        return self.git("rev-parse", "HEAD")

    def _files(self) -> Iterator[Path]:
        return (path for path in self.folder.rglob("*") if path.is_file() and ".git" not in path.parts)

    def _date(self, path: Path) -> None:
        moment = self._clock().timestamp()
        os.utime(path, (moment, moment))


@pytest.fixture
def checkout(tmp_path: Path, git: Git, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Checkout:
    """A repository named widgets with one committed file, made an hour before the test's first session."""
    folder = tmp_path / "code" / "widgets"
    folder.mkdir(parents=True)
    made = Checkout(folder, git, clock, monkeypatch)
    clock.advance(hours=-2)
    made.git("init", "-q", "-b", "main")
    made.commit("First", login="login = 1\n", logout="logout = 1\n")
    clock.advance(hours=2)
    return made


@pytest.fixture
def memory(open_memory: Opener, checkout: Checkout) -> Engram:
    """An open memory in that checkout."""
    return open_memory(checkout.folder)


def program(folder: Path, body: str) -> str:
    """A command line that runs a Python program of this body."""
    path = folder / "distiller.py"
    path.write_text(body)
    return f"{sys.executable} {path}"
