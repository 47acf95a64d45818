"""What a person sees: tables that fit their terminal, and nothing a memory says can move their cursor."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from engram_py.base.errors import InvalidInputError
from engram_py.interfaces.wording import render
from tests.interfaces.cli.conftest import Run
from tests.interfaces.cli.terminal import control_sequences, in_terminal, needs_terminal, plain, width

pytestmark = needs_terminal


@pytest.fixture
def furnished(run: Run) -> None:
    title = "Chose short-lived access tokens [red]for[/red] the whole platform, because a stolen one must not matter"
    run("save", title, "**What**: Access tokens live 15 minutes. " * 12, "--type", "decision")
    run("save", "Fixed 令牌 refresh race", "token_" * 60, "--session", "claude-7f2e9a4c-8d1b-4f6e-9a3c-1b2c3d4e5f6a")
    title = "Short-lived access tokens for the whole platform live an hour"
    run("save", title, "Access tokens live 60 minutes. " * 3, "--type", "decision")
    run("save", "Elsewhere", "Access tokens again.", "--project", "a-project-with-quite-a-long-name-indeed")
    run("pin", "1")


@pytest.mark.parametrize(
    ("words", "heading", "content"),
    [
        pytest.param(["search", "access", "token"], r"id +type +age +memory", "Fixed 令牌", id="search"),
        pytest.param(["search", "access", "token", "--all"], r"id +type +age +project +memory", "#4", id="search-all"),
        pytest.param(
            ["search", "access", "--explain"], r"hit +score +passage +whole +neighbours", "recency", id="explain"
        ),
        pytest.param(["list", "--all"], r"id +type +age +project +memory", "Fixed 令牌", id="list"),
        pytest.param(["projects"], r"project +observations +sessions +prompts +active +also", "widgets", id="projects"),
        pytest.param(["sessions", "--all"], r"last active +started +state +kept", "claude-", id="sessions"),
        pytest.param(["judge"], r"judgment +new +older", "rel-", id="judge"),
        pytest.param(["stats"], r"what +count", "observations", id="stats"),
        pytest.param(["doctor"], r"check +result +finding", "integrity", id="doctor"),
    ],
)
def test_a_list_is_a_table_that_fits(furnished: None, words: list[str], heading: str, content: str) -> None:
    for columns in (80, 120):
        shown = plain(in_terminal(columns, *words))
        assert re.search(heading, shown)
        assert content in shown
        assert max(map(width, shown.splitlines())) <= columns


def test_an_editor_has_the_terminal(furnished: None, run: Run, monkeypatch: pytest.MonkeyPatch, here: Path) -> None:
    script = here / "editor.sh"
    script.write_text('#!/bin/sh\ntest -t 0 && test -t 1 && sed -i.bak s/60/90/ "$1"\n')
    script.chmod(0o755)
    monkeypatch.setenv("VISUAL", str(script))

    assert 'Updated [#3] "Short-lived access tokens for the whole platform live an hour"' in plain(
        in_terminal(80, "edit", "3")
    )
    assert "live 90 minutes" in run("get", "3").stdout


def test_marks_are_in_a_table_brackets_are_no_markup_and_what_has_no_table_is_text(furnished: None) -> None:
    shown = plain(in_terminal(120, "search", "access", "token"))
    assert "(pinned)" in shown
    assert "[red]for[/red]" in shown
    assert plain(in_terminal(80, "get", "3")).startswith(
        "[#3] Short-lived access tokens for the whole platform live an hour\n"
    )
    assert plain(in_terminal(80, "search", "zzzzz")).startswith('Nothing found for "zzzzz" in widgets')
    assert in_terminal(80, "search", "access", "--json").startswith('{\n  "query": "access"')


def test_a_memory_cannot_write_control_sequences_to_a_terminal(run: Run) -> None:
    hostile = "\x1b]0;owned\x07\x1b[2Jtokens\x9b31m"
    run("save", f"Rename {hostile}", f"Clear {hostile}")
    for words in (["search", "tokens"], ["search", "tokens", "--explain"], ["get", "1"], ["context"]):
        assert not control_sequences(in_terminal(80, *words))


@pytest.mark.parametrize(
    ("words", "said"),
    [
        pytest.param("get 99", "engram: observation #99 does not exist\nhint: find the id with", id="fact-and-hint"),
        pytest.param("save T x --scope zz", "engram: scope is 'zz': it must be one of project,", id="in-one-line"),
        pytest.param("supersede 1 1", "engram: OLD and NEW are the same memory\nhint: give", id="own-words"),
    ],
)
def test_a_refusal_speaks_to_a_person_without_a_code(furnished: None, words: str, said: str) -> None:
    assert plain(in_terminal(120, *words.split(), code=1)).startswith(said)


def test_of_several_projects_a_person_chooses_one(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("api", "web"):
        (tmp_path / "several" / name / ".git").mkdir(parents=True)
        (tmp_path / "several" / name / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    monkeypatch.chdir(tmp_path / "several")
    assert "choose one: --project api, --project web" in plain(in_terminal(160, "save", "T", "x", code=1))
    assert "(an agent asks the user)" in run("save", "T", "x").stderr


def test_a_terminal_shows_a_failure_whose_candidates_are_a_number() -> None:
    failure = InvalidInputError("no commit fixes a test", code="no_tasks", hint="name tasks", facts={"candidates": 3})

    assert render.person_text(failure) == "no commit fixes a test\nhint: name tasks"
