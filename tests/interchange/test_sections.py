"""Documents of notes are taken apart by their headings, without what programs wrote into them."""

from __future__ import annotations

import pytest

from engram_py.interchange.source_files import sections

OURS = "<!-- engram:begin - do not edit -->\nCall mem_save.\n<!-- engram:end -->\n"


@pytest.mark.parametrize(
    ("line", "title"),
    [("## Style ##", "Style"), ("#  C# ", "C"), ("# a \t ## b", "a \t ## b"), ("# ##", "##"), ("###  x", "x")],
)
def test_a_heading_is_its_words_without_its_marks(line: str, title: str) -> None:
    [section] = sections(f"{line}\nUse uv.")
    assert (section.headings, section.text) == ((title,), "Use uv.")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        (f"Mine.\n{OURS}Also mine.", "Mine.\nAlso mine."),
        (f"{OURS}Mine.{OURS}", "Mine."),
        ("<!-- rules:start -->x<!-- rules:end -->Mine.", "Mine."),
        ("Mine. <!-- engram:begin --> and it does not end", "Mine. <!-- engram:begin --> and it does not end"),
        ("Mine. <!-- a note --> Mine. <!-- the end -->", "Mine. <!-- a note --> Mine. <!-- the end -->"),
    ],
)
def test_what_a_program_wrote_between_its_marks_is_left_out(text: str, kept: str) -> None:
    assert " ".join(section.text.replace("\n\n", "\n") for section in sections(text)) == kept


@pytest.mark.parametrize(
    "text",
    [
        "## a" + " " * 1_000_000 + "b\ntext",
        "## a " + "# " * 500_000 + "b\ntext",
        "#" + " " * 1_000_000 + "\ntext",
        "<!-- engram:x " * 100_000,
        "<!-- engram:x -->" * 100_000,
        "<!--" + " " * 1_000_000 + "-->text",
    ],
    ids=["blanks", "marks", "no-title", "opened", "begun", "comment"],
)
def test_a_document_made_to_be_slow_is_read_all_the_same(text: str) -> None:
    """Each of them would take hours where the work grew with more than the length."""
    assert len(sections(text)) == 1
