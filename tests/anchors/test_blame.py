"""Who changed or deleted what a memory is about, and when."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.observations.values import Saved
from tests.anchors.repositories import AUTH, about, blame, commit, delete, lines, rename, state, write
from tests.memory import Git, Opener

# --- gone ---------------------------------------------------------------------------------------------------


def about_lines(here: Engram, root: Path, git: Git) -> Saved:
    return about(here, f"{AUTH}:10-20")


def rewritten(here: Engram, root: Path, git: Git) -> Saved:
    """A memory of lines that Bo rewrote since."""
    saved = about(here, f"{AUTH}:10-20")
    commit(git, root, "rewrite", {AUTH: ["all = new"]}, by="Bo")
    return saved


@pytest.mark.parametrize("before", [about_lines, rewritten], ids=["as-saved", "rewritten"])
@pytest.mark.parametrize("committed", [True, False])
def test_a_deleted_file_is_gone_and_whoever_deleted_it_is_named(
    here: Engram, root: Path, git: Git, before: Callable[[Engram, Path, Git], Saved], committed: bool
) -> None:
    saved, deleted = before(here, root, git), None
    (root / AUTH).unlink()
    if committed:
        deleted = commit(git, root, "delete", by="Cy")
        commit(git, root, "go on")
    found = state(here, saved)
    assert blame(found) == (("gone", 1, "Cy", False) if committed else ("gone", None, None, True))
    assert found.commit == deleted


def test_a_file_that_was_renamed_and_then_deleted_is_gone_by_whoever_deleted_it(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    rename(git, root, AUTH, "src/identity.py", by="Bo")
    write(root, "src/identity.py", ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    commit(git, root, "change", by="Cy")
    delete(git, root, "src/identity.py", by="Di")
    assert blame(state(here, saved)) == ("gone", 0, "Di", False)


def test_a_file_that_was_deleted_brought_back_and_deleted_again_is_gone_since_the_last_time(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, AUTH)
    delete(git, root, AUTH, by="Bo")
    commit(git, root, "again", {AUTH: ["all = new"]}, by="Cy")
    (root / AUTH).unlink()
    commit(git, root, "delete again", by="Di")
    commit(git, root, "go on")
    assert blame(state(here, saved)) == ("gone", 1, "Di", False)


@pytest.mark.parametrize("deleted_on", ["main", "topic"])
def test_a_file_that_one_side_of_a_merge_deleted_and_the_other_changed_is_gone_by_whoever_deleted_it(
    here: Engram, root: Path, git: Git, deleted_on: str
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "branch", "topic")
    git(root, "checkout", "-q", deleted_on)
    deleted = delete(git, root, AUTH, by="Bo")
    git(root, "checkout", "-q", "topic" if deleted_on == "main" else "main")
    commit(git, root, "change", {AUTH: ["all = new"]}, by="Cy")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-commit", "-s", "ours", "topic")
    (root / AUTH).unlink(missing_ok=True)
    commit(git, root, "merge", by="Di")

    found = state(here, saved)

    assert (found.state, found.author, found.commit) == ("gone", "Bo", deleted)


def test_a_file_that_was_deleted_came_back_and_was_dropped_by_a_merge_is_gone_by_the_merger(
    here: Engram, root: Path, git: Git
) -> None:
    delete(git, root, AUTH, by="Bo")
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "on the branch", {"topic.py": lines("topic")}, by="Cy")
    git(root, "checkout", "-q", "main")
    commit(git, root, "bring it back", {AUTH: lines("again")})
    saved = about(here, f"{AUTH}:3-6")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "topic")
    git(root, "rm", "-q", "-f", AUTH)
    commit(git, root, "merge", by="Di")
    gone = state(here, saved)
    assert (gone.state, gone.author, gone.commits_ago) == ("gone", "Di", 0)


def test_a_file_that_a_merge_alone_dropped_is_gone_by_the_merger(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, AUTH)
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "nothing", by="Bo")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "topic")
    (root / AUTH).unlink()
    commit(git, root, "merge", by="Cy")
    assert blame(state(here, saved)) == ("gone", 0, "Cy", False)


def test_a_deletion_further_back_than_a_shallow_clone_reaches_is_nobodys(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = rewritten(here, root, git)
    delete(git, root, AUTH, by="Cy")
    commit(git, root, "go on")
    commit(git, root, "go on")
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{root}", "clone")

    found = state(open_memory(tmp_path / "clone", project=saved.project), saved)

    assert (*blame(found), found.commit) == ("gone", None, None, False, None)


def test_a_deletion_further_back_than_git_is_asked_about_is_nobodys(
    here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = about(here, AUTH)
    delete(git, root, AUTH, by="Bo")
    for _ in range(3):
        commit(git, root, "go on")
    monkeypatch.setattr("engram_py.anchors.trace._DEPTHS", (1, 2))
    assert blame(state(here, saved)) == ("gone", None, None, False)


# --- who and when ------------------------------------------------------------------------------------------


def test_the_commit_that_changed_the_lines_is_named_and_not_a_later_one_of_the_same_file(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    text = ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")]
    commit(git, root, "change them", {AUTH: text}, by="Bo")
    for number in range(3):
        text = [f"import number_{number}", *text]
        commit(git, root, "change the file elsewhere", {AUTH: text}, by="Cy")
    assert blame(state(here, saved)) == ("changed", 3, "Bo", False)


def test_a_change_that_came_with_a_merge_is_its_authors_not_the_mergers(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "checkout", "-q", "-b", "topic")
    write(root, AUTH, ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    changed = commit(git, root, "change", by="Bo")
    git(root, "checkout", "-q", "main")
    commit(git, root, "go on")
    git(root, "-c", "user.name=Cy", "merge", "-q", "--no-ff", "-m", "merge", "topic")

    found = state(here, saved)

    assert (found.state, found.author, found.commit) == ("changed", "Bo", changed)


def test_a_change_made_while_merging_is_the_mergers(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "nothing")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "topic")
    commit(git, root, "merge", {AUTH: ["all = new"]}, by="Cy")

    assert blame(state(here, saved))[:3] == ("changed", 0, "Cy")


def test_a_squash_merge_names_its_commit(open_memory: Opener, root: Path, git: Git) -> None:
    saved = about(open_memory(root), f"{AUTH}:10-20")
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "change", {AUTH: ["all = new"]}, by="Bo")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--squash", "topic")
    squashed = commit(git, root, "squashed", by="Cy")

    found = state(open_memory(root), saved)

    assert (*blame(found), found.commit) == ("changed", 0, "Cy", False, squashed)


def test_text_that_was_never_committed_as_it_was_saved_is_blamed_on_the_first_commit_after(
    here: Engram, root: Path, git: Git
) -> None:
    write(root, AUTH, ["draft = 1", *lines("auth")])
    saved = about(here, f"{AUTH}:1-3")
    commit(git, root, "better", {AUTH: ["draft = 2", *lines("auth")]}, by="Bo")
    commit(git, root, "go on")
    assert blame(state(here, saved)) == ("changed", 1, "Bo", False)


def test_a_change_in_the_working_tree_on_top_of_commits_is_not_blamed_on_them(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    commit(git, root, "elsewhere in the file", {AUTH: ["import os", *lines("auth")]})
    write(root, AUTH, ["all = new"])
    assert blame(state(here, saved)) == ("changed", None, None, True)


def test_blanks_that_a_commit_changed_do_not_make_it_the_one_to_blame(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, AUTH)
    commit(git, root, "blanks", {AUTH: [f"{line}  " for line in lines("auth")]}, by="Bo")
    commit(git, root, "rewrite", {AUTH: ["all = new"]}, by="Cy")
    commit(git, root, "go on")
    assert blame(state(here, saved)) == ("changed", 1, "Cy", False)


def test_where_git_is_told_to_show_no_lines_of_a_file_nobody_is_blamed_for_them(
    here: Engram, root: Path, git: Git
) -> None:
    commit(git, root, "generated", {".gitattributes": [f"{AUTH} -diff"]})
    span, whole = about(here, f"{AUTH}:10-20", title="Lines"), about(here, AUTH, title="File")
    commit(git, root, "rewrite", {AUTH: ["all = new"]}, by="Bo")
    assert blame(state(here, span)) == ("changed", None, None, False)
    assert blame(state(here, whole)) == ("changed", 0, "Bo", False)
