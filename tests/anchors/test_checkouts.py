"""Anchors in checkouts of every kind: without some files, with places of another kind, linked, shallow, or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.anchors.values import AnchorState
from tests.anchors.repositories import AUTH, about, blame, commit, lines, rename, state, states, write
from tests.memory import Git, Opener, RepoMaker


@pytest.fixture
def root(make_repo: RepoMaker, git: Git) -> Path:
    root = make_repo("work/widgets")
    write(root, AUTH, lines("auth"))
    write(root, "lib/login.py", lines("login"))
    commit(git, root, "two files")
    return root


def told(found: AnchorState) -> tuple[str, str | None, bool, str | None]:
    return found.state, found.author, found.uncommitted, found.reason


# --- sparse checkouts ------------------------------------------------------------------------------------------


LEFT_OUT = ("unknown", None, False, "left out by the sparse checkout")


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
def test_a_file_that_a_sparse_checkout_leaves_out_is_as_git_tracks_it(
    here: Engram, root: Path, git: Git, name: str
) -> None:
    saved = about(here, name)
    git(root, "sparse-checkout", "set", "lib")
    assert not (root / AUTH).exists()
    assert told(state(here, saved)) == ("fresh", None, False, None)

    git(root, "sparse-checkout", "disable")
    commit(git, root, "rewrite", {AUTH: ["all = new"]}, by="Bo")
    git(root, "sparse-checkout", "set", "lib")
    assert told(state(here, saved)) == LEFT_OUT

    git(root, "rm", "-q", "--sparse", AUTH)
    git(root, "commit", "-q", "-m", "delete", "--author=Cy <a@b.c>")
    assert told(state(here, saved)) == ("gone", "Cy", False, None)


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
def test_a_file_that_was_renamed_to_where_a_sparse_checkout_leaves_it_out_is_said_to_be_there(
    here: Engram, root: Path, git: Git, name: str
) -> None:
    saved = about(here, name)
    rename(git, root, AUTH, "deep/identity.py")
    git(root, "sparse-checkout", "set", "lib")
    found = state(here, saved)
    assert (found.state, found.now_path) == ("moved", "deep/identity.py")

    git(root, "sparse-checkout", "disable")
    commit(git, root, "change", {"deep/identity.py": [*lines("auth"), "one_more = 1"]})
    git(root, "sparse-checkout", "set", "lib")
    assert (told(state(here, saved)), state(here, saved).now_path) == (LEFT_OUT, "deep/identity.py")


@pytest.mark.parametrize("index", ["folders", "version 4"])
def test_a_file_that_is_left_out_is_as_git_tracks_it_whatever_the_format_of_the_index(
    here: Engram, root: Path, git: Git, index: str
) -> None:
    saved = about(here, AUTH)
    git(root, "sparse-checkout", "set", "--cone", *(["--sparse-index"] if index == "folders" else []), "lib")
    if index == "version 4":
        git(root, "update-index", "--index-version", "4")
    assert told(state(here, saved)) == ("fresh", None, False, None)

    git(root, "sparse-checkout", "disable")
    assert (root / ".git/info/sparse-checkout").exists()
    git(root, "rm", "-q", AUTH)
    commit(git, root, "delete", by="Bo")
    gone = state(here, saved)
    assert (gone.state, gone.author) == ("gone", "Bo")


def test_a_file_that_somebody_deletes_in_a_sparse_checkout_is_gone(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, "lib/login.py")
    git(root, "sparse-checkout", "set", "--cone", "--sparse-index", "lib")
    (root / "lib/login.py").unlink()
    assert told(state(here, saved)) == ("gone", None, True, None)


def test_a_review_keeps_what_is_known_of_a_file_that_is_left_out(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "sparse-checkout", "set", "lib")
    here.observations.mark_reviewed(saved.id)
    assert state(here, saved).state == "fresh"
    git(root, "sparse-checkout", "disable")
    assert state(here, saved).state == "fresh"


def test_a_save_says_that_a_file_is_left_out(here: Engram, root: Path, git: Git) -> None:
    git(root, "sparse-checkout", "set", "lib")
    saved = about(here, AUTH)
    assert f"kept by name, their text was not read: {AUTH} (left out by the sparse checkout)" in saved.warnings


# --- repositories within repositories --------------------------------------------------------------------------


@pytest.fixture
def module(root: Path, make_repo: RepoMaker, git: Git) -> Path:
    """A submodule of the repository, with one file."""
    other = make_repo("other")
    commit(git, other, "a file", {"x.py": lines("x")})
    git(root, "submodule", "--quiet", "add", str(other), "vendor/sub")
    commit(git, root, "a submodule")
    return root / "vendor" / "sub"


def test_of_a_change_in_a_submodule_nothing_is_said_that_its_repository_alone_knows(
    here: Engram, root: Path, module: Path, git: Git
) -> None:
    saved = about(here, "vendor/sub/x.py:10-20")
    assert state(here, saved).state == "fresh"
    write(module, "x.py", ["all = new"])
    assert told(state(here, saved)) == ("changed", None, False, None)
    commit(git, module, "rewrite")
    commit(git, root, "take it")
    assert told(state(here, saved)) == ("changed", None, False, None)


def test_a_submodule_that_is_not_checked_out_is_not_called_gone(
    here: Engram, root: Path, module: Path, git: Git
) -> None:
    saved = about(here, "vendor/sub/x.py:10-20")
    git(root, "submodule", "--quiet", "deinit", "-f", "vendor/sub")
    assert told(state(here, saved)) == ("unknown", None, False, "in a submodule that is not checked out")
    git(root, "rm", "-q", "vendor/sub")
    commit(git, root, "without it")
    assert told(state(here, saved)) == ("gone", None, False, None)


# --- another kind of place --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
def test_a_file_that_became_a_folder_is_gone_or_moved_into_it(here: Engram, root: Path, git: Git, name: str) -> None:
    saved, other = about(here, name), about(here, "lib/login.py", title="Login")
    for path, text in ((AUTH, lines("auth")), ("lib/login.py", ["nothing", "of", "it"])):
        (root / path).unlink()
        write(root, f"{path}/__init__.py", text)
    commit(git, root, "packages", by="Bo")

    assert (state(here, saved).state, state(here, saved).now_path) == ("moved", f"{AUTH}/__init__.py")
    assert told(state(here, other)) == ("gone", "Bo", False, None)
    assert here.anchors.of_file(f"{AUTH}/__init__.py") == [saved.id]


def test_a_file_whose_folder_became_a_file_is_gone(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, AUTH)
    (root / AUTH).unlink()
    (root / "src").rmdir()
    commit(git, root, "a file", {"src": ["no folder"]}, by="Bo")
    assert told(state(here, saved)) == ("gone", "Bo", False, None)


@pytest.mark.skipif(os.name == "nt", reason="symlinks")
def test_a_file_that_became_a_symlink_is_what_it_leads_to_and_nobody_is_blamed_for_the_link(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    (root / AUTH).rename(root / "src/identity.py")
    (root / AUTH).symlink_to("identity.py")
    commit(git, root, "a link", by="Bo")
    assert told(state(here, saved)) == ("fresh", None, False, None)
    commit(git, root, "rewrite", {"src/identity.py": ["all = new"]}, by="Cy")
    assert told(state(here, saved)) == ("changed", None, False, None)


def test_a_repository_that_moved_takes_its_memories_along(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    here.close()
    root.rename(tmp_path / "elsewhere")
    write(tmp_path / "elsewhere", AUTH, ["import os", *lines("auth")])
    found = state(open_memory(tmp_path / "elsewhere"), saved)
    assert (found.state, found.now_start) == ("moved", 11)


NAMES = ["a b.py", "naïve ü.py", "日本/文.py", "-dash.py", "[x]*.py"]
NAMES += [] if os.name == "nt" else ['quo"te.py', "ab:c.py", ":(top)x.py"]


def test_odd_names_are_compared_and_followed_like_others(here: Engram, root: Path, git: Git) -> None:
    for name in NAMES:
        write(root, name, lines(f"line_{NAMES.index(name)}"))
    commit(git, root, "odd names")
    saved = about(here, *(f"{name}:10-20" for name in NAMES))
    assert {one.state for one in states(here, saved)} == {"fresh"}

    for name in NAMES:
        write(root, name, ["import os", *lines(f"line_{NAMES.index(name)}")])
    commit(git, root, "change")
    for name in NAMES:
        (root / name).rename((root / name).with_name(f"ö {Path(name).name}"))
    commit(git, root, "rename")
    assert {one.state for one in states(here, saved)} == {"moved"}
    assert [Path(one.now_path or "").name for one in states(here, saved)] == [f"ö {Path(name).name}" for name in NAMES]
    for one in states(here, saved):
        assert here.anchors.of_file(one.now_path or "") == [saved.id]

    for name in NAMES:
        (root / name).with_name(f"ö {Path(name).name}").unlink()
    commit(git, root, "delete", by="Bo")
    assert {told(one)[:2] for one in states(here, saved)} == {("gone", "Bo")}


# --- places in which a repository can be ---------------------------------------------------------------------


def test_a_linked_worktree_is_compared_with_its_own_files(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    write(tmp_path / "tree", AUTH, ["all = new"])
    there = open_memory(tmp_path / "tree")
    assert (state(here, saved).state, state(there, saved).state) == ("fresh", "changed")


def test_a_subfolder_sees_the_same_files(open_memory: Opener, here: Engram, root: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    assert state(open_memory(root / "src"), saved).state == "fresh"


def test_a_repository_without_commits_can_be_anchored_to(open_memory: Opener, tmp_path: Path, git: Git) -> None:
    root = tmp_path / "young"
    root.mkdir()
    git(root, "init", "-q")
    write(root, AUTH, lines("auth"))
    app = open_memory(root)
    saved = about(app, f"{AUTH}:10-20")
    assert state(app, saved).state == "fresh"
    write(root, AUTH, ["all = new"])
    assert blame(state(app, saved)) == ("changed", None, None, True)


def test_another_project_is_not_judged_by_the_files_here(
    open_memory: Opener, here: Engram, make_repo: RepoMaker
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    found = state(open_memory(make_repo("gadgets")), saved)
    assert (found.state, found.reason) == ("unknown", "not in the repository of its project")


def test_without_a_repository_everything_is_unknown(open_memory: Opener, here: Engram, tmp_path: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    (tmp_path / "plain").mkdir()
    assert state(open_memory(tmp_path / "plain"), saved).state == "unknown"


def test_a_shallow_clone_names_nobody_it_cannot_know(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    commit(git, root, "rewrite", {AUTH: ["all = new"]}, by="Bo")
    for _ in range(3):
        commit(git, root, "go on")
    git(root, "config", "remote.origin.url", "https://example.org/acme/widgets")
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{root}", "clone")
    git(tmp_path / "clone", "remote", "set-url", "origin", "https://example.org/acme/widgets")

    found = state(open_memory(tmp_path / "clone", project=saved.project), saved)

    assert (found.state, found.author) == ("changed", None)
