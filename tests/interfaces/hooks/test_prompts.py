"""What happens when a person sends a prompt: it is kept, and very often nothing is said."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.observations.values import Change
from tests.interfaces.hooks.conftest import Hook, prompts_of
from tests.memory import draft, rows_of

QUESTION = "why did we choose uv?"


@pytest.fixture
def chosen(memory: Engram) -> int:
    return memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision")).id


def test_a_prompt_that_asks_for_memory_gets_it(hook: Hook, chosen: int) -> None:
    context = hook("user-prompt", prompt=QUESTION).context

    assert f"[#{chosen}] Chose uv for packages" in context
    assert len(context.encode()) <= 3_200


@pytest.mark.parametrize("prompt", ["Write a parser for JSON.", "Rename this function, please", "What is 2 + 2?"])
def test_any_other_prompt_gets_nothing_and_is_kept(hook: Hook, memory: Engram, chosen: int, prompt: str) -> None:
    assert hook("user-prompt", prompt=prompt).stdout == b""
    [kept] = memory.prompts.recent("widgets")
    assert (kept.content, kept.session_id) == (prompt, "s1")


def test_a_memory_is_shown_once_while_it_is_before_the_agents_eyes(hook: Hook, memory: Engram, chosen: int) -> None:
    assert hook("user-prompt", prompt=QUESTION).context
    assert hook("user-prompt", prompt=f"{QUESTION} Say it again.").stdout == b""

    hook("session-start", source="compact")

    assert hook("user-prompt", prompt=f"{QUESTION} And once more.").context
    assert memory.store.value("select times from injections where surface = 'prompt'") == 2


def test_what_the_session_began_with_is_not_said_again_with_a_prompt(hook: Hook, memory: Engram, chosen: int) -> None:
    assert "Fast, and it locks." in hook("session-start").context
    assert hook("user-prompt", prompt=QUESTION).stdout == b""

    hook("session-start", source="clear")

    assert hook("user-prompt", prompt=f"{QUESTION} Again.").stdout == b""


def test_what_the_session_began_with_only_in_part_is_said_with_the_prompt_that_asks(
    hook: Hook, memory: Engram, chosen: int
) -> None:
    memory.observations.update(chosen, Change(content="Fast, and it locks. " + "There is more to say. " * 30))

    assert f"[#{chosen}] Chose uv" in hook("session-start").context
    assert f"[#{chosen}] Chose uv" in hook("user-prompt", prompt=QUESTION).context


def test_what_a_subagent_was_given_is_not_before_the_eyes_of_the_session(
    hook: Hook, memory: Engram, chosen: int
) -> None:
    assert "Chose uv" in hook("subagent-start").context
    assert "Chose uv" in hook("user-prompt", prompt=QUESTION).context


def test_what_the_user_wants_always_is_not_said_again_with_every_prompt(
    hook: Hook, memory: Engram, chosen: int
) -> None:
    memory.observations.pin(memory.save(draft("Call me Ada.", type="identity", scope="personal")).id)

    assert hook("user-prompt", prompt="Write a parser for JSON.").stdout == b""
    assert "Ada" not in hook("user-prompt", prompt=QUESTION).context
    assert "Ada" in hook("session-start").context


TRIVIAL = [
    "yes",
    "Continue.",
    "ok!",
    "y",
    "/clear",
    "/model opus",
    "go on",
    "<task-notification>x</task-notification>",
    " ",
]


@pytest.mark.parametrize("prompt", TRIVIAL)
def test_what_only_keeps_the_agent_going_opens_no_memory(hook: Hook, memory: Engram, prompt: str) -> None:
    before = rows_of(memory, "user_prompts"), memory.store.value("pragma data_version")

    assert hook("user-prompt", prompt=prompt).stdout == b""
    assert (rows_of(memory, "user_prompts"), memory.store.value("pragma data_version")) == before


@pytest.mark.parametrize("prompt", ["/home/ada/x.py fails", "はいではなくて", "no, use uv", "修复"])
def test_what_is_short_but_says_something_is_kept(hook: Hook, memory: Engram, prompt: str) -> None:
    hook("user-prompt", prompt=prompt)

    assert prompts_of(memory) == [prompt]


def test_a_prompt_of_a_megabyte_is_kept_as_far_as_there_is_room(hook: Hook, memory: Engram) -> None:
    answered = hook("user-prompt", prompt="word " * 200_000)

    assert answered.code == 0
    [prompt] = prompts_of(memory)
    assert 40_000 < len(prompt) <= 50_000


def test_nul_and_half_a_surrogate_pair_do_not_lose_the_prompt(hook: Hook, memory: Engram) -> None:
    stdin = b'{"session_id": "s1", "prompt": "a\\ud800b\\u0000c d e"}'

    assert hook("user-prompt", stdin=stdin).code == 0
    assert prompts_of(memory) == ["a?b c d e"]


def test_an_agent_that_passes_nothing_on_has_its_prompts_kept(hook: Hook, memory: Engram, chosen: int) -> None:
    assert hook("beforeSubmitPrompt", agent="cursor", prompt=QUESTION).stdout == b""
    assert prompts_of(memory) == [QUESTION]
    assert rows_of(memory, "injections") == 0


def test_the_first_prompt_of_gemini_is_the_users_words_behind_what_the_start_answered(
    hook: Hook, memory: Engram, chosen: int
) -> None:
    begun = '<hook_context>&lt;engram-memory project="widgets"&gt;\nNothing yet.</hook_context>'

    answered = hook("BeforeAgent", agent="gemini", prompt=f"{begun}\n\n{QUESTION}")

    assert f"[#{chosen}]" in answered.text
    assert prompts_of(memory) == [QUESTION]


def test_a_prompt_behind_files_longer_than_any_prompt_is_kept(hook: Hook, memory: Engram) -> None:
    files = f"<attached_files>{'x' * 200_000}</attached_files>"
    hook("user-prompt", prompt=f"{files}\n<user_query>\n{QUESTION}\n</user_query>")
    assert prompts_of(memory) == [QUESTION]
