"""``engram ingest``, ``engram agents`` and ``engram search --in`` (shared/spec/seed-capabilities.md, 86, 103, 110)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer, refusal

TALK: dict[str, Any] = {
    "agent_id": "osaurus",
    "conversation_id": "c1",
    "turns": [
        {"user": "Keep port 4173 open for the narwhal, and add a test for it.", "assistant": "It is open, and tested."}
    ],
}


def test_rows_86_and_103_a_file_is_kept_and_what_it_says_is_found(start: Start, here: Path) -> None:
    (here / "talk.json").write_text(json.dumps(TALK))
    done = start("ingest", "talk.json")
    assert (done.code, done.stdout) == (0, "1 turn of c1 kept in widgets: distilled [#1]\n")
    again = start("ingest", "-", "--json", stdin=json.dumps(TALK).encode())
    assert json.loads(again.stdout)["distillation"] == "distilled"

    said = start("search", "--in", "transcript", "basement narwhal").stdout
    assert "c1 user, " in said
    assert TALK["turns"][0]["user"] in said
    assert "osaurus now: 1 session, 0 memories, 0 facts, 1 episode, 2 turns" in start("agents").stdout


def test_options_stand_in_the_place_of_fields_and_a_list_is_the_turns(run: Run) -> None:
    words = ["ingest", "-", "--conversation", "c2", "--agent", "bob", "--session-date", "2025-05-04", "--json"]
    done = answer(run(*words, "--skip-extraction", stdin=json.dumps(TALK["turns"])))
    assert (done["session_id"], done["agent_id"], done["distillation"]) == ("c2", "bob", "skipped:extraction")
    [agent] = answer(run("agents", "bob", "--json"))["agents"]
    assert (agent["id"], agent["turns"], agent["episodes"]) == ("bob", 2, 0)
    assert "no session of an agent 'nobody'" in refusal(run("agents", "nobody"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "that is no conversation"),
        ("5", "it is no object"),
        ("{}", "conversation_id is missing"),
        ('{"conversation_id": "x"}', "turns is missing"),
        (json.dumps(TALK | {"turns": {"user": "x"}}), "turns must be a list"),
        (json.dumps(TALK | {"flush": "yes"}), "flush must be true or false"),
    ],
)
def test_what_is_no_conversation_is_refused(run: Run, text: str, said: str) -> None:
    assert said in refusal(run("ingest", "-", stdin=text))


def test_a_field_that_nobody_knows_is_ignored_and_said(run: Run) -> None:
    result = run("ingest", "-", stdin=json.dumps(TALK | {"agentid": "x"}))
    assert result.exit_code == 0
    assert 'unknown field "agentid" was ignored, did you mean "agent_id"?' in result.stderr


def test_a_layer_that_is_none_is_refused_and_an_empty_one_says_so(run: Run) -> None:
    assert "memories, episodes, turns, prompts" in refusal(run("search", "--in", "dreams", "x"))
    found = run("search", "--in", "turns", "narwhal").stdout
    assert found == 'No turn has "narwhal" in widgets (0 turns kept there).\n'
