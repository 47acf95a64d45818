"""The measure of ``python -m bench.decisions``: which words decide, where they stand, which half a question is of."""

from __future__ import annotations

import pytest

from bench.datasets import Question
from bench.decisions import deciding_words, decision_part, half

RECORD = """# Use Fargate

## Context and decision drivers

Nodes are work.

## Decision Outcome

Run on Fargate.

### Consequences of it

No daemons.

## Consequences

Cheaper.
"""


@pytest.mark.parametrize(
    "heading", ["Decision Outcome", "Decision", "2. Decision", "The existing decision", "Proposal"]
)
def test_the_decision_goes_from_its_heading_to_the_next_of_its_level(heading: str) -> None:
    part = decision_part(RECORD.replace("Decision Outcome", heading))
    assert " ".join(part.split()) == "Run on Fargate. ### Consequences of it No daemons."


def test_a_record_without_such_a_heading_has_no_decision() -> None:
    assert decision_part("## What\n\nA table.\n\n## Decision drivers\n\nCost.") == ""


def test_the_rarest_words_decide_but_none_of_a_link_or_of_the_question() -> None:
    part = "We will run daemons on [Fargate](https://example.org/zebra) nodes.\n\n[zebra]: https://example.org"
    rows = {"fargate": 1, "daemons": 2, "nodes": 9, "run": 50}
    assert deciding_words(part, rows) == ["fargate", "daemons", "nodes", "run"]
    assert deciding_words(part, rows, without=["fargate"]) == ["daemons", "nodes", "run"]


def test_a_question_is_of_the_same_half_in_every_run() -> None:
    halves = [half(Question(str(number), "adr", f"question {number}", (), "")) for number in range(200)]
    assert halves[:4] == ["report", "report", "report", "build"]
    assert 70 < halves.count("build") < 130
