"""Rows 150 and 151: passages end at headings, paragraphs and fences, and know their lines."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Engram
from engram_py.documents.folder import (
    MOST_CHARS,
    OVERLAP_CHARS,
    passages,
    split_front_matter,
    status_of,
    structure,
    title_of,
)
from engram_py.documents.values import Cut
from tests.documents.conftest import write


def cut(text: str) -> tuple[Cut, ...]:
    return passages(structure(text))


def paragraph(number: int, words: int) -> str:
    return " ".join(f"word{number}x{place}" for place in range(words))


def test_row_151_a_long_text_is_cut_between_paragraphs_with_an_overlap() -> None:
    text = "\n\n".join(paragraph(number, 20) for number in range(70))
    assert len(text) > 12_000

    found = cut(text)

    assert all(len(one.text) <= MOST_CHARS for one in found)
    lines = text.split("\n")
    for before, after in pairwise(found):
        shared = lines[after.first_line - 1 : before.last_line]
        assert 0 < len("\n".join(shared)) <= OVERLAP_CHARS
    for one in found:
        assert one.text == "\n".join(lines[one.first_line - 1 : one.last_line])


def test_row_151_a_passage_ends_at_a_heading() -> None:
    text = f"# One\n\n{paragraph(1, 300)}\n\n## Two\n\n{paragraph(2, 30)}\n"

    assert [(one.title, one.above) for one in cut(text)] == [("One", ()), ("Two", ("One",))]


def test_row_151_a_fence_is_not_cut() -> None:
    fence = "```py\n" + "\n".join(f"value_{number} = {number}\n" for number in range(300)) + "```"
    text = f"# Code\n\nBefore it.\n\n{fence}\n\nAfter it.\n"
    assert len(fence) > MOST_CHARS

    assert any(fence in one.text for one in cut(text))


def test_a_line_in_a_fence_is_no_heading() -> None:
    assert [one.title for one in cut("# Real\n\n```sh\n# not a heading\n```\n\n> # nor this\n")] == ["Real"]


def test_a_line_without_an_end_is_cut_between_words() -> None:
    found = cut(paragraph(1, 2_000))

    assert len(found) > 1
    assert all(len(one.text) <= MOST_CHARS and one.first_line == one.last_line == 1 for one in found)


def test_long_lists_and_tables_are_cut_between_their_items() -> None:
    items = "\n".join(f"- {paragraph(number, 12)}" for number in range(60))
    rows = "| a | b |\n|---|---|\n" + "\n".join(f"| {paragraph(number, 10)} | b |" for number in range(60))

    for found in (cut(items), cut(rows)):
        assert len(found) > 1
        assert all(one.text.startswith(("- ", "| ")) and len(one.text) <= MOST_CHARS for one in found)


@given(
    st.lists(
        st.sampled_from(["# A", "## B", "text", "", "- x", "  - y", "```", "~~~", "> q", "===", "\t", "|a|", "x" * 90])
    )
)
def test_no_line_with_text_is_lost(lines: list[str]) -> None:
    text = "\n".join(lines)
    parts = structure(text)
    held = {number for one in passages(parts) for number in range(one.first_line - 1, one.last_line)}
    headings = {line for one in parts.headings for line in range(one.first, one.end)}

    assert {number for number, line in enumerate(lines) if line.strip()} <= held | headings


def test_row_150_a_hit_names_the_line_of_the_match(app: Engram, tmp_path: Path) -> None:
    text = "# Log\n\n" + "\n".join(f"Entry {number} is about nothing." for number in range(1, 30))
    write(tmp_path, "notes/log.md", text.replace("Entry 17 is about nothing.", "Limescale ruined the kettle."))
    app.documents.add(str(tmp_path / "notes"))

    [hit] = app.documents.search("who ruined the kettle with limescale").results

    assert (hit.source, hit.line, hit.first_line, hit.last_line) == ("notes/log.md:19", 19, 3, 31)
    assert "Limescale" in hit.snippet


@pytest.mark.parametrize(
    ("text", "status"),
    [
        pytest.param("# A\n\nStatus: Superseded by [ADR-12](0012.md)\n", "superseded by ADR-12", id="line"),
        pytest.param("# A\n\n* **Status:** deprecated\n", "deprecated", id="bold item"),
        pytest.param("# A\n\n## Status\n\nSuperseded by 0012.\n", "superseded by 0012", id="heading"),
        pytest.param("---\nsuperseded-by: adr/12\n---\n# A\n", "superseded by adr/12", id="front matter"),
        pytest.param("# A\n\n| Status | Rejected |\n|---|---|\n", "rejected", id="table"),
        pytest.param("Superseded-By: 0012\n\n# A\n", "superseded by 0012", id="trailer"),
        pytest.param("# A\n\nStatus: accepted\n\nIt supersedes ADR-3.\n", "", id="accepted"),
        pytest.param("# A\n\nThe status page: rejected requests are shown.\n", "", id="prose"),
    ],
)
def test_a_record_says_whether_it_still_holds(text: str, status: str) -> None:
    head, skip = split_front_matter(text)
    parts = structure(text, skip=skip)

    assert status_of(head, parts) == status
    assert title_of("adr/1.md", head, parts) == "A"
