"""A query means the same on the command line, in a tool, and in Python."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.config import Settings
from engram_py.times import fixed_clock
from tests.interfaces.cli.conftest import Run, answer
from tests.interfaces.cli.test_same_as_mcp import NOW, told
from tests.recall.searching import fill, kept


@pytest.fixture(autouse=True)
def memories(data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_NOW", NOW)
    with Engram(settings=Settings(data_dir, clock=fixed_clock(NOW)), directory=folder) as app:
        fill(app)
        kept(app, "The retry queue drains.", title="One", topic_key="queue/retry")
        kept(app, "A queue to retry hangs in redis.", title="Two", type="bugfix", topic_key="queue")
        kept(app, "The pgbouncer pool of the queue.", title="Three", type="decision", scope="personal")
        app.observations.pin(kept(app, "Their queue.", title="Four", project="gadgets"))


@pytest.mark.parametrize(
    ("query", "count"),
    [
        pytest.param("queue", 3, id="word"),
        pytest.param('"retry queue"', 1, id="phrase"),
        pytest.param("queue -redis", 2, id="excluded"),
        pytest.param("type:bugfix,decision queue", 2, id="either-type"),
        pytest.param("topic:queue", 2, id="topic"),
        pytest.param("project:gadgets scope:project queue", 1, id="project"),
        pytest.param("is:pinned project:gadgets", 1, id="pinned"),
        pytest.param("since:1d until:2026-08-01 queue", 3, id="dates"),
        pytest.param("queue since:2026-02-30 scope:team", 3, id="not-understood"),
        pytest.param("pgbuoncer", 1, id="misspelt"),
        pytest.param("queue/retry", 3, id="topic-key"),
        pytest.param("#11", 1, id="handle"),
        pytest.param("kubernetes", 0, id="unknown"),
        pytest.param("🎉", 0, id="no-word"),
    ],
)
def test_a_query_finds_the_same_and_says_the_same(
    run: Run, data_dir: Path, folder: Path, query: str, count: int
) -> None:
    typed = answer(run("search", "--json", "--", query))
    called = told(data_dir, "mem_search", {"query": query})
    with Engram(settings=Settings(data_dir, clock=fixed_clock(NOW)), directory=folder) as app:
        found = app.searches.search(query)

    ids = [hit.id for hit in found.results]
    assert len(ids) == count
    assert [hit["id"] for hit in typed["results"]] == [hit["id"] for hit in called["results"]] == ids
    assert typed["warnings"] == called["warnings"] == list(found.warnings)
    assert typed.get("silence") == called.get("silence")
    assert ("silence" in typed) != bool(ids)


def test_arguments_and_filters_say_the_same(run: Run, data_dir: Path) -> None:
    by_option = answer(run("search", "queue", "--type", "bugfix", "--json"))
    by_filter = answer(run("search", "queue", "type:bugfix", "--json"))
    by_argument = told(data_dir, "mem_search", {"query": "queue", "type": "bugfix"})
    ids = [[hit["id"] for hit in found["results"]] for found in (by_option, by_filter, by_argument)]
    assert ids[0] == ids[1] == ids[2] == [12]
