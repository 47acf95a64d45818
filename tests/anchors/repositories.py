"""Files with text worth anchoring, and one memory about them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from engram_py import Draft, Engram
from engram_py.anchors import table
from engram_py.anchors.values import Anchor, AnchorState, Visibility
from engram_py.observations.values import Saved

if TYPE_CHECKING:
    from tests.memory import Git

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


def commit(git: Git, root: Path, message: str, files: Mapping[str, list[str]] | None = None, *, by: str = "Ada") -> str:
    """Write these files and commit everything; the commit's id."""
    for path, text in (files or {}).items():
        write(root, path, text)
    git(root, "add", "-A")
    git(root, "-c", f"user.name={by}", "commit", "-q", "--allow-empty", f"--author={by} <a@b.c>", "-m", message)
    return git(root, "rev-parse", "HEAD")


def rename(git: Git, root: Path, old: str, new: str, *, by: str = "Ada") -> str:
    """Commit a file or folder under another name; the commit's id."""
    (root / new).parent.mkdir(parents=True, exist_ok=True)
    git(root, "mv", old, new)
    return commit(git, root, "rename", by=by)


def delete(git: Git, root: Path, path: str, *, by: str = "Ada") -> str:
    """Commit that a file is gone; the commit's id."""
    (root / path).unlink()
    return commit(git, root, "delete", by=by)


def squash(git: Git, root: Path, branch: str, *, keep: bool = False) -> None:
    """Commit what a branch changed, and delete the branch."""
    git(root, "merge", "-q", "--squash", branch)
    commit(git, root, "squashed")
    if not keep:
        git(root, "branch", "-q", "-D", branch)


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


def on_branch(app: Engram, root: Path, git: Git, *files: str) -> Saved:
    """A memory of a commit on branch ``topic``, which changed the file; then back to ``main``."""
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "on the branch", {AUTH: ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")]})
    saved = remember(app, "On the branch", *files)
    git(root, "checkout", "-q", "main")
    return saved


def collect(git: Git, root: Path) -> None:
    """Have git forget what no branch leads to."""
    git(root, "reflog", "expire", "--expire=now", "--all")
    git(root, "gc", "-q", "--prune=now")


def kept(app: Engram, saved: Saved) -> tuple[Anchor, ...]:
    return table.of_observations(app.store, [saved.id]).get(saved.id, ())


def places(app: Engram, saved: Saved) -> list[tuple[str, int | None, int | None, str]]:
    return [(one.path, one.start_line, one.end_line, one.origin) for one in kept(app, saved)]
