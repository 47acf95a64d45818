"""Whether the code an observation was made with is in the history of what is checked out."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from engram_py.anchors.file_history import read_added
from engram_py.anchors.file_search import same_blob
from engram_py.anchors.values import NOT_HERE_YET, Anchor, AnchorState, Visibility
from engram_py.anchors.worktree import Unread, WorkingTree
from engram_py.git.answers import GitAnswers
from engram_py.git.history import Ancestry, ancestry, is_commit, is_shallow
from engram_py.git.program import Deadline, has_git
from engram_py.git.repository import Repository, created_at, read_ref
from engram_py.observations.values import Observation

_MOST_COMMITS = 1_000  # whose ids a pipe takes before anybody reads them
_MOST_PATHS = 100  # whose names a command line holds
NOT_COMMITTED = "not committed"  # in the place of a commit
_IN_HISTORY = Visibility("in_history")
_WORDS: dict[str, Ancestry] = {"ancestor": "ancestor", "other": "other", "missing": "missing"}


def held_by(rows: Sequence[Observation], repository: Repository) -> dict[int, str]:
    """By the row's id, the commit that brings what each row tells of: HEAD at its save. Where another branch had no
    commit of its own then, the work was yet to be committed: its newest one, or ``NOT_COMMITTED``."""

    @cache
    def newest(branch: str, commit: str) -> str:
        if created_at(repository, branch) != commit:
            return commit
        tip = read_ref(repository, f"refs/heads/{branch}")
        return NOT_COMMITTED if tip == commit else tip or commit

    return {
        row.id: newest(row.git_branch, row.git_commit)
        if row.git_branch not in (None, repository.branch)
        else row.git_commit
        for row in rows
        if row.git_commit
    }


def commits_to_ask(commits: Iterable[str], repository: Repository) -> list[str]:
    """The commits that only git knows about: a row made at HEAD costs nothing."""
    asked = (one for one in dict.fromkeys(commits) if one != repository.commit and is_commit(one))
    return list(asked)[:_MOST_COMMITS]


def ancestry_of(
    repository: Repository, commits: Sequence[str], answers: GitAnswers, patience: Deadline
) -> dict[str, Ancestry]:
    """How each commit relates to HEAD, from what was asked before where possible."""
    head = repository.commit
    if head is None or not commits:
        return {}
    known = answers.get(repository, head, [f"ancestry:{one}" for one in commits])
    found = {one: _WORDS[text] for one in commits if (text := known.get(f"ancestry:{one}")) in _WORDS}
    missing = [one for one in commits if one not in found]
    if missing and patience.left > 0 and not answers.refused(repository, head, "ancestry"):
        fresh = ancestry(repository, head, missing, patience)
        if len(fresh) < len(missing) and patience.whole and has_git(repository.root):
            answers.refuse(repository, head, "ancestry")
        # Below the cut of a shallow clone an ancestor looks like a stranger until more is fetched.
        lasting = {one: word for one, word in fresh.items() if word == "ancestor" or not is_shallow(repository)}
        answers.keep(repository, head, {f"ancestry:{one}": word for one, word in lasting.items()})
        found |= fresh
    return found


def judge(
    row: Observation,
    commit: str,
    repository: Repository,
    known: Mapping[str, Ancestry],
    states: Sequence[AnchorState],
    is_branch: Callable[[str], bool],
) -> Visibility:
    """Where a row is, seen from HEAD, whose work ``commit`` brings. ``states`` are those of its anchors in the working
    tree: a squash merge and a rebase leave nothing of a commit but the text it brought. ``is_branch`` tells whether one
    exists."""
    if commit == repository.commit or known.get(commit) == "ancestor":
        return _IN_HISTORY
    if repository.commit is None or commit not in known:
        return Visibility("unknown", row.git_branch, "git could not say")
    if is_shallow(repository):
        return Visibility("unknown", row.git_branch, "the clone is shallow")
    present = [state.state in ("fresh", "moved") for state in states if state.state != "unknown"]
    if present and all(present):
        return _IN_HISTORY
    if row.git_branch is None:
        return Visibility("unknown", None, "made at a detached HEAD")
    if row.git_branch == repository.branch:
        lost = known[commit] == "missing"
        why = "its commit is not in this clone" if lost else f"{row.git_branch} was rewritten since"
        return Visibility("unknown", row.git_branch, why)
    if is_branch(row.git_branch):
        return Visibility("elsewhere", row.git_branch)
    # Its text may have been merged and changed since, or never have been: nothing that is left tells which.
    if any(present):
        return _IN_HISTORY
    return of_deleted(row.git_branch)


def of_deleted(branch: str) -> Visibility:
    """Where a commit is whose branch was deleted: the branch may have been squashed before, or thrown away."""
    return Visibility("unknown", branch, f"{branch} is gone, merged or not")


def of_thrown_away(branch: str, repository: Repository) -> Visibility:
    """Where a commit is whose branch was deleted and of whose files HEAD's history knows none: a HEAD that is detached
    may be older than what it was merged into."""
    if repository.branch is None:
        return Visibility("unknown", branch, NOT_HERE_YET)
    return Visibility("elsewhere", branch, deleted=True)


def never_here(
    about: Mapping[int, Sequence[Anchor]],
    repository: Repository,
    tree: WorkingTree,
    answers: GitAnswers,
    patience: Deadline,
) -> list[int]:
    """Of observations with their anchors those whose files neither are here nor ever were, as HEAD's history tells:
    what they were made with was not merged."""
    head = repository.commit
    paths = {one: _without_file(anchors, tree) for one, anchors in about.items()}
    every = [*dict.fromkeys(path for some in paths.values() for path in some)][:_MOST_PATHS]
    if head is None or not every:
        return []
    known = answers.get(repository, head, [f"had:{path}" for path in every])
    missing = [path for path in every if f"had:{path}" not in known]
    if missing and patience.left > 0 and not answers.refused(repository, head, "had"):
        added = read_added(repository.root, head, missing, patience)
        if added is None and patience.whole and has_git(repository.root):
            answers.refuse(repository, head, "had")
        fresh = {} if added is None else {f"had:{path}": "yes" if path in added else "no" for path in missing}
        answers.keep(repository, head, fresh)
        known |= fresh
    return [one for one, some in paths.items() if some and all(known.get(f"had:{path}") == "no" for path in some)]


def _without_file(anchors: Sequence[Anchor], tree: WorkingTree) -> list[str]:
    """The paths of the anchors, when nothing stands at any of them; one was read at least, so that it was a file."""
    found = [tree.read(anchor.path) for anchor in anchors]
    gone = all(isinstance(file, Unread) and file.missing for file in found)
    if not gone or not any(anchor.digest for anchor in anchors) or any(same_blob(one, tree) for one in anchors):
        return []
    return [anchor.path for anchor in anchors]
