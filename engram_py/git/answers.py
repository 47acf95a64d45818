"""What git answered about one HEAD, kept in the database: the answer cannot change.

A row that is lost costs one more question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta

from engram_py.database.journal import Journal
from engram_py.database.store import Store, waiting
from engram_py.errors import StoreError
from engram_py.files import readable_path
from engram_py.git.program import Deadline, has_git
from engram_py.git.repository import Repository
from engram_py.times import parse_time

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
    """What git said, and what it did not say in time."""

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
        found = self._kept(repository, head, questions)
        missing = [one for one in questions if one not in found]
        # Who has little time finds out once how long git takes, and leaves the question to those that have more.
        kinds = [f"refused:{kind}"] if deadline.whole else [f"refused:{kind}", f"refused:hasty {kind}"]
        if not missing or deadline.left <= 0 or self._refused(repository, head, kinds):
            return found
        told = git(missing)
        kept = {question: answer for question, answer in told.items() if lasting(answer)}
        if len(told) < len(missing) and has_git(repository.root):  # another process may have one
            kept[kinds[-1]] = self._journal.now()
        self._keep(repository, head, kept)
        return found | dict(told)

    def _kept(self, repository: Repository, head: str, questions: Sequence[str]) -> dict[str, str]:
        return dict(self._store.tuples(ANSWERS, repository=_name(repository), head=head, questions=questions))

    def _refused(self, repository: Repository, head: str, kinds: Sequence[str]) -> bool:
        now = self._journal.moment()
        times = map(parse_time, self._kept(repository, head, kinds).values())
        return any(at is not None and now - _REFUSED_FOR < at <= now for at in times)

    def _keep(self, repository: Repository, head: str, found: Mapping[str, str]) -> None:
        """Keep answers, unless the database is being written right now: a search does not wait for that."""
        if not found:
            return
        key = {"repository": _name(repository), "head": head, "asked_at": self._journal.now()}
        rows = [key | {"question": question, "answer": answer} for question, answer in found.items()]
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
