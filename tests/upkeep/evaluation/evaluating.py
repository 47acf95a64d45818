"""Runs of the user's own retrieval tests over three memories."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.upkeep.evaluation.questions import Asked, Evaluation
from tests.support import draft

# Nothing of one is in another, so each question finds its own and nothing else.
TEXTS = {
    "tokens": ("Access tokens", "They live fifteen minutes."),
    "port": ("Listening port", "Loopback 7437."),
    "backup": ("Nightly backup", "Runs at four."),
}


@pytest.fixture
def answers(app: Engram) -> dict[str, int]:
    """The ids of the three."""
    return {name: app.save(draft(content, title=title)).id for name, (title, content) in TEXTS.items()}


def run(app: Engram, **options: object) -> Evaluation:
    return app.evaluations.run({"engram": "1.0"}, **options)  # type: ignore[arg-type]


def outcome(result: Evaluation, question: str) -> Asked:
    [asked] = [one for one in result.asked if one.question == question]
    return asked


def keep(app: Engram, answers: dict[str, int]) -> Evaluation:
    """Ask for the access tokens in a run, which is kept when it is the first."""
    app.evaluations.add("access tokens", [answers["tokens"]])
    return run(app)
