"""How long raw messages are kept, and who can read them."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner

from engram_py import Draft, Engram
from engram_py.app import Engram as App
from engram_py.interfaces.cli.main import cli
from engram_py.times import fixed_clock
from tests.interfaces.hooks.conftest import Hook

FIRST, LATER, LATE = "2026-01-01T10:00:00Z", "2026-01-20T10:00:00Z", "2026-02-15T10:00:00Z"


def turns(memory: App) -> list[str]:
    return [row[0] for row in memory.store.rows("select content from turns order by id")]


def test_messages_older_than_a_month_or_the_days_of_the_setting_go_when_a_session_begins(
    hook: Hook, transcript: str, memory: App
) -> None:
    hook("stop", transcript_path=transcript, environ={"ENGRAM_NOW": FIRST})
    hook("session-start", session_id="s2", source="startup", environ={"ENGRAM_NOW": LATER})
    assert turns(memory) == ["why is the gateway slow?"]
    week = {"ENGRAM_NOW": LATER, "ENGRAM_TURN_RETENTION_DAYS": "7"}
    hook("stop", session_id="s7", last_assistant_message="It is not.", environ={"ENGRAM_NOW": LATER})
    hook("session-start", session_id="s2", source="startup", environ=week)
    assert turns(memory) == ["It is not."]

    hook("session-start", session_id="s3", source="startup", environ={"ENGRAM_NOW": LATE})
    assert turns(memory) == ["It is not."]
    hook("stop", transcript_path=transcript, environ={"ENGRAM_NOW": LATE})  # it is not read again
    assert turns(memory) == ["It is not."]


def test_with_0_days_no_message_is_kept_and_what_it_teaches_is(hook: Hook, home: Path, memory: App) -> None:
    cited = memory.save(Draft("Gateway", "It drops long headers.")).id
    text = (
        f"As [#{cited}] says.\n\n## Key Learnings:\n\n1. The gateway drops every header longer than eight kilobytes.\n"
    )
    said = {"type": "assistant", "uuid": "a1", "message": {"role": "assistant", "content": text}}
    (home / "transcript.jsonl").write_text(json.dumps(said) + "\n")

    hook("stop", transcript_path=str(home / "transcript.jsonl"), environ={"ENGRAM_TURN_RETENTION_DAYS": "0"})

    assert turns(memory) == []
    assert memory.store.value("select count(*) from observations where type = 'passive'") == 1
    assert memory.store.value("select sum(times) from citations") == 1


def test_a_server_whose_agents_have_no_hooks_deletes_old_messages_too(
    hook: Hook, transcript: str, memory: App, folder: Path
) -> None:
    hook("stop", transcript_path=transcript, environ={"ENGRAM_NOW": FIRST})

    settings = replace(memory.settings, clock=fixed_clock(LATE))
    with Engram(settings=settings, directory=folder, session_mode="process") as server:
        server.save(Draft("Ports", "The gateway listens on 8080."))

    assert turns(memory) == []


def test_what_was_kept_of_a_conversation_can_be_read(
    hook: Hook, transcript: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hook("stop", transcript_path=transcript)
    monkeypatch.chdir(folder)

    assert "s1 user: why is the gateway slow?" in CliRunner().invoke(cli, ["turns"]).stdout
    assert "No turns" in CliRunner().invoke(cli, ["turns", "--session", "other"]).stdout
