"""``engram why``: what the hook says to a prompt, why it is silent, and what a search finds; nothing is recorded."""

from __future__ import annotations

import json
import sqlite3
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer

PROMPT = "how long do access tokens live?"


@pytest.fixture
def saved(run: Run) -> Run:
    run("save", "Chose short tokens", "Access tokens live 5 minutes.", "--type", "decision", "--topic", "decision/ttl")
    run("save", "Fixed logins after midnight", "Compared with UTC now.", "--type", "bugfix")
    return run


def whole(data_dir: Path) -> list[str]:
    with sqlite3.connect(data_dir / "engram.db") as connection:
        return list(connection.iterdump())


def hook(start: Start, prompt: str, session: str) -> str:
    event = {"session_id": session, "prompt": prompt, "hook_event_name": "UserPromptSubmit", "cwd": str(Path.cwd())}
    return start("hook", "user-prompt", "--agent", "kiro", stdin=json.dumps(event).encode()).stdout


def test_why_shows_what_the_hook_shows(saved: Run, start: Start) -> None:
    found = answer(saved("why", PROMPT, "--json"))

    assert "[#1] Chose short tokens" in found["given"]
    assert "mem_get_observation" in found["given"]
    assert (found["reason"], found["looked_in"]) == (None, "memories")
    assert [hit["id"] for hit in found["search"]["results"]] == [1]
    assert hook(start, PROMPT, "s-1").strip() == found["given"]


@pytest.mark.parametrize(
    ("prompt", "reason", "said"),
    [
        pytest.param("yes", "trivial", "only keeps an agent going", id="trivial"),
        pytest.param("is it so?", "no_word", "no memory here has a word", id="no-word"),
        pytest.param("what did we decide about kafka?", "no_word", "no memory here has a word", id="nothing"),
        pytest.param(
            "make the logins page blue", "unlikely", "[#2] Fixed logins after midnight has logins: ", id="near"
        ),
    ],
)
def test_a_silent_hook_is_explained(saved: Run, start: Start, prompt: str, reason: str, said: str) -> None:
    found = answer(saved("why", prompt, "--json"))

    assert (found["reason"], found["given"]) == (reason, "")
    assert hook(start, prompt, "s-1").strip() == ""
    told = saved("why", prompt).stdout
    assert "The agent is given nothing: " in told
    assert said in told
    assert "A search for the same words:\n" in told


def test_what_a_session_was_shown_is_not_shown_again(saved: Run, start: Start) -> None:
    hook(start, PROMPT, "s-1")
    assert answer(saved("why", PROMPT, "--session", "s-1", "--json"))["reason"] == "shown_before"
    assert answer(saved("why", PROMPT, "--session", "s-2", "--json"))["reason"] is None
    assert hook(start, PROMPT, "s-1").strip() == ""


def test_nothing_is_recorded(saved: Run, data_dir: Path) -> None:
    before = whole(data_dir)
    for prompt in (PROMPT, "what did we decide about kafka?", "yes"):
        saved("why", prompt)
    assert whole(data_dir) == before
