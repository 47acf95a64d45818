"""A session's summary beside what it retells: its frame, title and headings, says nothing of this session."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from tests.recall.searching import silence

SAVED = {
    "s1": [
        ("Chose Meilisearch for product search", "**What**: Product search runs on Meilisearch.", "decision"),
        ("Fixed session timeout on slow networks", "**What**: The session cookie was dropped early.", "bugfix"),
    ],
    "s2": [
        ("Prices are integer cents", "**What**: Prices are kept in cents. Floats lost some.", "decision"),
        ("Release steps for the desktop app", "**What**: Tag, build, notarize, upload.", "pattern"),
    ],
}
SUMMARIES = {
    "s1": "## Goal\nReplace the product search\n\n## Accomplished\n- Chose Meilisearch for product search\n"
    "- Fixed the session timeout on slow networks\n\n## Next Steps\n- Index the reviews\n\n"
    "## Relevant Files\n- search/index.py",
    "s2": "## Goal\nPrices and the release\n\n## Accomplished\n- Prices are integer cents now; floats lost some\n"
    "- Wrote down the release steps for the desktop app\n\n## Next Steps\n- Notarize in CI",
}


@pytest.fixture
def told(app: Engram) -> Engram:
    for session_id, summary in SUMMARIES.items():
        for title, content, kind in SAVED[session_id]:
            app.save(Draft(title, content, kind), session_id=session_id)
        app.episodes.summarize(summary, session_id=session_id)
    return app


@pytest.mark.parametrize(
    ("query", "title"),
    [
        pytest.param("widgets search", "Chose Meilisearch for product search", id="project"),
        pytest.param("session timeout", "Fixed session timeout on slow networks", id="title"),
        pytest.param(
            "next release steps of the desktop app", "Release steps for the desktop app", id="next-steps-heading"
        ),
        pytest.param("files of the product search", "Chose Meilisearch for product search", id="files-heading"),
        pytest.param("goal of the integer cents", "Prices are integer cents", id="goal-heading"),
    ],
)
def test_a_decision_stands_above_the_summary_that_retells_it(told: Engram, query: str, title: str) -> None:
    assert told.search(query).results[0].title == title


@pytest.mark.parametrize("query", ["relevant goal", "accomplished", "session summary widgets"])
def test_the_frame_of_summaries_answers_no_question(told: Engram, query: str) -> None:
    silence(told, query)
