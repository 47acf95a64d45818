"""Import chunks: each is read once, and one that is refused does not stop the others."""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.base.database.store import Row
from engram_py.base.dataclass import asdict, dataclass, field, replace
from engram_py.memory.observations.values import CONTENT_LIMIT_BYTES
from engram_py.memory.privacy.signatures import Signer, WrongSignatureError, chunk_signer
from engram_py.sharing.sync.chunk import (
    About,
    ChunkRefusedError,
    ChunkTooLongError,
    Contents,
    decompose,
    digest,
    parse,
    unpack,
)
from engram_py.sharing.sync.git import table
from engram_py.sharing.sync.git.folder import ChunkFile
from engram_py.sharing.sync.git.places import Job
from engram_py.sharing.sync.git.table import ChunkRefusal, ChunksRead
from engram_py.sharing.sync.mutation import AppliedBatch, Mutation
from engram_py.sharing.sync.replica.project_access import folder_rows
from engram_py.sharing.sync.replica.table import deferred_counts

# Rows in one transaction, for which other writers wait: as many as take this time.
_STEP_SECONDS, _FIRST_STEP, _LONGEST_STEP = 0.1, 50, 500
# The policy of a chunk that is not read unasked, however often a session begins.
_ASK = "ask"


class _UntrustedError(ChunkRefusedError):
    """A chunk that is whole, but not trusted with the present keys and settings."""


class _TooMuchError(_UntrustedError):
    """A chunk that would take a folder above what it may add."""


@dataclass(slots=True)
class _Outcome:
    """The outcome of a chunk: refused for a reason, or ``rows`` of which some have problems or were left out."""

    refused: str = ""
    rows: int = 0
    problems: list[str] = field(default_factory=list)
    left_out: Counter[str] = field(default_factory=Counter)
    cut: list[str] = field(default_factory=list)


def new_chunks(job: Job, listing: Mapping[str, ChunkFile], names: frozenset[str] | None) -> list[ChunkFile]:
    """Return the chunks that an import for a project of these ``names`` would read."""
    known, policy = table.known(job.store, job.target), f"{'' if job.until is None else f'{_ASK} '}{job.policy(names)}"
    return [chunk for name, chunk in listing.items() if _is_new(chunk, known.get(name), policy)]


class Importer:
    """One import. A chunk is noted when its rows are stored: a crash in between reads it again.

    ``_names`` are the project's names, with those that rows added; ``_outcomes`` has a chunk that was read twice once.
    """

    def __init__(self, job: Job) -> None:
        self._job = job
        self._names = job.names
        self._applied = AppliedBatch()
        self._outcomes: dict[str, _Outcome] = {}
        self._left = False  # something is too long for now
        self._step = _FIRST_STEP

    def run(self) -> ChunksRead:
        """Read what is new. Where all that was ever read here was left out, it is looked at once more."""
        job, listing = self._job, self._job.folder.list()
        manifest, _ = job.folder.manifest()
        again = self._all_left_out(listing)
        while not job.is_late:
            names = self._names
            new = {chunk.name: chunk for chunk in again or new_chunks(job, listing, names)}
            again = []
            for done, name in enumerate(sorted(new, key=lambda one: (manifest.get(one, About()).created_at, one))):
                if job.is_late:
                    break
                if job.progress is not None:
                    job.progress(done, len(new))
                self._read(new[name], manifest.get(name, About()))
            # An alias that arrived makes rows ours that were left out.
            if not new or self._names == names or not any(one.left_out for one in self._outcomes.values()):
                break
        if self._applied.applied:
            with job.store.transaction():
                table.forget_changed(job.store, job.target)
        return self._result(listing)

    def _result(self, listing: Mapping[str, ChunkFile]) -> ChunksRead:
        job = self._job
        read = {name: one for name, one in self._outcomes.items() if not one.refused}
        refused = {name: one.refused for name, one in self._outcomes.items() if one.refused}
        rows = table.known(job.store, job.target)
        return ChunksRead(
            chunks=len(read),
            rows=sum(one.rows for one in read.values()),
            applied=self._applied,
            refused=tuple(ChunkRefusal(name, reason) for name, reason in refused.items()),
            still_refused=sum(name in rows and table.is_refused(rows[name]) for name in {*listing} - {*self._outcomes}),
            unreadable=tuple(ChunkRefusal(name, problem) for name, one in read.items() for problem in one.problems),
            cut=tuple(ChunkRefusal(name, row) for name, one in read.items() for row in one.cut),
            left_out=dict(sorted(sum((one.left_out for one in read.values()), Counter[str]()).items())),
            more=self._left or (job.is_late and bool(new_chunks(job, listing, self._names))),
            waiting=min(self._applied.deferred, deferred_counts(job.store).get("deferred", 0)),
        )

    def _all_left_out(self, listing: Mapping[str, ChunkFile]) -> list[ChunkFile]:
        """Return the chunks to read again: so far none of their rows belonged to this project."""
        if self._job.names is None or self._job.until is not None:
            return []
        known = table.known(self._job.store, self._job.target)
        readable = [chunk for name, chunk in listing.items() if name not in known or not table.is_refused(known[name])]
        read = [known[chunk.name] for chunk in readable if chunk.name in known]
        return readable if read and all(row["left_out"] for row in read) else []

    def _read(self, chunk: ChunkFile, listed: About) -> None:
        job, file = self._job, b""
        if chunk.size > job.longest:
            self._left = True
            return
        try:
            file = job.folder.read(chunk)
            signer = self._signer(chunk, file)
            size, contents = self._contents(chunk, file)
        except ChunkTooLongError:
            self._left = True
            return
        except ChunkRefusedError as exc:
            self._outcomes[chunk.name] = _Outcome(refused=str(exc))
            state = "refused" if isinstance(exc, _UntrustedError) else "broken"
            # An unreadable file may be readable the next time.
            policy = job.policy(self._names) if file else ""
            if isinstance(exc, _TooMuchError) and job.until is not None:
                policy = _ASK
            self._note(chunk, file, asdict(listed), state=state, reason=str(exc), policy=policy)
            return
        about = About() if chunk.sealed else listed
        about = _with_manifest_facts(contents.about, about)
        mutations = job.own_rows(contents.mutations)
        choice = folder_rows(job.store, mutations, self._names)
        applied, refusals, whole = self._apply(chunk.name, mutations, choice.taken, *_author(signer, about))
        self._applied += applied
        if not whole:
            return
        problems = [*contents.unreadable, *choice.problems, *refusals]
        rows = len(mutations) + len(contents.unreadable)
        self._outcomes[chunk.name] = _Outcome("", rows, problems, choice.left_out, _cut(choice.taken))
        self._names = choice.names
        self._note(
            chunk,
            file,
            asdict(About() if chunk.sealed else about),
            device=signer.device if signer else contents.device,
            state="imported",
            reason="; ".join(problems)[:500],
            policy=job.policy(self._names),
            bytes=size,
            left_out=len(mutations) - len(choice.taken),
        )

    def _note(self, chunk: ChunkFile, file: bytes, about: dict[str, Any], **more: Any) -> None:
        sizes = {"size": chunk.size, "signature_size": chunk.signature_size}
        row = {"target": self._job.target, "chunk": chunk.name, "sha256": hashlib.sha256(file).hexdigest()}
        with self._job.store.transaction():
            table.remember(self._job.store, row | sizes | about | more)
            table.keep_progress(self._job.store, self._job.target, chunk.name, None)

    def _signer(self, chunk: ChunkFile, file: bytes) -> Signer | None:
        """Return the device that signed a chunk, None without one. Raises ChunkRefusedError."""
        job, signature = self._job, self._job.folder.read_signature(chunk.name)
        if signature is None:
            if job.trusted:
                raise _UntrustedError("it is not signed, and only trusted devices are read here")
            return None
        try:
            signer = chunk_signer(chunk.name, file, signature)
        except WrongSignatureError as exc:
            raise ChunkRefusedError(str(exc)) from None
        if signer.key not in job.keys.own:
            with job.store.transaction():
                table.see_device(job.store, job.target, key=signer.key, device=signer.device)
            if job.trusted and signer.key not in job.trusted:
                step = f"`engram sync --trust {signer.key}`"
                raise _UntrustedError(f"it is signed by device {signer.device}, which is not trusted; {step}")
        return signer

    def _contents(self, chunk: ChunkFile, file: bytes) -> tuple[int, Contents]:
        """Return the size of a chunk and what it holds. Raises ChunkRefusedError, ChunkTooLongError."""
        job = self._job
        if chunk.sealed:
            if job.key is None:
                raise _UntrustedError("it is encrypted, and encryption.json is missing")
            data = unpack(job.key.open(chunk.name, file), most=job.longest)
            name = job.key.name(data)
        else:
            if job.key is not None and not job.allow_plain:
                raise _UntrustedError("it is not encrypted, but this folder is; `engram sync --allow-plain` reads it")
            data = unpack(file, most=job.longest)
            name = digest(data)
        if not name.startswith(chunk.name):
            raise ChunkRefusedError("it does not hold what its name says: it was changed, or renamed")
        if table.bytes_read(job.store, job.target) + len(data) > job.most:
            step = "; `engram sync` reads it" if job.until is not None else ""
            raise _TooMuchError(f"this chunk would exceed the folder's limit of {job.most // 2**20} MiB{step}")
        return len(data), decompose(parse(data), project=job.project)

    def _apply(
        self, chunk: str, rows: Sequence[Mutation], taken: Sequence[Mutation], author: str, name: str, signed_by: str
    ) -> tuple[AppliedBatch, list[str], bool]:
        """Apply those ``rows`` of a chunk that are ``taken``, from where the last reading stopped.

        Return the counts, the refusals, and whether there was time for all of them.
        """
        job, applied, refusals = self._job, AppliedBatch(), list[str]()
        places = {id(one): place for place, one in enumerate(rows)}
        begun = table.progress(job.store, job.target, chunk)
        waiting = [one for one in taken if places[id(one)] >= begun]
        while waiting:
            batch, waiting = waiting[: self._step], waiting[self._step :]
            at = time.monotonic()
            done = job.replica.apply(batch, source=job.target, author=author, author_name=name, signed_by=signed_by)
            took = max(time.monotonic() - at, 1e-6)
            self._step = max(1, min(int(len(batch) * _STEP_SECONDS / took), 2 * self._step, _LONGEST_STEP))
            refusals += [f"{one.entity} {one.entity_key}: {one.reason}" for one in done.refused]
            applied += done
            with job.store.transaction():
                table.note_present(job.store, job.target, [(one.entity, one.entity_key, one.clock) for one in batch])
                if waiting and job.is_late:
                    table.keep_progress(job.store, job.target, chunk, places[id(waiting[0])])
            if waiting and job.is_late:
                return applied, refusals, False
            job.store.give_way()
        return applied, refusals, True


def _cut(mutations: Sequence[Mutation]) -> list[str]:
    """Return a sentence for each row whose text is longer than what is kept of one."""
    texts = ((one, one.payload.get("content")) for one in mutations)
    sizes = ((one, len(text.encode("utf-8", "replace"))) for one, text in texts if isinstance(text, str))
    long, kept = ((one, size) for one, size in sizes if size > CONTENT_LIMIT_BYTES), f"{CONTENT_LIMIT_BYTES:,}"
    return [f"{one.entity} {one.entity_key}: kept {kept} of {size:,} bytes" for one, size in long]


def is_changed(chunk: ChunkFile, row: Row | None) -> bool:
    return row is None or (chunk.size, chunk.signature_size) != (row["size"], row["signature_size"])


def _is_new(chunk: ChunkFile, row: Row | None, policy: str) -> bool:
    if row is None or is_changed(chunk, row):
        return True
    if row["policy"] == _ASK and policy.startswith(_ASK):
        return False  # nobody asked since
    return bool(table.is_refused(row) or row["left_out"]) and row["policy"] != policy.removeprefix(f"{_ASK} ")


def _author(signer: Signer | None, about: About) -> tuple[str, str, str]:
    """Return the author of a chunk (the key that signed it, else what it says), the name they give themselves, and the
    key."""
    name = about.created_by
    return (signer.key, name or signer.device, signer.key) if signer else (f"~{name}" if name else "", name, "")


def _with_manifest_facts(said: About, listed: About) -> About:
    """Return a chunk's own entry; Engram writes creator and time into the manifest only."""
    if said.created_by:
        return said
    return replace(said, created_by=listed.created_by, created_at=listed.created_at or said.created_at)
