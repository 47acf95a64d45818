"""Sync a repository's memory with its folder of chunks: ``engram sync``."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Sequence
from operator import attrgetter
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.database.runs import NamedLease
from engram_py.base.dataclass import replace
from engram_py.base.errors import InvalidArgumentError, SyncError
from engram_py.base.reasons import Told
from engram_py.memory.privacy import provenance
from engram_py.memory.privacy.signatures import Keyring, is_key
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.projects import Core
from engram_py.memory.writing.trust import undecided
from engram_py.sharing.sync.chunk import CHUNK_BYTES, MOST_PLAIN_BYTES
from engram_py.sharing.sync.errors import PassphraseMissingError, SyncFolderError
from engram_py.sharing.sync.git import exporter, hooks, table
from engram_py.sharing.sync.git.folder import NAME, uncommitted
from engram_py.sharing.sync.git.importer import Importer, has_news, new_chunks
from engram_py.sharing.sync.git.memories import MemoryExport, MemoryPlace, has_file
from engram_py.sharing.sync.git.memory_file import mutations, parse
from engram_py.sharing.sync.git.memory_folder import MemoryFolder
from engram_py.sharing.sync.git.memory_import import MemoryImport
from engram_py.sharing.sync.git.places import UNASKED_BYTES, Job, Places, Progress, SharedPlace
from engram_py.sharing.sync.git.table import (
    Adoption,
    ChunkRefusal,
    ChunksRead,
    ChunksWritten,
    Device,
    GitStatus,
    GitSynced,
    HandEdit,
)
from engram_py.sharing.sync.mutation import ReplicaDigest
from engram_py.sharing.sync.replica.table import deferred_counts
from engram_py.sharing.sync.sealing import Keys, Parameters, SealingKey, WrongSecretError, derived_key, new_key

if TYPE_CHECKING:
    from engram_py.sharing.sync.replica.replica import Replica

_BUSY = f"a merge or rebase is unfinished: finish it, then {NAME}/memories is read and written again"
_PART_SECONDS = 30.0  # then the lease is renewed, and the chunk is read anew


class GitSync:
    """Syncs memory through the ``.engram`` folder of the current repository."""

    def __init__(self, core: Core, replica: Replica) -> None:
        self._store, self._journal = core.store, core.journal
        self._places = Places(core.store, core.journal, core.projects)
        self._keys, self._keyring = Keys(core.store.path.parent), Keyring(core.store.path.parent)
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
        adopt: Callable[[Adoption], bool] | None = None,
        mine: Callable[[Sequence[HandEdit]], bool | Collection[str]] | None = None,
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
        place = self._places.place(project, all_projects=all_projects)
        before, said = self._keys.folder(place.target), place.folder.parameters()
        owners = self._owners(place, all_projects=all_projects)
        key = self._key(place, secret, owners, encrypt=encrypt)
        if key is not None and before is None and said is None and secret is None and write:
            raise SyncError(
                f"{place.folder.path} has no encryption.json, but this machine encrypts the project with key "
                f"{key.parameters.key_id}; nothing was written",
                hint="bring it back with `git checkout -- .engram/encryption.json`, or run `engram sync --encrypt`",
                code="plain_export_refused",
            )
        job = self._job(place, key, all_projects=all_projects, allow_plain=allow_plain, progress=progress)
        self._places.confirm(place)
        if key is not None:
            self._keep(place, key)
        if key is not None and (before is None or before.parameters != key.parameters):
            again = again or said is None or before is not None
        warnings = list(place.warnings)
        texts = MemoryFolder(place.repository.root)
        form = _format(format, texts, place, sealed=key is not None, all_projects=all_projects)
        decide = None if project else adopt or attrgetter("is_free")
        got, adopted = self._read(job, place, decide) if read else (None, None)
        name = self._places.current(adopted.project if adopted else job.project)
        if name != job.project:  # what arrived had a new name for it
            place = replace(place, project=name)
            self._places.confirm(place)
            job = self._job(place, key, all_projects=all_projects, progress=progress)
        memories = MemoryPlace(job, place.repository)
        reads = read and _reads(memories, warnings)
        memories_read = MemoryImport(memories, self._journal, mine).run() if reads else None
        sent = self._write(job, again=again) if write and form == "chunks" else None
        wants = write and form == "text"
        if wants and memories.git.is_busy and _BUSY not in warnings:
            warnings.append(_BUSY)
        memories_sent = MemoryExport(memories).run(again=again) if wants and not memories.git.is_busy else None
        try:
            exporter.update_manifest(job, written=bool(sent and sent.chunks))
        except SyncFolderError as exc:
            if write:
                raise
            warnings.append(f"the manifest could not be corrected: {exc.reason}")
        if plain := job.plain_chunks():
            warnings.append(_plain_warning(plain))
        return GitSynced(
            place.project,
            str(place.folder.path),
            key is not None,
            got,
            sent,
            tuple(warnings),
            uncommitted(place.folder.root),
            adopted,
            undecided(self._store, place.target, place.project) if read else (),
            memories_read,
            memories_sent,
            self._places.of_others(got.left_out) if got else (),
        )

    def read_new(self, *, until: float, longest: int = CHUNK_BYTES) -> GitSynced | None:
        """Import what others committed since, for a session that begins; None where nothing is new.

        ``until`` (``time.monotonic``) is when to stop, ``longest`` the bytes of the longest chunk that is read; the
        rest waits for the next time. Nothing is written to the repository's files.

        Raises SyncError, AmbiguousProjectError.
        """
        place = self._places.place()
        new_chunks = has_news(self._store, place.target, place.folder)
        texts = MemoryFolder(place.repository.root)
        if not new_chunks and not texts.exists:
            return None
        key = self._key(place, None, self._owners(place), encrypt=False)
        job = self._job(place, key, all_projects=False, until=until)
        memories = MemoryPlace(job, place.repository)
        new_texts = _reads(memories, []) and memories.has_news()
        if not new_chunks and not new_texts:
            return None
        job = replace(job, longest=longest, most=UNASKED_BYTES)
        got, adopted = self._read(job, place, attrgetter("is_free")) if new_chunks else (None, None)
        place = replace(place, project=self._places.current(adopted.project if adopted else place.project))
        self._places.confirm(place)
        memories = MemoryPlace(replace(job, project=place.project), place.repository)
        return GitSynced(
            place.project,
            str(place.folder.path),
            key is not None,
            got,
            None,
            place.warnings,
            adopted=adopted,
            memories_read=MemoryImport(memories, self._journal).run() if new_texts else None,
        )

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
        place = self._places.place(all_projects=True)
        return place.folder.parameters() is not None or self._keys.folder(place.target) is not None

    def status(self, *, project: str | None = None, all_projects: bool = False) -> GitStatus:
        """Return the state of the folder; nothing is imported or written."""
        place = self._places.place(project, all_projects=all_projects)
        job = self._job(place, self._keys.folder(place.target), all_projects=all_projects)
        listing, known = job.folder.list(), table.known(self._store, job.target)
        refused = [name for name, row in known.items() if name in listing and table.is_refused(row)]
        rows = deferred_counts(self._store)
        texts = MemoryFolder(place.repository.root)
        form = _format(None, texts, place, sealed=job.key is not None, all_projects=all_projects)
        readable = MemoryPlace(job, place.repository).status() if texts.exists or form == "text" else None
        return GitStatus(
            project=place.project,
            folder=str(place.folder.path),
            exists=place.folder.exists or texts.exists,
            encrypted=job.key is not None or (place.folder.path / "encryption.json").exists(),
            chunks=len(listing),
            waiting=len(new_chunks(job, listing, job.names)),
            unsent=bool(readable and readable.unsent) if form == "text" else exporter.has_unsent(job),
            refused=tuple(ChunkRefusal(name, known[name]["reason"]) for name in refused),
            elsewhere=exporter.elsewhere(job),
            hooks=tuple(hooks.installed(place.repository)),
            devices=self._devices(job),
            deferred=rows.get("deferred", 0),
            dead=rows.get("dead", 0),
            uncommitted=uncommitted(place.folder.root),
            memories=readable,
        )

    def digest(self, *, project: str | None = None, all_projects: bool = False) -> ReplicaDigest:
        """Return the value that two machines compare: equal when the rows that their folder shares are."""
        if all_projects:
            return self._replica.digest(projects=None)
        place = self._places.place(project)
        texts, key = MemoryFolder(place.repository.root), self._keys.folder(place.target)
        form = _format(None, texts, place, sealed=key is not None, all_projects=False)
        counts_in = has_file if form == "text" and texts.exists else lambda mutation: True
        return self._replica.digest(projects=[place.project], counts_in=counts_in)

    # --- whom to believe --------------------------------------------------------------------------------

    def devices(self) -> tuple[Device, ...]:
        """Return the devices whose chunks were seen here, this one first."""
        place = self._places.place(all_projects=True)
        return self._devices(self._job(place, None, all_projects=True))

    def trust(self, key: str, *, trusted: bool = True) -> Device:
        """Trust the device with this public key, or no longer.

        From the first trusted device on only trusted ones are read in this repository; without one, all are again.

        Raises InvalidArgumentError: it is no key, or this device's own, which would shut out everybody else.
        """
        if not is_key(key):
            raise InvalidArgumentError("key", key, expected="one of those that `engram sync --trusted` lists")
        place = self._places.place(all_projects=True)
        job = self._job(place, None, all_projects=True)
        if trusted and key in job.keys.own:
            said = "this is the key of this device, which is always trusted"
            raise InvalidArgumentError("key", said=said, step="give the key of another device")
        with self._store.transaction():
            at = self._journal.now() if trusted else None
            table.trust(self._store, place.target, key=key, now=at)
            arrival = provenance.arrival_of(self._store, place.target, key)
            provenance.trust(self._store, arrival, place.project, at)
        return next(device for device in self._devices(job) if device.key == key)

    def untrust(self, key: str) -> Device:
        return self.trust(key, trusted=False)

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
        """Let the text of a file that a merge did not take wait in Review, where the memory here says what it took.

        Where it says something else, the import finds the two. Raises SyncError, AmbiguousProjectError.
        """
        kept, left, place = parse(taken, ""), parse(other, ""), self._places.place(None)
        here = table.memory_states(self._store, [kept.sync_id]).get(kept.sync_id)
        if here is not None and (here["clock"], here["project"]) == (kept.clock, place.project):
            source = f"{place.target}{provenance.BRANCH}"
            self._replica.apply(mutations(left, place.project)[:1], source=source)

    def _job(
        self,
        place: SharedPlace,
        key: SealingKey | None,
        *,
        all_projects: bool,
        allow_plain: bool = False,
        progress: Progress | None = None,
        until: float | None = None,
    ) -> Job:
        with self._store.transaction():
            device = self._journal.device()
        return Job(
            store=self._store,
            replica=self._replica,
            folder=place.folder,
            target=place.target,
            project=place.project,
            names=None if all_projects else self._names(place.project),
            key=key,
            device=device,
            keys=self._keyring,
            trusted=frozenset(table.trusted(self._store, place.target)),
            allow_plain=allow_plain,
            progress=progress,
            until=until,
            spellings=place.spellings,
        )

    def _names(self, project: str) -> frozenset[str]:
        return frozenset({project, *project_table.aliases_of(self._store, project)})

    def _owners(self, place: SharedPlace, *, all_projects: bool = False) -> list[str]:
        """Return whose encryption this folder shares: the project's, by all its names, and that of its remote."""
        names = project_table.names(self._store) if all_projects else self._names(place.project)
        remote = place.repository.remote
        return [*(f"project {name}" for name in sorted(names)), *([f"remote {remote}"] if remote else ())]

    def _keep(self, place: SharedPlace, key: SealingKey) -> None:
        """Keep the key of this folder, of its project and of its remote."""
        owners = [name for name in self._owners(place) if self._keys.of_owners([name]) is None]
        kept = self._keys.folder(place.target)
        if owners or kept is None or kept.parameters != key.parameters:
            self._keys.keep_folder(place.target, key, owners=self._owners(place))

    def _key(
        self, place: SharedPlace, secret: bytes | None, owners: Sequence[str], *, encrypt: bool
    ) -> SealingKey | None:
        """Return the key of the folder, None when it is not encrypted.

        What was encrypted stays so, in every checkout of the project and of its remote: taking encryption.json away, or
        exchanging it, makes nobody write plainly.
        """
        kept = self._keys.folder(place.target)
        said = place.folder.parameters()
        path = str(place.folder.path)
        if kept is None and (known := self._keys.of_owners(owners)) is not None and said in (None, known.parameters):
            return known if secret is None or said is not None else _opened(secret, known.parameters, path)
        if said is None:
            return kept or (new_key(secret) if encrypt and secret is not None else None)
        if kept is not None and kept.parameters == said:
            return kept
        if secret is None and kept is not None:
            raise SyncError(
                f"{path} is now encrypted with key {said.key_id} instead of {kept.parameters.key_id}; "
                "nothing was read or written",
                hint="ask who changed encryption.json; `engram sync --encrypt` takes the new passphrase",
                code="encryption_changed",
            )
        if secret is None:
            raise PassphraseMissingError(path)
        return _opened(secret, said, path)

    def _read(
        self, job: Job, place: SharedPlace, adopt: Callable[[Adoption], bool] | None
    ) -> tuple[ChunksRead, Adoption | None]:
        """Import what is new; where all of it is of one other project, as that project if ``adopt`` allows it."""
        got = Importer(job).run()
        done = got.applied
        strange = () if adopt is None or got.more or done.applied + done.unchanged + done.deferred else got.left_out
        found = self._places.adoption(place, *strange) if len(strange) == 1 else None
        if found is None or adopt is None or not adopt(found):
            return got, None
        self._places.adopt(found)
        job = replace(job, project=found.project, names=self._names(found.project))
        return Importer(job).run(), found

    def _write(self, job: Job, *, again: bool) -> ChunksWritten:
        job.folder.sweep()
        if job.key is not None and job.folder.parameters() is None:
            job.folder.write_parameters(job.key.parameters)
        return exporter.export(job, again=again)


def _reads(memories: MemoryPlace, warnings: list[Told]) -> bool:
    """Return whether readable memories are read here; where they are not, ``warnings`` says why."""
    job = memories.job
    if not memories.folder.exists:
        return False
    if job.key is not None and not job.allow_plain:
        warnings.append(
            f"{NAME}/memories is not encrypted, and is not read: once everybody has synced, "
            f"git rm -r ':/{NAME}/memories'; `engram sync --allow-plain` reads it"
        )
    elif memories.git.is_busy:
        warnings.append(_BUSY)
    else:
        return True
    return False


def _format(asked: str | None, texts: MemoryFolder, place: SharedPlace, *, sealed: bool, all_projects: bool) -> str:
    """Return how a folder is written: as it was, and as text when it is new. Raises InvalidArgumentError."""
    if asked == "text" and (sealed or all_projects):
        why = "an encrypted folder" if sealed else "--all"
        raise InvalidArgumentError(
            "format", said=f"text files do not go together with {why}", step="use --format chunks"
        )
    if sealed or all_projects:
        return "chunks"
    has_chunks = place.folder.exists or (place.folder.path / "manifest.json").exists()
    return asked or ("text" if texts.exists or not has_chunks else "chunks")


def _opened(secret: bytes, said: Parameters, path: str) -> SealingKey:
    try:
        return derived_key(secret, said)
    except WrongSecretError as exc:
        raise SyncError(
            f"this passphrase or key file does not open {path}; nothing was read or written",
            hint="ask the person who encrypted it, then run `engram sync --encrypt` or `--encrypt-with KEYFILE`",
            code="wrong_passphrase",
        ) from exc


def _plain_warning(chunks: Sequence[str]) -> str:
    """Return the warning about plain chunks. ``:/`` is the top of the repository, ``.*`` includes signatures."""
    files = " ".join(f"':/{NAME}/chunks/{name}.*'" for name in chunks)
    them = "1 chunk is" if len(chunks) == 1 else f"{len(chunks)} chunks are"
    return (
        f"{them} not encrypted, nor is git's history of them; once everybody has synced: "
        f"git rm {files} && git commit -m 'engram sync: encrypted'"
    )
