"""Sync a project's memory with the folder of its repository: ``engram sync``."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.database.runs import NamedLease
from engram_py.base.dataclass import replace
from engram_py.base.errors import InvalidArgumentError, SyncError
from engram_py.memory.privacy import provenance
from engram_py.memory.privacy.signatures import is_key
from engram_py.memory.projects.projects import Core
from engram_py.memory.writing.trust import undecided
from engram_py.sharing.sync.chunk import CHUNK_BYTES, MOST_PLAIN_BYTES
from engram_py.sharing.sync.errors import SyncFolderError
from engram_py.sharing.sync.git import hooks, table
from engram_py.sharing.sync.git.chunks import Chunks
from engram_py.sharing.sync.git.folder import NAME, uncommitted
from engram_py.sharing.sync.git.keys import FolderKeys
from engram_py.sharing.sync.git.memories import has_file
from engram_py.sharing.sync.git.memory_files import MemoryFiles
from engram_py.sharing.sync.git.memory_import import Mine
from engram_py.sharing.sync.git.places import UNASKED_BYTES, Job, Places, Progress
from engram_py.sharing.sync.git.table import Adoption, Device, GitStatus, GitSynced
from engram_py.sharing.sync.mutation import ReplicaDigest
from engram_py.sharing.sync.replica.table import deferred_counts

if TYPE_CHECKING:
    from engram_py.sharing.sync.replica.replica import Replica

Adopt = Callable[[Adoption], bool]
_PART_SECONDS = 30.0  # then the lease is renewed, and the chunk is read anew


class GitSync:
    """Syncs memory through the ``.engram`` folder of the current repository."""

    def __init__(self, core: Core, replica: Replica) -> None:
        self._store, self._journal = core.store, core.journal
        self._places = Places(core.store, core.journal, core.projects, replica)
        self._keys = FolderKeys(core.store)
        self._replica = replica

    def sync(
        self,
        *,
        project: str | None = None,
        all_projects: bool = False,
        read: bool = True,
        write: bool = True,
        again: bool = False,
        secret: bytes | None = None,
        encrypt: bool = False,
        allow_plain: bool = False,
        format: str | None = None,
        progress: Progress | None = None,
        adopt: Adopt | None = None,
        mine: Mine | None = None,
    ) -> GitSynced:
        """Import what is new in the folder, then export what it does not have yet.

        ``format`` is how it is written: ``text`` (a file a memory) or ``chunks``; both are read. Without it a folder
        stays as it is, and a new one is text. ``again`` writes all there is. ``secret`` opens an encrypted folder, and
        is remembered as a key on this machine; with ``encrypt`` a folder that is not encrypted will be. Under a new key
        everything is written again.
        ``adopt`` decides whether a repository goes by another name, that of the one project its chunks are of; without
        it, it does where no memory is joined with another. ``mine`` decides whether the user made the edits by hand of
        files that the user signed, or of which: then they are signed anew; without it they are nobody's.

        Raises:
            SyncError: the folder, the repository or the secret; nothing was written then, but for a full disk.
            InvalidArgumentError: text was asked of a folder that is encrypted, or of all projects.
            AmbiguousProjectError: nothing says which project the repository is.
        """
        job = self._places.job(project, all_projects=all_projects)
        before, said = self._keys.kept(job), job.folder.parameters()
        key = self._keys.find(job, secret, all_projects=all_projects, encrypt=encrypt)
        if key is not None and before is None and said is None and secret is None and write:
            raise SyncError(
                f"{job.folder.path} has no encryption.json, but this machine encrypts the project with key "
                f"{key.parameters.key_id}; nothing was written",
                hint="bring it back with `git checkout -- .engram/encryption.json`, or run `engram sync --encrypt`",
                code="plain_export_refused",
            )
        job = replace(job, key=key, allow_plain=allow_plain, progress=progress)
        self._places.confirm(job)
        if key is not None:
            self._keys.keep(job, key)
            if before is None or before.parameters != key.parameters:
                again = again or said is None or before is not None
        written_format = job.format(format)
        done = _begun(job)
        if read:
            job, done = self._read_chunks(job, done, None if project else adopt or attrgetter("is_free"))
        chunks, files = Chunks(job), MemoryFiles(job)
        if read:
            done = files.read(done, mine)
        if write:
            done = (files if written_format == "text" else chunks).write(done, again=again)
        warnings = list(done.warnings)
        try:
            chunks.update_manifest(written=bool(done.written and done.written.chunks))
        except SyncFolderError as exc:
            if write:
                raise
            warnings.append(f"the manifest could not be corrected: {exc.reason}")
        if plain := chunks.plain():
            warnings.append(_plain_warning(plain))
        return replace(
            done,
            warnings=tuple(warnings),
            uncommitted=uncommitted(job.folder.root),
            unchecked=undecided(self._store, job.target, job.project) if read else (),
            others=self._places.of_others(done.read.left_out) if done.read else (),
        )

    def read_new(self, *, until: float, longest: int = CHUNK_BYTES) -> GitSynced | None:
        """Import what others committed since, for a session that begins; None where nothing is new.

        ``until`` (``time.monotonic``) is when to stop, ``longest`` the bytes of the longest chunk that is read; the
        rest waits for the next time. Nothing is written to the repository's files.

        Raises SyncError, AmbiguousProjectError.
        """
        job = self._places.job()
        new_chunks = Chunks(job).has_news()
        if not new_chunks and not job.has_files:
            return None
        job = replace(job, key=self._keys.find(job), until=until, longest=longest, most=UNASKED_BYTES)
        new_files = MemoryFiles(job).has_news()
        if not new_chunks and not new_files:
            return None
        done = _begun(job)
        if new_chunks:
            job, done = self._read_chunks(job, done, attrgetter("is_free"))
        else:
            self._places.confirm(job)
        return MemoryFiles(job).read(done) if new_files else done

    def read_rest(self, *, until: float) -> None:
        """Import what no session has the time for, in a process that nobody waits for; another one may be at it.

        Raises SyncError, AmbiguousProjectError.
        """
        with NamedLease(self._store, self._journal, "arriving").holding() as renew:
            while renew is not None and renew() and time.monotonic() < until:
                part = min(until, time.monotonic() + _PART_SECONDS)
                done = self.read_new(until=part, longest=MOST_PLAIN_BYTES)
                if done is None or not done.more:
                    return

    def is_encrypted(self) -> bool:
        """Return whether the folder has a secret already, so that a passphrase opens it and does not set it.

        Raises SyncError: there is no folder to say, or it does not say so in a way that can be used.
        """
        job = self._places.job(all_projects=True)
        return job.folder.parameters() is not None or self._keys.kept(job) is not None

    def status(self, *, project: str | None = None, all_projects: bool = False) -> GitStatus:
        """Return the state of the folder; nothing is imported or written."""
        job = self._places.job(project, all_projects=all_projects)
        job = replace(job, key=self._keys.kept(job))
        rows = deferred_counts(self._store)
        status = GitStatus(
            project=job.project,
            folder=str(job.folder.path),
            exists=job.folder.exists or job.has_files,
            encrypted=job.key is not None or (job.folder.path / "encryption.json").exists(),
            hooks=tuple(hooks.installed(job.repository)),
            devices=self._devices(job),
            deferred=rows.get("deferred", 0),
            dead=rows.get("dead", 0),
            uncommitted=uncommitted(job.folder.root),
        )
        is_text = job.format() == "text"
        status = Chunks(job).status(status, is_written=not is_text)
        return MemoryFiles(job).status(status, is_written=is_text)

    def digest(self, *, project: str | None = None, all_projects: bool = False) -> ReplicaDigest:
        """Return the value that two machines compare: equal when the rows that their folder shares are."""
        if all_projects:
            return self._replica.digest(projects=None)
        job = self._places.job(project)
        job = replace(job, key=self._keys.kept(job))
        has_files = job.format() == "text" and job.has_files
        counts_in = has_file if has_files else lambda mutation: True
        return self._replica.digest(projects=[job.project], counts_in=counts_in)

    # --- devices ---------------------------------------------------------------------------------------

    def devices(self) -> tuple[Device, ...]:
        """Return the devices whose chunks were seen here, this one first."""
        return self._devices(self._places.job(all_projects=True))

    def trust(self, key: str, *, trusted: bool = True) -> Device:
        """Trust the device with this public key, or no longer.

        From the first trusted device on only trusted ones are read in this repository; without one, all are again.

        Raises InvalidArgumentError: it is no key, or this device's own, which would shut out everybody else.
        """
        if not is_key(key):
            raise InvalidArgumentError("key", key, expected="one of those that `engram sync --trusted` lists")
        job = self._places.job(all_projects=True)
        if trusted and key in job.keys.own:
            said = "this is the key of this device, which is always trusted"
            raise InvalidArgumentError("key", said=said, step="give the key of another device")
        with self._store.transaction():
            at = self._journal.now() if trusted else None
            table.trust(self._store, job.target, key=key, now=at)
            arrival = provenance.arrival_of(self._store, job.target, key)
            provenance.trust(self._store, arrival, job.project, at)
        return next(device for device in self._devices(job) if device.key == key)

    def _devices(self, job: Job) -> tuple[Device, ...]:
        key = job.keys.person.key
        rows = [row for row in table.devices(self._store, job.target) if row["key"] != key]
        own = Device(job.device, key, trusted=True, own=True)
        return (own, *(Device(row["device"], row["key"], row["trusted_at"] is not None) for row in rows))

    # --- hooks -------------------------------------------------------------------------------------------

    def install_hooks(self, command: Sequence[str]) -> list[Path]:
        """Let git sync: import after a merge or a rebase, export before a push; and join two edits of a memory by the
        rule of the replicas. ``command`` starts engram."""
        changed = hooks.install(self._places.here(), command)
        hooks.register_driver(self._places.here(), command)
        return changed

    def has_decided_driver(self) -> bool:
        """Return whether git joins two edits of a memory here, or the person declined it."""
        return hooks.driver_is_decided(self._places.here())

    def decide_driver(self, command: Sequence[str] | None) -> None:
        """Register the merge driver, which ``command`` starts; None: note that the person declined it.

        Raises HookRefusedError: git does not take it.
        """
        if command is None:
            hooks.decline_driver(self._places.here())
        else:
            hooks.register_driver(self._places.here(), command)

    def uninstall_hooks(self) -> list[Path]:
        return hooks.uninstall(self._places.here())

    # --- the parts ---------------------------------------------------------------------------------------

    def keep_other(self, taken: bytes, other: bytes) -> None:
        """Keep ``other``, the text that a merge did not take, for Review, if the memory here has the text it took.

        If the memory has a third text, the next import finds both. Raises SyncError, AmbiguousProjectError.
        """
        MemoryFiles(self._places.job()).keep_other(taken, other)

    def _read_chunks(self, job: Job, done: GitSynced, adopt: Adopt | None) -> tuple[Job, GitSynced]:
        """Import new chunks, and return the work under the project's present name.

        If all rows are of one other project, and ``adopt`` allows it, the repository becomes that project.
        """
        done = Chunks(job).read(done)
        adoption = self._adoption(job, done) if adopt is not None else None
        if adopt is not None and adoption is not None and adopt(adoption):
            self._places.adopt(adoption)
            job = self._places.named(job, adoption.project)
            done = replace(Chunks(job).read(done), adopted=adoption)
        job = self._places.named(job, self._places.current(job.project))
        self._places.confirm(job)
        return job, replace(done, project=job.project)

    def _adoption(self, job: Job, done: GitSynced) -> Adoption | None:
        read = done.read
        if read is None or read.more or len(read.left_out) != 1:
            return None
        is_strange = not (read.applied.applied + read.applied.unchanged + read.applied.deferred)
        return self._places.adoption(job, *read.left_out) if is_strange else None


def _begun(job: Job) -> GitSynced:
    return GitSynced(job.project, str(job.folder.path), job.key is not None, warnings=job.warnings)


def _plain_warning(chunks: Sequence[str]) -> str:
    """Return the warning about plain chunks. ``:/`` is the top of the repository, ``.*`` includes signatures."""
    files = " ".join(f"':/{NAME}/chunks/{name}.*'" for name in chunks)
    them = "1 chunk is" if len(chunks) == 1 else f"{len(chunks)} chunks are"
    return (
        f"{them} not encrypted, nor is git's history of them; once everybody has synced: "
        f"git rm {files} && git commit -m 'engram sync: encrypted'"
    )
