"""Whether a memory's commit is in the history of what is checked out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.reasons import reason
from engram_py.memory.anchors.values import Visibility
from engram_py.memory.observations.values import Saved
from tests.memory.anchors.repositories import AUTH, IN_HISTORY, Repo, lines, on_branch, remember, seen, states
from tests.support import Git, Opener

# --- in history ----------------------------------------------------------------------------------------------


def test_what_was_saved_at_head_or_before_it_is_in_history_of_a_detached_head_as_well(here: Engram, repo: Repo) -> None:
    old = remember(here, "Before")
    later = repo.commit("go on")
    new = remember(here, "Now")

    assert (seen(here, old), seen(here, new)) == (IN_HISTORY, IN_HISTORY)
    repo.git("checkout", "-q", "--detach", later)
    assert (seen(here, old), seen(here, new)) == (IN_HISTORY, IN_HISTORY)


def test_what_was_saved_on_a_branch_is_in_history_once_it_is_merged(here: Engram, repo: Repo) -> None:
    saved = on_branch(here, repo)
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    repo.git("branch", "-q", "-D", "topic")
    assert seen(here, saved) == IN_HISTORY


def test_every_worktree_has_its_own_answer(open_memory: Opener, here: Engram, repo: Repo, tmp_path: Path) -> None:
    saved = on_branch(here, repo)
    repo.git("worktree", "add", "-q", str(tmp_path / "tree"), "topic")
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    assert seen(open_memory(tmp_path / "tree"), saved) == IN_HISTORY


# --- elsewhere ------------------------------------------------------------------------------------------------


def test_what_is_only_on_a_branch_is_not_stale(here: Engram, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("a file of the branch", {"lens.py": lines("lens")})
    saved = remember(here, "Lens", "lens.py", AUTH)
    assert [one.state for one in states(here, saved)] == ["fresh", "fresh"]
    repo.git("checkout", "-q", "main")
    lens, auth = states(here, saved)
    assert (lens.state, lens.reason, lens.elsewhere, lens.stale) == (
        "unknown",
        reason("only_on_branch", branch="topic"),
        True,
        False,
    )
    assert auth.state == "fresh"
    checked = here.anchors.check()
    assert (checked.states, checked.stale, checked.blind) == ({"elsewhere": 1, "fresh": 1}, (), False)
    assert [line.id for line in checked.elsewhere] == [saved.id]
    repo.git("merge", "-q", "--no-ff", "-m", "merge", "topic")
    repo.git("rm", "-q", "lens.py")
    repo.commit("take it away")
    assert [one.state for one in states(here, saved)] == ["gone", "fresh"]


def test_a_review_of_what_is_only_on_a_branch_keeps_its_files(here: Engram, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("a file of the branch", {"lens.py": lines("lens")})
    saved = remember(here, "Lens", "lens.py")
    repo.git("checkout", "-q", "main")
    here.observations.mark_reviewed(saved.id)
    repo.git("checkout", "-q", "topic")
    assert [one.state for one in states(here, saved)] == ["fresh"]


def test_a_file_that_is_the_same_on_both_branches_does_not_make_it_merged(here: Engram, repo: Repo) -> None:
    repo.commit("another file", {"same.py": lines("same")})
    saved = on_branch(here, repo, f"{AUTH}:10-20", "same.py")
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    assert seen(here, saved).elsewhere


def on_fresh_branch(app: Engram, repo: Repo, *files: str) -> Saved:
    """A memory of branch ``topic``, saved before the first commit there, which adds ``files``; back to ``main``."""
    repo.git("checkout", "-q", "-b", "topic")
    for file in files:
        repo.write(file, lines("lens"))
    saved = remember(app, "Before the commit", *files)
    repo.commit("on the branch")
    repo.git("checkout", "-q", "main")
    return saved


@pytest.mark.parametrize("files", [(), ("lens.py",)], ids=["no-file", "new-file"])
def test_what_was_saved_before_the_first_commit_of_a_branch_is_the_branchs_until_that_is_merged(
    here: Engram, repo: Repo, files: tuple[str, ...]
) -> None:
    saved = on_fresh_branch(here, repo, *files)
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    assert [one.reason for one in states(here, saved)] == [reason("only_on_branch", branch="topic") for _ in files]
    assert here.search("before the commit").results[0].branch == "topic"
    assert here.contexts.assemble(unasked=True).recent == ()
    repo.git("checkout", "-q", "topic")
    assert seen(here, saved) == IN_HISTORY
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "topic")  # fast-forward: both branches are at the same commit
    assert seen(here, saved) == IN_HISTORY
    assert [one.id for one in here.contexts.assemble(unasked=True).recent] == [saved.id]
    repo.git("branch", "-q", "-d", "topic")
    assert seen(here, saved) == IN_HISTORY


def test_what_was_saved_on_a_branch_without_any_commit_is_the_branchs(here: Engram, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    saved = remember(here)
    repo.git("checkout", "-q", "main")
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    repo.commit("go on")
    assert seen(here, saved) == Visibility("elsewhere", "topic")


def test_a_squash_merge_of_a_branch_takes_along_what_was_saved_before_its_first_commit(
    here: Engram, repo: Repo
) -> None:
    with_file = on_fresh_branch(here, repo, "lens.py")
    repo.squash("topic", keep=True)
    assert seen(here, with_file) == IN_HISTORY


def test_what_was_saved_on_main_is_in_the_history_of_a_branch_that_starts_there(
    open_memory: Opener, here: Engram, repo: Repo, tmp_path: Path
) -> None:
    repo.git("branch", "topic")
    saved = remember(here)
    repo.git("checkout", "-q", "topic")
    assert seen(here, saved) == IN_HISTORY
    repo.at(tmp_path).git("clone", "-q", "-b", "main", str(repo.root), str(tmp_path / "clone" / "widgets"))
    clone = tmp_path / "clone" / "widgets"
    saved = remember(open_memory(clone), "In a clone")
    repo.at(clone).git("checkout", "-q", "-b", "other")
    assert seen(open_memory(clone), saved) == IN_HISTORY


def test_a_local_branch_that_goes_on_a_remote_one_is_not_new(open_memory: Opener, repo: Repo, tmp_path: Path) -> None:
    repo.git("checkout", "-q", "-b", "develop")
    repo.commit("of develop")
    repo.git("checkout", "-q", "main")
    clone = tmp_path / "clone" / "widgets"
    repo.at(tmp_path).git("clone", "-q", "-b", "main", str(repo.root), str(clone))
    repo.at(clone).git("checkout", "-q", "develop")
    saved = remember(open_memory(clone))
    repo.at(clone).git("checkout", "-q", "main")
    repo.at(clone).git("merge", "-q", "develop")
    repo.at(clone).git("checkout", "-q", "develop")
    repo.at(clone).commit("the next release")
    repo.at(clone).git("checkout", "-q", "main")
    assert seen(open_memory(clone), saved) == IN_HISTORY


@pytest.mark.parametrize("name", ["../../x", "a\0b", "x" * 5_000, "a//b"], ids=["outside", "nul", "long", "odd"])
def test_a_branch_name_that_another_machine_made_up_is_looked_for_nowhere(here: Engram, repo: Repo, name: str) -> None:
    saved = remember(here)
    row = replace(here.get(saved.id).observation, git_branch=name)
    assert here.anchors.visibility([row])[saved.id] == IN_HISTORY


def test_from_an_older_checkout_what_came_later_is_elsewhere(here: Engram, repo: Repo) -> None:
    first = repo.git("rev-parse", "HEAD")
    repo.commit("go on")
    saved = remember(here)
    repo.git("checkout", "-q", "--detach", first)
    assert seen(here, saved) == Visibility("elsewhere", "main")


def test_a_branch_only_a_remote_has_is_a_branch(open_memory: Opener, here: Engram, repo: Repo, tmp_path: Path) -> None:
    saved = on_branch(here, repo)
    repo.at(tmp_path).git("clone", "-q", str(repo.root), "clone")
    repo.at(tmp_path / "clone").git("pack-refs", "--all")
    clone = open_memory(tmp_path / "clone", project=saved.project)
    assert seen(clone, saved) == Visibility("elsewhere", "topic")


# --- not judged -----------------------------------------------------------------------------------------------


def test_a_memory_made_at_a_detached_head_names_no_branch_it_could_be_on(here: Engram, repo: Repo) -> None:
    repo.git("checkout", "-q", "--detach")
    repo.commit("nowhere")
    saved = remember(here)
    repo.git("checkout", "-q", "main")
    assert seen(here, saved) == Visibility("unknown", None, "detached")


def test_in_a_shallow_clone_only_what_is_certain_is_said(
    open_memory: Opener, here: Engram, repo: Repo, tmp_path: Path
) -> None:
    old = remember(here, "Old")
    repo.commit("one")
    new = remember(here, "New")
    repo.commit("two")
    repo.at(tmp_path).git("clone", "-q", "--depth=2", f"file://{repo.root}", "clone")
    clone = open_memory(tmp_path / "clone", project=old.project)
    assert seen(clone, new) == IN_HISTORY
    assert seen(clone, old) == Visibility("unknown", "main", "shallow")
    repo.at(tmp_path / "clone").git("fetch", "-q", "--unshallow")
    assert seen(clone, old) == IN_HISTORY


def test_personal_memories_and_those_of_other_projects_are_not_judged(here: Engram, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("on the branch")
    mine = here.save(Draft("Mine", "A habit of mine", scope="personal"))
    theirs = here.save(Draft("Theirs", "Of another project"), project="gadgets")
    repo.git("checkout", "-q", "main")
    assert (seen(here, mine), seen(here, theirs)) == (Visibility("unknown"), Visibility("unknown"))


def test_without_a_repository_or_a_commit_nothing_is_judged(
    open_memory: Opener, here: Engram, app: Engram, tmp_path: Path, git: Git
) -> None:
    assert seen(app, remember(app, "No repository")) == Visibility("unknown")
    (tmp_path / "young").mkdir()
    git(tmp_path / "young", "init", "-q")
    young = open_memory(tmp_path / "young")
    assert seen(young, remember(young, "No commit")) == Visibility("unknown")
    saved = remember(here)
    assert seen(open_memory(tmp_path / "young", project=saved.project), saved).state == "unknown"


@pytest.mark.parametrize("damage", ["config", "HEAD", "objects"])
def test_a_damaged_repository_makes_it_unknown(here: Engram, repo: Repo, damage: str) -> None:
    saved = remember(here)
    repo.commit("go on")
    if damage == "objects":
        (repo.root / ".git" / "objects").rename(repo.root / ".git" / "elsewhere")
    else:
        (repo.root / ".git" / damage).write_bytes(b"\0[garbage\n" * 100)
    assert seen(here, saved).state == "unknown"


def test_without_git_nothing_but_head_itself_is_known(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = remember(here, "Old")
    repo.commit("go on")
    new = remember(here, "New")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (seen(here, old), seen(here, new)) == (Visibility("unknown", "main", "git_failed"), IN_HISTORY)


# --- what it costs -------------------------------------------------------------------------------------------


def test_git_is_asked_once_for_all_commits_and_never_again_for_the_same_head(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for number in range(5):
        made.append(remember(here, f"Number {number}"))
        repo.commit(f"commit {number}")
    rows = [here.get(saved.id).observation for saved in made]
    expected = {row.id: IN_HISTORY for row in rows}

    assert here.anchors.visibility(rows) == expected
    monkeypatch.setattr("subprocess.Popen", None)
    assert here.anchors.visibility(rows) == expected
    assert open_memory(repo.root).anchors.visibility(rows) == expected


def test_a_row_made_at_head_costs_no_question(here: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = remember(here)
    monkeypatch.setattr("subprocess.Popen", None)
    assert seen(here, saved) == IN_HISTORY


def test_answers_are_kept_for_the_heads_in_use_and_the_others_forgotten(here: Engram, repo: Repo) -> None:
    saved = remember(here)
    for number in range(20):
        repo.commit(f"commit {number}")
        assert seen(here, saved) == IN_HISTORY
    assert here.store.value("select count(distinct head) from git_answers") <= 16
