"""What a prompt is told of a memory begins with what was done, wherever the words of the prompt stand."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.recall.preview import PREVIEW_CHARS, with_opening

WHAT = "**What**: `pnpm prisma generate` is a step of its own."
WHY = "**Why**: a cache hit skips the build of the db package."
WHERE = "**Where**: .github/workflows/ci.yml"
LEARNED = "**Learned**: do not add generated clients to the outputs."


def test_what_was_learned_far_below_follows_what_was_done() -> None:
    content = "\n".join([WHAT, f"**Why**: {'because ' * 60}", WHERE, LEARNED])

    assert with_opening(content, f"…{LEARNED}") == f"{WHAT} …{LEARNED}"


def test_of_a_plain_text_the_first_sentence_comes_before_the_place_that_was_found() -> None:
    content = f"Invoices are numbered without gaps. {'Filler words stand here. ' * 20}The counter row is locked."

    assert with_opening(content, "…The counter row is locked.") == (
        "Invoices are numbered without gaps. …The counter row is locked."
    )


def test_what_begins_at_the_beginning_stays() -> None:
    assert with_opening("Short and whole.", "Short and whole.") == "Short and whole."


@pytest.mark.parametrize("content", ["x" * 900, "**Where**: a.py", "", "…", "** **", "。" * 900])
def test_strange_texts_are_one_bounded_line(content: str) -> None:
    told = with_opening(content, f"…{content[-400:]}")

    assert len(told) <= PREVIEW_CHARS
    assert "\n" not in told


@given(st.text(max_size=2_000), st.text(max_size=PREVIEW_CHARS - 1))
def test_no_text_is_too_long(content: str, excerpt: str) -> None:
    assert len(with_opening(content, f"…{excerpt}")) <= PREVIEW_CHARS


def test_what_is_injected_begins_with_what_was_done(app: Engram) -> None:
    fix = "**What**: `pnpm prisma generate` is a step of its own before the build of everything else that is there."
    why = "**Why**: with a hit of the cache the db package is skipped, so the client has no types at all on the runner."
    end = "**Where**: .github/workflows/ci.yml\n**Learned**: do not add generated clients to the outputs of ci, ever."
    row = app.save(Draft("Fixed CI on a cold cache", f"{fix}\n{why}\n{end}", "bugfix")).id

    context = app.contexts.assemble(query="why is CI red on a cold cache?")

    assert context.remarks.excerpts[row].startswith(fix)
