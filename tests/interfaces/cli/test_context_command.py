"""``engram context``: the four modes, from arguments or a pipe."""

from __future__ import annotations

import json

import pytest

from tests.interfaces.cli.conftest import Run, answer, refusal


@pytest.fixture
def kept(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_NOW", "2026-03-05T10:00:00Z")
    run("save", "Chose uv over poetry", "It resolves in a second.", "--type", "decision")


@pytest.mark.usefixtures("kept")
def test_a_prompt_is_given_what_it_deserves(run: Run) -> None:
    asked = run("context", "--query", "why did we choose uv?")
    assert asked.stdout.startswith('<engram-memory project="widgets" date="2026-03-05">')
    assert "- [#1] Chose uv over poetry (decision, now): It resolves in a second." in asked.stdout
    assert run("context", "--query", "-", stdin="why did we choose uv?").stdout == asked.stdout
    values = answer(run("context", "--query", "why did we choose uv?", "--json"))
    assert (values["mode"], values["section"], values["cue"]) == ("query", "memories", "uv")
    assert [row["id"] for row in values["memories"]] == [1]


@pytest.mark.usefixtures("kept")
@pytest.mark.parametrize(
    ("prompt", "reason"),
    [("sort a list", "nothing is likely to be needed"), ("who am I?", "asked by “who am i”, found nothing")],
)
def test_nothing_is_printed_for_nothing_and_the_reason_goes_to_stderr(run: Run, prompt: str, reason: str) -> None:
    asked = run("context", "--query", prompt)
    assert asked.stdout == ""
    assert reason in asked.stderr
    assert asked.exit_code == 0
    assert answer(run("context", "--query", prompt, "--json"))["overrides"] == []


@pytest.mark.usefixtures("kept")
def test_the_other_modes_are_asked_for_by_name(run: Run) -> None:
    assert "## Facts\n- [#1] Chose uv" in run("context", "--mode", "cascade", "--query", "uv").stdout
    assert "### observations.md\n## 2026-03-05\n- [#1]" in run("context", "--mode", "full").stdout
    assert "## Recent observations" in run("context").stdout


def test_a_mode_that_needs_a_prompt_and_a_budget_that_was_moved_are_said(run: Run) -> None:
    moved = run("context", "--query", "why?", "--budget-tokens", "5").stderr
    assert "budget_tokens 5 is outside 100..4000; used 100" in moved
    assert "query" in refusal(run("context", "--mode", "query"))


@pytest.mark.parametrize(("gate", "found"), [("off", True), ("heuristic", False), ("llm", False), ("maybe", False)])
def test_the_gate_is_a_setting(run: Run, monkeypatch: pytest.MonkeyPatch, gate: str, found: bool) -> None:
    run("save", "Sort a list by its key", "With sorted().")
    monkeypatch.setenv("ENGRAM_GATE", gate)

    asked = run("context", "--query", "write the list of guests")

    assert ("Sort a list by its key" in asked.stdout) is found
    if gate == "llm":
        assert "gate llm works as heuristic" in asked.stderr
    if gate == "maybe":
        assert "ENGRAM_GATE 'maybe' was ignored: it is one of heuristic, off, llm" in asked.stderr


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
