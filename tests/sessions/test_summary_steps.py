"""What a summary leaves to do, and what else it says."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.sessions.summary_steps import GOAL_CHARS, MOST_STEPS, gist, goal, open_steps

SUMMARY = """\
## Goal
Build the CSV parser

## Accomplished
- tokenizer
- 2026-03-02 release of 2 servers

## Next Steps
- [x] tokenizer
- [ ] quoted   newlines
1. write the docs

## Relevant Files
- src/csv.py
"""


def test_the_open_steps_are_those_that_are_not_ticked_off() -> None:
    assert open_steps(SUMMARY) == ("quoted newlines", "write the docs")


@pytest.mark.parametrize(
    ("summary", "said"),
    [
        pytest.param(SUMMARY, "Build the CSV parser", id="heading"),
        pytest.param("Done.\n**Goal**: build the  parser\nmore", "build the parser", id="in-its-line"),
        pytest.param("Done.\nGoal: build the parser\nmore", "build the parser", id="without-marks"),
        pytest.param("## Ziel\n- [ ] Der Parser", "[ ] Der Parser", id="another-language"),
        pytest.param("\n- Built the login.\nAnd the logout.", "Built the login.", id="no-goal"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_the_goal_is_what_the_session_was_for_or_else_the_first_line(summary: str, said: str) -> None:
    assert goal(summary) == said


@pytest.mark.parametrize("summary", ["the parser " * 20, "x" * 200])
def test_a_long_goal_is_cut(summary: str) -> None:
    assert goal(summary).rstrip("…").removesuffix("parser") != goal(summary)
    assert GOAL_CHARS - 10 < len(goal(summary)) <= GOAL_CHARS + 1


def test_a_sentence_before_a_semicolon_loses_its_full_stop() -> None:
    assert (
        gist("## Goal\nSentry quota.\n## Accomplished\nSampling 2 %.")
        == "Goal: Sentry quota; Accomplished: Sampling 2 %."
    )


def test_the_gist_is_everything_else_on_one_line() -> None:
    said = "Goal: Build the CSV parser; Accomplished: tokenizer, 2026-03-02 release of 2 servers; "
    assert gist(SUMMARY) == said + "Relevant files: src/csv.py"


@pytest.mark.parametrize(
    ("summary", "steps"),
    [
        pytest.param("**Next Steps**: ship it", ("ship it",), id="bold-in-a-line"),
        pytest.param("**Next Steps:**\n* ship it", ("ship it",), id="bold-heading"),
        pytest.param("TODO: ship it", ("ship it",), id="plain"),
        pytest.param("# Nächste Schritte\n- ausliefern", ("ausliefern",), id="german"),
        pytest.param("## 下一步\n- 发布", ("发布",), id="chinese"),
        pytest.param("## Next Steps\n- ✅ done\n- ~~dropped~~\n- [X] done", (), id="all-done"),
        pytest.param("## Next Steps\n\n## Goal\nnothing", (), id="none"),
        pytest.param("We discussed next steps.", (), id="only-mentioned"),
        pytest.param("", (), id="empty"),
    ],
)
def test_next_steps_are_found_under_any_usual_heading(summary: str, steps: tuple[str, ...]) -> None:
    assert open_steps(summary) == steps


def test_only_the_first_few_steps_are_told() -> None:
    assert len(open_steps("## Next\n" + "- do\n" * 50)) == MOST_STEPS


@given(st.text(max_size=500))
def test_any_text_is_a_summary(text: str) -> None:
    assert "\n" not in gist(text)
    assert all("\n" not in step for step in open_steps(text))
