"""Whatever is typed into a search: no error, an end, and a sentence that says what was done."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from engram_py import Engram
from engram_py.base.reasons import Reason, reason
from engram_py.base.settings import Settings
from engram_py.base.text.words import STOP_WORDS
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.reasons import spelled
from engram_py.recall.query import KEYS
from engram_py.recall.values import Results
from tests.recall.searching import fill, kept

QUEUE = "The retry queue drains on restart."

OPERATORS = ["AND", "OR", "NOT", "NEAR(a b, 5)", "^", "*", "queue*", "title:", "{title}:", "(", ")", "+", "--", ";"]
QUOTES = ['"', '""', "'", "“", "”", "«", "»", '"retry queue"', '-"retry', '"queue']
SIGNS = [
    "🎉", "👩‍👩‍👧", "\0", "\u202e", "\u200f", "\u2066", "\ufeff", "\ud800", "\udfff", "\x1b[31m", "\n", ":", "::::",
    "-", "#", "\\",
]  # fmt: skip
WORDS = ["queue", "retry", "q", "я", "用", "用户登录", "İ", "ß", "getUserById", "x" * 300, *sorted(STOP_WORDS)[:40]]
FILTERS = [
    "since:2026-02-30", "since:9999999999", "since:9999-12-31", "until:", "until:0000", "until:9999y", "since:-1",
    "since:\0", "note:x", "TODO:fix", "file:/etc/passwd", "file:../../secret", "file:~root", "file:C:\\x", "file:.",
    "file:\0", "is:bogus", "is:", "is:stale", "is:pinned", "project:nobody", "project:../..", "project:.", "project:*",
    "project:" + "x" * 250, "project:\ud800", 'project:""', "scope:team", "topic:///", "topic:a", "type:", "type:,,,",
    "type:bugfix", 'branch:"a b"', "a:b:c:d", "type:type:type:", "since:7d",
]  # fmt: skip
PIECE = st.one_of(
    st.sampled_from(OPERATORS + QUOTES + SIGNS + WORDS),
    st.sampled_from(FILTERS),
    st.builds("{}:{}".format, st.sampled_from(KEYS), st.text(max_size=12)),
    st.text(max_size=8),
)
TYPED = st.one_of(st.lists(PIECE, max_size=12).map(" ".join), st.lists(PIECE, max_size=12).map("".join), st.text())


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Engram]:
    """A memory that only is asked, never changed."""
    root = tmp_path_factory.mktemp("asked")
    folder = root / "widgets"
    folder.mkdir()
    with Engram(settings=Settings(root / "data"), directory=folder) as engram:
        fill(engram)
        kept(engram, QUEUE, topic_key="queue/retry", type="bugfix")
        kept(engram, "用户登录失败时重试三次 getUserById 🎉", title="登录")
        yield engram


def sound(found: Results) -> None:
    """What every answer keeps to."""
    assert len(found.results) <= 20
    assert len(found.query) <= 8_000
    assert len({hit.id for hit in found.results}) == len(found.results)
    scores = [hit.score for hit in found.results]
    assert scores == sorted(scores, reverse=True)
    assert all(0 <= score <= 1 for score in scores)
    if found.results:
        assert found.silence is None
    else:
        assert found.silence is not None
        assert found.silence.reason
    assert len(found.warnings) <= 40
    assert all(len(spelled(warning, "python")) <= 400 for warning in found.warnings)
    json.dumps(render.to_json(found, door="python")).encode()


@given(query=TYPED, mode=st.sampled_from(["all", "any"]), everywhere=st.booleans(), limit=st.integers(-3, 25))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@example(query='NEAR("a" b) OR {title}: ^ *', mode="all", everywhere=False, limit=10)
@example(query="queue " + "a:" * 3_000, mode="any", everywhere=True, limit=10)
@example(query="queue file:C:\\x", mode="all", everywhere=False, limit=10)
@example(query="queue project:a\x07", mode="all", everywhere=False, limit=10)
@example(query="queue project:" + "x" * 250, mode="all", everywhere=False, limit=10)
@example(query="is:stale is:pinned is:superseded -queue", mode="all", everywhere=True, limit=10)
def test_whatever_is_typed_is_answered_and_the_same_twice(
    memory: Engram, query: str, mode: str, everywhere: bool, limit: int
) -> None:
    if not query.strip():
        return
    ask = {"match_mode": mode, "all_projects": everywhere, "limit": limit}
    found = memory.searches.search(query, explain=True, **ask)  # type: ignore[arg-type]
    sound(found)
    assert found.explain is not None
    assert [one.id for one in found.explain.hits] == [hit.id for hit in found.results]
    with memory.usage.paused():
        again = memory.searches.search(query, **ask)  # type: ignore[arg-type]
    assert [hit.id for hit in again.results] == [hit.id for hit in found.results]


def test_of_many_words_and_no_many_letters_the_most_telling_are_used_and_it_says_so(memory: Engram) -> None:
    found = memory.searches.search(" ".join(f"word{number}" for number in range(100)))
    assert found.warnings == (reason("shortened", characters=0, words=True),)


@pytest.mark.parametrize(
    ("query", "note"),
    [
        pytest.param(
            "queue since:2026-02-30", reason("no_date", filter="since", value="2026-02-30"), id="the-30th-of-february"
        ),
        pytest.param("queue since:9999999999", reason("no_date", filter="since", value="9999999999"), id="a-number"),
        pytest.param("queue until:soon", reason("no_date", filter="until", value="soon"), id="a-word"),
        pytest.param("queue until:", reason("unread_filter", key="until"), id="no-value"),
        pytest.param("queue is:bogus", reason("unknown_state", value="bogus"), id="unknown-state"),
        pytest.param("queue scope:team", reason("unknown_scope", filter="scope", value="team"), id="unknown-scope"),
        pytest.param(
            "queue project:../..",
            reason("no_project", problem="'../..' is not a project name: it is a path"),
            id="a-path",
        ),
    ],
)
def test_what_was_not_understood_is_said_and_takes_nothing_away(memory: Engram, query: str, note: Reason) -> None:
    found = memory.searches.search(query)
    sound(found)
    assert note in found.warnings
    assert [hit.title for hit in found.results][:1] == ["Note"]


@pytest.mark.parametrize("file", ["file:/etc/passwd", "file:../../secret"])
def test_a_file_outside_of_the_project_is_a_filter_that_nothing_passes(memory: Engram, file: str) -> None:
    found = memory.searches.search(f"queue {file}")
    sound(found)
    assert found.silence is not None
    assert found.silence.filters == (file,)


# --- a folder that is not there any more ------------------------------------------------------------------------


def test_a_file_filter_from_a_folder_that_is_gone_is_silent(data_dir: Path, tmp_path: Path) -> None:
    gone = tmp_path / "gone" / "widgets"
    gone.mkdir(parents=True)
    with Engram(settings=Settings(data_dir), directory=gone) as app:
        kept(app, QUEUE)
        gone.rmdir()
        found = app.searches.search("queue file:src/x.py")
        sound(found)
        assert found.results == ()
