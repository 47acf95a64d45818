"""What hooks store reaches the server where no server process of this machine is there to send it."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest

from engram_py import Engram
from engram_py.sync.autosync import login
from tests.interfaces.hooks.conftest import Answered as Done
from tests.interfaces.hooks.conftest import Hook, locked
from tests.memory import FakeClock, draft
from tests.sync.autosync.conftest import Lab, from_elsewhere
from tests.sync.autosync.team_server import TOKEN, Request, TeamServer, team_server

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
    return "hooks.background" in done.stderr


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
        hook("session-end")
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
