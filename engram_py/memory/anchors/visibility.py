"""Tell whether the history of HEAD holds the code that an observation was made with."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache

from engram_py.base.database.store import Store
from engram_py.base.git.answers import GitAnswers, ancestry, branch_exists, is_commit, is_shallow
from engram_py.base.git.program import Deadline
from engram_py.base.git.repository import Repository, created_at, read_ref
from engram_py.memory.anchors import table
from engram_py.memory.anchors.states import local_states, renamed_file
from engram_py.memory.anchors.trace import read_added
from engram_py.memory.anchors.values import Anchor, AnchorState, Visibility
from engram_py.memory.anchors.worktree import CurrentRepository, Unread, WorkingTree
from engram_py.memory.observations.values import Observation

_MOST_COMMITS = 1_000  # whose ids a pipe takes before anybody reads them
_MOST_PATHS = 100  # whose names a command line holds
_NOT_COMMITTED = "not committed"  # in the place of a commit
_IN_HISTORY = Visibility("in_history")
_UNJUDGED = Visibility("unknown")


def visibility_of(
    rows: Sequence[Observation], here: CurrentRepository, store: Store, answers: GitAnswers, deadline: Deadline
) -> dict[int, Visibility]:
    """Return whether each row's commit is in the history of HEAD, by the row's id."""
    visibilities = {row.id: _UNJUDGED for row in rows}
    judged = [
        row
        for row in rows
        if row.git_commit and row.scope == "project" and row.type != "identity" and here.repository_of(row.project)
    ]
    repository, tree = here.repository, here.tree
    if repository is None or tree is None or not judged:
        return visibilities
    commits = _work_commits(judged, repository)
    ancestries = _ancestry_of(repository, commits.values(), answers, deadline)
    foreign = [row.id for row in judged if ancestries.get(commits[row.id]) in ("other", "missing")]
    anchors = table.of_observations(store, foreign) if foreign else {}
    is_branch = cache(lambda branch: branch_exists(repository, branch))
    for row in judged:
        states = local_states(anchors.get(row.id, ()), tree)
        visibilities[row.id] = _judge(row, commits[row.id], repository, ancestries, states, is_branch)
    deleted = {
        row.id: row.git_branch for row in judged if row.git_branch and visibilities[row.id] == _gone(row.git_branch)
    }
    about = {row_id: anchors.get(row_id, ()) for row_id in deleted}
    for row_id in _never_merged(about, repository, tree, answers, deadline):
        # A HEAD that is detached may be older than what the branch was merged into.
        branch = deleted[row_id]
        elsewhere = Visibility("elsewhere", branch, deleted=True)
        visibilities[row_id] = elsewhere if repository.branch else Visibility("unknown", branch, "not_in_history")
    return visibilities


def _work_commits(rows: Sequence[Observation], repository: Repository) -> dict[int, str]:
    """Return by row id the commit that brings what the row tells of: HEAD at its save.

    Where another branch had no commit of its own then, it is the branch's newest one, or ``_NOT_COMMITTED``.
    """

    @cache
    def newest(branch: str, commit: str) -> str:
        if created_at(repository, branch) != commit:
            return commit
        tip = read_ref(repository, f"refs/heads/{branch}")
        return _NOT_COMMITTED if tip == commit else tip or commit

    return {
        row.id: newest(row.git_branch, row.git_commit)
        if row.git_branch not in (None, repository.branch)
        else row.git_commit
        for row in rows
        if row.git_commit
    }


def _ancestry_of(
    repository: Repository, commits: Iterable[str], answers: GitAnswers, deadline: Deadline
) -> dict[str, str]:
    """Return the relation of each commit to HEAD, from earlier answers where possible."""
    head = repository.commit
    # Only git knows: a row made at HEAD costs nothing.
    asked = [commit for commit in dict.fromkeys(commits) if commit != head and is_commit(commit)][:_MOST_COMMITS]
    if head is None or not asked:
        return {_NOT_COMMITTED: "other"}

    def ask(missing: Sequence[str]) -> dict[str, str]:
        told = ancestry(repository, head, [question.removeprefix("ancestry:") for question in missing], deadline)
        return {f"ancestry:{commit}": word for commit, word in told.items()}

    answered = answers.ask(
        repository,
        head,
        [f"ancestry:{commit}" for commit in asked],
        kind="ancestry",
        deadline=deadline,
        git=ask,
        # Below the cut of a shallow clone an ancestor looks like a stranger until more is fetched.
        lasting=lambda word: word == "ancestor" or not is_shallow(repository),
    )
    return {_NOT_COMMITTED: "other"} | {question.removeprefix("ancestry:"): word for question, word in answered.items()}


def _judge(
    row: Observation,
    commit: str,
    repository: Repository,
    ancestries: Mapping[str, str],
    states: Sequence[AnchorState],
    is_branch: Callable[[str], bool],
) -> Visibility:
    """Return the visibility from HEAD of a row whose work ``commit`` brings.

    ``states`` are those of its anchors: a squash merge and a rebase leave nothing of a commit but the text it brought.
    """
    if commit == repository.commit or ancestries.get(commit) == "ancestor":
        return _IN_HISTORY
    if repository.commit is None or commit not in ancestries:
        return Visibility("unknown", row.git_branch, "git_failed")
    if is_shallow(repository):
        return Visibility("unknown", row.git_branch, "shallow")
    present = [state.state in ("fresh", "moved") for state in states if state.state != "unknown"]
    if present and all(present):
        return _IN_HISTORY
    if row.git_branch is None:
        return Visibility("unknown", None, "detached")
    if row.git_branch == repository.branch:
        lost = ancestries[commit] == "missing"
        return Visibility("unknown", row.git_branch, "no_commit" if lost else "rewritten")
    if is_branch(row.git_branch):
        return Visibility("elsewhere", row.git_branch)
    # Its text may have been merged and changed since, or never have been: nothing that is left tells which.
    if any(present):
        return _IN_HISTORY
    return _gone(row.git_branch)


def _gone(branch: str) -> Visibility:
    """Return the visibility of a deleted branch: it may have been squashed before, or thrown away."""
    return Visibility("unknown", branch, "branch_gone")


def _never_merged(
    about: Mapping[int, Sequence[Anchor]],
    repository: Repository,
    tree: WorkingTree,
    answers: GitAnswers,
    deadline: Deadline,
) -> list[int]:
    """Return the observations whose files neither are here nor ever were in HEAD's history."""
    head = repository.commit
    paths = {row_id: _without_file(anchors, tree) for row_id, anchors in about.items()}
    every = [*dict.fromkeys(path for some in paths.values() for path in some)][:_MOST_PATHS]
    if head is None or not every:
        return []

    def ask(missing: Sequence[str]) -> dict[str, str]:
        asked = [question.removeprefix("had:") for question in missing]
        added = read_added(repository.root, head, asked, deadline)
        return {} if added is None else {f"had:{path}": "yes" if path in added else "no" for path in asked}

    answered = answers.ask(repository, head, [f"had:{path}" for path in every], kind="had", deadline=deadline, git=ask)
    return [
        row_id for row_id, some in paths.items() if some and all(answered.get(f"had:{path}") == "no" for path in some)
    ]


def _without_file(anchors: Sequence[Anchor], tree: WorkingTree) -> list[str]:
    """Return the paths of the anchors when no file is at any of them, and one was read once; else none."""
    files = [tree.read(anchor.path) for anchor in anchors]
    gone = all(isinstance(file, Unread) and file.missing for file in files)
    renamed = (renamed_file(anchor, tree) for anchor in anchors)
    if not gone or not any(anchor.digest for anchor in anchors) or any(renamed):
        return []
    return [anchor.path for anchor in anchors]
