"""Files with text worth anchoring, and one memory about them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engram_py import Draft, Engram
from engram_py.memory.anchors import table
from engram_py.memory.anchors.values import Anchor, AnchorState, Visibility
from engram_py.memory.observations.values import Saved

if TYPE_CHECKING:
    from tests.support import Git

AUTH = "src/auth.py"
WHERE = "**What**: a race\n**Where**: `src/auth.py:10-20`, src/login.py\n**Learned**: lock first"
IN_HISTORY = Visibility("in_history")


def lines(name: str, count: int = 40) -> list[str]:
    """Lines no two of which are the same, anywhere."""
    return [f"{name}_{number} = compute_{name}({number * 7919 % 99991})" for number in range(1, count + 1)]


def write(root: Path, path: str, text: list[str]) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return file


@dataclass(frozen=True)
class Repo:
    """A repository and git in it. What commits gives the commit's id."""

    root: Path
    run: Git

    def git(self, *arguments: str) -> str:
        return self.run(self.root, *arguments)

    def at(self, root: Path) -> Repo:
        """The same git in another folder."""
        return replace(self, root=root)

    def write(self, path: str, text: list[str]) -> Path:
        return write(self.root, path, text)

    def commit(self, message: str, files: Mapping[str, list[str]] | None = None, *, by: str = "Ada") -> str:
        """Write these files and commit everything."""
        for path, text in (files or {}).items():
            self.write(path, text)
        self.git("add", "-A")
        self.git("-c", f"user.name={by}", "commit", "-q", "--allow-empty", f"--author={by} <a@b.c>", "-m", message)
        return self.git("rev-parse", "HEAD")

    def rename(self, old: str, new: str, *, by: str = "Ada") -> str:
        """Commit a file or folder under another name."""
        (self.root / new).parent.mkdir(parents=True, exist_ok=True)
        self.git("mv", old, new)
        return self.commit("rename", by=by)

    def delete(self, path: str, *, by: str = "Ada") -> str:
        """Commit that a file is gone."""
        (self.root / path).unlink()
        return self.commit("delete", by=by)

    def squash(self, branch: str, *, keep: bool = False) -> None:
        """Commit what a branch changed, and delete the branch."""
        self.git("merge", "-q", "--squash", branch)
        self.commit("squashed")
        if not keep:
            self.git("branch", "-q", "-D", branch)

    def collect(self) -> None:
        """Forget what no branch leads to."""
        self.git("reflog", "expire", "--expire=now", "--all")
        self.git("gc", "-q", "--prune=now")


@pytest.fixture
def repo(root: Path, git: Git) -> Repo:
    return Repo(root, git)


def about(app: Engram, *files: str, title: str = "About some code") -> Saved:
    """A memory about files."""
    return app.save(Draft(title, f"{title}: what was learned of {len(files)} file(s)", files=files))


def state(app: Engram, saved: Saved) -> AnchorState:
    """The state of a memory's only anchor."""
    [found] = states(app, saved)
    return found


def states(app: Engram, saved: Saved) -> tuple[AnchorState, ...]:
    return app.anchors.states([app.get(saved.id).observation]).get(saved.id, ())


def facts(found: AnchorState) -> tuple[str, str | None, int | None, int | None]:
    return found.state, found.now_path, found.now_start, found.now_end


def blame(found: AnchorState) -> tuple[str, int | None, str | None, bool]:
    return found.state, found.commits_ago, found.author, found.uncommitted


def without_git(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))


def remember(app: Engram, title: str = "Here", *files: str) -> Saved:
    return app.save(Draft(title, f"{title}, at this commit", files=files))


def seen(app: Engram, saved: Saved) -> Visibility:
    return app.anchors.visibility([app.get(saved.id).observation])[saved.id]


def kept(app: Engram, saved: Saved) -> tuple[Anchor, ...]:
    return table.of_observations(app.store, [saved.id]).get(saved.id, ())


def places(app: Engram, saved: Saved) -> list[tuple[str, int | None, int | None, str]]:
    return [(one.path, one.start_line, one.end_line, one.origin) for one in kept(app, saved)]


def on_branch(app: Engram, repo: Repo, *files: str) -> Saved:
    """A memory of a commit on branch ``topic``, which changed the file; then back to ``main``."""
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("on the branch", {AUTH: ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")]})
    saved = remember(app, "On the branch", *files)
    repo.git("checkout", "-q", "main")
    return saved


@pytest.fixture
def saved(here: Engram) -> Saved:
    """A memory about lines 10 to 20."""
    return about(here, f"{AUTH}:10-20")
