"""``engram search``, ``context``, ``why`` and ``conflicts``."""

from __future__ import annotations

import json
import re
import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.cli.conftest import Run, Start, answer, refusal
from tests.interfaces.cli.terminal import in_terminal, needs_terminal, plain


@pytest.fixture
def kept(run: Run) -> None:
    run("save", "Raised the login timeout", "To 30 seconds.", "--topic", "auth/timeout", "--type", "decision")
    run("save", "Redis client retries", "Its timeout is 2 seconds.", "--type", "bugfix", "--session", "other")


def titles(run: Run, *words: str) -> list[str]:
    return [hit["title"] for hit in answer(run("search", "--json", *words))["results"]]


@pytest.mark.parametrize(
    "words",
    [pytest.param(["timeout -redis"], id="quoted"), pytest.param(["timeout", "--", "-redis"], id="after-dashes")],
)
def test_a_word_can_be_excluded(run: Run, kept: None, words: list[str]) -> None:
    assert set(titles(run, "timeout")) >= {"Raised the login timeout", "Redis client retries"}
    assert titles(run, *words) == ["Raised the login timeout"]


def test_the_help_names_every_filter_and_both_ways_to_exclude_a_word(run: Run) -> None:
    from engram_py.recall.query import KEYS, STATES

    shown = " ".join(run("search", "--help").stdout.split())

    for name in (*(f"{key}:" for key in KEYS), *(f"is:{state}" for state in STATES)):
        assert name in shown
    assert "engram search 'timeout -redis" in shown
    assert "engram search timeout -- -redis" in shown


@needs_terminal
def test_labels_and_changed_files_are_in_the_table_of_hits(run: Run, kept: None, here: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=here, check=True)
    (here / "login.py").write_text("timeout = 5\n", encoding="utf-8")
    run("save", "Measured the sign-in", "Five seconds are too short.", "--file", "login.py:1")
    (here / "login.py").write_text("timeout = 30\n", encoding="utf-8")

    shown = " ".join(plain(in_terminal(160, "search", "sign-in seconds too short")).split())

    assert re.search(r"login\.py:1 (changed|gone)", shown)


@needs_terminal
def test_a_person_whose_words_miss_hears_of_meaning(run: Run, kept: None) -> None:
    assert "engram vectors on" in plain(in_terminal(160, "search", "signing in takes forever"))
    assert "engram vectors on" not in plain(in_terminal(160, "search", "login timeout"))


PROMPT = "how long do access tokens live?"


@pytest.fixture
def saved(run: Run) -> Run:
    run("save", "Chose short tokens", "Access tokens live 5 minutes.", "--type", "decision", "--topic", "decision/ttl")
    run("save", "Fixed logins after midnight", "Compared with UTC now.", "--type", "bugfix")
    return run


def whole(data_dir: Path) -> list[str]:
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection:
        return list(connection.iterdump())


def hook(start: Start, prompt: str, session: str) -> str:
    event = {"session_id": session, "prompt": prompt, "hook_event_name": "UserPromptSubmit", "cwd": str(Path.cwd())}
    return start("hook", "user-prompt", "--agent", "kiro", stdin=json.dumps(event).encode()).stdout


def test_why_shows_what_the_hook_shows(saved: Run, start: Start) -> None:
    found = answer(saved("why", PROMPT, "--json"))

    assert "[#1] Chose short tokens" in found["given"]
    assert "mem_get_observation" in found["given"]
    assert (found["reason"], found["looked_in"]) == (None, "memories")
    assert found["search"]["results"][0]["id"] == 1
    assert hook(start, PROMPT, "s-1").strip() == found["given"]


@pytest.mark.parametrize(
    ("prompt", "reason", "said"),
    [
        pytest.param("yes", "trivial", "is only a continuation", id="trivial"),
        pytest.param("is it so?", "no_word", "no memory here has a specific word", id="no-word"),
        pytest.param("what did we decide about kafka?", "no_word", "no memory here has a specific word", id="nothing"),
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
    assert "The agent gets nothing: " in told
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


@pytest.fixture
def rivals(run: Run) -> Run:
    run("save", "Access tokens live 15 minutes", "Stolen access tokens expire.", "--type", "decision")
    run("save", "Access tokens live 60 minutes", "Stolen access tokens expire late.", "--type", "decision")
    return run


def test_relations_are_listed_shown_and_counted(rivals: Run) -> None:
    [one] = answer(rivals("conflicts", "--json"))["relations"]
    assert {one["source_observation"], one["target_observation"]} == {1, 2}
    assert "may relate to" in rivals("conflicts", "list").stdout
    assert answer(rivals("conflicts", "stats", "--json"))["by_judgment_status"] == {"pending": 1}

    rivals("judge", one["sync_id"], "supersedes", "--reason", "measured")
    for name in (str(one["id"]), one["sync_id"]):
        shown = rivals("conflicts", "show", name).stdout
        assert "[#2] Access tokens live 60 minutes supersedes [#1] Access tokens live 15 minutes" in shown
        assert "reason: measured" in shown
    assert answer(rivals("conflicts", "show", one["sync_id"], "--json"))["reason"] == "measured"
    assert rivals("conflicts", "list", "--status", "pending").stdout == "No relations\n"
    assert answer(rivals("conflicts", "stats", "--json"))["by_relation"] == {"supersedes": 1}


def test_one_observation_takes_the_place_of_another_by_their_numbers(run: Run) -> None:
    run("save", "Use requests for HTTP", "All calls go through requests with a shared session.")
    run("save", "HTTP goes through httpx", "Timeouts and async.")

    said = run("supersede", "2", "1", "--reason", "the team moved")

    assert said.exit_code == 0
    found = run("search", "do we use requests").output
    assert "[#2] HTTP goes through httpx" in found
    assert 'replaced [#1] "Use requests for HTTP"' in found


def test_a_scan_says_what_it_would_keep_and_keeps_it_when_told(rivals: Run, data_dir: Path) -> None:
    with Engram(data_dir) as app, app.store.transaction():
        app.store.execute("delete from memory_relations")

    first = rivals("conflicts", "scan")
    assert "1 similar pair, 1 new" in first.stdout
    assert "--apply" in first.stdout
    assert answer(rivals("conflicts", "list", "--json"))["total"] == 0
    assert answer(rivals("conflicts", "scan", "--apply", "--json"))["inserted"] == 1
    assert answer(rivals("conflicts", "list", "--json"))["total"] == 1


def test_what_sync_could_not_apply_is_listed(rivals: Run, data_dir: Path) -> None:
    assert rivals("conflicts", "deferred").stdout == "Every synced row is applied\n"
    with Engram(data_dir) as app, app.store.transaction():
        values = {"entity": "observation", "entity_key": "obs-1", "op": "upsert", "payload": "{}", "project": "widgets"}
        values |= {"target_key": "cloud", "reason_code": "unreadable", "apply_status": "dead"}
        app.store.insert("sync_apply_deferred", values | {"first_seen_at": "2026-01-01T00:00:00.000Z"})

    found = answer(rivals("conflicts", "deferred", "--status", "dead", "--json"))
    assert (found["total"], found["rows"][0]["entity_key"]) == (1, "obs-1")
    assert rivals("conflicts", "deferred").stdout == "1 observation obs-1 of widgets: dead, unreadable\n"
    assert answer(rivals("conflicts", "deferred", "--status", "deferred", "--json"))["total"] == 0
    assert answer(rivals("conflicts", "deferred", "--replay", "--json"))["dead"] == 1


def test_any_two_observations_get_a_verdict(rivals: Run) -> None:
    run = rivals("conflicts", "compare", "2", "supersedes", "1", "--reason", "measured")
    assert run.exit_code == 0
    assert [hit["id"] for hit in answer(rivals("search", "access tokens", "--json"))["results"]] == [2]


@pytest.fixture
def decisions(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_NOW", "2026-03-05T10:00:00Z")
    run("save", "Chose uv over poetry", "It resolves in a second.", "--type", "decision")


@pytest.mark.usefixtures("decisions")
def test_a_prompt_is_given_what_it_deserves(run: Run) -> None:
    asked = run("context", "--query", "why did we choose uv?")
    assert asked.stdout.startswith('<engram-memory project="widgets" date="2026-03-05">')
    assert "- [#1] Chose uv over poetry (decision, now): It resolves in a second." in asked.stdout
    assert run("context", "--query", "-", stdin="why did we choose uv?").stdout == asked.stdout
    values = answer(run("context", "--query", "why did we choose uv?", "--json"))
    assert (values["mode"], values["section"], values["cue"]) == ("query", "memories", "uv")
    assert [row["id"] for row in values["memories"]] == [1]


@pytest.mark.usefixtures("decisions")
@pytest.mark.parametrize(
    ("prompt", "reason"),
    [("sort a list", "no memory is likely to be needed"), ("who am I?", "searched for “who am i”, no result")],
)
def test_nothing_is_printed_for_nothing_and_the_reason_goes_to_stderr(run: Run, prompt: str, reason: str) -> None:
    asked = run("context", "--query", prompt)
    assert asked.stdout == ""
    assert reason in asked.stderr
    assert asked.exit_code == 0
    assert answer(run("context", "--query", prompt, "--json"))["overrides"] == []


def test_a_mode_that_needs_a_prompt_and_a_budget_that_was_moved_are_said(run: Run) -> None:
    moved = run("context", "--query", "why?", "--budget-tokens", "5").stderr
    assert "budget_tokens 5 is outside 100..4000; used 100" in moved
    assert "query" in refusal(run("context", "--mode", "query"))


def test_the_project_is_an_option_as_everywhere_else(run: Run) -> None:
    run("save", "Chose uv", "Fast.", "--project", "gadgets")
    assert run("context", "--project", "gadgets").stdout == run("context", "gadgets").stdout
    assert "Chose uv" in run("context", "gadgets", "--project", "gadgets").stdout
    both = run("context", "gadgets", "--project", "widgets")
    assert (both.exit_code, "give one" in both.stderr) == (2, True)


def test_sessions_show_the_time_they_are_ordered_by_and_their_start_where_it_differs(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    for day, session in (("01", "old"), ("03", "young"), ("04", "old")):
        monkeypatch.setenv("ENGRAM_NOW", f"2026-03-{day}T10:00:00Z")
        run("save", f"Day {day}", f"What was done on day {day}.", "--session", session)
    monkeypatch.setenv("ENGRAM_NOW", "2026-03-05T10:00:00Z")

    assert "- 1d (started 4d) widgets: last saved Day 04 [#3]" in run("context").stdout
    assert [line.split(",")[0] for line in run("sessions").stdout.splitlines()] == [
        "old widgets cli 1d (started 4d)",
        "young widgets cli 2d",
    ]
    [old, young] = json.loads(run("sessions", "--json").stdout)["sessions"]
    assert (old["started_at"][:10], old["last_activity_at"][:10]) == ("2026-03-01", "2026-03-04")
    assert old["last_activity_at"] > young["last_activity_at"]
