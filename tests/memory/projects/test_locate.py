"""A directory leads to one project or is refused; worktrees and clones are one."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.memory.projects.locate import Location, Locator, locate
from tests.support import Git, names

MakeRepo = Callable[..., Path]


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("TMPDIR", raising=False)
    return folder


def brief(location: Location) -> tuple[str, str | None]:
    return location.source, location.name


def test_a_remote_names_the_project_and_offers_longer_names_and_without_one_its_folder_does(
    make_repo: MakeRepo,
) -> None:
    root = make_repo("My Widgets")
    (root / "sub").mkdir()
    assert brief(locate(root / "sub")) == ("git_root", "my widgets")
    location = locate(make_repo("checkout", remote="git@github.com:Acme/Widgets.git"))
    assert brief(location) == ("git_remote", "widgets")
    assert location.fallback_names == ("acme-widgets", "github.com-acme-widgets")


def test_a_settings_file_comes_before_git(make_repo: MakeRepo) -> None:
    root = make_repo("checkout", remote="https://example.org/acme/gadgets")
    (root / "sub").mkdir()
    (root / ".engram.json").write_text('{"project": "Widgets", "colour": 1}')

    location = locate(root / "sub")
    assert brief(location) == ("config", "widgets")
    assert location.settings.path == root / ".engram.json"
    assert location.repository is not None
    assert len(location.warnings) == 1


def test_a_hostile_settings_file_cannot_name_a_path(make_repo: MakeRepo) -> None:
    root = make_repo("widgets")
    (root / ".engram.json").write_text(json.dumps({"project": "../../etc", "database": "/tmp/x"}))
    location = locate(root)
    assert brief(location) == ("git_root", "widgets")
    assert len(location.warnings) == 2


def test_a_bare_repository_is_named_without_git(tmp_path: Path, git: Git) -> None:
    git(tmp_path, "init", "-q", "--bare", "Widgets.git")
    assert brief(locate(tmp_path / "Widgets.git")) == ("git_root", "widgets")


def test_a_single_child_repository_is_the_project(make_repo: MakeRepo) -> None:
    root = make_repo("work/widgets", remote="https://example.org/acme/gadgets")
    for other in ("notes", "node_modules/x/.git", ".hidden/.git", "vendor/.git"):
        (root.parent / other).mkdir(parents=True)

    location = locate(root.parent)
    assert brief(location) == ("git_child", "gadgets")
    assert location.repository is not None
    assert location.repository.root == root
    assert names(location.warnings) == ["one_repository"]


def test_several_child_repositories_are_ambiguous_and_all_are_offered(make_repo: MakeRepo) -> None:
    make_repo("work/zebra")
    make_repo("work/checkout", remote="https://example.org/acme/gadgets")
    configured = make_repo("work/third")
    (configured / ".engram.json").write_text('{"project": "widgets"}')

    location = locate(configured.parent)
    assert brief(location) == ("ambiguous", None)
    assert location.candidates == ("gadgets", "widgets", "zebra")
    assert location.repository is None


def test_children_of_the_same_name_are_told_apart(make_repo: MakeRepo) -> None:
    work = make_repo("work/a", remote="https://example.org/acme/api").parent
    make_repo("work/b", remote="https://example.org/other/api")
    assert locate(work).candidates == ("api", "other-api")


def test_checkouts_of_one_repository_side_by_side_are_one_project(make_repo: MakeRepo, git: Git) -> None:
    root = make_repo("work/widgets")
    git(root, "worktree", "add", "-q", "-b", "x", "../feature")
    assert brief(locate(root.parent)) == ("git_child", "widgets")


def test_ignored_children_are_not_offered(make_repo: MakeRepo) -> None:
    work = make_repo("work/widgets").parent
    make_repo("work/fork-one")
    make_repo("work/fork-two")
    (work / ".engram.json").write_text('{"ignore": ["fork-*/"]}')
    assert brief(locate(work)) == ("git_child", "widgets")


def test_a_scan_cut_short_says_so_and_does_not_guess(make_repo: MakeRepo) -> None:
    work = make_repo("work/widgets").parent
    ticks: Iterator[float] = iter([0.0, 0.0] + [1.0] * 50)  # the start, the one entry, then too late
    location = locate(work, clock=lambda: next(ticks))
    assert (brief(location), location.candidates) == (("ambiguous", None), ("widgets",))
    assert names(location.warnings) == ["too_many_children"]


def test_outside_git_the_folder_names_the_project(tmp_path: Path) -> None:
    (tmp_path / "Some  Notes").mkdir()
    (tmp_path / ".engram.json").write_text('{"project": "above"}')
    assert brief(locate(tmp_path / "Some  Notes")) == ("dir_basename", "some  notes")


def test_home_is_never_a_project(home: Path, git: Git, make_repo: MakeRepo) -> None:
    assert brief(locate(home)) == ("none", None)
    make_repo("home/widgets")
    assert (brief(locate(home)), locate(home).candidates) == (("none", None), ("widgets",))
    make_repo("home/gadgets")
    assert (brief(locate(home)), locate(home).candidates) == (("none", None), ("gadgets", "widgets"))


def test_a_repository_at_home_needs_a_name_of_its_own(home: Path, git: Git) -> None:
    git(home, "init", "-q")
    (home / "notes").mkdir()
    assert brief(locate(home)) == ("none", None)
    assert brief(locate(home / "notes")) == ("dir_basename", "notes")

    git(home, "remote", "add", "origin", "https://example.org/ada/dotfiles")
    assert brief(locate(home)) == ("git_remote", "dotfiles")
    (home / ".engram.json").write_text('{"project": "everything"}')
    assert brief(locate(home)) == ("config", "everything")


def test_roots_and_shared_folders_are_never_projects(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert locate(Path("/")).name is None
    assert locate(Path("/tmp")).name is None
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    assert locate(tmp_path).name is None


def test_a_path_that_is_gone_or_a_file_or_a_symlink_leads_to_a_folder(make_repo: MakeRepo, tmp_path: Path) -> None:
    root = make_repo("widgets")
    location = locate(root / "not" / "there")
    assert brief(location) == ("git_root", "widgets")
    assert location.directory == root
    assert names(location.warnings) == ["folder_gone"]
    (root / "README.md").write_text("")
    assert (locate(root / "README.md").directory, locate(root / "README.md").warnings) == (root, ())
    (tmp_path / "link").symlink_to(root)
    assert locate(tmp_path / "link").directory == root
    (tmp_path / "loop").symlink_to("loop")
    assert locate(tmp_path / "loop").directory == tmp_path


def test_no_field_ever_holds_a_credential(make_repo: MakeRepo, git: Git) -> None:
    root = make_repo("widgets", remote="https://ada:ghp_SECRET@github.com/acme/widgets.git?token=SECRET")
    with_ssh = make_repo("other", remote="ssh://SECRET@example.org/acme/widgets")
    assert "SECRET" not in repr((locate(root), locate(with_ssh), locate(root.parent)))
    assert "secret" not in repr((locate(root), locate(with_ssh), locate(root.parent))).lower()


@given(st.text(max_size=60))
def test_any_path_is_located(text: str) -> None:
    location = locate(Path("/nowhere") / text)
    assert (location.name is None) == (location.source in {"none", "ambiguous"})


def test_the_locator_sees_another_branch_at_once_and_another_remote_soon(make_repo: MakeRepo, git: Git) -> None:
    root = make_repo("widgets")
    now = [100.0]
    locator = Locator(clock=lambda: now[0])
    assert locator.locate(root) == locate(root)

    git(root, "checkout", "-q", "-b", "feature")
    git(root, "commit", "-q", "--allow-empty", "-m", "second")
    git(root, "remote", "add", "origin", "https://example.org/acme/gadgets")
    repository = locator.locate(root).repository
    assert repository is not None
    assert (repository.branch, repository.commit) == ("feature", git(root, "rev-parse", "HEAD"))
    assert locator.locate(root).name == "widgets"

    now[0] += 2.0
    assert locator.locate(root).name == "gadgets"


def test_an_ordinary_repository_is_located_within_the_budget(make_repo: MakeRepo) -> None:
    root = make_repo("widgets", remote="git@github.com:acme/widgets.git")
    (root / "a" / "b" / "c").mkdir(parents=True)
    times = []
    for _ in range(20):
        start = time.perf_counter()
        locate(root / "a" / "b" / "c")
        times.append(time.perf_counter() - start)
    assert min(times) < 0.010


def test_locating_imports_neither_pydantic_nor_gitpython(make_repo: MakeRepo) -> None:
    root = make_repo("widgets", remote="git@github.com:acme/widgets.git")
    code = (
        "import sys; from pathlib import Path; from engram_py.memory.projects.locate import locate;"
        f"assert locate(Path({str(root)!r})).name == 'widgets';"
        "print(sorted({'git', 'pydantic', 'subprocess', 'tempfile', 'asyncio'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_repositories_that_could_not_be_asked_in_time_are_offered_by_folder(make_repo: MakeRepo) -> None:
    work = make_repo("work/a", remote="https://example.org/acme/gadgets").parent
    make_repo("work/b", remote="https://example.org/acme/widgets")
    ticks: Iterator[float] = iter([0.0] * 4 + [1.0] * 50)  # start, two entries, the first name

    location = locate(work, clock=lambda: next(ticks))
    assert location.candidates == ("b", "gadgets")
    assert names(location.warnings) == ["too_many_children"]
