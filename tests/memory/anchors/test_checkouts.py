"""Anchors in checkouts of every kind: without some files, with places of another kind, linked, shallow, or none."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.reasons import Reason, reason
from engram_py.memory.anchors.values import AnchorState
from engram_py.memory.observations.values import Saved
from tests.memory.anchors.repositories import AUTH, Repo, about, blame, lines, state, states, write
from tests.support import Git, Opener, RepoMaker, words


@pytest.fixture
def root(make_repo: RepoMaker, git: Git) -> Path:
    root = make_repo("work/widgets")
    Repo(root, git).commit("two files", {AUTH: lines("auth"), "lib/login.py": lines("login")})
    return root


def told(found: AnchorState) -> tuple[str, str | None, bool, Reason | None]:
    return found.state, found.author, found.uncommitted, found.reason


# --- sparse checkouts ------------------------------------------------------------------------------------------


LEFT_OUT = ("unknown", None, False, reason("unreadable", problem="left out by the sparse checkout"))


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
def test_a_file_that_a_sparse_checkout_leaves_out_is_as_git_tracks_it(here: Engram, repo: Repo, name: str) -> None:
    saved = about(here, name)
    repo.git("sparse-checkout", "set", "lib")
    assert not (repo.root / AUTH).exists()
    assert told(state(here, saved)) == ("fresh", None, False, None)

    repo.git("sparse-checkout", "disable")
    repo.commit("rewrite", {AUTH: ["all = new"]}, by="Bo")
    repo.git("sparse-checkout", "set", "lib")
    assert told(state(here, saved)) == LEFT_OUT

    repo.git("rm", "-q", "--sparse", AUTH)
    repo.git("commit", "-q", "-m", "delete", "--author=Cy <a@b.c>")
    assert told(state(here, saved)) == ("gone", "Cy", False, None)


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
def test_a_file_that_was_renamed_to_where_a_sparse_checkout_leaves_it_out_is_said_to_be_there(
    here: Engram, repo: Repo, name: str
) -> None:
    saved = about(here, name)
    repo.rename(AUTH, "deep/identity.py")
    repo.git("sparse-checkout", "set", "lib")
    found = state(here, saved)
    assert (found.state, found.now_path) == ("moved", "deep/identity.py")

    repo.git("sparse-checkout", "disable")
    repo.commit("change", {"deep/identity.py": [*lines("auth"), "one_more = 1"]})
    repo.git("sparse-checkout", "set", "lib")
    assert (told(state(here, saved)), state(here, saved).now_path) == (LEFT_OUT, "deep/identity.py")


@pytest.mark.parametrize("index", ["folders", "version 4"])
def test_a_file_that_is_left_out_is_as_git_tracks_it_whatever_the_format_of_the_index(
    here: Engram, repo: Repo, index: str
) -> None:
    saved = about(here, AUTH)
    repo.git("sparse-checkout", "set", "--cone", *(["--sparse-index"] if index == "folders" else []), "lib")
    if index == "version 4":
        repo.git("update-index", "--index-version", "4")
    assert told(state(here, saved)) == ("fresh", None, False, None)

    repo.git("sparse-checkout", "disable")
    assert (repo.root / ".git/info/sparse-checkout").exists()
    repo.git("rm", "-q", AUTH)
    repo.commit("delete", by="Bo")
    gone = state(here, saved)
    assert (gone.state, gone.author) == ("gone", "Bo")


def test_a_file_that_somebody_deletes_in_a_sparse_checkout_is_gone(here: Engram, repo: Repo) -> None:
    saved = about(here, "lib/login.py")
    repo.git("sparse-checkout", "set", "--cone", "--sparse-index", "lib")
    (repo.root / "lib/login.py").unlink()
    assert told(state(here, saved)) == ("gone", None, True, None)


def test_a_review_keeps_what_is_known_of_a_file_that_is_left_out(here: Engram, repo: Repo, saved: Saved) -> None:
    repo.git("sparse-checkout", "set", "lib")
    here.observations.mark_reviewed(saved.id)
    assert state(here, saved).state == "fresh"
    repo.git("sparse-checkout", "disable")
    assert state(here, saved).state == "fresh"


def test_a_save_says_that_a_file_is_left_out(here: Engram, repo: Repo) -> None:
    repo.git("sparse-checkout", "set", "lib")
    saved = about(here, AUTH)
    assert (
        f"linked by path only, their text was not read: {AUTH} (left out by the sparse checkout)"
        in words(*saved.warnings).splitlines()
    )


# --- repositories within repositories --------------------------------------------------------------------------


@pytest.fixture
def module(repo: Repo, make_repo: RepoMaker) -> Path:
    """A submodule of the repository, with one file."""
    other = repo.at(make_repo("other"))
    other.commit("a file", {"x.py": lines("x")})
    repo.git("submodule", "--quiet", "add", str(other.root), "vendor/sub")
    repo.commit("a submodule")
    return repo.root / "vendor" / "sub"


def test_of_a_change_in_a_submodule_nothing_is_said_that_its_repository_alone_knows(
    here: Engram, repo: Repo, module: Path
) -> None:
    saved = about(here, "vendor/sub/x.py:10-20")
    assert state(here, saved).state == "fresh"
    write(module, "x.py", ["all = new"])
    assert told(state(here, saved)) == ("changed", None, False, None)
    repo.at(module).commit("rewrite")
    repo.commit("take it")
    assert told(state(here, saved)) == ("changed", None, False, None)


def test_a_submodule_that_is_not_checked_out_is_not_called_gone(here: Engram, repo: Repo, module: Path) -> None:
    saved = about(here, "vendor/sub/x.py:10-20")
    repo.git("submodule", "--quiet", "deinit", "-f", "vendor/sub")
    assert told(state(here, saved)) == (
        "unknown",
        None,
        False,
        reason("unreadable", problem="in a submodule that is not checked out"),
    )
    repo.git("rm", "-q", "vendor/sub")
    repo.commit("without it")
    assert told(state(here, saved)) == ("gone", None, False, None)


# --- another kind of place --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
def test_a_file_that_became_a_folder_is_gone_or_moved_into_it(here: Engram, repo: Repo, name: str) -> None:
    saved, other = about(here, name), about(here, "lib/login.py", title="Login")
    for path, text in ((AUTH, lines("auth")), ("lib/login.py", ["nothing", "of", "it"])):
        (repo.root / path).unlink()
        repo.write(f"{path}/__init__.py", text)
    repo.commit("packages", by="Bo")

    assert (state(here, saved).state, state(here, saved).now_path) == ("moved", f"{AUTH}/__init__.py")
    assert told(state(here, other)) == ("gone", "Bo", False, None)
    assert here.anchors.of_file(f"{AUTH}/__init__.py") == [saved.id]


def test_a_file_whose_folder_became_a_file_is_gone(here: Engram, repo: Repo) -> None:
    saved = about(here, AUTH)
    (repo.root / AUTH).unlink()
    (repo.root / "src").rmdir()
    repo.commit("a file", {"src": ["no folder"]}, by="Bo")
    assert told(state(here, saved)) == ("gone", "Bo", False, None)


@pytest.mark.skipif(os.name == "nt", reason="symlinks")
def test_a_file_that_became_a_symlink_is_what_it_leads_to_and_nobody_is_blamed_for_the_link(
    here: Engram, repo: Repo, saved: Saved
) -> None:
    (repo.root / AUTH).rename(repo.root / "src/identity.py")
    (repo.root / AUTH).symlink_to("identity.py")
    repo.commit("a link", by="Bo")
    assert told(state(here, saved)) == ("fresh", None, False, None)
    repo.commit("rewrite", {"src/identity.py": ["all = new"]}, by="Cy")
    assert told(state(here, saved)) == ("changed", None, False, None)


def test_a_repository_that_moved_takes_its_memories_along(
    open_memory: Opener, here: Engram, repo: Repo, tmp_path: Path, saved: Saved
) -> None:
    here.close()
    repo.root.rename(tmp_path / "elsewhere")
    write(tmp_path / "elsewhere", AUTH, ["import os", *lines("auth")])
    found = state(open_memory(tmp_path / "elsewhere"), saved)
    assert (found.state, found.now_start) == ("moved", 11)


NAMES = ["a b.py", "naïve ü.py", "日本/文.py", "-dash.py", "[x]*.py"]
NAMES += [] if os.name == "nt" else ['quo"te.py', "ab:c.py", ":(top)x.py"]


def test_odd_names_are_compared_and_followed_like_others(here: Engram, repo: Repo) -> None:
    for name in NAMES:
        repo.write(name, lines(f"line_{NAMES.index(name)}"))
    repo.commit("odd names")
    saved = about(here, *(f"{name}:10-20" for name in NAMES))
    assert {one.state for one in states(here, saved)} == {"fresh"}

    for name in NAMES:
        repo.write(name, ["import os", *lines(f"line_{NAMES.index(name)}")])
    repo.commit("change")
    for name in NAMES:
        (repo.root / name).rename((repo.root / name).with_name(f"ö {Path(name).name}"))
    repo.commit("rename")
    assert {one.state for one in states(here, saved)} == {"moved"}
    assert [Path(one.now_path or "").name for one in states(here, saved)] == [f"ö {Path(name).name}" for name in NAMES]
    for one in states(here, saved):
        assert here.anchors.of_file(one.now_path or "") == [saved.id]

    for name in NAMES:
        (repo.root / name).with_name(f"ö {Path(name).name}").unlink()
    repo.commit("delete", by="Bo")
    assert {told(one)[:2] for one in states(here, saved)} == {("gone", "Bo")}


# --- places in which a repository can be ---------------------------------------------------------------------


def test_a_linked_worktree_is_compared_with_its_own_files(
    open_memory: Opener, here: Engram, repo: Repo, tmp_path: Path, saved: Saved
) -> None:
    repo.git("worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    write(tmp_path / "tree", AUTH, ["all = new"])
    there = open_memory(tmp_path / "tree")
    assert (state(here, saved).state, state(there, saved).state) == ("fresh", "changed")


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
    open_memory: Opener, here: Engram, make_repo: RepoMaker, saved: Saved
) -> None:
    found = state(open_memory(make_repo("gadgets")), saved)
    assert (found.state, found.reason) == ("unknown", reason("not_in_repository"))


def test_without_a_repository_everything_is_unknown(open_memory: Opener, here: Engram, tmp_path: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    (tmp_path / "plain").mkdir()
    assert state(open_memory(tmp_path / "plain"), saved).state == "unknown"
