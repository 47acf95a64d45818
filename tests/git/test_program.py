"""Asking the git program without being held up, led astray, or made to run anything else."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from engram_py.git.program import Deadline, ask_git
from tests.git.conftest import Git


@pytest.fixture
def root(tmp_path: Path, git: Git) -> Path:
    root = tmp_path / "repo"
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    return root


def stand_in(folder: Path, monkeypatch: pytest.MonkeyPatch, script: str) -> None:
    """A program called git, before the real one."""
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\n{script}\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")


def test_git_answers(root: Path, git: Git) -> None:
    assert ask_git(root, "rev-parse", "HEAD", deadline=Deadline()) == (
        git(root, "rev-parse", "HEAD").encode() + b"\n",
        True,
    )


def test_a_question_it_refuses_and_a_folder_that_is_gone_have_no_answer(root: Path, tmp_path: Path) -> None:
    assert ask_git(root, "rev-parse", "no-such-thing", deadline=Deadline()) is None
    assert ask_git(tmp_path / "gone", "rev-parse", "HEAD", deadline=Deadline()) is None


def test_an_answer_is_cut_at_the_limit(root: Path) -> None:
    answer = ask_git(root, "help", "-a", limit=10, deadline=Deadline(30))
    assert answer is not None
    assert (len(answer[0]), answer[1]) == (10, False)


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
@pytest.mark.parametrize("script", ["exec sleep 600", "while :; do :; done", "exec cat /dev/zero > /dev/null"])
def test_a_git_that_does_not_end_is_ended(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, script: str
) -> None:
    stand_in(tmp_path / "bin", monkeypatch, script)
    assert ask_git(root, "log", deadline=Deadline(0.1)) is None


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_git_that_reads_nothing_does_not_hold_up_who_writes_to_it(
    root: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    stand_in(tmp_path / "bin", monkeypatch, "exec sleep 600")
    assert ask_git(root, "x", given=["0" * 1_000] * 1_000, deadline=Deadline(0.1)) is None


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_git_inside_the_repository_is_not_run(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in(root / "bin", monkeypatch, "echo ran")
    assert ask_git(root, "x", deadline=Deadline()) is None


def test_without_time_nothing_is_asked(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("subprocess.Popen", None)
    assert ask_git(root, "rev-parse", "HEAD", deadline=Deadline(0)) is None


def test_the_variables_of_a_hook_do_not_lead_to_another_repository(
    root: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    head = git(root, "rev-parse", "HEAD")
    other = tmp_path / "other"
    other.mkdir()
    git(other, "init", "-q")
    monkeypatch.setenv("GIT_DIR", str(other / ".git"))
    monkeypatch.setenv("GIT_WORK_TREE", str(other))
    assert ask_git(root, "rev-parse", "HEAD", deadline=Deadline()) == (f"{head}\n".encode(), True)


def test_a_damaged_repository_inside_another_is_not_answered_for_by_that(root: Path) -> None:
    (root / "inner" / ".git").mkdir(parents=True)
    (root / "inner" / ".git" / "config").write_text("")
    assert ask_git(root / "inner", "rev-parse", "HEAD", deadline=Deadline()) is None


@pytest.mark.skipif(os.name == "nt", reason="the transport is a shell command")
def test_a_partial_clone_does_not_fetch_what_it_lacks(root: Path, git: Git, tmp_path: Path) -> None:
    git(root, "config", "remote.origin.url", f"ext::sh -c touch% {tmp_path}/ran")
    git(root, "config", "remote.origin.promisor", "true")
    git(root, "config", "protocol.ext.allow", "always")
    git(root, "config", "extensions.partialClone", "origin")
    git(root, "config", "core.repositoryFormatVersion", "1")
    ask_git(root, "cat-file", "-p", "ab" * 20, deadline=Deadline(30))
    ask_git(root, "cat-file", "--batch-check", given=["ab" * 20], deadline=Deadline(30))
    assert not (tmp_path / "ran").exists()
