"""Sync a project's memory with ``.engram/memories``: a file for each, which people review like code. This is what both
directions share, and the export; ``memory_import`` has the other one.
"""

from __future__ import annotations

from collections.abc import Collection, Container, Iterable, Mapping, Sequence
from functools import cached_property

from engram_py.base.database.store import Row
from engram_py.base.dataclass import dataclass
from engram_py.base.git.repository import Repository
from engram_py.memory.privacy.provenance import BRANCH
from engram_py.sharing.sync.git import table
from engram_py.sharing.sync.git.memory_file import MemoryFileError, blob, compose, file_name
from engram_py.sharing.sync.git.memory_folder import GitView, Listed, MemoryFolder
from engram_py.sharing.sync.git.places import Job
from engram_py.sharing.sync.git.table import ChunkRefusal, MemoriesWritten, MemoryStatus, Noted
from engram_py.sharing.sync.mutation import Mutation
from engram_py.sharing.sync.replica.table import newest_seq

# Seconds that git may take: unasked, and when a person syncs.
_UNASKED_GIT, _ASKED_GIT = 1.5, 30.0
PAGE = 250
UNNAMED = "its name is not UTF-8: rename it"
UNSIGNED = "edited by hand, and not signed: `engram sync --mine` if you did"
# Files that are looked at again in each reading: git may say something else of them by now.
OPEN = ("branch", "waits", "away", "gone", "refused")
# What a branch says, or nobody can read, is not written over; of these there is no file that could be.
_NOT_WRITTEN, _NO_FILE = ("branch", "waits", "refused"), ("gone", "removed", "away")


class MemoryPlace:
    """The readable memories of a repository: the folder, git, and what is known of the files."""

    def __init__(self, job: Job, repository: Repository) -> None:
        self.job, self.repository = job, repository
        self.store = job.store
        self.folder = MemoryFolder(repository.root)
        self.git = GitView(repository, _ASKED_GIT if job.until is None else _UNASKED_GIT)

    @property
    def branch_source(self) -> str:
        """The source of what a branch alone has: nobody's trust of the repository reaches it."""
        return f"{self.job.target}{BRANCH}"

    @cached_property
    def known(self) -> dict[str, Noted]:
        return table.memory_files(self.store, self.job.target)

    @property
    def looked(self) -> str:
        """How the folder and HEAD stand: as they stood when they were read, nothing is new."""
        return f"{self.folder.changed_ns} {self.repository.commit or ''} {self.repository.branch or ''}"

    def has_news(self) -> bool:
        """Return whether the folder or HEAD changed since the folder was read whole; a look at two files."""
        return self.folder.exists and table.memory_folder(self.store, self.job.target).looked != self.looked

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
            key=lambda file: (file.state in _NO_FILE, file.name),
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

    def status(self) -> MemoryStatus:
        """Return the state of the folder; nothing is read in or written."""
        (listing, unnamed), upto = self.folder.list(), table.memory_folder(self.store, self.job.target).upto_seq
        new = [
            name for name in self.changed(listing)
            if (row := self.known.get(name)) is None or (row.size, row.changed_ns) != listing[name][:2]
        ]  # fmt: skip
        gone = [name for name in self.named("here") if name not in listing] if self.folder.is_shared else []
        unsent = len(MemoryExport(self).pending(upto))
        refused = tuple(
            ChunkRefusal(name, self.known[name].reason if name in self.known else UNNAMED)
            for name in (*self.named("refused"), *unnamed)
        )
        return MemoryStatus(
            len(listing), len(new) + len(gone), unsent, self.named("branch"), self.named("waits"), refused
        )


def has_file(mutation: Mutation) -> bool:
    """Return whether a row stands in a file of a memory: its text as it is, and the verdicts on it."""
    return mutation.entity == "relation" or (
        mutation.entity == "observation" and mutation.payload.get("type") != table.NOT_A_FILE
    )


@dataclass(frozen=True, slots=True)
class _Pending:
    """A file to write (``text``) or to remove; the name is empty where the memory has none yet. ``is_copy``: the memory
    has another file."""

    sync_id: str
    name: str
    text: bytes | None
    is_copy: bool = False


class MemoryExport:
    """One export: files of what changed since the last one. What was written before an error stays, and is noted."""

    def __init__(self, place: MemoryPlace) -> None:
        self._place = place
        self._written: list[str] = []
        self._removed: list[str] = []
        self._skipped: list[str] = []

    def run(self, *, again: bool = False) -> MemoriesWritten:
        """Write and remove files; ``again`` looks at every memory. Raises SyncFolderError."""
        place, store = self._place, self._place.store
        end, was = newest_seq(store), table.memory_folder(store, place.job.target)
        # A folder that is gone is written anew where no other branch has it.
        again = again or not (place.folder.exists or (place.git.elsewhere and not place.git.head))
        key = place.job.keys.person.key
        pending = self.pending(0 if again else was.upto_seq, again=again, resigned=key != was.signed_by)
        for start in range(0, len(pending), PAGE):
            noted: list[Noted] = []
            page = pending[start : start + PAGE]
            try:
                for one in page:
                    noted += self._put(one)
            finally:
                removed = {*self._removed}
                with store.transaction():
                    place.note(noted, dropped=[one.name for one in page if one.is_copy and one.name in removed])
            if place.job.progress is not None:
                place.job.progress(min(start + PAGE, len(pending)), len(pending))
        # What this export did to the folder is no news.
        now = table.FolderState(end, place.looked if was.looked else "", key)
        if self._written or self._removed or (end, key) != (was.upto_seq, was.signed_by):
            with store.transaction():
                table.keep_memory_folder(store, place.job.target, now)
        return MemoriesWritten(tuple(self._written), tuple(self._removed), tuple(self._skipped))

    def pending(self, after: int, *, again: bool = False, resigned: bool = False) -> list[_Pending]:
        """Return what changed after a place of the queue, and what was exported and lost before it was committed;
        ``again``: what did not change as well; ``resigned``: the user's own memories, which another key signed."""
        place, job = self._place, self._place.job
        ids = table.changed_memories(place.store, job.target, job.project, after=after)
        if resigned:
            ids = sorted({*ids, *table.own_memories(place.store, job.target, job.project)})
        if after:
            ids = sorted({*ids, *table.memories_without_file(place.store, job.target, job.project)})
        by_id = place.names_of(set(ids)) if ids else {}
        found: list[_Pending] = []
        for start in range(0, len(ids), PAGE):
            page = ids[start : start + PAGE]
            texts = place.rendered(page, by_id)
            made = (_Pending(one, by_id.get(one, ""), texts.get(one)) for one in page)
            found += [one for one in made if self._is_due(one, again=again)]
        return found + [_Pending(file.sync_id, file.name, None, is_copy=True) for file in place.copies()]

    def _is_due(self, one: _Pending, *, again: bool) -> bool:
        row = self._place.known.get(one.name)
        if one.text is None:
            return row is not None and row.state == "here"
        if row is None:
            return True
        is_new = again or row.render != blob(one.text) or row.state in ("gone", "removed")
        return row.state not in _NOT_WRITTEN and is_new

    def _put(self, one: _Pending) -> list[Noted]:
        """Write or remove one file, and return what to note of it; nothing where somebody changed it meanwhile."""
        folder, row = self._place.folder, self._place.known.get(one.name)
        if row is not None and not self._is_as_noted(row):
            self._skipped.append(one.name)
            return []
        if one.text is None:
            folder.remove(one.name)
            self._removed.append(one.name)
            if one.is_copy:
                return []
            return [Noted(one.name, one.sync_id, "removed", blob=row.blob if row is not None else "")]
        name = one.name or self._place.first_name(one.sync_id)
        about = folder.write(name, one.text)
        self._written.append(name)
        made = blob(one.text)
        return [Noted(name, one.sync_id, "here", about.size, about.changed_ns, made, made)]

    def _is_as_noted(self, row: Noted) -> bool:
        """Return whether nobody changed a file since it was read."""
        if row.state in _NO_FILE:
            return True
        try:
            return blob(self._place.folder.read(row.name)) == row.blob
        except MemoryFileError:
            return not (self._place.folder.path / row.name).exists()
