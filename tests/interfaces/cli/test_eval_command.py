"""``engram eval`` and ``engram reindex`` as somebody types them."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer, refusal
from tests.interfaces.cli.test_startup import modules


@pytest.fixture
def tested(run: Run) -> None:
    """Two observations, a question for each, and one that should find nothing."""
    run("save", "Access tokens", "They live fifteen minutes.")
    run("save", "Listening port", "Loopback 7437.")
    run("eval", "add", "access tokens", "1")
    run("eval", "add", "listening port", "#2")
    run("eval", "add", "favourite colour", "--none")


def test_without_questions_it_says_how_to_add_one(run: Run) -> None:
    told = run("eval")
    assert (told.exit_code, told.stderr) == (0, "")
    assert 'engram eval add "your question" ID' in told.stdout


@pytest.mark.usefixtures("tested")
def test_a_first_run_is_kept_and_the_next_is_no_worse(run: Run) -> None:
    first, second = run("eval"), run("eval")

    assert (first.exit_code, second.exit_code) == (0, 0)
    assert "3 questions, 1 that should find nothing" in first.stdout
    assert "kept: later runs are compared with this one" in first.stdout
    table = [line.split() for line in first.stdout.splitlines()]
    assert ["hit@5", "1.000"] in table
    assert ["false", "answers", "0", "of", "1"] in table
    assert second.stdout.startswith("none of 3 questions fails\n")
    assert "no worse than the kept run, of the 3 questions that both asked" in second.stdout
    assert "changed since then: neither the program nor the index" in second.stdout


@pytest.mark.usefixtures("tested")
def test_a_fall_is_shown_question_by_question_and_ends_with_exit_code_1(run: Run) -> None:
    run("eval")
    run("update", "1", "--title", "Gone", "--content", "Elsewhere.")
    run("save", "Favourite colour", "Blue.")

    fell = run("eval")

    assert fell.exit_code == 1
    assert '  1 "access tokens": rank 1 → nothing found' in fell.stdout
    assert '  3 "favourite colour": nothing found → answered, with [#3] Favourite colour' in fell.stdout
    assert "worse than the kept run by more than 0.01: hit@5, MRR, false answers" in fell.stdout
    assert run("eval", "--keep").exit_code == 1
    assert run("eval").exit_code == 0


@pytest.mark.usefixtures("tested")
def test_new_questions_and_lost_answers_are_said_beside_the_comparison_and_are_no_failure(run: Run) -> None:
    run("eval")
    run("eval", "add", "-", "2", stdin="the colour of the sky\n")
    run("delete", "1")
    told = run("eval")
    table = [line.split() for line in told.stdout.splitlines()]
    assert told.exit_code == 0
    assert told.stdout.startswith("1 of 3 questions fails now\n")
    assert ["before", "now", "new"] in table
    assert '  1 "access tokens": [#1] Access tokens (deleted)' in told.stdout
    assert "1 new question, not compared" in told.stdout
    assert refusal(run("eval", "--tolerance", "2")).startswith("engram: invalid_argument: tolerance is 2.0")
    values: Any = answer(run("eval", "--tolerance", "0.5", "--json"))
    assert (values["fell"], values["kept"], values["tolerance"]) == ([], False, 0.5)
    assert [(one["id"], one["outcome"]) for one in values["asked"]][:3] == [(1, "lost"), (2, "found"), (3, "silent")]


@pytest.mark.usefixtures("tested")
def test_questions_are_listed_and_removed_by_number(run: Run) -> None:
    assert run("eval", "list").stdout.splitlines() == [
        '1 "access tokens" → [#1] Access tokens (widgets)',
        '2 "listening port" → [#2] Listening port (widgets)',
        '3 "favourite colour" → silence (widgets)',
    ]
    assert run("eval", "remove", "1", "3").stdout == "Removed 2 questions\n"
    assert [one["id"] for one in answer(run("eval", "list", "--json"))["questions"]] == [2]


@pytest.mark.parametrize("words", [["add", "q", "one"], ["add"], ["remove"], ["remove", "one"]])
def test_what_is_no_number_is_wrong_usage(run: Run, words: list[str]) -> None:
    assert run("eval", *words).exit_code == 2


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="root may write everywhere")
def test_a_memory_that_cannot_be_written_is_searched_all_the_same(start: Start, data_dir: Path) -> None:
    start("save", "Access tokens", "They live fifteen minutes.")
    (data_dir / "engram.db").chmod(0o400)
    assert "[#1]" in start("search", "tokens").stdout


def test_reindex_says_what_it_did(run: Run) -> None:
    run("save", "Access tokens", "They live fifteen minutes.")
    assert run("reindex").stdout == "Indexed 1 observation and 0 prompts; 0 had terms of another version\n"
    assert answer(run("reindex", "--json")) == {
        "observations": 1, "prompts": 0, "rewritten": 0, "resumed": False, "mended": False,
    }  # fmt: skip
    assert answer(run("search", "access tokens", "--json"))["count"] == 1


def test_a_search_pays_neither_for_the_tests_nor_for_redaction(here: Path, start: Start) -> None:
    start("save", "Access tokens", "They live fifteen minutes.")
    assert not {"engram_py.evaluation.evaluation", "engram_py.capture.redact"} & modules(here, "search", "tokens")
