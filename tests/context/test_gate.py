"""Which prompts deserve memory unasked: few, and each for a reason."""

from __future__ import annotations

from datetime import date

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from engram_py.context.gate.gate import Cue, gate, mentions, name_key
from engram_py.text.prompt_text import HEAD_CHARS

TODAY = date(2026, 3, 5)
KNOWN = frozenset(map(name_key, ["billing", "api", "RateLimiter", "src/auth/login.py", "jwt-expiry", "网关"]))


def cues(prompt: str) -> tuple[Cue, ...]:
    return gate(prompt, KNOWN, today=TODAY)


@pytest.mark.parametrize(
    ("prompt", "section"),
    [
        # Osaurus' phrases (spec/seed-capabilities.md O21 to O25, checklist rows 59 to 64).
        *((phrase, "identity") for phrase in ("who am I?", "What's my name", "tell me about myself", "what do I do?")),
        *((phrase, "identity") for phrase in ("What do you remember about me?", "where do I work", "how old am i")),
        ("what did we discuss last week", "episodes"),
        ("remember when it crashed", "episodes"),
        ("on monday?", "episodes"),
        ("like I said, smaller", "episodes"),
        ("that thing we tried", "episodes"),
        ("it worked previously", "episodes"),
        ("what exactly did I say about ports", "transcript"),
        ("repeat back what I said", "transcript"),
        ("exact words please, on the port", "transcript"),
        ("word for word, what was discussed", "transcript"),
        ("billing retries?", "memories"),
        ("do you remember my preference", "memories"),
        ("open my editor", "memories"),
        ("do you know about my setup", "memories"),
        # What one asks a colleague about code.
        ("why did we choose uv?", "memories"),
        ("How did we fix the flaky test", "memories"),
        ("where were we?", "episodes"),
        ("continue where we left off", "episodes"),
        ("change `RateLimiter` to 20", "memories"),
        ("there is a bug in src/auth/login.py:12", "memories"),
        ("two billings were lost", "memories"),
        ("the JWT-expiry is wrong", "memories"),
        ("`api` is slow", "memories"),
        # Work to be done on something that is named.
        ("Upgrade the base image of the payout worker", "memories"),
        ("Add a new nullable field to the ledger and backfill it", "memories"),
        ("Great, can you please roll back the release of the payout worker?", "memories"),
        ("Let's migrate the webhook sender to Go 1.25", "memories"),
        ("we need to look into the retries of webhooks", "memories"),
        ("fix flaky login check on CI", "memories"),
        ("bump go to 1.26", "memories"),
        ("please install expo-updates", "memories"),
        ("pin pytest", "memories"),
        ("Add a required column gift_note to orders_line and deploy it this week", "memories"),
        ("I want to raise the batch size of the ingest", "memories"),
        ("Please make the tuner ignore vibrato", "memories"),
        ("Can you check the retry logic of the billing worker?", "memories"),
        ("could you take a look at the flaky login test", "memories"),
        ("I'd like to improve the export of invoices", "memories"),
        ("try to simplify the quota check of the exporter", "memories"),
        ("I'm getting a 502 from the gateway after the deploy", "memories"),
        ("Node 17 doesn't join after the battery was changed", "memories"),
        # Something goes wrong.
        ("A merchant complains that a refund shows up twice", "memories"),
        ("The nightly export hangs after the tenth merchant", "memories"),
        ("Customers get an empty page after the login", "memories"),
        ("why does the payout worker crash? It crashes at night.", "memories"),
        ("Der Export schlägt fehl, wenn der Händler keine IBAN hat", "memories"),
        ("登录页面一直打不开", "memories"),
        ("夜間のエクスポートが落ちる", "memories"),
        # Other languages.
        ("¿por qué elegimos uv?", "memories"),
        ("que dije sobre los puertos", "transcript"),
        ("wo waren wir?", "episodes"),
        ("what's next?", "episodes"),
        ("What should I do next?", "episodes"),
        ("warum haben wir uv gewählt", "memories"),
        ("où en étions-nous", "episodes"),
        ("почему мы выбрали uv", "memories"),
        ("как меня зовут?", "identity"),
        ("为什么我们用uv", "memories"),
        ("网关为什么慢", "memories"),
        ("我是谁", "identity"),
    ],
)
def test_a_prompt_that_asks_for_memory_is_heard(prompt: str, section: str) -> None:
    assert cues(prompt)[0].section == section


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "hi",
        "网关",
        "  \n ",
        "sort a list",
        "Write a function that adds two numbers.",
        "Reply with exactly the word OK",
        "use the exact words below",
        "what do I do if the build fails",
        "api",
        "rapid api calls",
        "refactor this to use a dataclass",
        "```\n# remember yesterday: why did we do this\n```\nrun the formatter",
        "monday.com has an api",
        "add a memory cell",
        "📦",
        # Small talk and thanks.
        "thanks!",
        "Thank you, that works now",
        "looks good, thanks for the update",
        "how are you?",
        "ok do that",
        # Translations, arithmetic, knowledge of the world.
        "Translate 'the server is broken' into German",
        "Can you translate this to French: the nightly export keeps failing",
        "How do you say 'the printer does not work' in French?",
        "Summarize the following text: the build of the worker is broken",
        "Fix the following sentence: he go to school",
        "What is 17 * 23?",
        "add 3 and 4",
        "add the two numbers 3 and 5",
        "Convert 5 miles to kilometers",
        "What is the capital of France?",
        "What does 'connection timed out' mean in Chrome?",
        "Explain how TCP works when a host is missing",
        # Work on what is in view, or on something new.
        "fix it",
        "Fix the typo",
        "Update the README",
        "Make the tests green",
        "Rename this variable in the last function",
        "implement a binary search tree",
        "it is broken",
        "update it please",
        "install 3 of them",
        "翻译这句话",
        "翻译：登录页面报错",
        "翻訳してください: エラーが出る",
        "写一首关于崩溃的诗",
        "把这个句子翻译成英文：页面打不开",
        "update everything",
        "send the feeder its commands on Tuesday 04:30",
        "Schick dem Automaten am Dienstag um 4:30 einen Befehl",
        "make it so",
        "make me a sandwich",
        "check this",
        "raise an exception here",
        "let me know what you think about the two options",
        "try again",
        "I like it, thanks",
        "upgrade yourself",
        "崩溃",
    ],
)
def test_a_prompt_that_asks_nothing_is_left_alone(prompt: str) -> None:
    assert cues(prompt) == ()


@pytest.mark.parametrize(
    ("prompt", "order"),
    [
        ("who am i and why did we meet on monday", ["identity", "memories", "episodes"]),
        ("what did I say about billing yesterday", ["transcript", "episodes", "memories", "memories"]),
        ("remember the billing of my client", ["episodes", "memories", "memories", "memories"]),
    ],
)
def test_the_cue_that_decides_comes_first_and_the_others_stand_by(prompt: str, order: list[str]) -> None:
    assert [cue.section for cue in cues(prompt)] == order


@pytest.mark.parametrize(
    ("prompt", "rest"),
    [
        ("why did we choose uv over poetry?", "uv over poetry?"),
        ("what exactly did I say about ports", "ports"),
        ("where were we with the parser", "with the parser"),
        ("please open my text editor now", "text editor"),
        ("why did we change `user_id` last week?", "`user_id` ?"),
        ("为什么我们用uv", "用uv"),
        ("please upgrade the base image of the worker", "the base image of the worker"),
        ("A merchant complains that a refund shows up twice", "a refund shows up twice"),
        ("The nightly export hangs", "The nightly export hangs"),
    ],
)
def test_what_is_looked_for_is_the_prompt_without_its_cue(prompt: str, rest: str) -> None:
    assert cues(prompt)[0].rest == rest


def test_the_version_that_something_is_to_have_is_not_looked_for() -> None:
    (cue,) = cues("please bump pytest to v9 in the worker")
    assert cue.rest == "pytest in the worker"


def test_a_time_restricts_whatever_is_asked() -> None:
    cue = cues("how did we fix the parser last month")[0]

    assert cue.section == "memories"
    assert cue.days is not None
    assert (cue.days.start, cue.days.end) == (date(2026, 2, 1), date(2026, 3, 1))


def test_the_day_on_which_something_broke_restricts_nothing() -> None:
    [*_, cue] = cues("The nightly export crashed on Monday")

    assert (cue.kind, cue.heard, cue.days) == ("report", "crashed", None)


def test_what_goes_wrong_is_not_read_out_of_a_pasted_log() -> None:
    assert cues("Read the log. " + "worker started " * 20 + "connection timed out") == ()


@pytest.mark.parametrize(
    "prompt", ["who am i? remove the old editor settings", "open my editor, it crashes at startup"]
)
def test_work_is_heard_after_everything_that_asks(prompt: str) -> None:
    assert cues(prompt)[0].kind in ("identity", "possessive")


def test_names_are_found_however_they_are_spelt() -> None:
    assert cues("RATELIMITER, jwt expiry and Billing")[0].names == ("billing", "jwt expiry", "ratelimiter")


def test_symbols_and_paths_are_told_by_backticks_or_by_their_shape() -> None:
    prompt = "Look at `x` and RateLimiter.acquire() in src/auth/login.py, user_id; see https://x.org/a_b and The API."
    assert mentions(prompt) == ("x", "RateLimiter.acquire", "src/auth/login.py", "user_id")


def test_a_pasted_log_is_read_at_its_ends_only() -> None:
    noise = "why did we lose frame 12 of 400\n" * 10_000
    filler = "frame lost " * HEAD_CHARS

    assert cues("explain: " + noise)
    assert cues(filler + " why did we lose it?")
    assert cues(filler + "why did we lose it? " + filler) == ()


PIECES = st.sampled_from(["my", "ago", "3", "days", "`", "```", "昨天", "\0", "\ud800", "-", "why did we"])


@given(st.text(max_size=300) | st.lists(PIECES).map(" ".join))
@example("my " * 1_000_000)
@example("`" * 100_000)
@example("2026-" * 50_000)
@example("please fix the worker " * 20_000)
@example("please")
@example("a/" * 100_000)
@example("\u202e\u200f my \x00 editor")
def test_no_prompt_breaks_the_gate(prompt: str) -> None:
    for cue in gate(prompt, KNOWN, today=TODAY):
        assert cue.heard
        assert len(cue.rest) <= len(prompt)
