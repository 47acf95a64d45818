"""Whether the code an observation was made with is in the history of what is checked out."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from engram_py.models.anchor import AnchorState, Visibility
from engram_py.models.observation import Observation
from engram_py.project.ancestry import Ancestry, ancestry, is_commit, is_shallow
from engram_py.project.gitdir import Repository
from engram_py.project.gitprogram import Patience, has_git
from engram_py.services.git_memory import GitMemory

_MOST_COMMITS = 1_000  # whose ids a pipe takes before anybody reads them
_IN_HISTORY = Visibility("in_history")
_WORDS: dict[str, Ancestry] = {"ancestor": "ancestor", "other": "other", "missing": "missing"}


def commits_to_ask(rows: Sequence[Observation], repository: Repository) -> list[str]:
    """The commits that only git knows about: a row made at HEAD, or outside a repository, costs nothing."""
    commits = (row.git_commit for row in rows if row.git_commit and row.git_commit != repository.commit)
    return [one for one in dict.fromkeys(commits) if is_commit(one)][:_MOST_COMMITS]


def ancestry_of(
    repository: Repository, commits: Sequence[str], memory: GitMemory, patience: Patience
) -> dict[str, Ancestry]:
    """How each commit relates to HEAD, from what was asked before where possible."""
    head = repository.commit
    if head is None or not commits:
        return {}
    known = memory.answers(repository, head, [f"ancestry:{one}" for one in commits])
    found = {one: _WORDS[text] for one in commits if (text := known.get(f"ancestry:{one}")) in _WORDS}
    missing = [one for one in commits if one not in found]
    if missing and patience.left > 0 and not memory.refused(repository, head, "ancestry"):
        fresh = ancestry(repository, head, missing, patience)
        if len(fresh) < len(missing) and patience.whole and has_git(repository.root):
            memory.refuse(repository, head, "ancestry")
        # Below the cut of a shallow clone an ancestor looks like a stranger until more is fetched.
        lasting = {one: word for one, word in fresh.items() if word == "ancestor" or not is_shallow(repository)}
        memory.keep(repository, head, {f"ancestry:{one}": word for one, word in lasting.items()})
        found |= fresh
    return found


def judge(
    row: Observation,
    repository: Repository,
    known: Mapping[str, Ancestry],
    states: Sequence[AnchorState],
    is_branch: Callable[[str], bool],
) -> Visibility:
    """Where a row's commit is, seen from HEAD. ``states`` are those of its anchors in the working tree: a squash
    merge and a rebase leave nothing of a commit but the text it brought. ``is_branch`` tells whether one exists."""
    if row.git_commit == repository.commit or known.get(row.git_commit or "") == "ancestor":
        return _IN_HISTORY
    if repository.commit is None or row.git_commit is None or row.git_commit not in known:
        return Visibility("unknown", row.git_branch, "git could not say")
    if is_shallow(repository):
        return Visibility("unknown", row.git_branch, "the clone is shallow")
    present = [state.state in ("fresh", "moved") for state in states if state.state != "unknown"]
    if present and all(present):
        return _IN_HISTORY
    if row.git_branch is None:
        return Visibility("unknown", None, "made at a detached HEAD")
    if row.git_branch == repository.branch:
        lost = known[row.git_commit] == "missing"
        why = "its commit is not in this clone" if lost else f"{row.git_branch} was rewritten since"
        return Visibility("unknown", row.git_branch, why)
    if is_branch(row.git_branch):
        return Visibility("elsewhere", row.git_branch)
    # Its text may have been merged and changed since, or never have been: nothing that is left tells which.
    if any(present):
        return _IN_HISTORY
    return Visibility("unknown", row.git_branch, f"{row.git_branch} is gone, merged or not")
