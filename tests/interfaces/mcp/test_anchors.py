"""Files through the tools: named with a save, and told of by a review when they changed."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.interfaces.mcp.agent import Agent


@pytest.fixture
def file(here: Path) -> Path:
    """A file in the folder widgets, which is a repository without commits."""
    (here / ".git" / "objects").mkdir(parents=True)
    (here / ".git" / "refs").mkdir()
    (here / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (here / "auth.py").write_text("one = 1\ntwo = 2\nthree = 3\n")
    return here / "auth.py"


@pytest.mark.parametrize("files", [["auth.py:1-2"], "auth.py:1-2", '["auth.py:1-2"]'])
async def test_a_review_lists_what_changed_since_it_was_saved(agent: Agent, file: Path, files: object) -> None:
    saved = await agent.value("mem_save", title="Order", content="One before two", files=files)
    assert (await agent.value("mem_review", action="list"))["count"] == 0

    file.write_text("two = 2\none = 1\n")

    [due] = (await agent.value("mem_review", action="list"))["due"]
    assert (due["id"], due["anchors"][0]["state"]) == (saved["id"], "changed")
    told = await agent.told("mem_review", action="list")
    assert f"[#{saved['id']}] Order (manual, widgets, now): auth.py:1-2 changed, not committed yet" in told

    await agent.told("mem_review", action="mark_reviewed", observation_id=saved["id"])
    assert (await agent.value("mem_review", action="list"))["count"] == 0


async def test_a_save_says_what_it_made_of_lines_that_make_no_sense(agent: Agent, file: Path) -> None:
    told = await agent.told("mem_save", title="Odd", content="text", files=["auth.py:3-2", "", "auth.py:2-9"])
    assert told.startswith("Saved [#1]")
    assert "not anchored: a blank name" in told
    assert "taken otherwise: auth.py:3-2 (lines 2-3), auth.py:2-9 (lines 2-3, it has no more)" in told


@pytest.mark.skipif(os.name == "nt", reason="symlinks")
async def test_a_search_says_in_short_why_it_cannot_tell_about_a_file(agent: Agent, file: Path) -> None:
    await agent.told("mem_save", title="Order", content="One before two", files=["auth.py:1-2"])
    await agent.told(
        "mem_save", title="Other order", content="Two after one, elsewhere", project="gadgets", files="x.py"
    )
    file.unlink()
    file.symlink_to(file.name)

    told = await agent.told("mem_search", query="order", all_projects=True)

    assert "  auth.py:1-2 unknown (too many levels of symbolic links)" in told.splitlines()
    assert told.count("unknown") == 1
