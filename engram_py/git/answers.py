"""What git answered about one HEAD, kept in this process and in the database: the answer cannot change."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.files import readable_path
from engram_py.git import answers_table as git_answers
from engram_py.git.repository import Repository
from engram_py.times import parse_time

_MOST = 20_000
# A repository in which git takes too long must not cost that again with every search.
_REFUSED_FOR = timedelta(minutes=10)


class GitMemory:
    """Answers by question, and the questions that git did not answer in time."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self._known: dict[tuple[str, str, str], str] = {}

    def answers(self, repository: Repository, head: str, questions: Sequence[str]) -> dict[str, str]:
        """What is known already."""
        name = _name(repository)
        found = {one: self._known[key] for one in questions if (key := (name, head, one)) in self._known}
        unread = [one for one in questions if one not in found]
        if unread:
            stored = git_answers.answers(self._store, repository=name, head=head, questions=unread)
            self._learn(name, head, stored)
            found |= stored
        return found

    def keep(self, repository: Repository, head: str, found: Mapping[str, str]) -> None:
        if not found:
            return
        name = _name(repository)
        self._learn(name, head, found)
        git_answers.remember(self._store, found, repository=name, head=head, now=self._journal.now())

    def refused(self, repository: Repository, head: str, kind: str) -> bool:
        """Whether git failed to answer this kind of question a short while ago, in this process or in another."""
        told = self.answers(repository, head, [f"refused:{kind}"]).get(f"refused:{kind}")
        at, now = parse_time(told), self._journal.moment()
        return at is not None and now - _REFUSED_FOR < at <= now

    def refuse(self, repository: Repository, head: str, kind: str) -> None:
        self.keep(repository, head, {f"refused:{kind}": self._journal.now()})

    def _learn(self, name: str, head: str, found: Mapping[str, str]) -> None:
        if len(self._known) + len(found) > _MOST:
            self._known.clear()
        for question, answer in found.items():
            self._known[name, head, question] = answer


def _name(repository: Repository) -> str:
    return readable_path(str(repository.common_dir))
