"""Looking single files up in the index, against `git ls-files`."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py.git.index_file import GitIndex, load_index
from tests.git.conftest import Git

NAMES = ["a.py", "b/a.py", "b/c/a.py", "b/xa.py", "ü/日本.py", "with blank.py", f"deep/{'x' * 200}/a.py", "x" * 250]


@pytest.fixture(params=["sha1", "sha256"])
def root(request: pytest.FixtureRequest, tmp_path: Path, git: Git) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", f"--object-format={request.param}")
    for number, name in enumerate(NAMES):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"text {number % 4}\n")
    git(root, "add", "-A")
    git(root, "update-index", "--force-write-index")
    return root


def index_of(root: Path, git: Git) -> GitIndex:
    sha256 = git(root, "rev-parse", "--show-object-format") == "sha256"
    found = load_index(root / ".git", sha256=sha256)
    assert found is not None
    return found


def listed(root: Path, git: Git) -> dict[str, str]:
    lines = git(root, "-c", "core.quotePath=false", "ls-files", "-s").splitlines()
    return {line.split("\t")[1]: line.split()[1] for line in lines}


def test_files_and_blobs_are_found_as_git_lists_them(root: Path, git: Git) -> None:
    index, expected = index_of(root, git), listed(root, git)
    assert set(expected) == set(NAMES)
    assert {name: index.blob_of(name) for name in expected} == expected
    for blob in set(expected.values()):
        same = sorted(name for name, one in expected.items() if one == blob)
        assert sorted(index.paths_of(blob, most=9)) == same
        assert len(index.paths_of(blob, most=1)) == 1
    assert sorted(index.ending_in("a.py", most=9)) == sorted(name for name in NAMES if name.endswith("/a.py"))


def test_what_is_not_tracked_is_not_found(root: Path, git: Git) -> None:
    index = index_of(root, git)
    assert [index.blob_of(name) for name in ("py", "", "c/a.py", "a.py2", "xa.py", "\udc80")] == [None] * 6
    assert index.paths_of("0" * 40, most=9) == []
    assert index.ending_in("nothing.py", most=9) == []


def test_a_file_marked_intent_to_add_stands_in_an_extended_entry(root: Path, git: Git) -> None:
    (root / "later.py").write_text("not yet\n")
    git(root, "add", "--intent-to-add", "later.py")
    index = index_of(root, git)
    assert index.blob_of("later.py") == listed(root, git)["later.py"]
    assert index.ending_in("a.py", most=9)


def test_an_index_that_shares_prefixes_is_not_read(root: Path, git: Git) -> None:
    git(root, "update-index", "--index-version", "4")
    assert load_index(root / ".git") is None


@pytest.mark.parametrize("data", [b"", b"DIRC", b"DIRC\0\0\0\2" + b"\0" * 100, b"garbage" * 100])
def test_a_damaged_index_holds_nothing(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "index").write_bytes(data)
    index = load_index(tmp_path)
    assert index is None or index.blob_of("a.py") is None


def test_without_an_index_there_is_none(tmp_path: Path) -> None:
    assert load_index(tmp_path) is None


@given(st.binary(max_size=400), st.sampled_from([b"a.py\0", b"/a.py\0", b"\x11" * 20, b""]), st.binary(max_size=50))
def test_any_bytes_are_searched_without_an_error(before: bytes, middle: bytes, after: bytes) -> None:
    index = GitIndex(b"DIRC\0\0\0\2" + before + middle + after)
    index.blob_of("a.py")
    index.paths_of("11" * 20, most=5)
    index.ending_in("a.py", most=5)


@pytest.mark.parametrize("folders", ["--sparse-index", "--no-sparse-index"])
def test_what_a_sparse_checkout_leaves_out_is_what_git_says_it_skips(root: Path, git: Git, folders: str) -> None:
    git(root, "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-q", "-m", "all")
    assert [name for name in NAMES if index_of(root, git).skips(name)] == []

    git(root, "sparse-checkout", "set", "--cone", folders, "b/c")
    index = index_of(root, git)
    skipped = [
        line[2:] for line in git(root, "-c", "core.quotePath=false", "ls-files", "-t").splitlines() if line[0] == "S"
    ]
    assert len(skipped) == 2
    assert sorted(name for name in NAMES if index.skips(name)) == sorted(skipped)
    assert not index.skips("nothing.py")
