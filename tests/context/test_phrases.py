"""The few phrases that ask for something else than a subject."""

from __future__ import annotations

from datetime import date

import pytest

from engram_py.context.phrases import phrase_in

TODAY = date(2026, 3, 5)


@pytest.mark.parametrize(
    ("prompt", "kind", "rest"),
    [
        ("who am I?", "identity", "?"),
        ("wer bin ich", "identity", ""),
        ("what exactly did I say about ports", "literal", "about ports"),
        ("where were we with the parser?", "resume", "with the parser?"),
        ("what is next?", "resume", "?"),
        ("remember when it crashed", "prior", "it crashed"),
        ("what did we do last week?", "days", "what did we do ?"),
        ("on monday?", "days", "?"),
        ("open my editor", "owned", "editor"),
        ("do you remember my preference?", "owned", "preference"),
    ],
)
def test_a_phrase_says_what_is_asked_for_and_what_is_left(prompt: str, kind: str, rest: str) -> None:
    found = phrase_in(prompt, TODAY)
    assert found is not None
    assert (found.kind, found.rest) == (kind, rest)


@pytest.mark.parametrize(
    "prompt",
    [
        "Reply with exactly the word OK",
        "use the exact words below",
        "why does the checkout fail since yesterday?",
        "send it on Tuesday",
        "continue",
        "sort a list",
        "",
    ],
)
def test_any_other_prompt_is_judged_by_what_is_found(prompt: str) -> None:
    assert phrase_in(prompt, TODAY) is None
