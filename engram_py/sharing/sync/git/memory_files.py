"""A project's memory as ``.engram/memories``: a file for each, which people review like code. This is the export;
``memory_import`` has the other direction.
"""

from __future__ import annotations

from engram_py.base.dataclass import dataclass, replace
from engram_py.sharing.sync.git import table
from engram_py.sharing.sync.git.folder import NAME
from engram_py.sharing.sync.git.memories import NO_FILE, UNNAMED, MemoryPlace
from engram_py.sharing.sync.git.memory_file import MemoryFileError, blob, mutations, parse
from engram_py.sharing.sync.git.memory_import import MemoryImport, Mine
from engram_py.sharing.sync.git.places import Job
from engram_py.sharing.sync.git.table import (
    ChunkRefusal,
    GitStatus,
    GitSynced,
    MemoriesWritten,
    MemoryStatus,
    Noted,
)
from engram_py.sharing.sync.replica.table import newest_seq

_PAGE = 250
_BUSY = f"a merge or rebase is unfinished: finish it, then {NAME}/memories is read and written again"
# States of files that an export leaves alone.
_NOT_WRITTEN = ("branch", "waits", "refused")


@dataclass(frozen=True, slots=True)
class _Pending:
    """A file to write (``text``) or to remove. A memory without a file has no name yet; a copy's memory has another
    file."""

    sync_id: str
    name: str
    text: bytes | None
    is_copy: bool = False


class MemoryFiles:
    """A folder's readable memories: a file for each, which people review like code."""

    def __init__(self, job: Job) -> None:
        self._place = MemoryPlace(job)
        self._written: list[str] = []
        self._removed: list[str] = []
        self._skipped: list[str] = []

    def has_news(self) -> bool:
        """Return whether the folder or HEAD changed since the folder was read whole; a look at two files."""
        place = self._place
        if not place.folder.exists or self._problem():
            return False
        return table.memory_folder(place.store, place.job.target).looked != place.looked

    def read(self, done: GitSynced, mine: Mine | None = None) -> GitSynced:
        """Import what is new or changed; ``mine`` says which edits by hand are the user's. Raises SyncFolderError."""
        if not self._place.folder.exists:
            return done
        if problem := self._problem():
            return replace(done, warnings=(*done.warnings, problem))
        return replace(done, memories_read=MemoryImport(self._place, mine).run())

    def write(self, done: GitSynced, *, again: bool = False) -> GitSynced:
        """Write and remove the files of memories that changed; ``again`` looks at every memory.

        Files that were written before an error stay, and are noted. Raises SyncFolderError.
        """
        if self._place.git.is_busy:
            return replace(done, warnings=tuple(dict.fromkeys((*done.warnings, _BUSY))))
        self._export(again=again)
        written = MemoriesWritten(tuple(self._written), tuple(self._removed), tuple(self._skipped))
        return replace(done, memories_written=written)

    def status(self, whole: GitStatus, *, is_written: bool) -> GitStatus:
        """Return the status with that of the files; ``is_written``: an export would write them."""
        place = self._place
        if not (place.folder.exists or is_written):
            return whole
        (listing, unnamed), upto = place.folder.list(), table.memory_folder(place.store, place.job.target).upto_seq
        rows = ((place.known.get(name), file) for name, file in listing.items())
        new = sum(row is None or (row.size, row.changed_ns) != file[:2] for row, file in rows)
        gone = [name for name in place.named("here") if name not in listing] if place.folder.is_shared else []
        unsent = len(self._pending(upto))
        refused = tuple(
            ChunkRefusal(name, place.known[name].reason if name in place.known else UNNAMED)
            for name in (*place.named("refused"), *unnamed)
        )
        changed, branch, waits = new + len(gone), place.named("branch"), place.named("waits")
        memories = MemoryStatus(len(listing), changed, unsent, branch, waits, refused)
        return replace(whole, memories=memories, unsent=bool(unsent) if is_written else whole.unsent)

    def keep_other(self, taken: bytes, other: bytes) -> None:
        """Keep ``other``, the text that a merge did not take, for Review, if the memory here has the text it took."""
        kept, left, job = parse(taken, ""), parse(other, ""), self._place.job
        here = self._place.states([kept.sync_id]).get(kept.sync_id)
        if here is not None and (here["clock"], here["project"]) == (kept.clock, job.project):
            job.replica.apply(mutations(left, job.project)[:1], source=self._place.branch_source)

    def _problem(self) -> str | None:
        """Return why files are not read."""
        job = self._place.job
        if job.key is not None and not job.allow_plain:
            return (
                f"{NAME}/memories is not encrypted, and is not read: once everybody has synced, "
                f"git rm -r ':/{NAME}/memories'; `engram sync --allow-plain` reads it"
            )
        return _BUSY if self._place.git.is_busy else None

    def _export(self, *, again: bool) -> None:
        place, store = self._place, self._place.store
        end, was = newest_seq(store), table.memory_folder(store, place.job.target)
        # A folder that is gone is written anew where no other branch has it.
        again = again or not (place.folder.exists or (place.git.elsewhere and not place.git.head))
        key = place.job.keys.person.key
        pending = self._pending(0 if again else was.upto_seq, again=again, resigned=key != was.signed_by)
        for start in range(0, len(pending), _PAGE):
            noted: list[Noted] = []
            page = pending[start : start + _PAGE]
            try:
                for one in page:
                    noted += self._put(one)
            finally:
                removed = {*self._removed}
                with store.transaction():
                    place.note(noted, dropped=[one.name for one in page if one.is_copy and one.name in removed])
            if place.job.progress is not None:
                place.job.progress(min(start + _PAGE, len(pending)), len(pending))
        # The export itself is no news: nothing has to be read again.
        now = table.FolderState(end, place.looked if was.looked else "", key)
        if self._written or self._removed or (end, key) != (was.upto_seq, was.signed_by):
            with store.transaction():
                table.keep_memory_folder(store, place.job.target, now)

    def _pending(self, after: int, *, again: bool = False, resigned: bool = False) -> list[_Pending]:
        """Return the files of memories that changed after a place of the queue, or lost their file before a commit.

        ``again`` adds unchanged memories, ``resigned`` the user's own, which another key signed.
        """
        place, job = self._place, self._place.job
        ids = table.changed_memories(place.store, job.target, job.project, after=after)
        if resigned:
            ids = sorted({*ids, *table.own_memories(place.store, job.target, job.project)})
        if after:
            ids = sorted({*ids, *table.memories_without_file(place.store, job.target, job.project)})
        by_id = place.names_of(set(ids)) if ids else {}
        found: list[_Pending] = []
        for start in range(0, len(ids), _PAGE):
            page = ids[start : start + _PAGE]
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
        """Write or remove one file, and return its new state; skip a file that somebody changed meanwhile."""
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
        if row.state in NO_FILE:
            return True
        try:
            return blob(self._place.folder.read(row.name)) == row.blob
        except MemoryFileError:
            return not (self._place.folder.path / row.name).exists()
