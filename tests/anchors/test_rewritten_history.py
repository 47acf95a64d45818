"""Memories of branches that were squashed, rebased, deleted or amended: as far as their text tells."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from engram_py import Engram
from engram_py.anchors.values import Visibility
from engram_py.observations.values import Saved
from engram_py.reasons import reason
from tests.anchors.repositories import AUTH, IN_HISTORY, Repo, lines, on_branch, remember, seen, states
from tests.memory import Opener


def on_spike(app: Engram, repo: Repo) -> Saved:
    """A memory of a new file on branch ``spike``; then back to ``main``."""
    repo.git("checkout", "-q", "-b", "spike")
    repo.commit("try a cache", {"spike_cache.py": lines("spike")})
    saved = remember(app, "The spike keeps sessions in LMDB", "spike_cache.py:3-6")
    repo.git("checkout", "-q", "main")
    return saved


@pytest.mark.parametrize("collected", [False, True])
def test_what_was_saved_on_a_branch_that_was_thrown_away_is_labelled_and_not_told_unasked(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, collected: bool
) -> None:
    saved = on_spike(here, repo)
    repo.git("branch", "-q", "-D", "spike")
    if collected:
        repo.collect()

    assert seen(here, saved) == Visibility("elsewhere", "spike", deleted=True)
    assert here.search("spike LMDB sessions").results[0].branch == "spike (deleted)"
    assert states(here, saved)[0].reason == reason("only_on_branch", branch="spike (deleted)")
    assert here.contexts.assemble(unasked=True).recent == ()

    monkeypatch.setattr("subprocess.Popen", None)
    assert seen(here, saved) == seen(open_memory(repo.root), saved) == Visibility("elsewhere", "spike", deleted=True)


def test_on_a_detached_head_a_deleted_branch_may_have_been_merged_later(here: Engram, repo: Repo) -> None:
    old = repo.git("rev-parse", "HEAD")
    saved = on_spike(here, repo)
    repo.squash("spike")
    repo.git("checkout", "-q", "--detach", old)
    assert seen(here, saved).state == "unknown"
    assert here.search("spike LMDB sessions").results[0].branch == ""
    assert [(one.state, one.reason) for one in states(here, saved)] == [("unknown", reason("not_in_history"))]


@pytest.mark.parametrize("since", ["deleted", "renamed before"])
def test_a_new_file_that_was_squashed_is_of_no_branch_whatever_became_of_it(
    here: Engram, repo: Repo, since: str
) -> None:
    saved = on_spike(here, repo)
    if since == "renamed before":
        repo.git("checkout", "-q", "spike")
        repo.rename("spike_cache.py", "cache.py")
        repo.git("checkout", "-q", "main")
    repo.squash("spike")
    if since == "deleted":
        repo.git("rm", "-q", "spike_cache.py")
        repo.commit("no cache after all")
    assert seen(here, saved) == Visibility("unknown", "spike", "branch_gone")


def test_a_git_that_fails_to_tell_of_a_file_is_not_asked_again_and_nothing_is_said(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = on_spike(here, repo)
    repo.git("branch", "-q", "-D", "spike")
    asked: list[Sequence[str]] = []
    monkeypatch.setattr(
        "engram_py.anchors.visibility.read_added", lambda root, head, paths, deadline: asked.append(paths)
    )
    for memory in (here, here, open_memory(repo.root)):
        assert seen(memory, saved) == Visibility("unknown", "spike", "branch_gone")
    assert asked == [["spike_cache.py"]]


def test_a_squash_merge_is_recognised_by_the_text_it_brought(here: Engram, repo: Repo) -> None:
    told = on_branch(here, repo, f"{AUTH}:10-20")
    repo.squash("topic", keep=True)
    assert seen(here, told) == IN_HISTORY
    repo.git("branch", "-q", "-D", "topic")
    assert seen(here, told) == IN_HISTORY
    repo.collect()
    assert seen(here, told) == IN_HISTORY


def test_a_rebased_branch_that_was_merged_is_recognised_by_its_text(here: Engram, repo: Repo) -> None:
    saved = on_branch(here, repo, f"{AUTH}:10-20")
    repo.commit("main goes on", {"other.py": ["x = 1"]})
    repo.git("rebase", "-q", "main", "topic")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--ff-only", "topic")
    assert seen(here, saved) == IN_HISTORY


def test_text_that_was_squashed_and_changed_since_in_one_of_its_files_is_still_known(here: Engram, repo: Repo) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.write("one.py", lines("one"))
    repo.write("two.py", lines("two"))
    repo.commit("two files")
    saved = remember(here, "Two files", "one.py", "two.py")
    repo.git("checkout", "-q", "main")
    repo.squash("topic")
    repo.write("two.py", ["all = new"])
    assert seen(here, saved) == IN_HISTORY


@pytest.mark.parametrize("collected", [False, True])
def test_text_that_was_squashed_and_changed_since_is_of_no_branch_once_that_is_deleted(
    here: Engram, repo: Repo, collected: bool
) -> None:
    saved = on_branch(here, repo, f"{AUTH}:10-20")
    repo.squash("topic", keep=True)
    repo.commit("changed since", {AUTH: ["sixteen = 1" if "auth_16" in line else line for line in lines("auth")]})
    assert here.search("branch topic commit").results[0].branch == "topic"

    repo.git("branch", "-q", "-D", "topic")
    if collected:
        repo.collect()

    assert seen(here, saved) == Visibility("unknown", "topic", "branch_gone")
    [hit] = here.search("branch topic commit").results
    assert (hit.branch, hit.anchors[0].state) == ("", "changed")
    assert [row.id for row in here.contexts.assemble(unasked=True).recent] == [saved.id]


@pytest.mark.parametrize("files", [(f"{AUTH}:10-20",), ()], ids=["a-text", "no-file-to-tell-by"])
def test_a_deleted_branch_may_have_been_merged_whatever_its_text_is_now(
    here: Engram, repo: Repo, files: tuple[str, ...]
) -> None:
    saved = on_branch(here, repo, *files)
    repo.git("branch", "-q", "-D", "topic")
    assert seen(here, saved) == Visibility("unknown", "topic", "branch_gone")


def test_an_amended_commit_of_the_same_branch_is_not_another_branch(here: Engram, repo: Repo) -> None:
    saved = remember(here)
    repo.git("commit", "-q", "--amend", "--allow-empty", "-m", "amended")
    assert seen(here, saved) == Visibility("unknown", "main", "rewritten")


def test_a_commit_this_repository_never_had_is_no_part_of_its_history(here: Engram, repo: Repo) -> None:
    row = replace(here.get(remember(here).id).observation, git_commit="ab" * 20, git_branch="theirs")
    ours = replace(row, git_branch="main")
    assert here.anchors.visibility([row])[row.id] == Visibility("unknown", "theirs", "branch_gone")
    assert here.anchors.visibility([ours])[row.id] == Visibility("unknown", "main", "no_commit")


def test_a_commit_that_is_none_does_not_keep_the_others_from_being_judged(here: Engram, repo: Repo) -> None:
    fine = here.get(remember(here).id).observation
    repo.commit("go on")
    odd = [replace(fine, id=90 + at, git_commit=text) for at, text in enumerate(("--all", "HEAD", "x" * 9_000, "^a\n"))]
    assert {seen.state for seen in here.anchors.visibility(odd).values()} == {"unknown"}
    assert here.anchors.visibility([*odd, fine])[fine.id] == IN_HISTORY
