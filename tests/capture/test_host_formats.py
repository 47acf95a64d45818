"""What hosts write around the words of their user, as the real programs were seen to write it."""

from __future__ import annotations

import pytest

from engram_py.capture.host_formats import typed

ASKED = "Let the timetable show delays in red"
IDE = "# Context from my IDE setup:\n\n## Active file: a.py\n\n## My request for Codex:\n"
FILES = "--- Content from referenced files ---\nContent from @a.py:\nx = 1\n--- End of content ---"


@pytest.mark.parametrize(
    "text",
    [
        pytest.param(ASKED, id="nothing"),
        pytest.param(f"<ide_opened_file>The user opened a.py.</ide_opened_file>\n{ASKED}", id="claude-opened"),
        pytest.param(f"<ide_selection>x\n\n</ide_selection>{ASKED}", id="claude-selection"),
        pytest.param(f"{ASKED}\n<system-reminder>\nBe brief.\n</system-reminder>", id="claude-reminder"),
        pytest.param(f"[Request interrupted by user]\n{ASKED}", id="claude-interrupted"),
        pytest.param(IDE + ASKED, id="codex-ide"),
        pytest.param(f"<hook_context>a &lt;b&gt;\nc</hook_context>\n\n{ASKED}", id="gemini-first"),
        pytest.param(f"{ASKED}\n<hook_context>a</hook_context>", id="gemini-later"),
        pytest.param(f"{ASKED}\n{FILES}", id="gemini-files"),
        pytest.param(f"<timestamp>7 PM</timestamp>\n<user_query>\n{ASKED}\n</user_query>", id="cursor"),
        pytest.param(f"<new_thing>x</new_thing>\n<user_query>\n{ASKED}\n</user_query>", id="cursor-unknown-tag"),
        pytest.param(f"<engram-memory project='w'>x</engram-memory>\n{ASKED}", id="ours"),
        pytest.param(
            f"<hook_context>a</hook_context>\n\n<session_context>b</session_context>\n{ASKED}\n{FILES}", id="several"
        ),
    ],
)
def test_the_words_of_the_user_are_taken_out_of_what_the_host_wrote(text: str) -> None:
    assert typed(text) == ASKED


@pytest.mark.parametrize(
    "text",
    [
        "[Request interrupted by user for tool use]",
        "<task-notification>\n<task-id>1</task-id>\n</task-notification>\nFull transcript: /tmp/x",
        "<agent-message from='reviewer'>Done.</agent-message>",
        "<command-name>/clear</command-name>",
        "<hook_context>a</hook_context>",
        "# AGENTS.md instructions for /w\n\n<INSTRUCTIONS>\nBe brief.\n</INSTRUCTIONS>",
    ],
)
def test_what_a_program_wrote_whole_is_nobodys(text: str) -> None:
    assert typed(text) == ""


@pytest.mark.parametrize(
    "text",
    [
        "<div>a</div> is not centred, why?",
        "<system-reminder> is a tag that I want escaped",
        "Why does the model see\n<system-reminder>x</system-reminder>\nin the second request?",
        "<rules>Answer in German</rules> What is a kiln?",
        "The log says [Request interrupted by user] and then stops",
        "<my_tag>a</my_tag>\nDescribe <user_query> in one word",
    ],
)
def test_tags_that_a_user_typed_stay(text: str) -> None:
    assert typed(text) == text
