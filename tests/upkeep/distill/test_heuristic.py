"""What the summary that needs no model says of real work in a real repository."""

from __future__ import annotations

import shutil
from datetime import timedelta

import pytest

from engram_py import Engram
from engram_py.base.capture.passive import gist, goal, open_steps
from engram_py.memory.sessions.values import Turn
from engram_py.upkeep.distill.heuristic import Heuristic, beginning, facts_of
from engram_py.upkeep.distill.table import session
from tests.support import FakeClock, Git
from tests.upkeep.distill.conftest import WORK, Checkout, distilling, episodes, only, say

ANSWER = "I have had a look at all of it and done what you asked me to do there."


def summary(app: Engram) -> str:
    """What becomes of session s1; "" where it leaves nothing."""
    done = only(app.distilling.flush().sessions)
    assert done.result in ("distilled", "skipped:nothing_notable")
    rows = episodes(app)
    return rows[0].content if rows else ""


def begin(memory: Engram, checkout: Checkout) -> None:
    memory.sessions.start("s1", directory=str(checkout.folder))


def test_commits_and_files_are_named_and_where_they_are(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    first = checkout.commit("Refuse an empty password", login="login = 2\n")
    checkout.commit("Test the empty password", test_login="assert 1\n")
    say(memory, WORK, ANSWER)

    text = summary(memory)

    assert text.startswith("2 commits on `main` changed 2 files.\n")
    assert f"- {first[:8]} Refuse an empty password" in text
    assert "- Changed: `src/login.py`, `src/test_login.py`" in text
    assert goal(text) == WORK
    assert open_steps(text) == ()
    assert "Refuse an empty password" in gist(text)


def test_what_others_committed_before_or_after_is_not_the_sessions(
    memory: Engram, checkout: Checkout, clock: FakeClock
) -> None:
    checkout.commit("Before it", login="before = 1\n")
    clock.advance(seconds=5)
    begin(memory, checkout)
    checkout.commit("In it", login="login = 2\n")
    say(memory, WORK, ANSWER)
    clock.advance(minutes=2)
    checkout.commit("After it", login="after = 1\n")

    text = summary(memory)

    assert "In it" in text
    assert "Before it" not in text
    assert "After it" not in text


def test_what_the_next_session_does_at_once_is_not_the_sessions(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    checkout.commit("In it", login="login = 2\n")
    say(memory, WORK, ANSWER)
    checkout.git("status")
    memory.sessions.start("s2", directory=str(checkout.folder))
    checkout.commit("In the next", login="next = 1\n")

    assert "In the next" not in summary(memory)


def test_a_commit_that_only_came_from_elsewhere_is_not_the_sessions(
    memory: Engram, checkout: Checkout, clock: FakeClock
) -> None:
    checkout.git("checkout", "-q", "-b", "theirs")
    checkout.commit("What a colleague did", logout="logout = 2\n")
    checkout.git("checkout", "-q", "main")
    clock.advance(minutes=1)
    begin(memory, checkout)
    checkout.git("merge", "-q", "--ff-only", "theirs")
    say(memory, "Bring in what my colleague did, and tell me whether it still works with ours.", ANSWER)

    assert "colleague did" not in summary(memory).partition("## Done")[2]


def test_a_revert_is_named_and_the_goal_stays_open(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    made = checkout.commit("Refuse an empty password", login="login = 2\n")
    checkout.git("revert", "--no-edit", made)
    say(memory, WORK, "It broke the login of the admins, so I took it back for now.")

    text = summary(memory)

    assert "Refuse an empty password (reverted by " in text
    assert 'Revert "' not in text
    assert open_steps(text) == (WORK,)


def test_a_revert_of_what_an_earlier_session_did_is_work_like_any_other(
    memory: Engram, checkout: Checkout, clock: FakeClock
) -> None:
    old = checkout.commit("Refuse an empty password", login="login = 2\n")
    clock.advance(hours=1)
    begin(memory, checkout)
    checkout.git("revert", "--no-edit", old)
    say(memory, "Take back the change to the login form, it breaks the login of the admins.", ANSWER)

    text = summary(memory)

    assert 'Revert "Refuse an empty password"' in text
    assert open_steps(text) == ()


@pytest.mark.parametrize("way", ["checkout", "restore", "stash"])
def test_an_attempt_that_was_put_back_is_named(memory: Engram, checkout: Checkout, way: str) -> None:
    begin(memory, checkout)
    checkout.write("src/login.py", "login = 3\n")
    words = {"checkout": ("checkout", "--", "."), "restore": ("restore", "."), "stash": ("stash", "-q")}[way]
    checkout.git(*words)
    say(memory, WORK, "The session module needs it as it was, so it is as it was again.")

    text = summary(memory)

    assert text.startswith("Nothing was committed.")
    assert "Edited and put back: `src/login.py`" in text
    assert open_steps(text) == (WORK,)


def test_a_commit_that_was_dropped_is_named_and_one_that_was_amended_is_not(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    checkout.commit("Refuse it", login="login = 2\n")
    checkout.git("commit", "-q", "--amend", "-m", "Refuse an empty password")
    checkout.commit("Log every try", logout="logout = 2\n")
    checkout.git("reset", "-q", "--hard", "HEAD~1")
    say(memory, WORK, ANSWER)

    text = summary(memory)

    assert "Refuse an empty password" in text
    assert "- Refuse it (" not in text
    assert "Log every try (committed and dropped again)" in text


def test_work_that_is_not_committed_is_open(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    checkout.write("src/login.py", "login = 3\n")
    checkout.write("src/added.py", "added = 1\n")
    say(memory, WORK, ANSWER)

    text = summary(memory)

    assert "Not committed: `src/login.py`, `src/added.py`" in text
    assert open_steps(text) == ("Commit or drop the changes in `src/login.py`, `src/added.py`",)


def test_a_prompt_without_an_answer_is_open(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    checkout.commit("Refuse an empty password", login="login = 2\n")
    say(memory, WORK, ANSWER, "Now do the same for the form of the admins.")

    assert open_steps(summary(memory)) == ("Now do the same for the form of the admins.",)


def test_a_prompt_that_no_transcript_has_yet_is_open_as_well(
    memory: Engram, checkout: Checkout, clock: FakeClock
) -> None:
    begin(memory, checkout)
    memory.prompts.save(WORK, session_id="s1")
    checkout.commit("Refuse an empty password", login="login = 2\n")
    say(memory, WORK, ANSWER)
    clock.advance(seconds=30)
    memory.prompts.save("Now do the same for the form of the admins.", session_id="s1")

    text = summary(memory)

    assert goal(text) == WORK
    assert open_steps(text) == ("Now do the same for the form of the admins.",)


@pytest.mark.parametrize("thanks", ["thanks", "/exit", "go on", "ok"])
def test_what_only_keeps_an_agent_going_is_neither_a_goal_nor_open(
    memory: Engram, checkout: Checkout, thanks: str
) -> None:
    begin(memory, checkout)
    checkout.commit("Refuse an empty password", login="login = 2\n")
    say(memory, thanks, "Yes?", WORK, ANSWER, thanks)

    text = summary(memory)

    assert goal(text) == WORK
    assert open_steps(text) == ()


def test_steps_and_decisions_that_messages_list_are_taken_without_the_prose_behind(
    memory: Engram, checkout: Checkout
) -> None:
    begin(memory, checkout)
    first = "Decided.\n\n## Key Learnings\n1. The admins log in through a form of their own\n"
    last = (
        "All done.\n\n**Decisions:**\n- Refuse it in the form\n- Say so in red\n\n"
        "Next steps:\n1. Translate the message\n   into German\n2. [x] Write the test\n\nDo you want me to go on?"
    )
    say(memory, WORK, first, "And what comes next?", last)

    text = summary(memory)

    assert "## Decisions\n- Refuse it in the form\n- Say so in red\n- The admins log in through" in text
    assert open_steps(text) == ("Translate the message",)
    assert "Do you want me" not in text


def test_a_session_that_only_asked_leaves_nothing(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    say(memory, "Explain how the login form talks to the session module.", "It calls open_session() with the name.")

    assert summary(memory) == ""


@pytest.mark.parametrize(
    ("prompt", "leaves"), [(WORK, True), ("Which form is it that the admins use to log in?", False)]
)
def test_without_git_a_session_in_which_something_was_to_be_done_leaves_its_goal(
    app: Engram, prompt: str, leaves: bool
) -> None:
    say(app, prompt, ANSWER)

    assert (prompt in summary(app)) == leaves


def test_what_a_subagent_was_told_is_not_what_the_person_asked(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    checkout.commit("Refuse an empty password", login="login = 2\n")
    task = Turn("user", "You are a subagent. Search the repository for forms.", key="t1", agent="sub")
    memory.transcripts.keep([task], session_id="s1", project="widgets")
    say(memory, WORK, ANSWER)

    text = summary(memory)

    assert goal(text) == WORK
    assert "subagent" not in text


def test_a_repository_that_is_gone_leaves_what_was_said(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    say(memory, WORK, ANSWER)
    shutil.rmtree(checkout.folder)

    assert goal(summary(memory)) == WORK


def test_a_repository_without_reflogs_is_read_by_its_history(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    checkout.commit("Refuse an empty password", login="login = 2\n")
    say(memory, WORK, ANSWER)
    shutil.rmtree(checkout.folder / ".git" / "logs")

    text = summary(memory)

    assert "Refuse an empty password" in text
    assert "First" not in text


def test_files_of_a_repository_without_a_commit_are_open(memory: Engram, checkout: Checkout) -> None:
    shutil.rmtree(checkout.folder / ".git")
    checkout.git("init", "-q")
    begin(memory, checkout)
    checkout.write("src/added.py", "added = 1\n")
    say(memory, WORK, ANSWER)

    assert "Not committed: `src/added.py`" in summary(memory)


def test_a_session_of_a_worktree_does_not_claim_what_another_worktree_did(
    memory: Engram, checkout: Checkout, git: Git
) -> None:
    checkout.git("worktree", "add", "-q", "-b", "other", str(checkout.folder.parent / "other"))
    begin(memory, checkout)
    checkout.commit("Refuse an empty password", login="login = 2\n")
    (checkout.folder.parent / "other" / "x.py").write_text("x = 1\n")
    git(checkout.folder.parent / "other", "add", "-A")
    git(checkout.folder.parent / "other", "commit", "-q", "-m", "What another agent did")
    say(memory, WORK, ANSWER)

    text = summary(memory)

    assert "Refuse an empty password" in text
    assert "another agent" not in text


def test_a_clock_that_went_back_a_year_in_the_middle_still_leaves_a_summary(
    memory: Engram, checkout: Checkout, clock: FakeClock
) -> None:
    begin(memory, checkout)
    checkout.commit("Refuse an empty password", login="login = 2\n")
    clock.now -= timedelta(days=365)
    say(memory, WORK, ANSWER)

    assert goal(summary(memory)) == WORK


def test_the_goal_is_what_stands_before_a_log_or_code() -> None:
    assert beginning("The export fails:\n\n2026-11-02 ERROR\n2026-11-02 ERROR", 240) == "The export fails:"
    assert beginning("Why?\n```\nTraceback\n```", 240) == "Why?"
    assert beginning("```\ncode alone\n```", 240) == "``` code alone ```"
    assert beginning("word " * 100, 20) == "word word word word…"


def test_two_runs_of_the_same_session_say_the_same(memory: Engram, checkout: Checkout) -> None:
    begin(memory, checkout)
    checkout.commit("Refuse an empty password", login="login = 2\n")
    say(memory, WORK, ANSWER)
    waits = session(memory.store, "s1")
    assert waits is not None

    one, other = (Heuristic().distill(facts_of(memory.store, waits, memory.journal.moment(), seconds=5)) for _ in "12")

    assert one == other
    assert distilling(memory).flush().sessions
