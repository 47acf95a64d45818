"""``engram search``: what its query may hold, and how ``--explain`` shows the way to an answer."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, answer
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


def test_filters_and_phrases_are_part_of_the_query(run: Run, kept: None) -> None:
    assert titles(run, "timeout type:bugfix") == ["Redis client retries"]
    assert titles(run, '"login timeout"') == ["Raised the login timeout"]


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
