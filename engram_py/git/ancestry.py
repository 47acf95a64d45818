"""Which commits HEAD's history holds, asked of git once for all of them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Literal

from engram_py.files import exists
from engram_py.git.program import Deadline, ask_git
from engram_py.git.refs import REFTABLE, read_ref, symbolic_head
from engram_py.git.repository import Repository

Ancestry = Literal["ancestor", "other", "missing"]

_COMMIT = re.compile(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_REMOTES = 16


def ancestry(repository: Repository, head: str, commits: Sequence[str], patience: Deadline) -> dict[str, Ancestry]:
    """For each commit: whether ``head`` descends from it, it is somewhere else, or this repository lacks it.

    What git could not be asked about is left out.
    """
    wanted = list(dict.fromkeys(filter(is_commit, commits)))
    present = _present(repository, wanted, patience)
    if present is None:
        return {}
    found: dict[str, Ancestry] = {one: "missing" for one in wanted if one not in present}
    if not present:
        return found
    # What is reachable from them and not from HEAD: an ancestor of HEAD is not among it.
    answer = ask_git(repository.root, "rev-list", "--stdin", given=[*present, f"^{head}"], patience=patience)
    if answer is None or not answer[1]:
        return found
    outside = set(answer[0].decode("ascii", "replace").split())
    return found | {one: "other" if one in outside else "ancestor" for one in present}


def is_commit(text: str) -> bool:
    """Whether a text can be a commit's id: one that was imported may be anything."""
    return _COMMIT.fullmatch(text) is not None


def is_shallow(repository: Repository) -> bool:
    """Whether history was cut off when it was cloned, so that what is below the cut looks like no ancestor."""
    return exists(repository.common_dir / "shallow")


def branch_exists(repository: Repository, branch: str, patience: Deadline) -> bool:
    """Whether there is such a branch, here or as some remote's."""
    names = [f"refs/heads/{branch}", *(f"refs/remotes/{remote}/{branch}" for remote in _remotes(repository))]
    if symbolic_head(repository.git_dir) == REFTABLE:
        answer = ask_git(repository.root, "for-each-ref", "--count=1", "--format=%(refname)", *names, patience=patience)
        return answer is not None and bool(answer[0].strip())
    return any(read_ref(repository.git_dir, repository.common_dir, name) for name in names)


def _present(repository: Repository, commits: Sequence[str], patience: Deadline) -> list[str] | None:
    check = "--batch-check=%(objectname) %(objecttype)"
    answer = ask_git(repository.root, "cat-file", check, given=commits, patience=patience)
    if answer is None:
        return None
    lines = (line.split() for line in answer[0].decode("ascii", "replace").splitlines())
    return [line[0] for line in lines if len(line) == 2 and line[1] == "commit"]


def _remotes(repository: Repository) -> list[str]:
    try:
        found = sorted(entry.name for entry in (repository.common_dir / "refs" / "remotes").iterdir())
    except OSError:
        found = []
    return list(dict.fromkeys(["origin", *found]))[:_MOST_REMOTES]
