"""Whether a memory's commit is in the history of what is checked out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.anchors.values import Visibility
from engram_py.observations.values import Saved
from tests.anchors.repositories import AUTH, IN_HISTORY, commit, lines, on_branch, remember, seen, squash, states, write
from tests.memory import Git, Opener

# --- in history ----------------------------------------------------------------------------------------------


def test_what_was_saved_at_head_or_before_it_is_in_history(here: Engram, root: Path, git: Git) -> None:
    old = remember(here, "Before")
    commit(git, root, "go on")
    new = remember(here, "Now")
    assert (seen(here, old), seen(here, new)) == (IN_HISTORY, IN_HISTORY)


def test_what_was_saved_on_a_branch_is_in_history_once_it_is_merged(here: Engram, root: Path, git: Git) -> None:
    saved = on_branch(here, root, git)
    git(root, "merge", "-q", "--no-ff", "-m", "merge", "topic")
    git(root, "branch", "-q", "-D", "topic")
    assert seen(here, saved) == IN_HISTORY


def test_a_head_that_is_detached_has_a_history_as_well(here: Engram, root: Path, git: Git) -> None:
    saved = remember(here)
    later = commit(git, root, "go on")
    git(root, "checkout", "-q", "--detach", later)
    assert seen(here, saved) == IN_HISTORY


def test_every_worktree_has_its_own_answer(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = on_branch(here, root, git)
    git(root, "worktree", "add", "-q", str(tmp_path / "tree"), "topic")
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    assert seen(open_memory(tmp_path / "tree"), saved) == IN_HISTORY


# --- elsewhere ------------------------------------------------------------------------------------------------


def test_what_is_only_on_a_branch_is_not_stale(here: Engram, root: Path, git: Git) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "a file of the branch", {"lens.py": lines("lens")})
    saved = remember(here, "Lens", "lens.py", AUTH)
    assert [one.state for one in states(here, saved)] == ["fresh", "fresh"]
    git(root, "checkout", "-q", "main")
    lens, auth = states(here, saved)
    assert (lens.state, lens.reason, lens.elsewhere, lens.stale) == ("unknown", "only on branch topic", True, False)
    assert auth.state == "fresh"
    checked = here.anchors.check()
    assert (checked.states, checked.stale, checked.blind) == ({"elsewhere": 1, "fresh": 1}, (), False)
    assert [line.id for line in checked.elsewhere] == [saved.id]
    git(root, "merge", "-q", "--no-ff", "-m", "merge", "topic")
    git(root, "rm", "-q", "lens.py")
    commit(git, root, "take it away")
    assert [one.state for one in states(here, saved)] == ["gone", "fresh"]


def test_a_review_of_what_is_only_on_a_branch_keeps_its_files(here: Engram, root: Path, git: Git) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "a file of the branch", {"lens.py": lines("lens")})
    saved = remember(here, "Lens", "lens.py")
    git(root, "checkout", "-q", "main")
    here.observations.mark_reviewed(saved.id)
    git(root, "checkout", "-q", "topic")
    assert [one.state for one in states(here, saved)] == ["fresh"]


def test_a_file_that_is_the_same_on_both_branches_does_not_make_it_merged(here: Engram, root: Path, git: Git) -> None:
    commit(git, root, "another file", {"same.py": lines("same")})
    saved = on_branch(here, root, git, f"{AUTH}:10-20", "same.py")
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    assert seen(here, saved).elsewhere


def on_fresh_branch(app: Engram, root: Path, git: Git, *files: str) -> Saved:
    """A memory of branch ``topic``, saved before the first commit there, which adds ``files``; back to ``main``."""
    git(root, "checkout", "-q", "-b", "topic")
    for file in files:
        write(root, file, lines("lens"))
    saved = remember(app, "Before the commit", *files)
    commit(git, root, "on the branch")
    git(root, "checkout", "-q", "main")
    return saved


@pytest.mark.parametrize("files", [(), ("lens.py",)], ids=["no-file", "new-file"])
def test_what_was_saved_before_the_first_commit_of_a_branch_is_the_branchs_until_that_is_merged(
    here: Engram, root: Path, git: Git, files: tuple[str, ...]
) -> None:
    saved = on_fresh_branch(here, root, git, *files)
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    assert [one.reason for one in states(here, saved)] == ["only on branch topic" for _ in files]
    assert here.search("before the commit").results[0].branch == "topic"
    assert here.contexts.assemble(unasked=True).recent == ()
    git(root, "checkout", "-q", "topic")
    assert seen(here, saved) == IN_HISTORY
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "topic")  # fast-forward: both branches are at the same commit
    assert seen(here, saved) == IN_HISTORY
    assert [one.id for one in here.contexts.assemble(unasked=True).recent] == [saved.id]
    git(root, "branch", "-q", "-d", "topic")
    assert seen(here, saved) == IN_HISTORY


def test_what_was_saved_on_a_branch_without_any_commit_is_the_branchs(here: Engram, root: Path, git: Git) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    saved = remember(here)
    git(root, "checkout", "-q", "main")
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    commit(git, root, "go on")
    assert seen(here, saved) == Visibility("elsewhere", "topic")


def test_a_squash_merge_of_a_branch_takes_along_what_was_saved_before_its_first_commit(
    here: Engram, root: Path, git: Git
) -> None:
    with_file = on_fresh_branch(here, root, git, "lens.py")
    squash(git, root, "topic", keep=True)
    assert seen(here, with_file) == IN_HISTORY


def test_what_was_saved_on_main_is_in_the_history_of_a_branch_that_starts_there(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    git(root, "branch", "topic")
    saved = remember(here)
    git(root, "checkout", "-q", "topic")
    assert seen(here, saved) == IN_HISTORY
    git(tmp_path, "clone", "-q", "-b", "main", str(root), str(tmp_path / "clone" / "widgets"))
    clone = tmp_path / "clone" / "widgets"
    saved = remember(open_memory(clone), "In a clone")
    git(clone, "checkout", "-q", "-b", "other")
    assert seen(open_memory(clone), saved) == IN_HISTORY


def test_a_local_branch_that_goes_on_a_remote_one_is_not_new(
    open_memory: Opener, root: Path, git: Git, tmp_path: Path
) -> None:
    git(root, "checkout", "-q", "-b", "develop")
    commit(git, root, "of develop")
    git(root, "checkout", "-q", "main")
    clone = tmp_path / "clone" / "widgets"
    git(tmp_path, "clone", "-q", "-b", "main", str(root), str(clone))
    git(clone, "checkout", "-q", "develop")
    saved = remember(open_memory(clone))
    git(clone, "checkout", "-q", "main")
    git(clone, "merge", "-q", "develop")
    git(clone, "checkout", "-q", "develop")
    commit(git, clone, "the next release")
    git(clone, "checkout", "-q", "main")
    assert seen(open_memory(clone), saved) == IN_HISTORY


@pytest.mark.parametrize("name", ["../../x", "a\0b", "x" * 5_000, "a//b"], ids=["outside", "nul", "long", "odd"])
def test_a_branch_name_that_another_machine_made_up_is_looked_for_nowhere(
    here: Engram, root: Path, git: Git, name: str
) -> None:
    saved = remember(here)
    row = replace(here.get(saved.id).observation, git_branch=name)
    assert here.anchors.visibility([row])[saved.id] == IN_HISTORY


def test_from_an_older_checkout_what_came_later_is_elsewhere(here: Engram, root: Path, git: Git) -> None:
    first = git(root, "rev-parse", "HEAD")
    commit(git, root, "go on")
    saved = remember(here)
    git(root, "checkout", "-q", "--detach", first)
    assert seen(here, saved) == Visibility("elsewhere", "main")


def test_a_branch_only_a_remote_has_is_a_branch(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = on_branch(here, root, git)
    git(tmp_path, "clone", "-q", str(root), "clone")
    git(tmp_path / "clone", "pack-refs", "--all")
    clone = open_memory(tmp_path / "clone", project=saved.project)
    assert seen(clone, saved) == Visibility("elsewhere", "topic")


# --- not judged -----------------------------------------------------------------------------------------------


def test_a_memory_made_at_a_detached_head_names_no_branch_it_could_be_on(here: Engram, root: Path, git: Git) -> None:
    git(root, "checkout", "-q", "--detach")
    commit(git, root, "nowhere")
    saved = remember(here)
    git(root, "checkout", "-q", "main")
    assert seen(here, saved) == Visibility("unknown", None, "made at a detached HEAD")


def test_in_a_shallow_clone_only_what_is_certain_is_said(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    old = remember(here, "Old")
    commit(git, root, "one")
    new = remember(here, "New")
    commit(git, root, "two")
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{root}", "clone")
    clone = open_memory(tmp_path / "clone", project=old.project)
    assert seen(clone, new) == IN_HISTORY
    assert seen(clone, old) == Visibility("unknown", "main", "the clone is shallow")
    git(tmp_path / "clone", "fetch", "-q", "--unshallow")
    assert seen(clone, old) == IN_HISTORY


def test_personal_memories_and_those_of_other_projects_are_not_judged(here: Engram, root: Path, git: Git) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "on the branch")
    mine = here.save(Draft("Mine", "A habit of mine", scope="personal"))
    theirs = here.save(Draft("Theirs", "Of another project"), project="gadgets")
    git(root, "checkout", "-q", "main")
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
def test_a_damaged_repository_makes_it_unknown(here: Engram, root: Path, git: Git, damage: str) -> None:
    saved = remember(here)
    commit(git, root, "go on")
    if damage == "objects":
        (root / ".git" / "objects").rename(root / ".git" / "elsewhere")
    else:
        (root / ".git" / damage).write_bytes(b"\0[garbage\n" * 100)
    assert seen(here, saved).state == "unknown"


def test_without_git_nothing_but_head_itself_is_known(
    here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    old = remember(here, "Old")
    commit(git, root, "go on")
    new = remember(here, "New")
    monkeypatch.setenv("PATH", str(tmp_path))
    assert (seen(here, old), seen(here, new)) == (Visibility("unknown", "main", "git could not say"), IN_HISTORY)


# --- what it costs -------------------------------------------------------------------------------------------


def test_git_is_asked_once_for_all_commits_and_never_again_for_the_same_head(
    open_memory: Opener, here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = []
    for number in range(5):
        made.append(remember(here, f"Number {number}"))
        commit(git, root, f"commit {number}")
    rows = [here.get(saved.id).observation for saved in made]
    expected = {row.id: IN_HISTORY for row in rows}

    assert here.anchors.visibility(rows) == expected
    monkeypatch.setattr("subprocess.Popen", None)
    assert here.anchors.visibility(rows) == expected
    assert open_memory(root).anchors.visibility(rows) == expected


def test_a_row_made_at_head_costs_no_question(here: Engram, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = remember(here)
    monkeypatch.setattr("subprocess.Popen", None)
    assert seen(here, saved) == IN_HISTORY


def test_answers_are_kept_for_the_heads_in_use_and_the_others_forgotten(here: Engram, root: Path, git: Git) -> None:
    saved = remember(here)
    for number in range(40):
        commit(git, root, f"commit {number}")
        assert seen(here, saved) == IN_HISTORY
    assert here.store.value("select count(distinct head) from git_answers") <= 16
