"""What a session is given when it starts, and after its conversation was compacted."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.interfaces.hooks.session_start import RECOVERY
from tests.interfaces.hooks.conftest import Hook
from tests.memory import draft


def test_a_session_starts_in_its_project_with_its_agent_and_is_opened_again(hook: Hook, memory: Engram) -> None:
    hook("SessionStart", agent="codex")

    session = memory.sessions.get("s1")
    assert (session.project, session.agent, session.ended_at) == ("widgets", "codex", None)
    hook("session-end")
    assert memory.sessions.get("s1").ended_at is not None
    hook("session-start", source="resume")
    assert memory.sessions.get("s1").ended_at is None


def test_a_new_session_reads_what_earlier_ones_decided(hook: Hook, memory: Engram) -> None:
    row = memory.save(draft("Tokens live fifteen minutes.", type="decision")).id

    context = hook("session-start").context

    assert context.startswith('<engram-memory project="widgets">')
    assert f"[#{row}] Token lifetime" in context
    assert context.endswith("</engram-memory>")


def test_the_start_costs_no_more_than_its_budget(hook: Hook, memory: Engram) -> None:
    for number in range(60):
        memory.save(draft(f"{number} " + "long text " * 60, title=f"Number {number} {'x' * 150}", type="decision"))

    assert 3_000 < len(hook("session-start").context.encode()) <= 6_000


def test_what_a_session_was_given_is_remembered(hook: Hook, memory: Engram) -> None:
    row = memory.save(draft("Tokens live fifteen minutes.")).id

    context = hook("session-start").context

    [injected] = memory.store.rows("select * from injections")
    assert (injected["session_id"], injected["observation_id"], injected["surface"]) == ("s1", row, "session")
    assert 0 < injected["bytes"] < len(context.encode())


def test_after_a_compaction_the_session_reads_its_own_memory_and_what_to_do(hook: Hook, memory: Engram) -> None:
    memory.save(draft("Saved by somebody else.", title="Of another session"), session_id="s0")
    hook("session-start")
    hook("user-prompt", prompt="Write the parser of the tokens")
    mine = memory.save(draft("Saved by me.", title="Of this session"), session_id="s1").id
    memory.episodes.summarize("Goal: the parser. Next steps: test it.", session_id="s1")

    context = hook("session-start", source="compact").context

    assert f"[#{mine}] Of this session" in context
    assert "Write the parser of the tokens" in context
    assert "Goal: the parser." in context
    assert "Of another session" not in context
    assert context.endswith(RECOVERY)
    assert [line[0] for line in RECOVERY.splitlines()[1:]] == ["1", "2", "3", "4"]


def test_what_the_agents_own_server_saved_meanwhile_counts_as_the_sessions(hook: Hook, memory: Engram) -> None:
    memory.save(draft("Too early.", title="Before"), session_id="mcp-1")
    with memory.store.transaction():
        memory.store.execute("update observations set updated_at = '2020-01-01T00:00:00.000Z'")
    hook("session-start")
    memory.save(draft("In time.", title="Meanwhile"), session_id="mcp-2")

    context = hook("session-start", source="compact").context

    assert "Meanwhile" in context
    assert "Before (" not in context


def test_a_compacted_session_that_nobody_started_reads_the_steps(hook: Hook) -> None:
    assert hook("session-start", source="compact").context == RECOVERY


def test_a_folder_that_is_no_project_starts_nothing(hook: Hook, home: Path, memory: Engram) -> None:
    memory.save(draft("Of widgets alone."))

    answered = hook("session-start", cwd=str(home), session_id="s9")

    assert (answered.code, answered.stdout) == (0, b"")
    assert [line.id for line in memory.sessions.recent(all_projects=True)] == ["manual-save-widgets"]


def test_a_folder_that_is_gone_below_several_projects_is_named_in_the_log(
    hook: Hook, tmp_path: Path, logged: Callable[[], list[str]]
) -> None:
    for name in ("one", "two"):
        (tmp_path / "work" / name / ".git").mkdir(parents=True)

    assert hook("session-start", cwd=str(tmp_path / "work" / "gone")).code == 0
    assert logged() == ["cwd_missing"]
    assert hook("session-start", cwd=str(tmp_path / "work")).code == 0
    assert logged() == ["cwd_missing", "ambiguous_project"]


def test_a_subagent_gets_a_short_context(hook: Hook, memory: Engram) -> None:
    assert hook("subagent-start").stdout == b""  # there is nothing yet
    for number in range(40):
        memory.save(draft(f"{number} " + "long text " * 60, title=f"Number {number} {'x' * 100}", type="decision"))
    hook("session-start")

    context = hook("subagent-start", agent_type="Explore").context

    assert 300 < len(context.encode()) <= 1_600


def test_a_subagent_whose_task_is_known_gets_what_is_about_it(hook: Hook, memory: Engram) -> None:
    memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision"))
    memory.save(draft("Nothing to do with it.", title="Renamed the logo", type="decision"))

    context = hook("subagent-start", task="Why did we choose uv?").context

    assert "Chose uv" in context
    assert "logo" not in context


@pytest.mark.parametrize(("agent", "key"), [("cursor", "additional_context"), ("kiro", None)])
def test_other_agents_get_the_same_in_their_form(hook: Hook, agent: str, key: str | None) -> None:
    printed = hook("session-start", agent=agent).text

    text = json.loads(printed)[key] if key else printed
    assert "mem_save" in text


def test_a_resumed_session_is_given_only_what_other_sessions_did_since(hook: Hook, memory: Engram) -> None:
    memory.save(draft("Tokens live fifteen minutes.", type="decision"))
    assert "Token lifetime" in hook("session-start", source="startup").context

    assert hook("session-start", source="resume").context == ""
    memory.save(draft("Pages are cached for a day.", title="Page cache", type="decision"), session_id="s2")
    resumed = hook("session-start", source="resume").context
    assert "Page cache" in resumed
    assert "Token lifetime" not in resumed

    assert hook("session-start", source="resume").context == ""
    assert "Token lifetime" in hook("session-start", source="clear").context


def test_a_session_resumed_where_nothing_was_given_starts_like_a_new_one(hook: Hook, memory: Engram) -> None:
    memory.save(draft("Tokens live fifteen minutes.", type="decision"))

    assert "Token lifetime" in hook("session-start", source="resume").context
