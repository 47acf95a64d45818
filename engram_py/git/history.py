"""Which commits HEAD's history holds and which branches there are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from engram_py.files import exists, lines_of
from engram_py.git.program import Deadline, ask_git
from engram_py.git.repository import Repository, read_ref
from engram_py.lazy import regex

Ancestry = Literal["ancestor", "other", "missing"]

_COMMIT = regex(r"[0-9a-f]{40}(?:[0-9a-f]{24})?")
_MOST_REMOTES = 16


def ancestry(repository: Repository, head: str, commits: Sequence[str], deadline: Deadline) -> dict[str, Ancestry]:
    """Return for each commit: whether ``head`` descends from it, it is somewhere else, or this repository lacks it.

    What git could not be asked about is left out.
    """
    wanted = list(dict.fromkeys(filter(is_commit, commits)))
    check = "--batch-check=%(objectname) %(objecttype)"
    answer = ask_git(repository.root, "cat-file", check, given=wanted, deadline=deadline)
    if answer is None:
        return {}
    lines = set(lines_of(answer[0].decode("ascii", "replace")))
    present = [one for one in wanted if f"{one} commit" in lines]
    found: dict[str, Ancestry] = {one: "missing" for one in wanted if one not in present}
    if not present:
        return found
    # What is reachable from them and not from HEAD: an ancestor of HEAD is not among it.
    answer = ask_git(repository.root, "rev-list", "--stdin", given=[*present, f"^{head}"], deadline=deadline)
    if answer is None or not answer[1]:
        return found
    outside = set(answer[0].decode("ascii", "replace").split())
    return found | {one: "other" if one in outside else "ancestor" for one in present}


def is_commit(text: str) -> bool:
    """Return whether a text can be a commit's id: one that was imported may be anything."""
    return _COMMIT.fullmatch(text) is not None


def is_shallow(repository: Repository) -> bool:
    """Return whether history was cut off when it was cloned, so that what is below the cut looks like no ancestor."""
    return exists(repository.common_dir / "shallow")


def branch_exists(repository: Repository, branch: str) -> bool:
    """Return whether there is such a branch, here or as some remote's."""
    try:
        remotes = sorted(entry.name for entry in (repository.common_dir / "refs" / "remotes").iterdir())
    except OSError:
        remotes = []
    prefixes = ("refs/heads", *(f"refs/remotes/{one}" for one in dict.fromkeys(("origin", *remotes[:_MOST_REMOTES]))))
    return any(read_ref(repository, f"{prefix}/{branch}") for prefix in prefixes)
