"""Which parts of a query are filters, and what is said of those that only look like it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.reasons import Reason, reason
from engram_py.recall.query import KEYS, Filters, cut_filters


@pytest.mark.parametrize(
    ("text", "found"),
    [
        pytest.param("type:bugfix", Filters(types=("bugfix",)), id="type"),
        pytest.param("type:bugfix,decision", Filters(types=("bugfix", "decision")), id="either"),
        pytest.param("type:bugfix type:decision", Filters(types=("bugfix", "decision")), id="twice"),
        pytest.param("type:,bugfix,", Filters(types=("bugfix",)), id="stray-commas"),
        pytest.param("TYPE:Bugfix", Filters(types=("Bugfix",)), id="key-in-capitals"),
        pytest.param('topic:"auth tokens"', Filters(topics=("auth tokens",)), id="quoted-value"),
        pytest.param("project:widgets", Filters(projects=("widgets",)), id="project"),
        pytest.param("scope:personal", Filters(scopes=("personal",)), id="scope"),
        pytest.param("file:src/a,b.py", Filters(files=("src/a,b.py",)), id="a-file-may-hold-a-comma"),
        pytest.param("file:/home/ada/x.py", Filters(files=("/home/ada/x.py",)), id="absolute-file"),
        pytest.param("file:src/a.py:10-20", Filters(files=("src/a.py:10-20",)), id="file-with-lines"),
        pytest.param("branch:feat/x", Filters(branches=("feat/x",)), id="branch"),
        pytest.param("since:7d until:2026-03", Filters(since="7d", until="2026-03"), id="dates"),
        pytest.param("since:7d since:1d", Filters(since="1d"), id="the-last-date-counts"),
        pytest.param("is:Pinned is:stale", Filters(states=("pinned", "stale")), id="states"),
    ],
)
def test_a_filter_is_cut_out_of_the_text(text: str, found: Filters) -> None:
    cut, rest, notes = cut_filters(f"queue {text} worker")
    assert (cut, rest.split(), notes) == (found, ["queue", "worker"], ())
    assert bool(cut)


@pytest.mark.parametrize(
    "text",
    [
        "net/mlx5: fix",
        "std::vector",
        "type::value",
        "http://example.org",
        "see https://example.org/type:x",
        r"file:\\server\share",
        "at 10:30",
        "queue",
        "",
        ":",
        "::::",
        "a:b",
    ],
)
def test_what_only_looks_like_a_filter_stays_a_word(text: str) -> None:
    cut, rest, _ = cut_filters(text)
    assert (cut, rest) == (Filters(), text)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        pytest.param("note:queue", reason("unknown_filter", key="note"), id="unknown"),
        pytest.param("is:bogus", reason("unknown_state", value="bogus"), id="unknown-state"),
        pytest.param("until: queue", reason("unread_filter", key="until"), id="without-a-value"),
        pytest.param('topic:"" queue', reason("unread_filter", key="topic"), id="empty-quotes"),
        pytest.param('topic:"auth queue', reason("unread_filter", key="topic"), id="open-quote"),
    ],
)
def test_what_is_no_filter_stays_in_the_text_and_is_said(text: str, note: Reason) -> None:
    assert cut_filters(text) == (Filters(), text, (note,))


def test_more_filters_than_anybody_types_are_words_and_are_said() -> None:
    cut, rest, notes = cut_filters(" ".join(f"type:t{number}" for number in range(40)))
    assert len(cut.types) == 16
    assert "type:t39" in rest
    assert notes == (reason("unread_filter", key="type"),)


def test_many_unknown_filters_are_told_in_few_sentences() -> None:
    notes = cut_filters(" ".join(f"{letter}{letter}{letter}:x" for letter in "abcdefghijklmnopqrstuvw" * 9))[2]
    assert len(notes) == len(set(notes)) == 16


PIECES = st.one_of(
    st.sampled_from([*(f"{key}:" for key in KEYS), '"', ":", " ", ",", "-", "x", "\ud800", "\0"]), st.text(max_size=4)
)


@given(text=st.lists(PIECES, max_size=40).map("".join))
def test_nothing_is_invented_and_nothing_fails(text: str) -> None:
    cut, rest, notes = cut_filters(text)
    assert len(rest) <= len(text)
    assert len(notes) <= 16
    assert set("".join(rest.split())) <= set(text)
    assert cut_filters(text) == (cut, rest, notes)
