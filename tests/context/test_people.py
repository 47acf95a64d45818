"""A prompt that asks what a person decided gets that, and what nobody here ever said gets nothing."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.context.values import Context
from engram_py.observations.values import Observation


def shown(context: Context) -> list[str]:
    return [item.title for item in context.sections[-1].items if isinstance(item, Observation)]


@pytest.mark.parametrize(
    ("prompt", "found"),
    [
        ("what did Ines decide about the threshold?", ["Score threshold lowered to 0.30"]),
        ("remind me what Ines said about int8", ["Rejected int8 quantisation"]),
        ("what did the team decide about the threshold", ["Score threshold lowered to 0.30"]),
        ("what did Einstein say about time", []),
        ("what did Einstein decide about the threshold", []),
        ("what did Ines say about umbrellas", []),
    ],
)
def test_what_a_person_decided_is_asked_of_the_memory(app: Engram, prompt: str, found: list[str]) -> None:
    app.save(Draft("Score threshold lowered to 0.30", "Ines decided after the dive of May.", "decision"))
    app.save(Draft("Rejected int8 quantisation", "Ines saw the recall fall, each time she tried.", "decision"))
    app.save(Draft("Time zone of the cameras", "They all write UTC.", "config"))
    app.save(Draft("Deploy before noon", "Ines is there in the morning, Joost is not.", "preference"))

    assert shown(app.contexts.assemble(query=prompt)) == found
