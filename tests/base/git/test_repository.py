"""A directory is found to be in its repository, whatever shape that has, without starting git."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py.base.git.repository import Repository, created_at, find_repository, read_head, read_ref
from tests.support import Git, RepoMaker, names


def found(folder: Path) -> Repository:
    repository = find_repository(folder)
    assert repository is not None
    return repository


def test_a_subfolder_belongs_to_the_repository_above_it(make_repo: RepoMaker, git: Git) -> None:
    root = make_repo("widgets", remote="git@github.com:Acme/Widgets.git")
    (root / "a" / "b").mkdir(parents=True)

    assert found(root / "a" / "b") == found(root) == found(root / ".git" / "refs")
    repository = found(root)
    assert (repository.root, repository.common_dir) == (root, root / ".git")
    assert (repository.branch, repository.commit) == ("main", git(root, "rev-parse", "HEAD"))
    assert repository.remote == "github.com/acme/widgets"
    assert (repository.bare, repository.warnings) == (False, ())


def test_no_git_program_is_started(make_repo: RepoMaker, monkeypatch: pytest.MonkeyPatch) -> None:
    root = make_repo("widgets", remote="https://example.org/a/b")
    monkeypatch.setattr(subprocess, "Popen", None)
    assert found(root).commit


def test_a_folder_outside_any_repository_has_none(tmp_path: Path) -> None:
    assert find_repository(tmp_path) is None
    assert find_repository(tmp_path / "not" / "there") is None
    assert find_repository(Path("a\0b")) is None


def test_worktrees_share_one_common_dir_and_keep_their_own_branch(make_repo: RepoMaker, git: Git) -> None:
    root = make_repo("widgets")
    git(root, "worktree", "add", "-q", "-b", "feature/x", "../elsewhere")
    worktree = found(root.parent / "elsewhere")

    assert worktree.common_dir == found(root).common_dir
    assert (worktree.root, worktree.branch) == (root.parent / "elsewhere", "feature/x")
    assert worktree.main_folder == root


def test_a_worktree_whose_repository_is_out_of_reach_still_tells_its_name(make_repo: RepoMaker, git: Git) -> None:
    root = make_repo("widgets")
    git(root, "worktree", "add", "-q", "../elsewhere")
    root.rename(root.with_name("moved"))

    worktree = found(root.parent / "elsewhere")
    assert (worktree.root, worktree.main_folder.name, worktree.remote) == (root.parent / "elsewhere", "widgets", None)
    assert names(worktree.warnings) == ["repository_elsewhere"]


def test_a_submodule_is_its_own_repository(make_repo: RepoMaker, git: Git) -> None:
    library, root = make_repo("library"), make_repo("widgets")
    git(root, "submodule", "--quiet", "add", str(library), "libs/lib")
    submodule = found(root / "libs" / "lib")

    assert submodule.root == root / "libs" / "lib"
    assert submodule.common_dir != found(root).common_dir
    assert submodule.remote == str(library)


def test_a_bare_repository_counts_and_so_do_its_worktrees(make_repo: RepoMaker, git: Git) -> None:
    root = make_repo("widgets")
    git(root, "clone", "-q", "--bare", ".", "../store/widgets.git")
    store = root.parent / "store" / "widgets.git"
    git(store, "worktree", "add", "-q", "../checkout", "main")

    assert found(store / "refs").bare
    assert found(store).root == found(store).main_folder == store
    checkout = found(store.parent / "checkout")
    assert (checkout.common_dir, checkout.main_folder, checkout.bare) == (store, store, False)


def test_a_hidden_bare_repository_is_named_after_the_folder_around_it(make_repo: RepoMaker, git: Git) -> None:
    root = make_repo("origin")
    project = root.parent / "widgets"
    git(root, "clone", "-q", "--bare", ".", str(project / ".bare"))
    (project / ".git").write_text("gitdir: ./.bare\n")
    git(project, "worktree", "add", "-q", "main")

    assert found(project).main_folder == found(project / "main").main_folder == project


def test_a_separate_git_directory_is_followed(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "--separate-git-dir", "elsewhere", "widgets")
    repository = found(tmp_path / "widgets")
    assert (repository.git_dir, repository.main_folder) == (tmp_path / "elsewhere", tmp_path / "widgets")


def test_a_detached_head_has_a_commit_and_no_branch(make_repo: RepoMaker, git: Git) -> None:
    root = make_repo("widgets")
    git(root, "checkout", "-q", "--detach")
    assert read_head(found(root)) == (None, git(root, "rev-parse", "HEAD"))


def test_an_unborn_branch_has_no_commit(make_repo: RepoMaker) -> None:
    assert read_head(found(make_repo("widgets", commit=False))) == ("main", None)


def test_packed_refs_are_read(make_repo: RepoMaker, git: Git) -> None:
    root = make_repo("widgets")
    git(root, "branch", "main-2")
    git(root, "tag", "-a", "-m", "x", "v1")
    git(root, "pack-refs", "--all", "--prune")
    assert not (root / ".git/refs/heads/main").exists()
    assert read_head(found(root)) == ("main", git(root, "rev-parse", "HEAD"))


def test_a_ref_cannot_name_a_file_outside_the_git_directory(make_repo: RepoMaker, tmp_path: Path) -> None:
    root = make_repo("widgets")
    (tmp_path / "secret").write_text("c" * 40)
    (root / ".git" / "HEAD").write_text("ref: refs/heads/../../../../secret\n")
    assert read_head(found(root)) == (None, None)


def test_a_symbolic_ref_that_names_itself_ends(make_repo: RepoMaker) -> None:
    root = make_repo("widgets")
    (root / ".git/refs/heads/main").write_text("ref: refs/heads/main\n")
    assert read_head(found(root)) == ("main", None)


def test_a_ref_format_that_only_git_reads_is_left_to_git(
    make_repo: RepoMaker, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    root = make_repo("widgets")
    (root / ".git" / "HEAD").write_text("ref: refs/heads/.invalid\n")
    assert read_head(found(root)) == (None, None)  # real git finds nothing behind it and says so quietly
    (tmp_path / "git").write_text("#!/bin/sh\ncase $* in *symbolic-ref*) echo main;; *) echo abc;; esac\n")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}{os.pathsep}{os.environ['PATH']}")
    assert read_head(found(root)) == ("main", "abc")
    assert read_ref(found(root), "refs/heads/main") == "abc"


def test_a_branch_tells_where_it_was_created(make_repo: RepoMaker, git: Git) -> None:
    root = make_repo("widgets")
    first = git(root, "rev-parse", "HEAD")
    git(root, "checkout", "-q", "-b", "feature/x")
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    assert created_at(found(root), "feature/x") == first
    assert [created_at(found(root), name) for name in ("main", "nothing", "../../../HEAD")] == [None] * 3


def test_conditional_includes_are_followed(make_repo: RepoMaker) -> None:
    root = make_repo("widgets")
    (root.parent / "extra").write_text('[remote "origin"]\n\turl = https://u:tok@example.org/acme/widgets.git\n')
    with (root / ".git" / "config").open("a") as file:
        file.write(f'[includeIf "gitdir:{root.parent}/"]\n\tpath = {root.parent / "extra"}\n')
    assert found(root).remote == "example.org/acme/widgets"


def test_includes_that_go_in_circles_leave_what_the_file_itself_says(make_repo: RepoMaker) -> None:
    root = make_repo("widgets", remote="https://example.org/a/b")
    with (root / ".git" / "config").open("a") as file:
        file.write("[include]\n path = config\n path = missing\n")
    assert found(root).remote == "example.org/a/b"


CONFIGS = [
    pytest.param('[remote "b"]\nurl = h:b\n[remote "a"]\nurl = h:a', "h/a", id="first-alphabetical"),
    pytest.param('[remote "a"]\nurl = h:a\n[remote "origin"]\nurl = h:o\nurl = h:p', "h/o", id="origin-first-url"),
    pytest.param('[remote "origin"]\nfetch = x\n[remote "z"]\nurl = h:z', "h/z", id="origin-without-url"),
    pytest.param('[remote "origin"]\nurl = gh:a/b\n[url "git@h:"]\ninsteadOf = gh:', "h/a/b", id="insteadOf"),
    pytest.param('[remote "origin"]\nurl = h:a\nurl =\nurl = h:b', "h/b", id="empty-forgets"),
    pytest.param('\ufeff[remote "origin"]\nurl = h:a', "h/a", id="byte-order-mark"),
    pytest.param('[Remote "origin"] URL = h:a # behind', "h/a", id="one-line-and-comment"),
    pytest.param("[remote.Origin]\n\turl = h:a", "h/a", id="old-spelling"),
    pytest.param('[remote "origin"]\nurl = "h:a"   ', "h/a", id="quotes"),
    pytest.param(
        '[alias]\nx = "!f() { [remote \\\n[remote \\\n; }; f"\n[remote "o"]\nurl = h:a\\\nb', "h/ab", id="continued"
    ),
    pytest.param("[core]\nbare = false", None, id="none"),
    pytest.param('[remote "origin"\nurl = a\n]]] \x00 "', None, id="garbage"),
]


@pytest.mark.parametrize(("config", "remote"), CONFIGS)
def test_the_remote_is_the_one_that_git_reads(make_repo: RepoMaker, config: str, remote: str | None) -> None:
    root = make_repo("widgets")
    (root / ".git" / "config").write_text(config + "\n")
    assert found(root).remote == remote


def test_a_configuration_as_git_writes_it_is_read_without_git(
    make_repo: RepoMaker, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = make_repo("widgets", remote="https://example.org/a/b")
    git(root, "config", "alias.all", '!f() { git log "$@"; }; f # all')
    git(root, "config", "branch.main.remote", "origin")
    git(root, "config", "remote.origin.promisor", "true")
    monkeypatch.setattr(subprocess, "Popen", None)
    assert found(root).remote == "example.org/a/b"


@pytest.mark.parametrize("variable", ["GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR"])
def test_gits_environment_is_ignored(make_repo: RepoMaker, monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    one, other = make_repo("one"), make_repo("other")
    monkeypatch.setenv(variable, str(other / ".git"))
    assert found(one).root == one


def _file(content: bytes) -> Callable[[Path], object]:
    return lambda marker: marker.write_bytes(content)


def _link(target: str) -> Callable[[Path], object]:
    return lambda marker: marker.symlink_to(target)


def _folder(*parts: str) -> Callable[[Path], object]:
    def make(marker: Path) -> None:
        for part in parts:
            (marker / part).mkdir(parents=True)

    return make


@pytest.mark.parametrize(
    "break_it",
    [
        pytest.param(_file(b""), id="empty"),
        pytest.param(_file(b"\x00\xff garbage"), id="garbage"),
        pytest.param(_file(b"gitdir: /not/there"), id="dangling"),
        pytest.param(_file(b"gitdir: .git"), id="itself"),
        pytest.param(_file(b"gitdir: a\0b"), id="nul"),
        pytest.param(_file(b"gitdir: " + b"x" * 100_000), id="huge"),
        pytest.param(_link(".git"), id="link-to-itself"),
        pytest.param(_link("missing"), id="dangling-link"),
        pytest.param(_folder("objects", "refs"), id="no-head"),
        pytest.param(os.mkfifo, id="fifo"),
    ],
)
def test_a_broken_git_marks_a_root_without_a_remote_and_warns(
    tmp_path: Path, break_it: Callable[[Path], object]
) -> None:
    root = tmp_path / "widgets"
    (root / "sub").mkdir(parents=True)
    break_it(root / ".git")

    repository = found(root / "sub")
    assert (repository.root, repository.remote, repository.branch, repository.commit) == (root, None, None, None)
    assert repository.main_folder == root
    assert len(repository.warnings) == 1


def test_a_git_file_without_its_keyword_leads_nowhere(make_repo: RepoMaker, tmp_path: Path) -> None:
    other = make_repo("other", remote="https://example.org/acme/other")
    (tmp_path / "widgets").mkdir()
    (tmp_path / "widgets" / ".git").write_text(str(other / ".git"))
    assert found(tmp_path / "widgets").remote is None


def test_a_folder_that_is_only_called_git_is_climbed_past(make_repo: RepoMaker) -> None:
    root = make_repo("widgets")
    (root / "sub" / ".git").mkdir(parents=True)
    assert found(root / "sub").root == root


def test_a_fifo_in_place_of_the_configuration_does_not_block(make_repo: RepoMaker) -> None:
    root = make_repo("widgets")
    (root / ".git" / "config").unlink()
    os.mkfifo(root / ".git" / "config")
    assert found(root).remote is None
    assert names(found(root).warnings) == ["remote_unknown"]


def test_a_loop_of_links_in_the_path_ends(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to("b")
    (tmp_path / "b").symlink_to("a")
    assert find_repository(tmp_path / "a" / "c") is None
