"""``engram search``: what its query may hold, and how ``--explain`` shows the way to an answer."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, answer
from tests.interfaces.cli.terminal import control_sequences, in_terminal, needs_terminal, plain, width


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


def test_filters_and_phrases_are_part_of_the_query(run: Run, kept: None) -> None:
    assert titles(run, "timeout type:bugfix") == ["Redis client retries"]
    assert titles(run, '"login timeout"') == ["Raised the login timeout"]


def test_the_help_names_every_filter_and_both_ways_to_exclude_a_word(run: Run) -> None:
    from engram_py.recall.query.filters import KEYS, STATES

    shown = " ".join(run("search", "--help").stdout.split())

    for name in (*(f"{key}:" for key in KEYS), *(f"is:{state}" for state in STATES)):
        assert name in shown
    assert "engram search 'timeout -redis" in shown
    assert "engram search timeout -- -redis" in shown


def test_explain_prints_numbers_steps_and_words(run: Run, kept: None) -> None:
    shown = run("search", "login", "timeout", "--explain").stdout
    columns = r"^  hit +score +own words +lent +close +session +tells +answers +recency +factors +title$"
    assert re.search(columns, shown, re.MULTILINE)
    assert re.search(r"^  #1 +\d+\.\d\d .* 100%  .*recency 1\.06.* Raised the login timeout$", shown, re.MULTILINE)
    assert re.search(r"^  all words +1  ", shown, re.MULTILINE)
    assert re.search(r"^  timeout +2 +\d\.\d\d  looked up$", shown, re.MULTILINE)


def test_explain_is_in_the_json_only_when_asked(run: Run, kept: None) -> None:
    asked = answer(run("search", "login timeout", "--explain", "--json"))
    assert asked["explain"]["hits"][0]["id"] == asked["results"][0]["id"] == 1
    assert {one["word"] for one in asked["explain"]["words"]} == {"login", "timeout"}
    assert "explain" not in answer(run("search", "login timeout", "--json"))


@needs_terminal
@pytest.mark.parametrize("columns", [80, 120])
def test_the_explanation_is_tables_that_fit(run: Run, kept: None, columns: int) -> None:
    shown = plain(in_terminal(columns, "search", "login", "timeout", "--explain"))

    assert re.search(r"hit +score +own words +lent +close +session +tells +answers", shown)
    assert "─" in shown
    assert "Hits: score =" in shown
    assert "recency" in shown
    assert max(map(width, shown.splitlines())) <= columns


@needs_terminal
def test_an_explained_empty_answer_says_why_first(run: Run, kept: None) -> None:
    shown = plain(in_terminal(80, "search", "zebra", "--explain"))
    assert shown.startswith('Nothing found for "zebra" in widgets')
    assert re.search(r"zebra +0 +\d\.\d\d +unknown", shown)


@needs_terminal
def test_a_title_cannot_write_to_the_terminal_or_be_markup(run: Run) -> None:
    run("save", "\x1b]0;owned\x07\x1b[2J\x9b31m [red]login[/red]", "Nothing else.")
    shown = in_terminal(120, "search", "login", "--explain")
    assert not control_sequences(shown)
    assert "[red]login[/red]" in shown


@needs_terminal
def test_labels_and_changed_files_are_in_the_table_of_hits(run: Run, kept: None, here: Path) -> None:
    subprocess.run(["git", "init", "-q", "-b", "main", "."], cwd=here, check=True)
    (here / "login.py").write_text("timeout = 5\n", encoding="utf-8")
    run("save", "Measured the sign-in", "Five seconds are too short.", "--file", "login.py:1")
    (here / "login.py").write_text("timeout = 30\n", encoding="utf-8")

    shown = " ".join(plain(in_terminal(160, "search", "sign-in seconds too short")).split())

    assert re.search(r"login\.py:1 (changed|gone)", shown)
