"""Learnings listed in a message are found, whatever the language, and nothing else is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.capture.passive import learning_title, parse_learnings

FIRST = "The cache must be warmed before deploy"
SECOND = "Retries need a jitter of their own"


@pytest.mark.parametrize(
    "heading",
    [
        "## Key Learnings:", "### learnings", "# Key Learning", "#### Learnings ##", "**Key Learnings:**",
        "__Learnings__:",        "## **Key Learnings**", "## Aprendizajes Clave", "## Erkenntnisse",
        "## Apprentissages", "## Aprendizados",
        "## Lezioni apprese", "## 学到的", "## 学び", "## Выводы：",
    ],
)  # fmt: skip
def test_a_heading_of_learnings_is_known_in_many_languages(heading: str) -> None:
    assert parse_learnings(f"Done.\n\n{heading}\n\n- {FIRST}\n- {SECOND}\n") == [FIRST, SECOND]


@pytest.mark.parametrize(
    ("body", "items"),
    [
        pytest.param(f"1. {FIRST}\n2) {SECOND}\n- not this bullet of the list", [FIRST, SECOND], id="numbers-first"),
        pytest.param(f"* {FIRST}\n- {SECOND}", [FIRST, SECOND], id="bullets"),
        pytest.param("- The **cache** must be `warmed`\n  before _deploy_", [FIRST], id="lines-joined-marks-removed"),
        pytest.param("- The cache must be warmed\nbefore deploy", [FIRST], id="lazy-continuation"),
        pytest.param(f"- {FIRST}\n\nThat is all for today, good night.", [FIRST], id="paragraph-after"),
        pytest.param(f"- too short\n- {FIRST}\n- abcdefghijklmnopqrstuvwxyz", [FIRST], id="says-nothing"),
        pytest.param(f"- {FIRST}\n## Next\n- {SECOND}", [FIRST], id="next-heading"),
        pytest.param(
            f"- {FIRST}\n```sh\n- rm -rf the whole build directory\n```\n- {SECOND}", [FIRST, SECOND], id="fence"
        ),
        pytest.param("- 缓存必须在部署之前预热\n- 太短", ["缓存必须在部署之前预热"], id="chinese"),
        pytest.param("- snake_case_names stay as they are", ["snake_case_names stay as they are"], id="underscores"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_the_items_below_the_heading_are_read_as_a_list(body: str, items: list[str]) -> None:
    assert parse_learnings(f"## Key Learnings\n{body}\n") == items


def test_the_last_section_with_items_counts() -> None:
    text = f"## Learnings\n- {FIRST}\n## Learnings\n- {SECOND}\n## Learnings\n- none\n"
    assert parse_learnings(text) == [SECOND]


def test_a_section_inside_a_code_fence_is_an_example() -> None:
    assert parse_learnings(f"```md\n## Key Learnings\n- {FIRST}\n```\n") == []


def test_text_without_such_a_section_gives_nothing() -> None:
    assert parse_learnings(f"## Learning rate schedules\n- {FIRST}\n") == []


def test_a_long_learning_gets_a_title_cut_after_a_word() -> None:
    text = "Every migration must run inside one transaction because readers see half of it otherwise"
    assert learning_title(text) == "Every migration must run inside one transaction because..."
    assert learning_title("Short enough") == "Short enough"
    assert learning_title("x" * 61) == "x" * 60 + "..."


@given(st.text(st.sampled_from("#*-_`1. \n\tLearnings 学び\ud800"), max_size=80))
def test_parsing_never_fails(text: str) -> None:
    for item in parse_learnings("## Learnings\n" + text):
        assert len(learning_title(item)) <= 63


@pytest.mark.parametrize("filler", [" ", "\t", "# ", " #", "\t# "])
def test_a_heading_made_to_be_slow_is_read_all_the_same(filler: str) -> None:
    """Half a million of them would take years where the work grew with the cube of their number."""
    assert parse_learnings(f"## a{filler * 500_000}b\n## Learnings{filler * 500_000}\n- {FIRST}\n") == [FIRST]
