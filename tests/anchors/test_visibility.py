"""Whether a memory's commit is in the history of what is checked out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.anchors.values import Visibility
from engram_py.observations.values import Saved
from tests.anchors.repositories import AUTH, commit, lines, states, write
from tests.memory import Git, Opener, RepoMaker

IN_HISTORY = Visibility("in_history")


@pytest.fixture
def root(make_repo: RepoMaker, git: Git) -> Path:
    root = make_repo("work/widgets")
    write(root, AUTH, lines("auth"))
    commit(git, root, "a file")
    return root


def remember(app: Engram, title: str = "Here", *files: str) -> Saved:
    return app.save(Draft(title, f"{title}, at this commit", files=files))


def seen(app: Engram, saved: Saved) -> Visibility:
    return app.anchors.visibility([app.get(saved.id).observation])[saved.id]


def on_branch(app: Engram, root: Path, git: Git, *files: str) -> Saved:
    """A memory of a commit on branch ``topic``, which changed the file; then back to ``main``."""
    git(root, "checkout", "-q", "-b", "topic")
    write(root, AUTH, ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    commit(git, root, "on the branch")
    saved = remember(app, "On the branch", *files)
    git(root, "checkout", "-q", "main")
    return saved


def collect(git: Git, root: Path) -> None:
    """Have git forget what no branch leads to."""
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")


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


def test_what_was_saved_on_a_branch_that_is_not_merged_is_there(here: Engram, root: Path, git: Git) -> None:
    saved = on_branch(here, root, git, f"{AUTH}:10-20")
    assert seen(here, saved) == Visibility("elsewhere", "topic")
    assert seen(here, saved).elsewhere


def test_what_is_only_on_a_branch_is_not_stale(here: Engram, root: Path, git: Git) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    write(root, "lens.py", lines("lens"))
    commit(git, root, "a file of the branch")
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
    write(root, "lens.py", lines("lens"))
    commit(git, root, "a file of the branch")
    saved = remember(here, "Lens", "lens.py")
    git(root, "checkout", "-q", "main")
    here.observations.mark_reviewed(saved.id)
    git(root, "checkout", "-q", "topic")
    assert [one.state for one in states(here, saved)] == ["fresh"]


def test_a_file_that_is_the_same_on_both_branches_does_not_make_it_merged(here: Engram, root: Path, git: Git) -> None:
    write(root, "same.py", lines("same"))
    commit(git, root, "another file")
    saved = on_branch(here, root, git, f"{AUTH}:10-20", "same.py")
    assert seen(here, saved) == Visibility("elsewhere", "topic")


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
    git(root, "merge", "-q", "--squash", "topic")
    commit(git, root, "squashed")
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


def on_spike(app: Engram, root: Path, git: Git) -> Saved:
    """A memory of a new file on branch ``spike``; then back to ``main``."""
    git(root, "checkout", "-q", "-b", "spike")
    write(root, "spike_cache.py", lines("spike"))
    commit(git, root, "try a cache")
    saved = remember(app, "The spike keeps sessions in LMDB", "spike_cache.py:3-6")
    git(root, "checkout", "-q", "main")
    return saved


@pytest.mark.parametrize("collected", [False, True])
def test_what_was_saved_on_a_branch_that_was_thrown_away_is_labelled_and_not_told_unasked(
    open_memory: Opener, here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch, collected: bool
) -> None:
    saved = on_spike(here, root, git)
    git(root, "branch", "-q", "-D", "spike")
    if collected:
        collect(git, root)

    assert seen(here, saved) == Visibility("elsewhere", "spike", deleted=True)
    assert here.search("spike LMDB sessions").results[0].branch == "spike (deleted)"
    assert states(here, saved)[0].reason == "only on branch spike (deleted)"
    assert here.contexts.assemble(unasked=True).recent == ()

    monkeypatch.setattr("subprocess.Popen", None)
    assert seen(here, saved) == seen(open_memory(root), saved) == Visibility("elsewhere", "spike", deleted=True)


def test_on_a_detached_head_a_deleted_branch_may_have_been_merged_later(here: Engram, root: Path, git: Git) -> None:
    old = git(root, "rev-parse", "HEAD")
    saved = on_spike(here, root, git)
    git(root, "merge", "-q", "--squash", "spike")
    commit(git, root, "the cache")
    git(root, "branch", "-q", "-D", "spike")
    git(root, "checkout", "-q", "--detach", old)
    assert seen(here, saved).state == "unknown"
    assert here.search("spike LMDB sessions").results[0].branch == ""
    assert [(one.state, one.reason) for one in states(here, saved)] == [("unknown", "not in the history of this HEAD")]


@pytest.mark.parametrize("since", ["deleted", "renamed before"])
def test_a_new_file_that_was_squashed_is_of_no_branch_whatever_became_of_it(
    here: Engram, root: Path, git: Git, since: str
) -> None:
    saved = on_spike(here, root, git)
    if since == "renamed before":
        git(root, "checkout", "-q", "spike")
        git(root, "mv", "spike_cache.py", "cache.py")
        commit(git, root, "rename")
        git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--squash", "spike")
    commit(git, root, "squashed")
    git(root, "branch", "-q", "-D", "spike")
    if since == "deleted":
        git(root, "rm", "-q", "spike_cache.py")
        commit(git, root, "no cache after all")
    assert seen(here, saved) == Visibility("unknown", "spike", "spike is gone, merged or not")


def test_a_git_that_fails_to_tell_of_a_file_is_not_asked_again_and_nothing_is_said(
    open_memory: Opener, here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = on_spike(here, root, git)
    git(root, "branch", "-q", "-D", "spike")
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(
        "engram_py.anchors.visibility.read_added", lambda root, head, paths, patience: asked.append(paths)
    )
    for memory in (here, here, open_memory(root)):
        assert seen(memory, saved) == Visibility("unknown", "spike", "spike is gone, merged or not")
    assert asked == [["spike_cache.py"]]


# --- rewritten history: as far as the text tells -----------------------------------------------------------------


def test_a_squash_merge_is_recognised_by_the_text_it_brought(here: Engram, root: Path, git: Git) -> None:
    told = on_branch(here, root, git, f"{AUTH}:10-20")
    git(root, "merge", "-q", "--squash", "topic")
    commit(git, root, "squashed")
    assert seen(here, told) == IN_HISTORY
    git(root, "branch", "-q", "-D", "topic")
    assert seen(here, told) == IN_HISTORY


def test_a_rebased_branch_that_was_merged_is_recognised_by_its_text(here: Engram, root: Path, git: Git) -> None:
    saved = on_branch(here, root, git, f"{AUTH}:10-20")
    write(root, "other.py", ["x = 1"])
    commit(git, root, "main goes on")
    git(root, "rebase", "-q", "main", "topic")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--ff-only", "topic")
    assert seen(here, saved) == IN_HISTORY


def test_text_that_was_squashed_and_changed_since_in_one_of_its_files_is_still_known(
    here: Engram, root: Path, git: Git
) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    write(root, "one.py", lines("one"))
    write(root, "two.py", lines("two"))
    commit(git, root, "two files")
    saved = remember(here, "Two files", "one.py", "two.py")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--squash", "topic")
    commit(git, root, "squashed")
    git(root, "branch", "-q", "-D", "topic")
    write(root, "two.py", ["all = new"])
    assert seen(here, saved) == IN_HISTORY


@pytest.mark.parametrize("collected", [False, True])
def test_text_that_was_squashed_and_changed_since_is_of_no_branch_once_that_is_deleted(
    here: Engram, root: Path, git: Git, collected: bool
) -> None:
    saved = on_branch(here, root, git, f"{AUTH}:10-20")
    git(root, "merge", "-q", "--squash", "topic")
    commit(git, root, "squashed")
    write(root, AUTH, ["sixteen = 1" if "auth_16" in line else line for line in lines("auth")])
    commit(git, root, "changed since")
    assert here.search("branch topic commit").results[0].branch == "topic"

    git(root, "branch", "-q", "-D", "topic")
    if collected:
        collect(git, root)

    assert seen(here, saved) == Visibility("unknown", "topic", "topic is gone, merged or not")
    [hit] = here.search("branch topic commit").results
    assert (hit.branch, hit.anchors[0].state) == ("", "changed")
    assert [row.id for row in here.contexts.assemble(unasked=True).recent] == [saved.id]


def test_text_that_was_squashed_is_in_history_when_nothing_of_its_branch_is_left(
    here: Engram, root: Path, git: Git
) -> None:
    saved = on_branch(here, root, git, f"{AUTH}:10-20")
    git(root, "merge", "-q", "--squash", "topic")
    commit(git, root, "squashed")
    git(root, "branch", "-q", "-D", "topic")
    collect(git, root)
    assert seen(here, saved) == IN_HISTORY


def test_a_deleted_branch_may_have_been_merged_whatever_its_text_is_now(here: Engram, root: Path, git: Git) -> None:
    saved = on_branch(here, root, git, f"{AUTH}:10-20")
    git(root, "branch", "-q", "-D", "topic")
    assert seen(here, saved) == Visibility("unknown", "topic", "topic is gone, merged or not")


def test_without_a_file_to_tell_by_a_deleted_branch_may_have_been_squashed(here: Engram, root: Path, git: Git) -> None:
    saved = on_branch(here, root, git)
    git(root, "branch", "-q", "-D", "topic")
    assert seen(here, saved) == Visibility("unknown", "topic", "topic is gone, merged or not")


def test_an_amended_commit_of_the_same_branch_is_not_another_branch(here: Engram, root: Path, git: Git) -> None:
    saved = remember(here)
    git(root, "commit", "-q", "--amend", "--allow-empty", "-m", "amended")
    assert seen(here, saved) == Visibility("unknown", "main", "main was rewritten since")


def test_a_commit_this_repository_never_had_is_no_part_of_its_history(here: Engram, root: Path, git: Git) -> None:
    row = replace(here.get(remember(here).id).observation, git_commit="ab" * 20, git_branch="theirs")
    ours = replace(row, git_branch="main")
    assert here.anchors.visibility([row])[row.id] == Visibility("unknown", "theirs", "theirs is gone, merged or not")
    assert here.anchors.visibility([ours])[row.id] == Visibility("unknown", "main", "its commit is not in this clone")


def test_a_commit_that_is_none_does_not_keep_the_others_from_being_judged(here: Engram, root: Path, git: Git) -> None:
    fine = here.get(remember(here).id).observation
    commit(git, root, "go on")
    odd = [replace(fine, id=90 + at, git_commit=text) for at, text in enumerate(("--all", "HEAD", "x" * 9_000, "^a\n"))]
    assert {seen.state for seen in here.anchors.visibility(odd).values()} == {"unknown"}
    assert here.anchors.visibility([*odd, fine])[fine.id] == IN_HISTORY


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
