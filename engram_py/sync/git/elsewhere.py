"""Where git has the chunks: on another branch than the one checked out, or in no commit yet."""

from __future__ import annotations

from pathlib import Path

from engram_py.git.program import Deadline, ask_git
from engram_py.sync.git.folder import NAME, PLAIN, SEALED, SIGNATURE
from engram_py.sync.git.values import Uncommitted

_SECONDS = 10.0
_MOST_BRANCHES = 200


def on_other_branches(root: Path) -> set[str]:
    """The names of the chunks that other branches have, local or fetched, and this one has not.

    A chunk that this branch has, and its folder has not, was removed here. Empty when git does not answer.
    """
    patience = Deadline(_SECONDS)
    own = _chunks(root, "HEAD", patience)
    newest = ("--sort=-committerdate", f"--count={_MOST_BRANCHES}", "--format=%(objectname)")
    asked = ask_git(root, "for-each-ref", *newest, "refs/heads", "refs/remotes", patience=patience)
    tips = dict.fromkeys(asked[0].decode("ascii", "replace").split()) if asked else {}
    others: set[str] = set()
    for tip in tips:
        others |= _chunks(root, tip, patience)
    return others - own


def uncommitted(root: Path) -> Uncommitted:
    """The chunks, each with its signature, that the next commit would still have to take. None where git does not say.

    Those that git ignores are asked for by name: ``git add`` passes over them in silence.
    """
    wanted = ("--porcelain", "-z", "--no-renames", "--untracked-files=all", "--ignored=traditional")
    asked = ask_git(root, "status", *wanted, "--", f"{NAME}/chunks", patience=Deadline(_SECONDS))
    found: dict[str, bool] = {}
    for line in asked[0].decode("utf-8", "replace").split("\0") if asked else ():
        state, file = line[:2], line[3:].rpartition("/")[2]
        for ending in (PLAIN, SEALED, SIGNATURE):
            if file.endswith(ending) and "D" not in state:
                name = file.removesuffix(ending)
                found[name] = found.get(name, False) or state == "!!"
    return Uncommitted(len(found), sum(found.values()))


def _chunks(root: Path, commit: str, patience: Deadline) -> set[str]:
    asked = ask_git(root, "ls-tree", "-z", "--name-only", commit, f"{NAME}/chunks/", patience=patience)
    names = asked[0].decode("utf-8", "replace").split("\0") if asked else []
    files = (name.rpartition("/")[2] for name in names)
    return {file.removesuffix(ending) for file in files for ending in (PLAIN, SEALED) if file.endswith(ending)}
