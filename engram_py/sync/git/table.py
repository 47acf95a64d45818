"""Values and SQL of git folders: chunks that were seen, the queue ranges they hold, devices that are trusted."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engram_py.database.store import Row, Store
from engram_py.dataclass import dataclass, field
from engram_py.privacy.trust import Arrival
from engram_py.reasons import Told
from engram_py.sync.mutation import AppliedBatch


@dataclass(frozen=True, slots=True)
class ChunkRefusal:
    """A chunk that was refused, or a part of it, and the reason."""

    chunk: str
    reason: str


@dataclass(frozen=True, slots=True)
class ChunksRead:
    """The result of an import.

    ``rows`` counts what the chunks hold: applied, known already, deferred, unreadable and left out add up to it.
    ``left_out`` counts rows of projects that are not this repository's, by project. ``refused`` are chunks that were
    looked at now; ``still_refused`` counts those of earlier times. ``cut``
    names the rows of which only the beginning is kept. ``waiting`` rows lack what they depend on. ``more``:
    there was no time for all of it.
    """

    chunks: int = 0
    rows: int = 0
    applied: AppliedBatch = field(default_factory=AppliedBatch)
    refused: tuple[ChunkRefusal, ...] = ()
    still_refused: int = 0
    unreadable: tuple[ChunkRefusal, ...] = ()
    cut: tuple[ChunkRefusal, ...] = ()
    left_out: dict[str, int] = field(default_factory=dict)
    waiting: int = 0
    more: bool = False


@dataclass(frozen=True, slots=True)
class ChunksWritten:
    """The result of an export.

    ``again``: what this machine had exported before was written once more. ``lost`` counts its chunks that were gone or
    damaged, which is one reason; ``sealed`` says that what was in plain chunks is encrypted now, which is another.
    """

    chunks: tuple[str, ...] = ()
    rows: int = 0
    bytes: int = 0
    again: bool = False
    lost: int = 0
    sealed: bool = False


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """The number of chunks that git has not committed; ``ignored`` of them match .gitignore."""

    chunks: int = 0
    ignored: int = 0


@dataclass(frozen=True, slots=True)
class Adoption:
    """A repository called ``name`` here whose chunks are all of ``project``.

    ``own`` counts the observations that ``name`` has here; ``known`` says that ``project`` has memory here, made
    somewhere else.
    """

    name: str
    project: str
    own: int = 0
    known: bool = False

    @property
    def is_free(self) -> bool:
        """Whether nobody has to be asked, because no memory is merged with another."""
        return not self.own and not self.known


@dataclass(frozen=True, slots=True)
class GitSynced:
    """The result of a sync; a half that was not asked for is None. ``adopted``: the repository now has the project of
    its chunks. ``unchecked`` are authors here of whom nobody has said whether they are trusted."""

    project: str
    folder: str
    encrypted: bool
    read: ChunksRead | None
    written: ChunksWritten | None
    warnings: tuple[Told, ...] = ()
    uncommitted: Uncommitted = field(default_factory=Uncommitted)
    adopted: Adoption | None = None
    unchecked: tuple[Arrival, ...] = ()


@dataclass(frozen=True, slots=True)
class Device:
    """A device that signed chunks here, or is trusted. ``own`` is this one."""

    device: str
    key: str
    trusted: bool
    own: bool = False


@dataclass(frozen=True, slots=True)
class GitStatus:
    """The state of a repository's folder. ``waiting`` chunks are not imported; ``unsent``: there are rows to export."""

    project: str
    folder: str
    exists: bool
    encrypted: bool
    chunks: int
    waiting: int
    unsent: bool
    refused: tuple[ChunkRefusal, ...] = ()
    elsewhere: int = 0
    hooks: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    deferred: int = 0
    dead: int = 0
    uncommitted: Uncommitted = field(default_factory=Uncommitted)


# Of the rows a chunk holds, those that are in the queue just so, but came here by another way or were made here. An
# older text is the same whoever kept it, and whenever.
PRESENT = """
insert or ignore into sync_present (target, seq)
select :target, sync_mutations.seq
from json_each(:rows) as row
join sync_mutations on sync_mutations.entity = row.value ->> 0 and sync_mutations.entity_key = row.value ->> 1
where sync_mutations.source <> :target
  and (sync_mutations.clock = row.value ->> 2 or sync_mutations.entity = 'version')
"""


@dataclass(frozen=True, slots=True)
class QueueRange:
    """A range of the queue and the chunk that holds it, '' where the range had nothing to export."""

    after: int
    upto: int
    chunk: str


def known(store: Store, target: str) -> dict[str, Row]:
    rows = store.rows("select * from sync_chunks where target = :target order by chunk", target=target)
    return {row["chunk"]: row for row in rows}


def is_refused(row: Row) -> bool:
    return row["state"] in ("refused", "broken")


def remember(store: Store, values: Mapping[str, Any]) -> None:
    """Note what became of a chunk. Call inside a transaction."""
    store.insert("sync_chunks", values, replace=True)


def progress(store: Store, target: str, chunk: str) -> int:
    """Return how many rows of a chunk are here already."""
    sql = "select done from sync_chunk_progress where target = :target and chunk = :chunk"
    return int(store.value(sql, target=target, chunk=chunk) or 0)


def keep_progress(store: Store, target: str, chunk: str, done: int | None) -> None:
    """Keep how many rows of a chunk are here; None: it is whole. Call inside a transaction."""
    if done is None:
        sql = "delete from sync_chunk_progress where target = :target and chunk = :chunk"
        store.execute(sql, target=target, chunk=chunk)
    else:
        store.insert("sync_chunk_progress", {"target": target, "chunk": chunk, "done": done}, replace=True)


def bytes_read(store: Store, target: str) -> int:
    """Return how many bytes the chunks that were imported from a folder hold."""
    sql = "select coalesce(sum(bytes), 0) from sync_chunks where target = :target and state = 'imported'"
    return int(store.value(sql, target=target))


def forget(store: Store, target: str, chunks: Iterable[str], *, seen: bool = False) -> None:
    """Forget what went into chunks, and, unless they are ``seen`` in the folder, the chunks. Inside a transaction."""
    for table in ("sync_exports",) if seen else ("sync_chunks", "sync_exports"):
        sql = f"delete from {table} where target = :target and chunk in (select value from json_each(:names))"
        store.execute(sql, target=target, names=json.dumps(list(chunks)))


def exported_ranges(store: Store, target: str, selection: str) -> list[QueueRange]:
    """Return the exported ranges of the queue, in order."""
    sql = """
    select after_seq, upto_seq, chunk
    from sync_exports
    where target = :target and selection = :selection
    order by after_seq, upto_seq
    """
    return [QueueRange(*row) for row in store.rows(sql, target=target, selection=selection)]


def add_range(store: Store, target: str, selection: str, part: QueueRange) -> None:
    """Note that a part of the queue was exported. Call inside a transaction."""
    key = {"target": target, "selection": selection}
    # An empty range right after another one extends its row.
    empty_before = {**key, "chunk": "", "upto_seq": part.after}
    if part.chunk or not store.update("sync_exports", empty_before, {"upto_seq": part.upto}):
        row = {**key, "after_seq": part.after, "upto_seq": part.upto, "chunk": part.chunk}
        store.insert("sync_exports", row, replace=True)


def keep_ranges(store: Store, target: str, selection: str, chunks: Iterable[str]) -> None:
    """Forget what went into other chunks than these. Call inside a transaction."""
    sql = """
    delete from sync_exports
    where target = :target and selection = :selection and chunk <> ''
      and chunk not in (select value from json_each(:chunks))
    """
    store.execute(sql, target=target, selection=selection, chunks=json.dumps(list(chunks)))


def note_present(store: Store, target: str, rows: Sequence[tuple[str, str, str]]) -> None:
    """Note which changes (kind, key, clock) the folder has. Call inside a transaction."""
    store.execute(PRESENT, target=target, rows=json.dumps(rows))


def present(store: Store, target: str, seqs: Sequence[int]) -> set[int]:
    """Return which of these changes the folder has, although they came here another way."""
    sql = "select seq from sync_present where target = :target and seq in (select value from json_each(:seqs))"
    return {row[0] for row in store.rows(sql, target=target, seqs=json.dumps(seqs))}


def forget_changed(store: Store, target: str) -> None:
    """Forget which rows the folder has that changed since. Call inside a transaction."""
    sql = "delete from sync_present where target = :target and seq not in (select seq from sync_mutations)"
    store.execute(sql, target=target)


# --- whose folder it is ----------------------------------------------------------------------------------


def is_allowed(store: Store, target: str, project: str) -> bool:
    sql = "select 1 from sync_folders where target = :target and project = :project"
    return store.row(sql, target=target, project=project) is not None


def allow(store: Store, target: str, project: str, now: str) -> None:
    """Call inside a transaction."""
    sql = "insert or ignore into sync_folders (target, project, created_at) values (:target, :project, :now)"
    store.execute(sql, target=target, project=project, now=now)


# --- devices ---------------------------------------------------------------------------------------------


def devices(store: Store, target: str) -> list[Row]:
    return store.rows("select * from sync_devices where target = :target order by device, key", target=target)


def trusted(store: Store, target: str) -> set[str]:
    sql = "select key from sync_devices where target = :target and trusted_at is not null"
    return {row[0] for row in store.rows(sql, target=target)}


def see_device(store: Store, target: str, *, key: str, device: str) -> None:
    """Call inside a transaction."""
    sql = """
    insert into sync_devices (target, key, device) values (:target, :key, :device)
    on conflict (target, key) do update set device = :device where device = ''
    """
    store.execute(sql, target=target, key=key, device=device)


def trust(store: Store, target: str, *, key: str, now: str | None) -> None:
    """Trust a device, or (``now`` None) stop trusting it. Call inside a transaction."""
    sql = """
    insert into sync_devices (target, key, device, trusted_at) values (:target, :key, '', :now)
    on conflict (target, key) do update set trusted_at = :now
    """
    store.execute(sql, target=target, key=key, now=now)
