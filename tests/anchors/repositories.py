"""Files with text worth anchoring, and one memory about them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from engram_py import Draft, Engram
from engram_py.anchors.values import AnchorState
from engram_py.observations.values import Saved

if TYPE_CHECKING:
    from tests.memory import Git

AUTH = "src/auth.py"


def lines(name: str, count: int = 40) -> list[str]:
    """Lines no two of which are the same, anywhere."""
    return [f"{name}_{number} = compute_{name}({number * 7919 % 99991})" for number in range(1, count + 1)]


def write(root: Path, path: str, text: list[str]) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("".join(f"{line}\n" for line in text), encoding="utf-8")
    return file


def commit(git: Git, root: Path, message: str, *, by: str = "Ada") -> str:
    """Commit everything; the commit's id."""
    git(root, "add", "-A")
    git(root, "-c", f"user.name={by}", "commit", "-q", "--allow-empty", f"--author={by} <a@b.c>", "-m", message)
    return git(root, "rev-parse", "HEAD")


def about(app: Engram, *files: str, title: str = "About some code") -> Saved:
    """A memory about files."""
    return app.save(Draft(title, f"{title}: what was learned of {len(files)} file(s)", files=files))


def state(app: Engram, saved: Saved) -> AnchorState:
    """The state of a memory's only anchor."""
    [found] = states(app, saved)
    return found


def states(app: Engram, saved: Saved) -> tuple[AnchorState, ...]:
    return app.anchors.states([app.get(saved.id).observation]).get(saved.id, ())
