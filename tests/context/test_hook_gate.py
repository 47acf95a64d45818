"""The cheap look before a context is assembled: it may only say no where the gate says no."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.capture.trivial_prompts import is_trivial, may_teach
from engram_py.context.hook_gate import surely_nothing
from engram_py.text.cues import GO_ON
from tests.memory import draft

PROMPTS = [
    "why did we choose uv?",
    "Where were we?",
    "What did we do yesterday?",
    "As I said before, use tabs",
    "Refactor the rate-limiter",
    "Look at `Throttle.reset()` please",
    "Fix src/auth/tokens.py",
    "What do you know about me?",
    "use my editor",
    "остановились на чём?",
    "Write a parser for JSON",
    "Rename this variable",
    "什么是 JSON",
    "Upgrade the lock of the uv packages",
    "The throttle resets twice, it is broken",
    "",
    "warum sind die Tokens kaputt?",
    "arregla el throttle",
    "weiter",
]


@pytest.fixture
def filled(app: Engram) -> Engram:
    app.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision"))
    app.save(
        draft("Throttle.reset() clears src/auth/tokens.py.", title="The throttle", topic_key="module/rate-limiter")
    )
    app.save(draft("Ada uses Helix.", title="Editor of the user", type="preference", scope="personal"))
    app.save(draft("Kept by name.", title="Billing", topic_key="entity/billing-service", aliases=("Stripe bridge",)))
    app.episodes.summarize("Goal: tokens. Next steps: test them.", session_id="s1")
    return app


@pytest.mark.parametrize("prompt", [*PROMPTS, "Call the Stripe bridge", "Deploy the billing service"])
def test_where_a_context_would_say_something_it_never_says_nothing(filled: Engram, prompt: str) -> None:
    today = filled.journal.moment().astimezone(None).date()
    nothing = surely_nothing(filled.store, prompt, ("widgets",), today)
    context = filled.contexts.assemble(query=prompt, mode="query", unasked=True) if prompt else None

    assert not (nothing and context and context.cue)


def test_most_prompts_end_there(filled: Engram) -> None:
    today = filled.journal.moment().date()

    for prompt in ("Write a parser for JSON", "Rename this variable", "Make the tests green"):
        assert surely_nothing(filled.store, prompt, ("widgets",), today)


@pytest.mark.parametrize("text", ["yes", "OK.", "go on", "/clear", "/model opus", "继续", "<command-name>x"])
def test_small_talk_is_told_by_its_words(text: str) -> None:
    assert is_trivial(text)


@pytest.mark.parametrize(
    "text", ["why?", "use uv", "/home/ada/x.py", "/fix the\nparser", "修复", "yes, but use uv instead"]
)
def test_what_says_something_is_not_small_talk(text: str) -> None:
    assert not is_trivial(text)


@pytest.mark.parametrize("text", "|".join(GO_ON.strip().split("\n")).split("|"))
def test_no_prompt_is_told_where_to_go_on_by_the_hook_that_did_so_when_the_session_began(text: str) -> None:
    assert is_trivial(text)


def test_a_message_teaches_when_it_lists_learnings() -> None:
    assert may_teach("## Key Learnings\n- The parser needs a bounded read.\n")
    assert not may_teach("I learned nothing.")


def test_an_entity_is_heard_however_much_was_saved_since(filled: Engram) -> None:
    for number in range(110):
        filled.save(draft(f"Text {number} of many", title=f"thing {number}"))
    today = filled.journal.moment().date()

    assert not surely_nothing(filled.store, "Deploy the billing-service", ("widgets",), today)
