"""Which files a memory names: those listed with it and those of its Where line."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.anchors.record import Reference, parse_reference, references, where_references
from engram_py.anchors.values import LINE_LIMIT

Place = tuple[str, int | None, int | None]


def places(content: str, *, unsure: bool = False) -> list[Place]:
    """The files a content surely names; with ``unsure`` what may be a file as well."""
    return [(one.path, one.start, one.end) for one in where_references(content) if one.sure or unsure]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        pytest.param("src/auth.py:10–20", ("src/auth.py", 10, 20), id="en-dash"),
        pytest.param("src/auth.py#L10-L20", ("src/auth.py", 10, 20), id="link"),
        pytest.param(f"src/auth.py:{LINE_LIMIT + 1}", ("src/auth.py", None, None), id="too-large"),
        pytest.param("`src/my file.py:3`", ("src/my file.py", 3, 3), id="quoted"),
        pytest.param(r"C:\work\auth.py:10", (r"C:\work\auth.py", 10, 10), id="drive"),
        pytest.param("10:20", ("10", 20, 20), id="number"),
        pytest.param(":10", ("", 10, 10), id="only-lines"),
    ],
)
def test_a_listed_file_is_a_path_and_its_lines(text: str, place: Place) -> None:
    found = parse_reference(text)
    assert found is not None
    assert (found.path, found.start, found.end) == place


@pytest.mark.parametrize("text", ["", "  ", "``"])
def test_a_blank_names_nothing(text: str) -> None:
    assert parse_reference(text) is None


@pytest.mark.parametrize(
    ("content", "named"),
    [
        pytest.param("**What**: a\n**Where**: src/a.py\n**Why**: src/b.py", [("src/a.py", None, None)], id="line"),
        pytest.param("**Where:** src/a.py:3, lib/b.go:5-9.", [("src/a.py", 3, 3), ("lib/b.go", 5, 9)], id="list"),
        pytest.param("Where: src/a.py", [("src/a.py", None, None)], id="plain"),
        pytest.param("- **Where**: src/a.py", [("src/a.py", None, None)], id="item"),
        pytest.param("**Where** (files): src/a.py", [("src/a.py", None, None)], id="files"),
        pytest.param("**What**: x **Where**: a/b.py:3 **Why**: c/d.py", [("a/b.py", 3, 3)], id="one-line"),
        pytest.param(
            "## Where\n\n- `src/a.py` (lines 3-9)\n- src/b.py, line 4\n\n## Why\n- src/c.py",
            [("src/a.py", 3, 9), ("src/b.py", 4, 4)],
            id="heading",
        ),
        pytest.param("**Where**: src/a.py\nand lib/prose.py goes on", [("src/a.py", None, None)], id="paragraph-ends"),
        pytest.param("**Where**: `refresh()` in src/a.py::refresh", [("src/a.py", None, None)], id="symbol"),
        pytest.param(
            "**Where**: src/a.py#refresh, src/b.py:refresh",
            [("src/a.py", None, None), ("src/b.py", None, None)],
            id="fragments",
        ),
        pytest.param(r"**Where**: src\win\a.py:7", [(r"src\win\a.py", 7, 7)], id="backslashes"),
        pytest.param(
            '**Where**: (src/a.py), [src/b.py], <src/c.py>; "src/d.py"',
            [(f"src/{name}.py", None, None) for name in "abcd"],
            id="brackets",
        ),
        pytest.param("**Where**: src/ünïcode/日本.py:3", [("src/ünïcode/日本.py", 3, 3)], id="unicode"),
        pytest.param("**WHERE**: src/a.py", [("src/a.py", None, None)], id="capitals"),
        pytest.param("**Where**: src/a.py, and again src/a.py", [("src/a.py", None, None)] * 2, id="twice"),
    ],
)
def test_the_where_line_names_files(content: str, named: list[Place]) -> None:
    assert places(content) == named


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("src/a.py is where it happens", id="no-label"),
        pytest.param("Where the wild/things.are", id="a-sentence"),
        pytest.param("**Where**: https://example.org/src/a.py", id="url"),
        pytest.param("**Where**: src/*.py and src/{a,b}.py", id="glob"),
        pytest.param("**Where**: ada@example.org, --strict, $HOME/x.py", id="no-path"),
        pytest.param("**Where**:", id="empty"),
        pytest.param("nowhere: src/a.py", id="another-word"),
        pytest.param("**Elsewhere**: src/a.py", id="another-label"),
    ],
)
def test_what_is_no_where_line_or_no_path_names_nothing(content: str) -> None:
    assert places(content, unsure=True) == []


def test_what_may_be_prose_is_offered_without_a_claim() -> None:
    content = "**Where**: auth.py, the read/write path, `Makefile`, app.search, e.g. here"
    assert places(content) == []
    assert [place[0] for place in places(content, unsure=True)] == [
        "auth.py",
        "read/write",
        "Makefile",
        "app.search",
        "e.g",
    ]


def test_a_file_named_with_lines_is_not_named_as_a_whole_too() -> None:
    found = references(["src/a.py:3-5"], "**Where**: src/a.py and src/b.py")
    assert found == (Reference("src/a.py", 3, 5), Reference("src/b.py", origin="where"))


def test_each_place_is_named_once_and_what_was_listed_comes_first() -> None:
    found = references(["src/b.py", "src/b.py"], "**Where**: src/a.py, src/b.py")
    assert [(one.path, one.origin) for one in found] == [("src/b.py", "given"), ("src/a.py", "where")]


@pytest.mark.parametrize(
    "content",
    [
        pytest.param("**Where**: " + "a/b.py " * 7_000, id="many"),
        pytest.param("**Where**: " * 5_000, id="labels"),
        pytest.param("**Where**: " + "`" * 50_000, id="ticks"),
        pytest.param("**Where**: " + "a:" * 25_000, id="colons"),
        pytest.param("**Where**: " + "a/" * 25_000, id="deep"),
        pytest.param("**where(" * 6_000, id="parentheses"),
        pytest.param(" " * 49_000 + "where:", id="blanks"),
        pytest.param("where:\n" * 7_000, id="lines"),
        pytest.param("**Where**: " + "(" * 40_000 + "a.py", id="open"),
        pytest.param("**Where**: " + "**" * 20_000, id="stars"),
        pytest.param("**Where**: a.py " + "lines " * 8_000, id="words"),
    ],
)
def test_a_long_where_line_is_read_in_part(content: str) -> None:
    assert len(references([], content)) <= 128


@given(st.lists(st.text(max_size=60), max_size=5), st.text(max_size=300))
def test_any_text_is_read_without_an_error(files: list[str], text: str) -> None:
    for one in references(files, f"**Where**: {text}"):
        assert one.start is None or 1 <= one.start <= (one.end or 0) <= LINE_LIMIT
