"""Clearing on the page: it counts, asks for the name, destroys, and refuses anything else."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from tests.interfaces.web.visiting import Visitor


@pytest.fixture
def kept(app: Engram) -> None:
    app.save(Draft("Tea", "Second shelf."), session_id="s1")
    app.facts.add("billing", "Billing runs on Debian in the cellar")
    app.ingest("s1", [{"role": "user", "content": "Where is the tea?"}])
    app.save(Draft("Gadgets", "They are blue."), project="gadgets")


def rows(app: Engram) -> dict[str, int]:
    return dict(app.clearing.look("everything").counts)


def test_everything_is_destroyed_after_its_name_is_typed(app: Engram, visitor: Visitor, kept: None) -> None:
    asked = visitor.look("/ui/clear?what=everything")
    assert "This destroys 3 observations" in asked.text
    done = visitor.press(asked, "Destroy", name="everything")
    assert done.path.startswith("/ui/settings")
    assert "Cleared: everything" in done.text
    assert not any(rows(app).values())
    assert "Nothing is saved here yet" in visitor.look("/ui/").text


@pytest.mark.parametrize("typed", ["", "yes", "Everything", "widgets"])
def test_another_word_destroys_nothing(app: Engram, visitor: Visitor, kept: None, typed: str) -> None:
    before = rows(app)
    refused = visitor.press(visitor.look("/ui/clear?what=everything"), "Destroy", name=typed)
    assert refused.status == 400
    assert "Nothing was destroyed" in refused.text
    assert rows(app) == before


def test_one_project_is_destroyed_and_another_stays(app: Engram, visitor: Visitor, kept: None) -> None:
    [address] = [
        one["href"]
        for _, one in visitor.look("/ui/settings?project=gadgets").page.tags
        if "what=project" in one.get("href", "")
    ]
    visitor.press(visitor.look(address), "Destroy", name="gadgets")
    assert [one.name for one in app.projects.list()] == ["widgets"]


def test_raw_messages_are_destroyed_and_memories_stay(app: Engram, visitor: Visitor, kept: None) -> None:
    assert rows(app)["turns"] == 1
    visitor.press(visitor.look("/ui/clear?what=turns"), "Destroy", name="turns")
    assert (rows(app)["turns"], rows(app)["observations"]) == (0, 3)


@pytest.mark.parametrize("query", ["", "?what=all", "?what=project", "?what=project&project=nowhere"])
def test_what_is_none_of_these_is_refused(visitor: Visitor, query: str) -> None:
    assert visitor.look(f"/ui/clear{query}").status in (400, 404)
