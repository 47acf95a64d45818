"""The labelled prompts, how they are counted, and the model that is fitted on half of them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from bench.evidence import logistic
from bench.prompts import Given, Prompt, line_of, projects, prompts_of
from engram_py.recall.score import PARTS, fitted


@pytest.mark.parametrize("file", projects(), ids=lambda file: file.stem)
def test_every_label_names_a_memory_that_stands(file: Path) -> None:
    values = json.loads(file.read_text(encoding="utf-8"))
    standing = {one["id"] for one in values["memories"] if not one.get("superseded_by")}
    for prompt in prompts_of(values):
        assert {*prompt.due, *prompt.ok} <= standing, prompt.text


def test_there_are_four_hundred_prompts_a_third_of_them_with_nothing_due_and_half_unseen() -> None:
    prompts = [one for file in projects() for one in prompts_of(json.loads(file.read_text(encoding="utf-8")))]
    assert len(prompts) >= 400
    assert sum(not one.due for one in prompts) >= len(prompts) / 3
    assert 0.4 < sum(one.half == "report" for one in prompts) / len(prompts) < 0.6


def test_a_line_counts_what_was_due_what_was_silent_and_what_was_of_use() -> None:
    due, quiet = Prompt("p", "why?", (1, 2), (3,), "question"), Prompt("p", "thanks", (), (3,), "chatter")
    said = line_of("all", [Given(due, (2, 9)), Given(due, ()), Given(quiet, (3,)), Given(quiet, (9,))])
    assert "due given 1 of 2 (0.50)" in said
    assert "silent 1 of 2 (0.50)" in said
    assert "of use 2 of 4 lines (0.50)" in said


def test_the_fit_finds_the_number_that_tells_and_the_prior_moves_its_bias() -> None:
    zeros = (0.0,) * (len(PARTS) - 1)
    rows = [(value / 10, *zeros) for value in range(20)]
    sides = [float(value >= 8) for value in range(20)]
    even = logistic(rows, sides, [1.0] * 20, 0.5)
    likely = logistic(rows, sides, [1.0] * 20, 0.8)
    assert even["passage"] > 1
    assert even["title"] == 0
    assert likely["bias"] - even["bias"] == pytest.approx(1.386, abs=0.01)  # ln(.8 / .2)


def test_the_shipped_coefficients_have_every_part() -> None:
    for model in ("asked", "unasked"):
        assert set(fitted()[model]) == {"bias", *PARTS}
