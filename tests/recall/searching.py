"""Memories to search: each in a session of its own, unless it should lend to the next, beside others about nothing."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.reasons import Reason, reason
from engram_py.recall.values import NoResults
from tests.support import draft

_NUMBERS = count(1)
_OTHERS = ("tulips", "violins", "glaciers", "pastry", "saddles", "comets", "pottery", "beetles", "lanterns", "ferries")


def kept(app: Engram, content: str, *, session: str | None = None, project: str | None = None, **fields: Any) -> int:
    """Save an observation; its id."""
    saved = app.save(
        draft(content, **({"title": "Note"} | fields)),
        project=project,
        session_id=session or f"session-{next(_NUMBERS)}",
    )
    return saved.id


def fill(app: Engram) -> None:
    """Ten memories about something else: a word of one memory in two tells nothing."""
    for thing in _OTHERS:
        kept(app, f"All there is to know about {thing}.", title=thing.title())


@pytest.fixture
def others(app: Engram) -> None:
    """The same, made before the test begins."""
    fill(app)


def ids(app: Engram, query: str, **arguments: Any) -> list[int]:
    """The memories that a search shows."""
    found = app.searches.search(query, **arguments)
    return [hit.id for hit in found.results]


def dated(words: str, day: str, *, unchanged: bool = False) -> Reason:
    """The note that says which day the words of a question mean."""
    return reason("dated", words=words, start=day, last=day, open=False, unchanged=unchanged)


def silence(app: Engram, query: str, **arguments: Any) -> NoResults:
    """Why a search that must find nothing found nothing."""
    found = app.searches.search(query, **arguments)
    assert (found.results, found.rung) == ((), "none")
    assert found.silence is not None
    assert found.silence.reason
    return found.silence
