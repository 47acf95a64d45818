"""What was injected is not learned again."""

from __future__ import annotations

import pytest

from engram_py.capture.host_formats import without_memory_blocks
from engram_py.capture.passive import parse_learnings

LESSON = "Migrations of the orders table take a lock for minutes"
OWN = "Retries of the mailer need an idempotency key"
BLOCK = f'<engram-memory project="widgets">\n## Key Learnings\n1. {LESSON}\n</engram-memory>'


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(BLOCK, id="as-it-is"),
        pytest.param("\n".join(f"> {line}" for line in BLOCK.splitlines()), id="quoted"),
        pytest.param("\n".join(f"    {line}" for line in BLOCK.splitlines()), id="indented"),
        pytest.param(BLOCK.replace("</engram-memory>", ""), id="cut-off"),
        pytest.param(BLOCK.upper().replace("PROJECT", "project"), id="in-capitals"),
        pytest.param(f"## Memory from Previous Sessions\n\n### Key Learnings\n1. {LESSON}\n", id="of-engram"),
        pytest.param(f"```\n{BLOCK}\n```\n\n{BLOCK}", id="twice"),
    ],
)
def test_nothing_is_learned_from_a_memory_block(text: str) -> None:
    assert parse_learnings(text) == []
    assert LESSON.lower() not in without_memory_blocks(text).lower()


def test_what_stands_beside_a_block_is_learned() -> None:
    assert parse_learnings(f"{BLOCK}\n\n## Key Learnings\n1. {OWN}") == [OWN]
    assert parse_learnings(f"## Key Learnings\n1. {OWN}\n\n{BLOCK}") == [OWN]


def test_prose_that_names_the_tag_is_no_block() -> None:
    assert parse_learnings(f"I read the <engram-memory> block.\n\n## Key Learnings\n1. {OWN}") == [OWN]


def test_the_context_of_engram_ends_at_the_next_heading_of_its_level() -> None:
    text = f"# Memory from This Session\n### Key Learnings\n1. {LESSON}\n\n## Key Learnings\n1. {OWN}"
    assert parse_learnings(text) == [OWN]
