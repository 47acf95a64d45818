"""The files that git tracks, in every format an index has."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py.git.answers import TrackedFiles, tracked_files
from engram_py.git.repository import find_repository
from tests.git.conftest import Git, MakeRepo

NAMES = ["a.py", "b/a.py", "b/c/a.py", "b/xa.py", "ü/日本.py", "with blank.py", "tab\ta.py", f"deep/{'x' * 200}/a.py"]


@pytest.fixture(params=["sha1", "sha256", "version 4", "split"])
def root(request: pytest.FixtureRequest, tmp_path: Path, git: Git) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", f"--object-format={'sha256' if request.param == 'sha256' else 'sha1'}")
    for number, name in enumerate(NAMES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"text {number % 4}\n")
    git(root, "add", "-A")
    if request.param == "version 4":
        git(root, "update-index", "--index-version", "4")
    if request.param == "split":
        git(root, "update-index", "--split-index")
    return root


def tracked(root: Path) -> TrackedFiles:
    repository = find_repository(root)
    found = tracked_files(repository) if repository else None
    assert found is not None
    return found


def blobs(root: Path, git: Git) -> dict[str, str]:
    return {name: git(root, "rev-parse", f":{name}") for name in NAMES}


def test_files_and_blobs_are_found_as_git_names_them(root: Path, git: Git) -> None:
    files, expected = tracked(root), blobs(root, git)
    assert {name: getattr(files.get(name), "blob", None) for name in expected} == expected
    for blob in set(expected.values()):
        assert {one.path for one in files.with_blob(blob)} == {name for name in NAMES if expected[name] == blob}
    assert {one.path for one in files.ending_in("a.py")} == {name for name in NAMES if name.endswith("/a.py")}


def test_what_is_not_tracked_is_not_found(root: Path) -> None:
    files = tracked(root)
    assert [files.get(name) for name in ("py", "", "c/a.py", "a.py2", "xa.py", "b", "\udc80")] == [None] * 7
    assert [*files.with_blob("0" * 40), *files.ending_in("nothing.py")] == []


def test_what_is_added_later_is_found(root: Path, git: Git) -> None:
    assert tracked(root).get("later.py") is None
    (root / "later.py").write_text("not yet\n")
    git(root, "add", "--intent-to-add", "later.py")
    assert tracked(root).get("later.py")


def test_a_file_in_conflict_has_no_one_blob(root: Path, git: Git) -> None:
    one, other = (git(root, "rev-parse", f":{name}") for name in NAMES[:2])
    stages = f"0 {'0' * len(one)}\ta.py\n100644 {one} 2\ta.py\n100644 {other} 3\ta.py\n"
    git(root, "update-index", "--index-info", given=stages)
    assert tracked(root).get("a.py") is None


def test_submodules_are_told_from_files(make_repo: MakeRepo, git: Git) -> None:
    library, root = make_repo("library"), make_repo("widgets")
    git(root, "submodule", "--quiet", "add", str(library), "libs/lib")
    assert tracked(root).submodules == ["libs/lib"]
    assert tracked(root).get("libs/lib") is None


@pytest.mark.parametrize("data", [None, b"", b"DIRC", b"garbage" * 100])
def test_without_an_index_that_git_reads_nothing_is_listed(make_repo: MakeRepo, data: bytes | None) -> None:
    root = make_repo("widgets")
    if data is None:
        (root / ".git/index").unlink(missing_ok=True)
    else:
        (root / ".git/index").write_bytes(data)
    repository = find_repository(root)
    assert repository is not None
    files = tracked_files(repository)
    assert files is None or files.get("a.py") is None


@pytest.mark.parametrize("folders", ["--sparse-index", "--no-sparse-index"])
def test_what_a_sparse_checkout_leaves_out_is_skipped(root: Path, git: Git, folders: str) -> None:
    git(root, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "all")

    def skipped() -> list[str]:
        files = tracked(root)
        return [name for name in NAMES if (file := files.get(name)) is not None and file.skipped]

    assert skipped() == []
    git(root, "sparse-checkout", "set", "--cone", folders, "b/c")
    assert skipped() == [name for name in NAMES if not (root / name).exists()]
    assert skipped()
