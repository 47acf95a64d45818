"""An agent that searches and opens a hit leaves a question behind, of which `engram eval` makes a test."""

from __future__ import annotations

from pathlib import Path

from engram_py import Engram
from engram_py.config import Settings
from tests.interfaces.mcp.agent import Agent


def learned(data_dir: Path, folder: Path) -> dict[str, list[int | None]]:
    with Engram(settings=Settings(data_dir), directory=folder) as app:
        return {one.question: [answer.id for answer in one.answers] for one in app.evaluations.questions()}


async def test_a_search_that_led_to_opening_hits_is_learned(agent: Agent, data_dir: Path, here: Path) -> None:
    for title in ("Access tokens", "Refresh tokens", "Listening port"):
        await agent.told("mem_save", title=title, content=f"What was decided about {title}.")
    await agent.told("mem_search", query="what was decided about tokens")
    await agent.told("mem_get_observation", id=1)
    await agent.told("mem_get_observation", id=2)
    await agent.refusal("mem_get_observation", id=9)
    await agent.told("mem_search", query="#3")
    await agent.told("mem_get_observation", id=3)

    assert learned(data_dir, here) == {"what was decided about tokens": [1, 2]}
