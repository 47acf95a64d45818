"""Hooks and sync: changes sent to a server, and a clone that carries `.engram/`."""

from __future__ import annotations

import json
import shutil
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from mcp import Client

from engram_py import Draft, Engram
from engram_py.app import Engram as App
from engram_py.base.settings import Settings
from engram_py.interfaces.http.mcp_endpoint import build_server
from engram_py.sharing.sync.autosync import login
from engram_py.sharing.sync.sealing import secret_of
from tests.interfaces.hooks.conftest import Answered as Done
from tests.interfaces.hooks.conftest import Hook, locked
from tests.interfaces.mcp.agent import Agent
from tests.sharing.sync.autosync.conftest import Lab, from_elsewhere
from tests.sharing.sync.autosync.team_server import TOKEN, Request, TeamServer, team_server
from tests.support import FakeClock, Git, draft

PUSH, PULL, LIST = "/sync/mutations/push", "/sync/mutations/pull", "/sync/projects"
TELLING = {"PYTHONPROFILEIMPORTTIME": "1"}  # the process says what it imports
LEARNED = "Done.\n\n## Key Learnings\n\n1. The parser needs a bounded read of its standard input.\n"


@pytest.fixture
def team() -> Iterator[TeamServer]:
    with team_server(grants={"widgets": "write"}) as server:
        yield server


class Answered:
    """Waits until the server has answered a request; what the hook started is a process of its own."""

    def __init__(self, team: TeamServer, part: str) -> None:
        self._event = threading.Event()
        self._team = team
        team.always[part] = self._pass

    def _pass(self, request: Request) -> bool:
        path = request.path.partition("?")[0]
        routes = {PUSH: self._team.push, PULL: self._team.pull, LIST: self._team.projects}
        with self._team.lock:
            routes[path](request)
        self._event.set()
        return True

    def wait(self) -> None:
        assert self._event.wait(60), "nobody asked"


@pytest.fixture
def enrolled(memory: Engram, team: TeamServer, monkeypatch: pytest.MonkeyPatch) -> Engram:
    monkeypatch.setattr(login, "_keep_in_keychain", lambda server, token: False)
    memory.autosync.account.login(team.address, TOKEN)
    memory.autosync.account.enroll(["widgets"])
    return memory


def settled(memory: Engram) -> None:
    """Nobody on this machine is at it any more."""
    pause = threading.Event()
    for _ in range(600):
        row = memory.store.row("select lease_owner, phase from sync_state where target_key = 'cloud'")
        if row is not None and row["lease_owner"] is None and row["phase"] not in ("idle", "pushing", "pulling"):
            return
        pause.wait(0.05)
    raise AssertionError("it is still at it")


def went(done: Done) -> bool:
    """Whether the hook sent somebody to the server."""
    assert done.code == 0
    return "engram_py.interfaces.background" in done.stderr


def titles(team: TeamServer) -> list[str]:
    return [row.entry["payload"]["title"] for row in team.log.values() if row.entry["entity"] == "observation"]


def test_what_an_answer_taught_is_sent_after_the_hook_has_ended(hook: Hook, enrolled: Engram, team: TeamServer) -> None:
    sent = Answered(team, PUSH)

    done = hook("stop", last_assistant_message=LEARNED)

    assert (done.code, done.stdout, done.stderr) == (0, b"", "")
    sent.wait()
    assert len(titles(team)) == 1


def test_a_session_that_starts_fetches_what_others_saved(hook: Hook, enrolled: Engram, team: TeamServer) -> None:
    lab = Lab(enrolled, team, FakeClock())
    team.add(from_elsewhere(lab, "obs-elsewhere", "Retries are capped at five"))

    hook("session-start", source="startup")
    settled(enrolled)

    assert lab.titles() == ["Retries are capped at five"]


def test_a_slow_server_keeps_no_hook_waiting(hook: Hook, enrolled: Engram, team: TeamServer) -> None:
    asked, answer = threading.Event(), threading.Event()

    def holds_back(_: Request) -> bool:
        asked.set()
        answer.wait(60)
        return False

    team.always[LIST] = holds_back

    done = hook("stop", last_assistant_message=LEARNED)  # returns while the server holds its answer back

    assert done.code == 0
    assert asked.wait(60)
    answer.set()
    settled(enrolled)
    assert len(titles(team)) == 1


def test_while_somebody_syncs_only_the_end_of_a_session_sends(hook: Hook, enrolled: Engram, team: TeamServer) -> None:
    enrolled.autosync.sync_now()  # as a server process does every half minute
    team.asked.clear()

    sent = Answered(team, PUSH)
    assert not went(hook("stop", last_assistant_message=LEARNED, environ=TELLING))
    assert not went(hook("session-start", source="resume", environ=TELLING))
    assert went(hook("session-end", environ=TELLING))

    sent.wait()
    assert len(titles(team)) == 1


def test_a_memory_that_is_locked_is_sent_all_the_same_at_the_end(
    hook: Hook, enrolled: Engram, team: TeamServer
) -> None:
    enrolled.autosync.sync_now()
    enrolled.save(draft("Ports are 8080.", "Ports"), project="widgets")
    sent = Answered(team, PUSH)

    with locked(enrolled.settings.data_dir):
        hook("session-end", limit_ms=5_000)
    sent.wait()

    assert titles(team) == ["Ports"]


@pytest.mark.parametrize("why", ["nobody logged in", "nothing is enrolled", "switched off", "the token was refused"])
def test_nothing_is_asked_of_a_server(
    hook: Hook, memory: Engram, team: TeamServer, monkeypatch: pytest.MonkeyPatch, why: str
) -> None:
    monkeypatch.setattr(login, "_keep_in_keychain", lambda server, token: False)
    if why != "nobody logged in":
        memory.autosync.account.login(team.address, TOKEN)
    if why not in ("nobody logged in", "nothing is enrolled"):
        memory.autosync.account.enroll(["widgets"])
    if why == "the token was refused":
        team.tokens.clear()
        memory.autosync.sync_now()
    environ = {"ENGRAM_DISTILL": "manual"} | ({"ENGRAM_CLOUD_AUTOSYNC": "off"} if why == "switched off" else {})

    assert not went(hook("session-end", last_assistant_message=LEARNED, environ=TELLING | environ))


Commit = Callable[..., None]


@pytest.fixture
def commit(tmp_path: Path, git: Git) -> Commit:
    """``commit("title", …)``: Ada, on another machine, saves these and pushes her project ``widgets``."""
    root = tmp_path / "ada" / "widgets"
    bare = tmp_path / "origin" / "widgets.git"
    bare.mkdir(parents=True)
    git(bare, "init", "-q", "--bare", "-b", "main")
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "remote", "add", "origin", str(bare))

    def committed(*titles: str, format: str = "text") -> None:
        with Engram(settings=Settings(tmp_path / "ada" / "data"), directory=root) as app:
            for title in titles:
                app.save(Draft(title, f"{title}, as Ada decided.", "decision"))
            app.git_sync.sync(format=format)
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "memory")
        git(root, "push", "-q", "origin", "main")

    return committed


@pytest.fixture
def cloned(tmp_path: Path, folder: Path, git: Git) -> Callable[[str], None]:
    """``cloned("widgets")``: the folder of the hooks is a clone of a repository of that name."""

    def clone(name: str) -> None:
        bare = tmp_path / "origin" / "widgets.git"
        if name != "widgets":
            bare = Path(shutil.copytree(bare, bare.with_name(f"{name}.git")))
        folder.rmdir()
        git(tmp_path, "clone", "-q", str(bare), str(folder))

    return clone


Clone = Callable[[str], None]


def test_sessions_in_a_clone_begin_with_what_others_committed_and_write_nothing_there(
    commit: Commit, cloned: Clone, hook: Hook, folder: Path, git: Git
) -> None:
    commit("Tokens live 5 minutes")
    cloned("widgets")
    assert "Tokens live 5 minutes" in hook("session-start", source="startup").context
    assert git(folder, "status", "--porcelain", "--ignored") == ""
    commit("Deploys are frozen on Fridays")
    git(folder, "pull", "-q")

    assert "Deploys are frozen on Fridays" in hook("session-start", session_id="s2", source="startup").context


async def test_mem_context_of_an_empty_project_reads_the_folder_first(
    commit: Commit, cloned: Clone, folder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit("Tokens live 5 minutes")
    cloned("gadgets")
    monkeypatch.chdir(folder)

    async with Client(build_server(Settings(data_dir))) as client:
        assert "Tokens live 5 minutes" in await Agent(client).told("mem_context")


def test_a_clone_under_another_name_goes_by_the_project_of_its_chunks(
    commit: Commit, cloned: Clone, hook: Hook, memory: App
) -> None:
    commit("Tokens live 5 minutes", format="chunks")  # whose project they are stands in them
    cloned("gadgets")

    said = hook("session-start", source="startup").context
    assert "This repository is now project widgets" in said
    assert "Tokens live 5 minutes" in said
    hook("user-prompt", prompt="how long do tokens live here, and who decided it?")
    assert [line.name for line in memory.projects.list()] == ["widgets"]
    assert memory.sessions.get("s1").project == "widgets"


def test_a_session_that_takes_the_project_of_the_chunks_reads_the_memory_files_under_it(
    commit: Commit, cloned: Clone, hook: Hook, memory: App
) -> None:
    commit("Tokens live 5 minutes", format="chunks")
    commit("Deploys are frozen on Fridays", format="text")
    cloned("gadgets")

    said = hook("session-start", source="startup").context
    assert "Tokens live 5 minutes" in said
    assert "Deploys are frozen on Fridays" in said
    assert [line.name for line in memory.projects.list()] == ["widgets"]


def test_a_folder_without_news_is_not_read_again(
    commit: Commit, cloned: Clone, hook: Hook, folder: Path, logged: Callable[[], list[str]]
) -> None:
    commit("Tokens live 5 minutes")
    cloned("widgets")
    hook("session-start", source="startup")
    for chunk in (folder / ".engram" / "chunks").glob("*.gz"):
        chunk.write_bytes(b"\0" * chunk.stat().st_size)  # reading it would be noticed

    assert "Tokens live 5 minutes" in hook("session-start", session_id="s2", source="startup").context
    assert logged() == []


def test_what_there_is_no_time_for_is_read_by_later_sessions(
    commit: Commit, cloned: Clone, hook: Hook, memory: App
) -> None:
    for start in range(0, 60, 20):
        commit(*(f"Decision number {number}" for number in range(start, start + 20)))
    cloned("widgets")

    for number in range(6):
        assert hook("session-start", "--limit-ms", "700", session_id=f"s{number}", source="startup").code == 0
    hook("session-start", session_id="s9", source="startup")

    assert memory.statistics.count().total_observations == 60


def test_an_encrypted_folder_is_named_in_the_log_and_breaks_nothing(
    commit: Commit, cloned: Clone, hook: Hook, folder: Path, tmp_path: Path, logged: Callable[[], list[str]]
) -> None:
    commit("Tokens live 5 minutes")
    root = tmp_path / "ada" / "widgets"
    with Engram(settings=Settings(tmp_path / "ada" / "data"), directory=root) as app:
        app.git_sync.sync(encrypt=True, secret=secret_of("correct horse battery"))
    cloned("widgets")
    shutil.rmtree(folder / ".engram")
    shutil.copytree(root / ".engram", folder / ".engram")

    done = hook("session-start", source="startup")

    assert done.code == 0
    assert logged() == ["passphrase_missing"]


def test_a_clone_whose_settings_name_another_memory_reads_nothing(
    commit: Commit, cloned: Clone, hook: Hook, folder: Path, tmp_path: Path, memory: App
) -> None:
    other = tmp_path / "diary"
    other.mkdir()
    with Engram(settings=memory.settings, directory=other) as app:
        app.save(Draft("Dear diary", "Nothing happened."))
    commit("Tokens live 5 minutes")
    cloned("widgets")
    (folder / ".engram.json").write_text(json.dumps({"project": "diary"}))

    hook("session-start", source="startup")

    assert memory.statistics.count().total_observations == 1
