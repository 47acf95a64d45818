"""Real git repositories, untouched by whatever this machine's git is configured to do."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

Git = Callable[..., str]
MakeRepo = Callable[..., Path]

ENVIRONMENT = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "Ada",
    "GIT_AUTHOR_EMAIL": "ada@example.org",
    "GIT_COMMITTER_NAME": "Ada",
    "GIT_COMMITTER_EMAIL": "ada@example.org",
}


@pytest.fixture(autouse=True)
def git_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [name for name in os.environ if name.startswith("GIT_")]:
        monkeypatch.delenv(name)
    for name, value in ENVIRONMENT.items():
        monkeypatch.setenv(name, value)


@pytest.fixture
def git() -> Git:
    def run(folder: Path, *arguments: str, given: str | None = None) -> str:
        command = ["git", "-c", "protocol.file.allow=always", *arguments]
        done = subprocess.run(command, cwd=folder, input=given, check=True, capture_output=True, text=True)
        return done.stdout.strip()

    return run


@pytest.fixture
def make_repo(tmp_path: Path, git: Git) -> Callable[..., Path]:
    """A repository with one commit on ``main``, below ``tmp_path``."""

    def make(name: str, *, remote: str | None = None, commit: bool = True) -> Path:
        root = tmp_path / name
        root.mkdir(parents=True)
        git(root, "init", "-q", "-b", "main")
        if commit:
            git(root, "commit", "-q", "--allow-empty", "-m", "first")
        if remote:
            git(root, "remote", "add", "origin", remote)
        return root

    return make
