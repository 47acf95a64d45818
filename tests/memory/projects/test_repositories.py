"""One project per repository, wherever its checkouts are; two for two repositories, however alike their names."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from tests.support import Git, Opener, RepoMaker, draft

REMOTE = "https://github.com/acme/rocket.git"


def test_worktrees_and_subfolders_are_the_repository_they_belong_to(
    tmp_path: Path, make_repo: RepoMaker, git: Git, open_memory: Opener
) -> None:
    repo = make_repo("rocket")
    git(repo, "worktree", "add", "-q", "-b", "fix", str(tmp_path / "elsewhere"))
    (repo / "src" / "deep").mkdir(parents=True)
    first = open_memory(tmp_path / "elsewhere").save(draft("One."))
    found = [open_memory(place).search("one") for place in (repo, repo / "src" / "deep")]
    assert first.project == "rocket"
    assert [[hit.id for hit in results.results] for results in found] == [[first.id]] * 2


def test_clones_of_one_remote_are_one_project(make_repo: RepoMaker, open_memory: Opener) -> None:
    first = open_memory(make_repo("a/one", remote=REMOTE)).save(draft("One."))
    second = open_memory(make_repo("b/other-name", remote="git@github.com:Acme/Rocket")).save(draft("Two."))
    assert first.project == second.project == "rocket"


def test_a_moved_repository_stays_its_project(tmp_path: Path, make_repo: RepoMaker, open_memory: Opener) -> None:
    repo = make_repo("rocket")
    open_memory(repo).save(draft("One."))
    moved = tmp_path / "far" / "renamed"
    moved.parent.mkdir()
    shutil.move(repo, moved)
    again = open_memory(moved).save(draft("Two."))
    assert (again.project, again.warnings) == ("rocket", ())


def test_a_repository_that_gets_another_remote_stays_its_project(
    make_repo: RepoMaker, git: Git, open_memory: Opener
) -> None:
    repo = make_repo("rocket", remote=REMOTE)
    open_memory(repo).save(draft("One."))
    git(repo, "remote", "set-url", "origin", "https://gitlab.com/other/starship.git")
    assert open_memory(repo).save(draft("Two.")).project == "rocket"
    clone = make_repo("fresh", remote="https://gitlab.com/other/starship.git")
    assert open_memory(clone).save(draft("Three.")).project == "rocket"


@pytest.mark.parametrize("original", [REMOTE, None])
def test_a_copy_with_a_remote_of_its_own_is_a_project_of_its_own(
    tmp_path: Path, make_repo: RepoMaker, git: Git, open_memory: Opener, original: str | None
) -> None:
    repo = make_repo("rocket", remote=original)
    open_memory(repo).save(draft("One."))
    copy = tmp_path / "shop"
    shutil.copytree(repo, copy)
    git(copy, "remote", "set-url" if original else "add", "origin", "git@github.com:acme/shop.git")

    assert open_memory(copy).search("one").projects == ("shop",)
    assert open_memory(copy).save(draft("Two.")).project == "shop"
    shutil.rmtree(repo)
    assert open_memory(copy).save(draft("Three.")).project == "shop"


def test_a_copy_with_the_same_remote_is_the_project(tmp_path: Path, make_repo: RepoMaker, open_memory: Opener) -> None:
    repo = make_repo("rocket", remote=REMOTE)
    open_memory(repo).save(draft("One."))
    shutil.copytree(repo, tmp_path / "copy")

    assert open_memory(tmp_path / "copy").save(draft("Two.")).project == "rocket"


def test_two_remotes_that_end_alike_are_two_projects(make_repo: RepoMaker, open_memory: Opener) -> None:
    repos = [
        make_repo("a/rocket", remote="https://github.com/acme/rocket.git"),
        make_repo("b/rocket", remote="https://github.com/other/rocket.git"),
        make_repo("c/rocket", remote="https://gitlab.com/other/rocket.git"),
    ]
    names = [open_memory(repo).save(draft("One.")).project for repo in repos]
    assert len(set(names)) == 3
    assert names[0] == "rocket"
    assert [open_memory(repo).save(draft("Two.")).project for repo in repos] == names
    assert open_memory(repos[1]).search("one").projects == (names[1],)


def test_a_repository_in_a_folder_that_held_another_one_is_its_own_project(
    make_repo: RepoMaker, open_memory: Opener
) -> None:
    repo = make_repo("checkout", remote=REMOTE)
    open_memory(repo).save(draft("One."))
    shutil.rmtree(repo)
    other = make_repo("checkout", remote="https://github.com/acme/starship.git")
    assert open_memory(other).save(draft("Two.")).project == "starship"


def test_a_repository_follows_its_project_when_that_is_merged(make_repo: RepoMaker, open_memory: Opener) -> None:
    repo = make_repo("rocket", remote=REMOTE)
    app = open_memory(repo)
    app.save(draft("One."))
    app.merging.merge(["rocket"], "starship")
    assert open_memory(repo).save(draft("Two.")).project == "starship"
    assert open_memory(make_repo("clone", remote=REMOTE)).save(draft("Three.")).project == "starship"


def test_repositories_without_a_remote_and_of_one_name_are_each_their_own(
    make_repo: RepoMaker, open_memory: Opener
) -> None:
    repos = [make_repo(f"{parent}/{below}/work") for parent, below in (("x", "k"), ("y", "k"), ("z", "k"))]
    repos.append(make_repo("q/work", remote="https://github.com/acme/work.git"))

    names = [open_memory(repo).save(draft("One.")).project for repo in repos]

    assert names[0] == "work"
    assert len(set(names)) == len(repos)
    assert [open_memory(repo).save(draft("Two.")).project for repo in repos] == names
