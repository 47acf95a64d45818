"""Ask git about a repository: which commits HEAD's history holds, which branches there are, and which files
git tracks. What it answered about one HEAD is kept in the database: the answer cannot change, and a row that is lost
costs one more question.

The tracked files are asked for once for each state of the index: it takes 2 ms for a thousand files and 80 ms for a
hundred thousand.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Literal

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store, waiting
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import StoreError
from engram_py.base.files import exists, lines_of, readable_path
from engram_py.base.git.program import Deadline, ask_git, has_git
from engram_py.base.git.repository import Repository, read_ref
from engram_py.base.lazy import regex
from engram_py.base.times import parse_time

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
    present = [commit for commit in wanted if f"{commit} commit" in lines]
    ancestries: dict[str, Ancestry] = {commit: "missing" for commit in wanted if commit not in present}
    if not present:
        return ancestries
    # What is reachable from them and not from HEAD: an ancestor of HEAD is not among it.
    answer = ask_git(repository.root, "rev-list", "--stdin", given=[*present, f"^{head}"], deadline=deadline)
    if answer is None or not answer[1]:
        return ancestries
    outside = set(answer[0].decode("ascii", "replace").split())
    return ancestries | {commit: "other" if commit in outside else "ancestor" for commit in present}


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
    names = dict.fromkeys(("origin", *remotes[:_MOST_REMOTES]))
    prefixes = ("refs/heads", *(f"refs/remotes/{name}" for name in names))
    return any(read_ref(repository, f"{prefix}/{branch}") for prefix in prefixes)


_MAX_LISTING = 64 << 20
_SUBMODULE = "160000"


@dataclass(frozen=True, slots=True)
class TrackedFile:
    """A file that git tracks; ``skipped`` when a sparse checkout leaves it out of the working tree."""

    path: str
    blob: str
    skipped: bool


class TrackedFiles:
    """The files of one listing, found in it without reading all of it entry by entry."""

    def __init__(self, listing: bytes) -> None:
        self._listing = b"\0" + listing

    def get(self, path: str) -> TrackedFile | None:
        """Return the file at ``path``."""
        return next((file for file in self._files(f"\t{path}\0") if file.path == path), None)

    def with_blob(self, blob: str) -> Iterator[TrackedFile]:
        """Return the files whose content is ``blob``."""
        return self._files(f" {blob} ")

    def ending_in(self, tail: str) -> Iterator[TrackedFile]:
        """Return the files below a folder whose last parts are ``tail``."""
        return self._files(f"/{tail}\0")

    @cached_property
    def submodules(self) -> list[str]:
        """The folders that are repositories of their own."""
        return [path for mode, _, path in self._entries(f" {_SUBMODULE} ") if mode[2:] == _SUBMODULE]

    def _files(self, needle: str) -> Iterator[TrackedFile]:
        for mode, blob, path in self._entries(needle):
            if mode[2:5] == "100":
                yield TrackedFile(path, blob, skipped=mode[0] == "S")

    def _entries(self, needle: str) -> Iterator[tuple[str, str, str]]:
        """Yield the tag and mode, blob and path of the entries that hold ``needle``, without those of a conflict."""
        wanted = needle.encode("utf-8", "surrogatepass")
        at = self._listing.find(wanted)
        while at >= 0:
            start, end = self._listing.rfind(b"\0", 0, at + 1) + 1, self._listing.find(b"\0", at + 1)
            facts, _, path = self._listing[start:end].decode("utf-8", "replace").partition("\t")
            mode, blob, stage = facts.rsplit(" ", 2)
            if stage == "0":
                yield mode, blob, path
            at = self._listing.find(wanted, end)


def tracked_files(repository: Repository) -> TrackedFiles | None:
    """Return the tracked files of the checkout; None where it has no index or git does not say in time."""
    try:
        seen = os.stat(repository.git_dir / "index")  # noqa: PTH116 (a string is quicker)
    except OSError:
        return None
    if not has_git(repository.root):
        return None  # not remembered: there may be one later
    return _listed(repository.root, (seen.st_ino, seen.st_size, seen.st_mtime_ns))


@lru_cache(maxsize=2)
def _listed(root: Path, state: tuple[int, int, int]) -> TrackedFiles | None:
    answer = ask_git(root, "ls-files", "--stage", "-t", "-z", deadline=Deadline(), limit=_MAX_LISTING)
    return TrackedFiles(answer[0]) if answer and answer[1] else None


ANSWERS = """
select question, answer
from git_answers
where repository = :repository and head = :head and question in (select value from json_each(:questions))
"""

INSERT = """
insert or replace into git_answers (repository, head, question, answer, asked_at)
values (:repository, :head, :question, :answer, :asked_at)
"""

# The answers of HEADs that somebody may come back to: the branches in use.
_HEADS_KEPT = 16
FORGET = f"""
delete from git_answers
where repository = :repository and head not in (
    select head from git_answers where repository = :repository
    group by head order by max(asked_at) desc, head limit {_HEADS_KEPT}
)
"""

# A repository in which git takes too long must not cost that again with every search.
_REFUSED_FOR = timedelta(minutes=10)


class GitAnswers:
    """The answers of git, and the questions it did not answer in time."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def ask(
        self,
        repository: Repository,
        head: str,
        questions: Sequence[str],
        *,
        kind: str,
        deadline: Deadline,
        git: Callable[[list[str]], Mapping[str, str]],
        lasting: Callable[[str], bool] = lambda answer: True,
    ) -> dict[str, str]:
        """Return the answers by question; ``git`` tells those that are not known yet, as far as it can.

        A question that git did not answer a short while ago is not asked again. Only ``lasting`` answers are kept.
        """
        answered = self._kept(repository, head, questions)
        missing = [question for question in questions if question not in answered]
        # A caller with little time finds out once how long git takes, and leaves the question to callers with more.
        kinds = [f"refused:{kind}"] if deadline.whole else [f"refused:{kind}", f"refused:hasty {kind}"]
        if not missing or deadline.left <= 0 or self._refused(repository, head, kinds):
            return answered
        told = git(missing)
        kept = {question: answer for question, answer in told.items() if lasting(answer)}
        if len(told) < len(missing) and has_git(repository.root):  # another process may have one
            kept[kinds[-1]] = self._journal.now()
        self._keep(repository, head, kept)
        return answered | dict(told)

    def _kept(self, repository: Repository, head: str, questions: Sequence[str]) -> dict[str, str]:
        return dict(self._store.tuples(ANSWERS, repository=_name(repository), head=head, questions=questions))

    def _refused(self, repository: Repository, head: str, kinds: Sequence[str]) -> bool:
        now = self._journal.moment()
        times = map(parse_time, self._kept(repository, head, kinds).values())
        return any(at is not None and now - _REFUSED_FOR < at <= now for at in times)

    def _keep(self, repository: Repository, head: str, answers: Mapping[str, str]) -> None:
        """Keep answers, unless the database is being written right now: a search does not wait for that."""
        if not answers:
            return
        key = {"repository": _name(repository), "head": head, "asked_at": self._journal.now()}
        rows = [key | {"question": question, "answer": answer} for question, answer in answers.items()]
        with suppress(StoreError), waiting(self._store, 0), self._store.connection() as connection:
            if connection.in_transaction:
                return
            connection.execute("begin immediate")
            try:
                connection.executemany(INSERT, rows)
                connection.execute(FORGET, key)
                connection.execute("commit")
            finally:
                if connection.in_transaction:
                    connection.execute("rollback")


def _name(repository: Repository) -> str:
    return readable_path(str(repository.common_dir))
