"""``engram cloud`` and ``engram sync --cloud`` as somebody at a terminal uses them."""

from __future__ import annotations

import json
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_py.sharing.sync.autosync import login as login_module
from tests.interfaces.cli.conftest import Run, answer
from tests.interfaces.cli.terminal import in_terminal, needs_terminal
from tests.interfaces.mcp.agent import INITIALIZE, INITIALIZED, as_line, close, start_server, talk, tool_call
from tests.sharing.sync.autosync.team_server import TOKEN, Request, TeamServer, team_server


@pytest.fixture(autouse=True)
def no_keychain(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(login_module, "_keep_in_keychain", lambda server, token: False)
    monkeypatch.setenv("PYTHON_KEYRING_BACKEND", "keyring.backends.fail.Keyring")  # in processes of their own


@pytest.fixture
def team() -> Iterator[TeamServer]:
    with team_server(grants={"widgets": "write"}) as server:
        yield server


def login(run: Run, team: TeamServer) -> None:
    result = run("cloud", "login", "--server", team.address, "--token", "-", stdin=TOKEN + "\n")
    assert result.exit_code == 0, result.output


@pytest.fixture
def enrolled(run: Run, team: TeamServer) -> Run:
    """This machine is logged in, and the project widgets, with one memory, is enrolled."""
    login(run, team)
    run("cloud", "enroll", "widgets")
    run("save", "Token lifetime", "Fifteen minutes.")
    return run


def test_the_whole_way_from_login_to_logout(run: Run, team: TeamServer) -> None:
    run("save", "Token lifetime", "Fifteen minutes.")
    result = run("cloud", "login", "--server", team.address, "--token", "-", stdin=TOKEN + "\n")
    assert f"Logged in to {team.address} as ada" in result.stdout
    assert "engram cloud enroll PROJECT" in result.stderr
    assert TOKEN not in result.output
    assert team.log == {}

    assert "Enrolled widgets" in run("cloud", "enroll", "widgets").stdout
    assert team.log == {}
    done = run("sync", "--cloud")
    assert (done.exit_code, "sent " in done.stdout, len(team.keys())) == (0, True, 1)
    status = run("cloud", "status").stdout
    assert "healthy" in status
    assert "- widgets: read and write; nothing to send" in status
    assert run("cloud", "unenroll", "widgets").stdout.startswith("Unenrolled widgets")
    assert run("cloud", "logout").stdout.startswith(f"Logged out of {team.address}")
    assert run("cloud", "status").stdout.startswith("Not logged in")
    assert TOKEN not in status


def test_every_answer_is_there_as_json(run: Run, team: TeamServer) -> None:
    result = run("cloud", "login", "--server", team.address, "--token", "-", "--json", stdin=TOKEN)
    assert answer(result)["principal"] == "ada"
    assert answer(run("cloud", "enroll", "--all", "--json"))["added"] == ["widgets"]
    assert answer(run("sync", "--cloud", "--json"))["outcome"] == "done"
    status = answer(run("cloud", "status", "--json"))
    assert (status["phase"], status["server"], status["projects"][0]["name"]) == ("healthy", team.address, "widgets")
    assert answer(run("cloud", "unenroll", "widgets", "--json"))["removed"] == ["widgets"]
    assert answer(run("cloud", "logout", "--json"))["server"] == team.address


def test_refusals_name_the_next_step(run: Run, team: TeamServer) -> None:
    for words, said in (
        (("cloud", "enroll", "widgets"), "engram cloud login --server URL"),
        (("sync", "--cloud"), "engram cloud login --server URL"),
        (("cloud", "login", "--server", "http://10.0.0.1", "--token", "-"), "--insecure"),
    ):
        refused = run(*words, stdin=TOKEN)
        assert (refused.exit_code, said in refused.stderr) == (1, True), refused.output
    login(run, team)
    refused = run("sync", "--cloud", "--json")
    assert (refused.exit_code, json.loads(refused.stdout)["error_code"]) == (1, "nothing_enrolled")
    run("cloud", "enroll", "widgets")
    team.tokens.clear()
    failed = run("sync", "--cloud")
    assert (failed.exit_code, "auth_required" in failed.stdout) == (1, True)
    again = run("sync", "--cloud")
    assert (again.exit_code, "engram cloud login" in again.stderr) == (1, True)


def test_a_token_is_not_taken_from_the_command_line(run: Run, team: TeamServer) -> None:
    refused = run("cloud", "login", "--server", team.address, "--token", TOKEN)
    assert (refused.exit_code, TOKEN in refused.output, team.asked) == (2, False, [])
    assert run("cloud", "login", "--server", team.address, stdin=TOKEN).exit_code == 2  # nobody to ask
    assert run("cloud", "login").exit_code == 2
    assert run("cloud", "enroll").exit_code == 2


@needs_terminal
def test_a_terminal_is_asked_for_the_token_without_showing_it_and_sees_a_bar(run: Run, team: TeamServer) -> None:
    run("save", "Token lifetime", "Fifteen minutes.")

    said = in_terminal(80, "cloud", "login", "--server", team.address, typed=TOKEN + "\n", after="Token for")
    assert "Logged in" in said
    assert TOKEN not in said
    run("cloud", "enroll", "widgets")
    said = in_terminal(80, "sync", "--cloud")
    assert "sent " in said
    assert len(team.keys()) == 1


def test_status_says_what_is_wrong_and_the_doctor_too(here: Path, run: Run, team: TeamServer) -> None:
    assert "nothing is sent anywhere" in run("doctor", "--check", "sync").stdout
    assert "sync is not used" in run("doctor", "--check", "sync_queue").stdout
    login(run, team)
    run("cloud", "enroll", "widgets")
    run("save", "Token lifetime", "Fifteen minutes.")
    team.always["/sync"] = lambda request: request.raw(b"", 502)
    assert run("sync", "--cloud").exit_code == 1
    (here / ".engram.json").write_text(json.dumps({"project": "widgets", "cloud_server": "https://example.org"}))
    assert answer(run("cloud", "status", "--json"))["server"] == team.address

    status, doctor = run("cloud", "status").stdout, run("doctor", "--check", "sync").stdout
    for said in (status, doctor):
        assert "status 502" in said
        assert "→ nothing is lost" in said
    assert "push_failed: not synced yet" in status
    assert "next try" in status
    assert "3 changes to send" in status
    subprocess.run(["git", "init", "-q"], cwd=here, check=True)
    assert "status 502" in run("sync", "--status").stdout


def test_a_reader_sees_what_stays_on_the_machine(run: Run, team: TeamServer) -> None:
    team.grants["widgets"] = "read"
    login(run, team)
    run("cloud", "enroll", "widgets")
    run("save", "Token lifetime", "Fifteen minutes.")

    done = run("sync", "--cloud")
    assert (done.exit_code, "is read-only; this machine keeps 3 changes" in done.stderr) == (0, True), done.output
    status = run("cloud", "status").stdout
    assert "healthy: synced" in status
    assert "- widgets: read only; " in status
    assert "of this machine not sent" in status
    assert "to be sent" not in run("doctor", "--check", "sync").stdout


def test_a_member_who_tries_an_admins_command_is_told_what_it_needs(run: Run, team: TeamServer) -> None:
    login(run, team)
    hint = "an admin grants it with `engram cloud grants add`"
    told = {"error": {"code": "policy_forbidden", "message": "this account may not administer", "hint": hint}}
    team.always["/admin/"] = lambda request: request.answer(told, 403)

    refused = run("cloud", "users", "list")

    assert (refused.exit_code, "this account may not administer" in refused.stderr) == (1, True), refused.output
    assert "this needs an admin's token" in refused.stderr
    assert "grants add" not in refused.stderr


def test_an_old_name_that_is_not_granted_has_a_next_step(enrolled: Run, team: TeamServer) -> None:
    enrolled("projects", "alias", "gears", "widgets")
    team.reject["gears"] = "alias_not_granted"
    enrolled("sync", "--cloud")

    status = enrolled("cloud", "status").stdout
    assert "alias gears of widgets: alias_not_granted" in status
    assert "  → the memories were sent" in status


def test_what_was_set_aside_is_named_and_offered_again(enrolled: Run, team: TeamServer) -> None:
    refuse_all = {"refuse": True}

    def refuses(request: Request) -> bool:
        if refuse_all["refuse"]:
            team.reject = {one["entity_key"]: "invalid_text" for one in request.json["entries"]}
        return False

    team.always["push"] = refuses
    assert enrolled("sync", "--cloud").exit_code == 0
    status = enrolled("cloud", "status").stdout
    assert "as shown, then `engram cloud status --retry`" in status
    assert "invalid_text" in status
    assert " refused; the rest is in step" in enrolled("doctor", "--check", "sync").stdout
    refuse_all["refuse"] = False
    team.reject = {}

    assert "refused" not in enrolled("cloud", "status", "--retry").stdout
    assert len(team.keys()) == 1


def test_an_agents_server_sends_what_it_saves_and_what_it_saved_last_is_sent_once(
    here: Path, run: Run, team: TeamServer
) -> None:
    login(run, team)
    run("cloud", "enroll", "widgets")
    pushed = threading.Event()

    def note(request: Request) -> bool:
        if any(one["entity"] == "observation" for one in request.json["entries"]):
            pushed.set()
        return False

    team.always["push"] = note
    server = start_server(here)
    talk(server, INITIALIZE, INITIALIZED, saving(1, "first"))
    assert pushed.wait(60)
    assert server.stdin is not None
    server.stdin.write(as_line(saving(2, "last")))
    assert (close(server), server.returncode) == ("", 0)

    run("sync", "--cloud")
    found = [row.entry["payload"]["title"] for row in team.log.values() if row.entry["entity"] == "observation"]
    assert sorted(found) == ["first", "last"]


def saving(number: int, title: str) -> dict[str, object]:
    return tool_call(number, "mem_save", title=title, content=f"About {title}.")
