"""Values and SQL of git folders: chunks that were seen, the queue ranges they hold, devices that are trusted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.reasons import Told
from engram_py.memory.observations.listing import HandEditLine
from engram_py.memory.observations.table import VISIBLE
from engram_py.memory.privacy.provenance import given
from engram_py.memory.writing.trust import Arrival
from engram_py.sharing.sync.mutation import AppliedBatch


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
class HandEdit:
    """A file of the user's own memory that somebody changed by hand; ``author`` is the name in git's commit, empty
    where it is not committed."""

    name: str
    title: str
    author: str = ""


@dataclass(frozen=True, slots=True)
class MemoriesRead:
    """The result of reading a folder of memories. ``files`` were new or changed; ``edited`` of them were changed by
    hand. ``deleted`` names memories whose files somebody deleted, ``branch`` files that only this branch has: new ones
    are here, apart; ``waiting`` are changes of known memories that count once the default branch has them. ``unsigned``
    are edits of the user's own memories that the user has not said to be theirs. ``more``: there was no time for all of
    it.
    """

    files: int = 0
    edited: int = 0
    applied: AppliedBatch = field(default_factory=AppliedBatch)
    deleted: tuple[str, ...] = ()
    branch: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    unsigned: tuple[HandEdit, ...] = ()
    refused: tuple[ChunkRefusal, ...] = ()
    more: bool = False


@dataclass(frozen=True, slots=True)
class MemoriesWritten:
    """The files that were written and removed. ``skipped`` were changed by hand since they were read."""

    written: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class MemoryStatus:
    """The state of the readable memories: how many files there are, which wait to be read, and what an export would
    write or remove."""

    files: int
    changed: int
    unsent: int
    branch: tuple[str, ...] = ()
    waiting: tuple[str, ...] = ()
    refused: tuple[ChunkRefusal, ...] = ()


@dataclass(frozen=True, slots=True)
class Uncommitted:
    """The number of chunks, and of files of readable ``memories``, that git has not committed; ``ignored`` of both
    match .gitignore."""

    chunks: int = 0
    ignored: int = 0
    memories: int = 0


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
    its chunks. ``unchecked`` are authors here of whom nobody has said whether they are trusted. ``others`` are those
    projects of rows that were left out that are other repositories' on this machine."""

    project: str
    folder: str
    encrypted: bool
    read: ChunksRead | None = None
    written: ChunksWritten | None = None
    warnings: tuple[Told, ...] = ()
    uncommitted: Uncommitted = field(default_factory=Uncommitted)
    adopted: Adoption | None = None
    unchecked: tuple[Arrival, ...] = ()
    memories_read: MemoriesRead | None = None
    memories_written: MemoriesWritten | None = None
    others: tuple[str, ...] = ()

    @property
    def applied(self) -> int:
        """How many rows were new or newer."""
        return sum(one.applied.applied for one in (self.read, self.memories_read) if one is not None)

    @property
    def more(self) -> bool:
        """Whether there was no time for all of it."""
        return any(one.more for one in (self.read, self.memories_read) if one is not None)


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
    chunks: int = 0
    waiting: int = 0
    unsent: bool = False
    refused: tuple[ChunkRefusal, ...] = ()
    elsewhere: int = 0
    hooks: tuple[str, ...] = ()
    devices: tuple[Device, ...] = ()
    deferred: int = 0
    dead: int = 0
    uncommitted: Uncommitted = field(default_factory=Uncommitted)
    memories: MemoryStatus | None = None


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
        store.execute(sql, target=target, names=list(chunks))


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
    store.execute(sql, target=target, selection=selection, chunks=list(chunks))


def note_present(store: Store, target: str, rows: Sequence[tuple[str, str, str]]) -> None:
    """Note which changes (kind, key, clock) the folder has. Call inside a transaction."""
    store.execute(PRESENT, target=target, rows=rows)


def present(store: Store, target: str, seqs: Sequence[int]) -> set[int]:
    """Return which of these changes the folder has, although they came here another way."""
    sql = "select seq from sync_present where target = :target and seq in (select value from json_each(:seqs))"
    return {row[0] for row in store.rows(sql, target=target, seqs=seqs)}


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


# --- readable memories --------------------------------------------------------------------------------------

# What a session was about is its own person's; chunks carry it to their other machines.
NOT_A_FILE = "session_summary"
_CHANGED_MEMORIES = """
select distinct sync_id from (
    select entity_key as sync_id from sync_mutations
    where seq > :after and entity = 'observation' and project = :project
    union all
    select relation.source_id from sync_mutations as queued
    join memory_relations as relation on relation.sync_id = queued.entity_key
    where queued.seq > :after and queued.entity = 'relation' and relation.source_id not like 'entity:%'
    union all
    select o.sync_id from sync_memory_files as file join observations as o on o.sync_id = file.sync_id
    where file.target = :target and file.state = 'here'
      and (o.project <> :project or o.deleted_at is not null and o.folded_into is null)
)
order by sync_id
"""
_WITHOUT_FILE = """
select sync_id from observations
where project = :project and (deleted_at is null or folded_into is not null)
  and scope <> 'personal' and type <> :not_a_file
  and not exists (
      select 1 from sync_memory_files as file where file.target = :target and file.sync_id = observations.sync_id
  )
"""
_STATES = f"""
select o.sync_id, o.clock, o.project, o.scope, coalesce(arrivals.source, '') as source,
    iif(o.folded_into is null, o.deleted_at, null) as deleted_at, o.arrival is null as own,
    {given("o")} as given
from observations as o left join arrivals on arrivals.id = o.arrival
where o.sync_id in (select value from json_each(:ids))
"""


class Noted(NamedTuple):
    """A file of a memory as it was seen or written last; see ``migrations/0040_memory_files.sql``."""

    name: str
    sync_id: str = ""
    state: str = "here"
    size: int = 0
    changed_ns: int = 0
    blob: str = ""
    render: str = ""
    reason: str = ""


def memory_files(store: Store, target: str) -> dict[str, Noted]:
    """Return the files of readable memories that are known, by name in order."""
    sql = f"select {', '.join(Noted._fields)} from sync_memory_files where target = :target order by name"
    return {row[0]: Noted._make(row) for row in store.tuples(sql, target=target)}


def keep_memory_file(store: Store, target: str, file: Noted) -> None:
    """Note a file of a memory as it is now. Call inside a transaction."""
    store.insert("sync_memory_files", {"target": target, **file._asdict()}, replace=True)


def forget_memory_files(store: Store, target: str, names: Iterable[str]) -> None:
    """Forget files that were seen. Call inside a transaction."""
    sql = "delete from sync_memory_files where target = :target and name in (select value from json_each(:names))"
    store.execute(sql, target=target, names=list(names))


class FolderState(NamedTuple):
    """Up to which change a folder was written and with which key, and how it stood when it was read last."""

    upto_seq: int = 0
    looked: str = ""
    signed_by: str = ""


def memory_folder(store: Store, target: str) -> FolderState:
    sql = "select upto_seq, looked, signed_by from sync_memory_folders where target = :target"
    row = store.row(sql, target=target)
    return FolderState(*row) if row else FolderState()


def keep_memory_folder(store: Store, target: str, state: FolderState) -> None:
    """Call inside a transaction."""
    store.insert("sync_memory_folders", {"target": target, **state._asdict()}, replace=True)


def own_memories(store: Store, target: str, project: str) -> list[str]:
    """Return the user's own memories of a project that have a file."""
    sql = """
    select o.sync_id from sync_memory_files as file join observations as o on o.sync_id = file.sync_id
    where file.target = :target and file.state = 'here' and o.project = :project and o.arrival is null
    order by o.sync_id
    """
    return [row[0] for row in store.tuples(sql, target=target, project=project)]


def changed_memories(store: Store, target: str, project: str, *, after: int) -> list[str]:
    """Return the observations of a project that changed after a place of the queue, or verdicts on them did; those that
    left the project are among them."""
    return [row[0] for row in store.tuples(_CHANGED_MEMORIES, target=target, after=after, project=project)]


def memories_without_file(store: Store, target: str, project: str) -> list[str]:
    """Return the live memories of a project, but for what a session was about, of which no file is known."""
    return [row[0] for row in store.tuples(_WITHOUT_FILE, target=target, project=project, not_a_file=NOT_A_FILE)]


def memory_states(store: Store, ids: Sequence[str]) -> dict[str, Row]:
    """Return the states of observations by shared id: clock, project, deletion, scope, source, ``own`` and ``given``,
    whether they are the user's own, and whether they are that or trusted."""
    return {row["sync_id"]: row for row in store.rows(_STATES, ids=ids)}


def verdicts_of(store: Store, ids: Sequence[str]) -> list[str]:
    """Return the shared ids of the verdicts given from the side of these observations."""
    sql = "select sync_id from memory_relations where source_id in (select value from json_each(:ids)) order by sync_id"
    return [row[0] for row in store.tuples(sql, ids=ids)]


# Only an edit of a memory of the user's own has a reason to wait for the user.
_HAND_EDITS = f"""
select observations.id, title, type, project, name, updated_at
from sync_memory_files as file join observations using (sync_id)
where state = 'waits' and reason <> '' and deleted_at is null and {VISIBLE}
group by observations.id order by name limit :limit
"""


def hand_edits(store: Store, *, projects: Sequence[str] | None, limit: int) -> list[HandEditLine]:
    """Return the observations whose files were edited and wait for the user, in the order of the files."""
    return [HandEditLine(*row) for row in store.tuples(_HAND_EDITS, projects=projects, limit=limit)]
