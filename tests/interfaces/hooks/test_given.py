"""The context given at the start of a session, with a prompt and before an edit."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.interfaces.hooks.session_events import RECOVERY
from engram_py.memory.observations.values import Change
from tests.interfaces.hooks.conftest import Hook, prompts_of
from tests.support import Git, draft, rows_of, stand_in


def test_a_session_starts_in_its_project_with_its_agent_and_is_opened_again(hook: Hook, memory: Engram) -> None:
    hook("SessionStart", agent="codex")

    session = memory.sessions.get("s1")
    assert (session.project, session.agent, session.ended_at) == ("widgets", "codex", None)
    hook("session-end")
    assert memory.sessions.get("s1").ended_at is not None
    hook("session-start", source="resume")
    assert memory.sessions.get("s1").ended_at is None


def test_row_48_a_setting_starts_a_session_with_the_whole_memory_as_files(
    hook: Hook, memory: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory.identity.add("Always reply in English")
    monkeypatch.setenv("ENGRAM_START_MODE", "full")

    context = hook("session-start").context

    assert "### identity.md\n[#1] Always reply in English" in context
    assert "### " not in hook("subagent-start", agent_type="Explore").context


@pytest.mark.parametrize("agent", ["claude-code", "codex"])
@pytest.mark.parametrize("word", ["harbour", '"quoted" \\ ', "港湾"])
@pytest.mark.parametrize("source", ["startup", "compact"])
def test_a_start_stays_below_what_the_agent_passes_on_and_says_what_is_left_out(
    hook: Hook, memory: Engram, monkeypatch: pytest.MonkeyPatch, agent: str, word: str, source: str
) -> None:
    for number in range(60):
        memory.save(draft(f"Module {number} has a queue. " + f"{word} " * 50, title=f"Decision {number}"))
    monkeypatch.setenv("ENGRAM_START_MODE", "full")

    answered = hook("session-start", agent=agent, source=source)

    assert 8_000 < len(answered.stdout) <= 10_000
    [said] = re.findall(r"note: (\d+) of 60 memories are left out.* mem_search", answered.context)
    assert int(said) == 60 - len(set(re.findall(r"\[#(\d+)\]", answered.context)))
    assert "</engram-memory>" in answered.context
    assert answered.context.endswith(RECOVERY) == (source == "compact")


def test_an_agent_that_passes_on_all_is_given_all(hook: Hook, memory: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(60):
        memory.save(draft(f"Module {number} has a queue. " + "harbour " * 50, title=f"Decision {number}"))
    monkeypatch.setenv("ENGRAM_START_MODE", "full")

    assert len(hook("session-start", agent="kiro").stdout) > 20_000


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


def test_a_compaction_under_a_new_id_is_given_what_a_new_session_is_given(hook: Hook, memory: Engram) -> None:
    hook("session-start")
    memory.save(draft("Columns move every year.", title="Tide tables are read by header"), session_id="s1")

    context = hook("session-start", session_id="s2", source="compact").context

    assert "Tide tables are read by header" in context
    assert context.endswith(RECOVERY)
    again = hook("session-start", session_id="s2", source="compact").context
    assert "Tide tables are read by header" not in again


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


def test_an_agent_that_moves_to_another_project_is_told_of_it_once(hook: Hook, memory: Engram, tmp_path: Path) -> None:
    other = tmp_path / "gadgets"
    (other / ".git").mkdir(parents=True)
    (tmp_path / "widgets" / "src").mkdir()
    memory.save(draft("In one file.", title="Widgets live in SQLite", type="decision"))
    memory.save(draft("For its locks.", title="Gadgets live in Postgres", type="decision"), project="gadgets")
    hook("session-start")
    prompt = "Please rename the button of the first page."

    assert hook("user-prompt", prompt=prompt, cwd=str(tmp_path / "widgets" / "src")).stdout == b""
    told = hook("user-prompt", prompt=prompt, cwd=str(other)).context
    assert "Gadgets live in Postgres" in told
    assert "Widgets" not in told
    assert hook("user-prompt", prompt=prompt, cwd=str(other)).stdout == b""


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


QUESTION = "why did we choose uv?"


@pytest.fixture
def chosen(memory: Engram) -> int:
    return memory.save(draft("Fast, and it locks.", title="Chose uv for packages", type="decision")).id


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


TRIVIAL = ["yes", "/model opus", "<task-notification>x</task-notification>", " "]


@pytest.mark.parametrize("prompt", TRIVIAL)
def test_what_only_keeps_the_agent_going_opens_no_memory(hook: Hook, memory: Engram, prompt: str) -> None:
    before = rows_of(memory, "user_prompts"), memory.store.value("pragma data_version")

    assert hook("user-prompt", prompt=prompt).stdout == b""
    assert (rows_of(memory, "user_prompts"), memory.store.value("pragma data_version")) == before


FILES = f"<attached_files>{'x' * 200_000}</attached_files>"


@pytest.mark.parametrize(
    ("prompt", "kept"),
    [("/home/ada/x.py fails", "/home/ada/x.py fails"), ("修复", "修复"),
     (f"{FILES}\n<user_query>\n{QUESTION}\n</user_query>", QUESTION)],
    ids=["short", "two-characters", "behind-files-longer-than-any-prompt"],
)  # fmt: skip
def test_what_says_something_is_kept_however_short_or_far_behind(
    hook: Hook, memory: Engram, prompt: str, kept: str
) -> None:
    hook("user-prompt", prompt=prompt)

    assert prompts_of(memory) == [kept]


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


ON = {"ENGRAM_HOOK_PRETOOL": "on"}


@pytest.fixture
def repository(folder: Path) -> Path:
    (folder / ".git").mkdir()
    (folder / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    (folder / ".git" / "config").write_text("[core]\n")
    (folder / "auth.py").write_text("LIFETIME = 15\n" * 5)
    return folder


@pytest.fixture
def anchored(repository: Path, memory: Engram) -> int:
    return memory.save(draft("Fifteen minutes, because of the audit.", title="Token lifetime", files=("auth.py",))).id


def edit(hook: Hook, path: str, environ: dict[str, str] | None = None, *options: str) -> str:
    answered = hook(
        "PreToolUse", *options, environ=environ, tool_name="Edit", tool_input={"file_path": path, "new_string": "x"}
    )
    assert answered.code == 0
    return answered.context


def test_it_is_off_unless_somebody_turns_it_on(hook: Hook, repository: Path, anchored: int) -> None:
    assert edit(hook, str(repository / "auth.py")) == ""


@pytest.mark.parametrize("way", ["variable", "option"])
def test_the_memories_of_a_file_come_before_its_edit(hook: Hook, repository: Path, anchored: int, way: str) -> None:
    environ, options = (ON, []) if way == "variable" else (None, ["--pretool", "on"])

    context = edit(hook, str(repository / "auth.py"), environ, *options)

    assert f"[#{anchored}] Token lifetime" in context
    assert len(context.encode()) <= 800
    assert edit(hook, str(repository / "auth.py"), environ, *options) == "", "once a session"


def test_a_memory_that_the_name_of_a_file_leads_to_is_named_in_a_line_once_a_session(
    hook: Hook, repository: Path, memory: Engram
) -> None:
    text = "The page asked for each doctor by itself; one query with a join now."
    title = "Calendar was slow with more than 500 appointments"
    saved = memory.save(draft(text, title=title, files=("auth.py",))).id
    (repository / "auth.py").write_text("Nothing of it is left.\n", encoding="utf-8")
    path = str(repository / "src" / "appointments" / "calendarView.py")

    assert edit(hook, path, ON) == f"related: [#{saved}] {title} (its file changed)"
    assert edit(hook, path, ON) == ""
    assert edit(hook, str(repository / "src" / "billing" / "totals.py"), ON) == ""


def test_an_edit_after_the_memories_of_a_file_were_given_is_what_came_of_them(
    hook: Hook, repository: Path, memory: Engram, anchored: int
) -> None:
    path = str(repository / "auth.py")
    done = {"tool_name": "Edit", "tool_input": {"file_path": path, "old_string": "a", "new_string": "b"}}
    assert edit(hook, path, ON)
    for _ in range(2):  # the first was decided before the memory was read
        assert hook("post-tool", **done, tool_response={"filePath": path}).context == ""
    assert memory.moments.counts(anchored)["file"].heeded == 1


def test_a_changed_file_is_said_to_have_changed(hook: Hook, repository: Path, anchored: int) -> None:
    (repository / "auth.py").write_text("LIFETIME = 60\n")

    assert "auth.py changed" in edit(hook, str(repository / "auth.py"), ON)


@pytest.mark.parametrize("name", ["other.py", "../outside.py", "a\0b", "x" * 5_000])
def test_a_file_that_nothing_is_about_gets_nothing(hook: Hook, repository: Path, anchored: int, name: str) -> None:
    assert edit(hook, name, ON) == ""


def test_reading_a_file_is_no_edit(hook: Hook, repository: Path, anchored: int) -> None:
    answered = hook("pre-tool", environ=ON, tool_name="Read", tool_input={"file_path": str(repository / "auth.py")})

    assert answered.stdout == b""


def test_what_is_held_back_of_a_file_is_recorded_and_not_given(hook: Hook, repository: Path, anchored: int) -> None:
    half = ON | {"ENGRAM_HOLDOUT": "0.5"}
    path = str(repository / "auth.py")
    texts = [hook("PreToolUse", environ=half, session_id=f"s{number}", tool_name="Edit",
                  tool_input={"file_path": path, "new_string": "x"}).text for number in range(12)]  # fmt: skip

    with Engram(directory=repository) as app:
        given = dict(app.store.tuples("select session_id, given from moments where kind = 'file'"))
    assert [given[f"s{number}"] for number in range(12)] == [int(bool(text)) for text in texts]
    assert set(given.values()) == {0, 1}


def test_what_is_held_back_of_a_prompt_is_recorded_and_not_given(hook: Hook, memory: Engram) -> None:
    row = memory.save(draft("Access tokens live fifteen minutes, because of the audit.", title="Token lifetime")).id
    asked = {"prompt": "how long do access tokens live? the token lifetime", "environ": {"ENGRAM_HOLDOUT": "0.5"}}

    texts = [hook("user-prompt", session_id=f"s{number}", **asked).text for number in range(12)]

    held = dict(
        memory.store.tuples("select session_id, observation_id from moments where kind = 'prompt' and not given")
    )
    assert {number for number, text in enumerate(texts) if not text} == {int(one[1:]) for one in held}
    assert set(held.values()) == {row}
    assert 0 < len(held) < 12


@pytest.fixture
def renamed(folder: Path, memory: Engram, git: Git) -> int:
    """A memory of auth.py, which was renamed and rewritten since, and then something else was committed."""
    git(folder, "init", "-q", "-b", "main")
    lines = [f"line {number} of the login\n" for number in range(40)]
    (folder / "auth.py").write_text("".join(lines))
    git(folder, "add", "-A")
    git(folder, "commit", "-q", "-m", "auth")
    saved = memory.save(draft("Fifteen minutes, because of the audit.", title="Token lifetime", files=("auth.py",)))
    git(folder, "mv", "auth.py", "identity.py")
    (folder / "identity.py").write_text("".join(["import os\n", *lines[1:]]))
    git(folder, "commit", "-q", "-a", "-m", "rename")
    git(folder, "commit", "-q", "--allow-empty", "-m", "something else")
    return saved.id


def test_a_file_that_was_renamed_is_found_though_nobody_searched_since_the_last_commit(
    hook: Hook, folder: Path, renamed: int, logged: Callable[[], list[str]]
) -> None:
    assert f"[#{renamed}] Token lifetime" in edit(hook, str(folder / "identity.py"), ON)
    assert logged() == []


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_git_that_does_not_answer_is_in_the_log_and_is_asked_once(
    hook: Hook, folder: Path, renamed: int, logged: Callable[[], list[str]], tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:  # fmt: skip
    stand_in(tmp_path / "bin", monkeypatch, f"echo asked >> {tmp_path}/asked; exit 1")

    assert edit(hook, str(folder / "identity.py"), ON) == ""
    assert edit(hook, str(folder / "identity.py"), ON) == ""

    assert logged() == ["git_unanswered"]
    assert (tmp_path / "asked").read_text().count("asked") == 1
