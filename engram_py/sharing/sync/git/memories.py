"""The state of ``.engram/memories``: the folder, git, and what is known of each file."""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from functools import cached_property

from engram_py.base.database.store import Row
from engram_py.memory.privacy.provenance import BRANCH
from engram_py.sharing.sync.git import table
from engram_py.sharing.sync.git.memory_file import compose, file_name
from engram_py.sharing.sync.git.memory_folder import GitView, Listed, MemoryFolder
from engram_py.sharing.sync.git.places import Job
from engram_py.sharing.sync.git.table import Noted
from engram_py.sharing.sync.mutation import Mutation

# Seconds that git may take: unasked, and when a person syncs.
_UNASKED_GIT, _ASKED_GIT = 1.5, 30.0
UNNAMED = "its name is not UTF-8: rename it"
UNSIGNED = "edited by hand, and not signed: `engram sync --mine` if you did"
# Files that are looked at again in each reading: git may say something else of them by now.
OPEN = ("branch", "waits", "away", "gone", "refused")
NO_FILE = ("gone", "removed", "away")


class MemoryPlace:
    """The readable memories of a repository: the folder, git, and what is known of the files."""

    def __init__(self, job: Job) -> None:
        self.job, self.repository = job, job.repository
        self.store = job.store
        self.folder = MemoryFolder(job.repository.root)
        self.git = GitView(job.repository, _ASKED_GIT if job.until is None else _UNASKED_GIT)

    @property
    def branch_source(self) -> str:
        """The source of memories that only a branch has: trust in the repository does not include them."""
        return f"{self.job.target}{BRANCH}"

    @cached_property
    def known(self) -> dict[str, Noted]:
        return table.memory_files(self.store, self.job.target)

    @property
    def looked(self) -> str:
        """How the folder and HEAD stand: as they stood when they were read, nothing is new."""
        return f"{self.folder.changed_ns} {self.repository.commit or ''} {self.repository.branch or ''}"

    def note(self, files: Iterable[Noted], *, dropped: Sequence[str] = ()) -> None:
        """Note files as they are now. Call inside a transaction."""
        for file in files:
            table.keep_memory_file(self.store, self.job.target, file)
            self.known[file.name] = file
        if dropped:
            table.forget_memory_files(self.store, self.job.target, dropped)
            for name in dropped:
                del self.known[name]

    def names_of(self, ids: Collection[str]) -> dict[str, str]:
        """Return the files of memories, by their shared ids; of several the first by name that is there."""
        found: dict[str, str] = {}
        for file in sorted(
            (file for file in self.known.values() if file.sync_id in ids),
            key=lambda file: (file.state in NO_FILE, file.name),
        ):
            found.setdefault(file.sync_id, file.name)
        return found

    def copies(self) -> list[Noted]:
        """Return the files whose memory has another one, of an earlier name: two people wrote it before they met."""
        first: dict[str, Noted] = {}
        found: list[Noted] = []
        for file in self.known.values():
            if file.state == "here" and (other := first.setdefault(file.sync_id, file)) is not file:
                first[file.sync_id], copy = sorted((other, file))
                found.append(copy)
        return [file for file in found if (self.folder.path / first[file.sync_id].name).exists()]

    def named(self, state: str) -> tuple[str, ...]:
        return tuple(name for name, file in self.known.items() if file.state == state)

    def states(self, ids: Iterable[str]) -> dict[str, Row]:
        """Return what is here of memories, by their shared ids."""
        return table.memory_states(self.store, sorted(set(ids)))

    def rendered(self, ids: Sequence[str], noted: Container[str]) -> dict[str, bytes]:
        """Return the files that memories make now; none for what is deleted, of another project, or not to be told:
        what nobody trusts goes on only where its file is ``noted``."""
        if not ids:
            return {}
        others = self.states(one for one in ids if one not in noted)
        told = [one for one in ids if one not in others or others[one]["given"]]
        live = self.job.replica.states("observation", told)
        said: dict[str, list[Mutation]] = {}
        for one in self.job.replica.states("relation", table.verdicts_of(self.store, ids)):
            if one.op == "upsert":
                said.setdefault(str(one.payload["source_id"]), []).append(one)
        return {one.entity_key: compose(one, said.get(one.entity_key, ())) for one in live if self._is_written(one)}

    def first_name(self, sync_id: str) -> str:
        """Return the name of a memory's file that is written for the first time."""
        row = self.store.row("select title, topic_key from observations where sync_id = :id", id=sync_id)
        assert row is not None
        name = file_name(row["title"], row["topic_key"] or "", sync_id)
        taken = self.known.get(name)
        return name if taken is None or taken.sync_id == sync_id else f"{name.removesuffix('.md')}-{sync_id[-8:]}.md"

    def _is_written(self, one: Mutation) -> bool:
        return (
            one.op == "upsert" and one.project == self.job.project and not one.payload.get("deleted") and has_file(one)
        )

    def changed(self, listing: Mapping[str, Listed]) -> list[str]:
        """Return the files that were not seen as they are now, or of which git may say something else by now."""
        known = self.known
        return sorted(
            name for name, file in listing.items()
            if (row := known.get(name)) is None or row.state in OPEN
            or row.size != file.size or row.changed_ns != file.changed_ns
        )  # fmt: skip


def has_file(mutation: Mutation) -> bool:
    """Return whether a memory's file holds this row: the memory itself, or a verdict on it."""
    return mutation.entity == "relation" or (
        mutation.entity == "observation" and mutation.payload.get("type") != table.NOT_A_FILE
    )
