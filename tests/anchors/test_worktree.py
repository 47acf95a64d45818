"""Reading a file of a working tree by a path that anybody may have written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram_py.anchors.worktree import MAX_FILE, Content, Unread, is_relative, read_file, slashed


def why(root: Path, path: str) -> str:
    found = read_file(root, path)
    assert isinstance(found, Unread)
    return found.reason


@pytest.mark.parametrize(
    "path",
    ["../outside.py", "a/../../outside.py", "/etc/passwd", "..", "C:/x.py", "a\0b", "a\nb", "a\udc80", "x" * 2_000],
)
def test_a_path_that_leads_out_or_is_none_is_not_read(tmp_path: Path, path: str) -> None:
    (tmp_path / "root").mkdir()
    (tmp_path / "outside.py").write_text("secret")
    assert not is_relative(path)
    assert why(tmp_path / "root", path) == "outside the repository"


@pytest.mark.skipif(os.name == "nt", reason="symlinks")
def test_a_symlink_is_followed_as_far_as_the_root(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "sub").mkdir(parents=True)
    (root / "sub" / "real.py").write_text("inside")
    (tmp_path / "outside.py").write_text("secret")
    (root / "in.py").symlink_to("sub/real.py")
    (root / "out.py").symlink_to("../outside.py")
    (root / "folder").symlink_to(tmp_path)
    assert getattr(read_file(root, "in.py"), "data", b"") == b"inside"
    assert why(root, "out.py") == why(root, "folder/outside.py") == "outside the repository"


def test_a_file_up_to_the_limit_is_read_and_no_larger_one(tmp_path: Path) -> None:
    (tmp_path / "fits").write_bytes(b"x" * MAX_FILE)
    (tmp_path / "large").write_bytes(b"x" * (MAX_FILE + 1))
    assert isinstance(read_file(tmp_path, "fits"), Content)
    assert why(tmp_path, "large") == "larger than 512 KB"


def test_only_a_missing_file_counts_as_missing(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    for path in ("nothing", "file/below"):
        assert read_file(tmp_path, path) == Unread("no such file", missing=True)
    assert read_file(tmp_path, "") == Unread("a directory")


@pytest.mark.skipif(not hasattr(os, "geteuid") or os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_not_missing(tmp_path: Path) -> None:
    (tmp_path / "closed").write_text("x")
    (tmp_path / "closed").chmod(0)
    assert read_file(tmp_path, "closed") == Unread("permission denied")


def test_git_names_a_file_by_its_text_with_the_line_ends_it_keeps() -> None:
    empty = Content(b"").blobs(sha256=False)
    assert empty == ("e69de29bb2d1d6434b8b29ae775ad8c2e48c5391",)
    assert Content(b"a\r\nb\r\n").blobs(sha256=False)[1] == Content(b"a\nb\n").blobs(sha256=False)[0]


@pytest.mark.parametrize(
    ("name", "path"),
    [(" ./a/b.py ", "a/b.py"), ("a\\b.py", "a/b.py"), ("././/a.py", "a.py"), ("file:///a.py", "/a.py"), (".", ".")],
)
def test_paths_are_written_with_slashes(name: str, path: str) -> None:
    assert slashed(name) == path
