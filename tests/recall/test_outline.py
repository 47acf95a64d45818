"""The headings above a place in a text, however they are written, and what of a text is prose."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.recall.outline import headings, path_line, prose

MARKDOWN = "# Log\n\n## [1.4.0](https://e.org/a...b) (2023-05-11)\n\n### **Added**\n\n- a flag\n- needle\n"
FENCED = "## Setup\n\n```sh\n# a comment\nneedle\n```\n"
UNDERLINED = "1.5.1 / 2019-04-30\n=====\n\n  * deps\n\n1.5.0 / 2019-02-01\n=====\n\n  * needle\n"
DEBIAN = (
    "kiln (2.1.4-1) unstable\n\n  * other\n\nkiln (2.1.3-1) unstable; urgency=low\n\n  [ Ann ]\n  * long\n    needle\n"
)
OUTLINE = "Kiln NEWS\n\n* Changes in 3.7 (2020-01-08)\n\n** New features\n\n  needle\n"
PLAIN = "v1.8 - 2019-03-04\n  - map\nv1.7 - 2018-10-30\n  - gpx\n  - needle\n"
BOLD = "# News\n\n**Version 3.2** *(17 April 2020)*\n\n- maps\n- needle\n"
STRONG = "__1.1.0__\n\nneedle\n\n__1.0.0__\n\nother\n"
ASCIIDOC = "= News\n\n== 4.2\n\n=== Fixed\n\nneedle\n"
WRAPPED = "This paragraph goes\nover two lines.\n\n- needle\n"
FRONT = "---\nstatus: accepted\ndate: 2023-02-27\n---\n\n# Times\n\nneedle\n"


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param(MARKDOWN, ["Log", "1.4.0 (2023-05-11)", "Added"], id="markdown"),
        pytest.param(FENCED, ["Setup"], id="a-comment-in-code"),
        pytest.param(UNDERLINED, ["1.5.0 / 2019-02-01"], id="underlined"),
        pytest.param(DEBIAN, ["kiln (2.1.3-1) unstable; urgency=low", "[ Ann ]", "long"], id="debian"),
        pytest.param(OUTLINE, ["Kiln NEWS", "Changes in 3.7 (2020-01-08)", "New features"], id="outline"),
        pytest.param(PLAIN, ["v1.7 - 2018-10-30"], id="indented"),
        pytest.param(BOLD, ["News", "Version 3.2 *(17 April 2020)*"], id="bold"),
        pytest.param(STRONG, ["1.1.0"], id="bold-line"),
        pytest.param(ASCIIDOC, ["News", "4.2", "Fixed"], id="asciidoc"),
        pytest.param(WRAPPED, [], id="end-of-a-paragraph"),
        pytest.param(FRONT, ["Times"], id="front-matter"),
    ],
)
def test_the_headings_above_a_place_are_found_however_they_are_written(text: str, path: list[str]) -> None:
    found = headings(text, text.index("needle"))

    assert [heading for _, heading in found] == path
    assert all(text[at:].split("\n", maxsplit=1)[0].strip() for at, _ in found)


@given(st.lists(st.sampled_from(["# a", "a", "  - b", "* c", "===", "---", "", "```", "** d", "1. e"])), st.data())
def test_a_heading_stands_before_the_place_in_the_order_of_the_text(lines: list[str], data: st.DataObject) -> None:
    text = "\n".join(lines)
    at = data.draw(st.integers(0, len(text)))
    places = [place for place, _ in headings(text, at)]

    assert places == sorted(set(places))
    assert all(place < at for place in places)


@pytest.mark.parametrize(
    ("text", "some"),
    [
        pytest.param("Sessions were lost at each deployment.", True, id="english"),
        pytest.param("Zwei Berichte haben Zahlen vermischt.", True, id="german"),
        pytest.param("缓存穿透让订单服务停了四十分钟。", True, id="chinese"),
        pytest.param("* add worktree-aware project resolution", True, id="entry"),
        pytest.param("Date: 2021-09-14", False, id="date"),
        pytest.param("* Status: accepted\n* Deciders: Ines, Rolf\n* Date: 2022-11-03", False, id="labels"),
        pytest.param("| Date | 2 June 2023 |\n| Supersedes | N/A |", False, id="table"),
        pytest.param("[1.4.0]: https://example.org/compare/v1.3.2...v1.4.0", False, id="link"),
        pytest.param("状态：已接受", False, id="chinese-label"),
    ],
)
def test_a_date_a_label_and_a_link_are_no_prose(text: str, some: bool) -> None:
    assert bool(prose(text)) is some


@given(st.lists(st.text(max_size=200), max_size=8), st.integers(0, 200))
def test_a_path_keeps_to_its_room(path: list[str], room: int) -> None:
    assert len(path_line(path, room)) <= room


def test_of_a_long_path_each_heading_is_shortened_and_none_is_lost() -> None:
    line = path_line(["Changes", "word " * 40, "1.4.0 (2023-05-11)"], 60)

    assert line.startswith("Changes › word word")
    assert line.endswith("… › 1.4.0 (2023-05-11)")
