"""A project's memory as chunks. An export writes what changed since the last one, and what the folder has lost; the
import is in ``importer``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from engram_py.base.database.store import Row
from engram_py.base.dataclass import asdict, fields, replace
from engram_py.base.git.program import user_name
from engram_py.sharing.sync.chunk import (
    CHUNK_BYTES,
    ID_LENGTHS,
    About,
    ChunkRefusedError,
    compose,
    digest,
    pack,
    plain_name,
    unpack,
)
from engram_py.sharing.sync.git import table
from engram_py.sharing.sync.git.folder import ChunkFile, on_other_branches
from engram_py.sharing.sync.git.importer import Importer, is_changed, new_chunks
from engram_py.sharing.sync.git.places import Job
from engram_py.sharing.sync.git.table import ChunkRefusal, ChunksWritten, GitStatus, GitSynced, QueueRange
from engram_py.sharing.sync.mutation import Changes, Mutation
from engram_py.sharing.sync.replica.table import newest_seq

# About what fits into one chunk: rows that did not are made for nothing.
_MOST_ROWS = 3_000
# The rows' own JSON: the chunk around them, and the clocks in them, take the rest of the chunk.
_MOST_BYTES = CHUNK_BYTES * 3 // 4


class Chunks:
    """The chunks of a folder: compressed files with all that a project shares, encrypted where the folder is."""

    def __init__(self, job: Job) -> None:
        self._job = job

    def has_news(self) -> bool:
        """Return whether the folder has a chunk that was never looked at."""
        known = table.known(self._job.store, self._job.target)
        return any(is_changed(chunk, known.get(name)) for name, chunk in self._job.folder.list().items())

    def read(self, done: GitSynced) -> GitSynced:
        """Import the chunks that are new."""
        return replace(done, read=Importer(self._job).run())

    def write(self, done: GitSynced, *, again: bool = False) -> GitSynced:
        """Write the changes that the folder does not have yet; ``again`` writes everything, by every author.

        A chunk is noted after its file is in place: after a crash in between, the next export writes the same file.

        Raises SyncFolderError: the folder cannot be written. Chunks that were written before stay, and are noted.
        """
        job = self._job
        job.folder.sweep()
        if job.key is not None and job.folder.parameters() is None:
            job.folder.write_parameters(job.key.parameters)
        listing, known = job.folder.list(), table.known(job.store, job.target)
        exported = table.exported_ranges(job.store, job.target, job.selection)
        lost, all_lost = _lost_ranges(job, listing, known, exported)
        plain = set(self.plain())
        made: list[_Written] = []
        if again or all_lost:
            made += _write_range(job, QueueRange(0, 0, ""), towards="")
            names = {one.chunk for one in made}
            with job.store.transaction():
                table.forget(job.store, job.target, {name for name in known if name not in listing} - names)
                table.keep_ranges(job.store, job.target, job.selection, names)
        else:
            for part in lost:
                again_made = _write_range(job, part, towards=job.target)
                if part.chunk not in {one.chunk for one in again_made}:
                    with job.store.transaction():
                        table.forget(job.store, job.target, [part.chunk], seen=part.chunk in listing)
                made += again_made
            made += _write_range(job, QueueRange(_end(exported), 0, ""), towards=job.target)
        written = ChunksWritten(
            chunks=tuple(dict.fromkeys(one.chunk for one in made)),
            rows=sum(one.rows for one in made),
            bytes=sum(one.size for one in made),
            again=bool(lost) or ((again or all_lost) and any(one.chunk for one in exported)),
            lost=len({one.chunk for one in lost} - plain),
            sealed=bool(plain) and (again or bool(lost)),
        )
        return replace(done, written=written)

    def update_manifest(self, *, written: bool) -> None:
        """Rewrite the manifest if it does not match the chunks. Raises SyncFolderError."""
        folder, known = self._job.folder, table.known(self._job.store, self._job.target)
        said, whole = folder.manifest()
        there = {
            name: About() if one.sealed else _stored_about(known.get(name)) or said.get(name, About())
            for name, one in folder.list().items()
            if not one.problem and (name not in known or known[name]["state"] != "broken")
        }
        if written or (there and not whole) or set(there) != set(said):
            folder.write_manifest(there)

    def plain(self) -> list[str]:
        """Return the chunks of an encrypted folder that are not encrypted."""
        if self._job.key is None:
            return []
        return [name for name, chunk in self._job.folder.list().items() if not chunk.sealed and not chunk.problem]

    def status(self, whole: GitStatus, *, is_written: bool) -> GitStatus:
        """Return the status with that of the chunks; ``is_written``: an export would write them."""
        job, listing = self._job, self._job.folder.list()
        exported = table.exported_ranges(job.store, job.target, job.selection)
        missing = {one.chunk for one in exported} - {"", *listing}
        refused = [row for row in table.known(job.store, job.target).values() if table.is_refused(row)]
        return replace(
            whole,
            chunks=len(listing),
            waiting=len(new_chunks(job, listing, job.names)),
            unsent=self._has_unsent() if is_written else whole.unsent,
            refused=tuple(ChunkRefusal(row["chunk"], row["reason"]) for row in refused if row["chunk"] in listing),
            elsewhere=len(missing & on_other_branches(job.folder.root)) if missing else 0,
        )

    def _has_unsent(self) -> bool:
        job = self._job
        cursor = _end(table.exported_ranges(job.store, job.target, job.selection))
        while True:
            changes = _changes(job, cursor, towards=job.target)
            found = _not_in_folder(job, changes.mutations, towards=job.target)
            if found or not changes.more:
                return bool(found)
            cursor = changes.upto


class _Written(NamedTuple):
    """A chunk that holds what was exported; ``size`` is 0 when its file was there already."""

    chunk: str
    rows: int
    size: int


def _stored_about(row: Row | None) -> About | None:
    return None if row is None else About(**{field.name: row[field.name] for field in fields(About)})


def _lost_ranges(
    job: Job, listing: Mapping[str, ChunkFile], known: Mapping[str, Row], exported: Sequence[QueueRange]
) -> tuple[list[QueueRange], bool]:
    """Return the exported ranges whose chunks are gone, and whether the folder lost all its chunks."""
    there = {
        name for name, one in listing.items()
        if not one.problem and (name not in known or known[name]["state"] != "broken")
        and (one.sealed or job.key is None)  # in an encrypted folder nobody reads a plain one
    }  # fmt: skip
    lost = [one for one in exported if one.chunk and one.chunk not in there]
    gone = [name for name in known if name not in listing]
    if not lost and len(gone) < len(known):
        return [], False
    others = on_other_branches(job.folder.root) if gone else set()
    all_gone = bool(gone) and len(gone) == len(known) and not others.intersection(gone)
    return [one for one in lost if one.chunk not in others], all_gone


def _write_range(job: Job, part: QueueRange, *, towards: str) -> list[_Written]:
    """Write the changes of a range of the queue; its end is open when ``upto`` is 0."""
    made: list[_Written] = []
    cursor, creator = part.after, None
    while True:
        changes = _changes(job, cursor, towards=towards)
        upto = min(changes.upto, part.upto) if part.upto else changes.upto
        rows = _not_in_folder(job, [one for one in changes.mutations if one.seq <= upto], towards=towards)
        if rows:
            creator = user_name(job.folder.root, plain_name) if creator is None else creator
            made.append(_write_chunk(job, rows, QueueRange(cursor, upto, ""), creator))
        elif upto > cursor:
            with job.store.transaction():
                table.add_range(job.store, job.target, job.selection, QueueRange(cursor, upto, ""))
        if job.progress is not None:
            job.progress(upto, max(upto, newest_seq(job.store)))
        if not changes.more or upto <= cursor or upto == part.upto:
            return made
        cursor = upto


def _changes(job: Job, cursor: int, *, towards: str) -> Changes:
    limits = {"max_rows": _MOST_ROWS, "max_bytes": _MOST_BYTES}
    return job.replica.changes(after=cursor, projects=job.projects, towards=towards, **limits)


def _not_in_folder(job: Job, mutations: Sequence[Mutation], *, towards: str) -> list[Mutation]:
    present = table.present(job.store, job.target, [one.seq for one in mutations]) if towards else set()
    return [one for one in mutations if one.seq not in present]


def _write_chunk(job: Job, mutations: Sequence[Mutation], part: QueueRange, creator: str) -> _Written:
    device = job.device
    data, about = compose(mutations, device=device, created_by=creator)
    name, file, is_new = _file(job, data)
    # Write the signature first: a chunk without one may be refused elsewhere.
    signature = job.keys.person.sign_chunk(name, device, file)
    if is_new or job.folder.signature_size(name) != len(signature):
        job.folder.write_signature(name, signature)
    if is_new:
        job.folder.write(name, file, sealed=job.key is not None)
    values = {
        "target": job.target,
        "chunk": name,
        "state": "exported",
        "size": len(file),
        "signature_size": len(signature),
        "sha256": hashlib.sha256(file).hexdigest(),
        "device": device,
        **asdict(About() if job.key else about),
    }
    with job.store.transaction():
        table.remember(job.store, values)
        table.add_range(job.store, job.target, job.selection, QueueRange(part.after, part.upto, name))
    return _Written(name, len(mutations), len(file) if is_new else 0)


def _file(job: Job, data: bytes) -> tuple[str, bytes, bool]:
    """Return the name and the bytes of a chunk's file, and whether it has to be written."""
    listing = job.folder.list()
    whole = job.key.name(data) if job.key else digest(data)
    for length in ID_LENGTHS:
        name = whole[:length]
        taken = listing.get(name)
        if taken is None:
            packed = pack(data)
            return name, job.key.seal(name, packed) if job.key else packed, True
        if (file := _same(job, taken, data)) is not None:
            return name, file, False
    raise AssertionError("two chunks of one SHA-256")


def _same(job: Job, chunk: ChunkFile, data: bytes) -> bytes | None:
    """Return the bytes of a chunk's file, if it holds ``data``."""
    try:
        file = job.folder.read(chunk)
        packed = job.key.open(chunk.name, file) if chunk.sealed and job.key else file
        return file if chunk.sealed == (job.key is not None) and unpack(packed) == data else None
    except ChunkRefusedError:
        return None


def _end(exported: Sequence[QueueRange]) -> int:
    """Return the sequence number up to which the queue was exported without a gap."""
    end = 0
    for part in exported:
        if part.after > end:
            break
        end = max(end, part.upto)
    return end
