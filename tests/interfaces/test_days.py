"""A day is the user's own through every door: what was saved at half past eight in Tokyo was not saved yesterday."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import quote

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.base.times import fixed_clock
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.http.mcp_endpoint import build_server
from tests.interfaces.http.asking import asker
from tests.support import FakeClock

NOON = "2026-11-26T03:00:00Z"
QUERIES = (
    "what did we decide yesterday",
    "chose since:yesterday until:yesterday",
    "chose since:2026-11-25 until:2026-11-25",
)


@pytest.fixture
def tokyo(data_dir: Path, folder: Path, clock: FakeClock, monkeypatch: pytest.MonkeyPatch) -> Settings:
    """A memory with a decision of yesterday afternoon and one of this morning, which is yesterday in UTC."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("ENGRAM_TIMEZONE", "Asia/Tokyo")
    monkeypatch.setenv("ENGRAM_NOW", NOON)
    with Engram(settings=Settings(data_dir, clock=clock), directory=folder) as app:
        for name, at in (
            ("pnpm", datetime(2026, 11, 25, 6, tzinfo=UTC)),
            ("nginx", datetime(2026, 11, 25, 23, 30, tzinfo=UTC)),
        ):
            clock.now = at
            app.save(Draft(f"Chose {name}", f"{name} is small.", "decision"), session_id="s-1")
    return Settings(data_dir, clock=fixed_clock(NOON), timezone="Asia/Tokyo", tools="all")


def run(*words: str) -> str:
    return CliRunner().invoke(cli, list(words), prog_name="engram").stdout


def told(settings: Settings, tool: str, **arguments: Any) -> str:
    async def call() -> Any:
        async with Client(build_server(settings, tools="all")) as client:
            return await client.call_tool(tool, arguments)

    text: str = anyio.run(call).content[0].text
    return text


@pytest.mark.parametrize("query", QUERIES)
def test_yesterday_is_the_users_through_every_door(tokyo: Settings, folder: Path, query: str) -> None:
    with Engram(settings=tokyo, directory=folder) as app:
        found = asker(app)("GET", f"/search?q={quote(query)}").value
        answers = [run("search", query), told(tokyo, "mem_search", query=query), str(found)]
        answers.append(str([hit.title for hit in app.search(query).results]))
    for answer in answers:
        assert "pnpm" in answer
        assert "Chose nginx" not in answer


def test_times_and_days_are_shown_in_the_zone_of_the_user_and_stored_in_utc(tokyo: Settings, folder: Path) -> None:
    for shown in (run("get", "2"), told(tokyo, "mem_get_observation", id=2)):
        assert "2026-11-26 08:30 JST" in shown
    assert "08:30" in told(tokyo, "mem_timeline", observation_id=1)
    with Engram(settings=tokyo, directory=folder) as app:
        assert app.get(2).observation.created_at == "2026-11-25T23:30:00.000Z"
        assert asker(app)("GET", "/observations/2").value["created_at"].startswith("2026-11-25")


def test_a_prompt_is_given_the_decisions_of_the_users_day(tokyo: Settings, folder: Path) -> None:
    shown = run("why", "what did we decide yesterday?")
    assert "pnpm" in shown
    assert "Chose nginx" not in shown
    assert "Chose nginx" in run("why", "what did we decide today?")
