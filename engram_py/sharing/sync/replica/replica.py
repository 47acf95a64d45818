"""One replica: report what changed here, apply what changed elsewhere, derive what follows from a batch, compare the
whole.

What follows (renamed projects, who holds a topic, rows that were deferred) gives no row a clock of this machine's:
it follows from the rows alone, so every replica comes to the same.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC
from typing import Any

from engram_py.base.clock import due_before
from engram_py.base.database import mutation_queue
from engram_py.base.database.driver import of_any_driver
from engram_py.base.database.fts import erase
from engram_py.base.database.mutation_queue import TABLES, Journal
from engram_py.base.database.soundness import OBSERVATIONS
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import replace
from engram_py.memory.observations import topics
from engram_py.memory.privacy.signatures import Keyring
from engram_py.memory.relations import table as relations
from engram_py.sharing.sync.mutation import (
    OWN_BLOCK,
    SPOKEN,
    UNCHECKED,
    AppliedBatch,
    Changes,
    Mutation,
    Names,
    Refused,
    ReplicaDigest,
    entry_of,
    fingerprint,
    signed_content,
    version_digest,
    version_key,
    version_owner,
    with_signature,
)
from engram_py.sharing.sync.replica import table
from engram_py.sharing.sync.replica.batch import HERE, Batch
from engram_py.sharing.sync.replica.outgoing import Outgoing


def load_names(store: Store) -> Names:
    rows = store.rows("select alias, project, clock from sync_aliases")
    return Names((row["alias"], row["project"], row["clock"]) for row in rows)


def collect_aliases(store: Store) -> None:
    """Copy new local aliases to ``sync_aliases``, as they were given."""
    store.execute(
        """
        insert or replace into sync_aliases (alias, project, created_at, clock)
        select here.alias, here.project, here.created_at, here.clock
        from project_aliases as here left join sync_aliases as given using (alias)
        where given.clock is null or given.clock < here.clock
        """
    )


def _name_versions(batch: Batch) -> None:
    """Give new versions their digest, and queue them."""
    store = batch.store
    rows = store.rows(
        """
        select v.*, observations.sync_id, observations.project, observations.scope
        from observation_versions as v join observations on observations.id = v.observation_id
        where v.digest is null
        """
    )
    for row in rows:
        digest = version_digest(row["created_at"], row["title"], row["content"])
        same = "select 1 from observation_versions where observation_id = :id and digest = :digest"
        if store.row(same, id=row["observation_id"], digest=digest):
            store.execute("delete from observation_versions where id = :id", id=row["id"])
        else:
            store.update("observation_versions", {"id": row["id"]}, {"digest": digest})
        if row["scope"] != "personal":
            key = version_key(row["sync_id"], digest)
            batch.queue("version", key, "upsert", project=row["project"], clock=row["clock"])
        batch.renumbered.add(row["observation_id"])


def settle(batch: Batch) -> None:
    """Settle names, versions, topics and relations after a batch."""
    if batch.aliased:
        _settle_names(batch)
    _name_versions(batch)  # before topics are settled: older texts move by their names
    for project, scope, topic_key in sorted(batch.topics | topics.stale_topics(batch.store)):
        for row in topics.fold(batch.store, (batch.names.canonical(project), scope, topic_key)):
            batch.linked.add(row["sync_id"])
            batch.renumbered.add(row["id"])
    for row_id in sorted(batch.renumbered):
        table.renumber(batch.store, row_id)
    if batch.aliased:
        relations.settle_all(batch.store)
    relations.settle(batch.store, batch.linked)


def _settle_names(batch: Batch) -> None:
    names = batch.names = load_names(batch.store)
    for entity in table.OWNED:
        _rename_rows(batch, entity)
    _rename_aliases(batch)
    for name, project in sorted(names.moved.items()):
        sql = "update project_identities set project = :project where project = :name"
        batch.store.execute(sql, project=batch.project(project), name=name)
        batch.store.execute("delete from projects where name = :name", name=name)
    for row in batch.store.rows(table.TOPIC_CLASHES, projects=sorted(set(names.moved.values()))):
        batch.topics.add((row["project"], row["scope"], row["topic_key"]))


def _rename_rows(batch: Batch, entity: str) -> None:
    name, column = TABLES[entity]
    # Those moved before, by the name they were given: their alias may mean another project now.
    sql = f"""
    select t.{column} as key, t.project, t.clock, sync_renamed.project as given, sync_renamed.clock as moved_at
    from sync_renamed join {name} as t on t.{column} = sync_renamed.entity_key
    where sync_renamed.entity = :entity
    """
    for row in batch.store.rows(sql, entity=entity):
        if row["moved_at"] == row["clock"]:
            _rename(batch, entity, row, row["given"])
    for old in sorted(batch.names.moved):
        rows = batch.store.rows(f"select {column} as key, project, clock from {name} where project = :old", old=old)
        for row in rows:
            batch.renamed(entity, row["key"], old, row["clock"])
            _rename(batch, entity, row, old)


def _rename(batch: Batch, entity: str, row: Row, given: str) -> None:
    project = batch.project(batch.names.canonical(given))
    if project == row["project"]:
        return
    name, column = TABLES[entity]
    batch.store.update(name, {column: row["key"]}, {"project": project})
    if row["clock"] != table.MADE_UP:
        # A folder of chunks has the row, and whoever reads it there comes to the same project; a server files it anew.
        sql = "select source from sync_mutations where entity = :entity and entity_key = :key"
        source = batch.store.value(sql, entity=entity, key=row["key"]) or ""
        kept = source if source.startswith("git:") else ""
        batch.queue(entity, row["key"], "upsert", project=project, clock=row["clock"], source=kept)


def _rename_aliases(batch: Batch) -> None:
    """Rebuild ``project_aliases`` from all given aliases: each leads to its project in one step."""
    batch.store.execute("delete from project_aliases")
    for row in batch.store.rows("select * from sync_aliases"):
        project = batch.names.canonical(row["alias"])
        if project != row["alias"]:
            values = {"alias": row["alias"], "project": batch.project(project)}
            batch.store.insert("project_aliases", values | {"created_at": row["created_at"], "clock": row["clock"]})


def deferred(
    store: Store, *, waiting_for: set[str] | None = None, until: str | None = None
) -> list[tuple[int, str, Mutation]]:
    """Return the deferred mutations; of those dated ahead what is ``until`` a stamp, of others what waits for one of
    these observations. Each with its row and source."""
    sql = """
    select * from sync_apply_deferred
    where apply_status = 'deferred'
      and (:ids is null or waits_for <> '' and waits_for in (select value from json_each(:ids)))
      and (:until is null or reason_code = 'dated_ahead' and clock < :until)
    order by id
    """
    ids = None if waiting_for is None else sorted(waiting_for)
    return [_deferred(row) for row in store.rows(sql, ids=ids, until=until)]


def _deferred(row: Row) -> tuple[int, str, Mutation]:
    mutation = Mutation(
        row["entity"],
        row["entity_key"],
        row["op"],
        row["project"],
        json.loads(row["payload"]),
        row["clock"],
        row["first_seen_at"],
        row["remote_seq"] or 0,
    )
    return row["id"], row["target_key"], mutation


_PAGE_ROWS = 1_000
# What is wrong with a row, and not with the file, the disk or a lock. ValueError has UnreadableError and UnicodeError.
_UNKEEPABLE = (ValueError, OverflowError, RecursionError, sqlite3.IntegrityError, sqlite3.DataError)


class Replica:
    """The service that transports ask: they move mutations, it knows what they mean.

    Without ``prompts`` no text of a user prompt leaves this machine; prompts of other machines are taken over.
    """

    def __init__(self, store: Store, journal: Journal, *, prompts: bool = False) -> None:
        self._store = store
        self._journal = journal
        self._keys = Keyring(store.path.parent)
        self._outgoing = Outgoing(store, prompts=prompts)

    def changes(
        self,
        *,
        after: int = 0,
        projects: Sequence[str] | None = None,
        towards: str = "",
        max_rows: int = 500,
        max_bytes: int = 4 * 2**20,
    ) -> Changes:
        """Return what changed here after the cursor ``after``, in the order of the queue.

        Rows of the personal scope and raw messages are never in it, prompts only where they may leave; what came from
        the target ``towards`` is left out. At most ``max_rows``, and ``max_bytes`` of JSON but at least one row. The
        cost follows from what changed, not from the size of the memory. A row that changes again is given again, with
        the text it has then.
        """
        with self._store.transaction():
            self._prepare()
            # Read the end first: what is queued meanwhile belongs to the next call.
            end = table.newest_seq(self._store)
            queued = table.queued(self._store, after=after, towards=towards, projects=projects, limit=max_rows)
            made = self._signed(self._outgoing.mutations(queued))
        kept: list[Mutation] = []
        size = 0
        for mutation in made:
            size += len(json.dumps(entry_of(mutation)))
            if kept and size > max_bytes:
                return Changes(tuple(kept), kept[-1].seq, more=True)
            kept.append(mutation)
        more = len(queued) == max_rows
        return Changes(tuple(kept), queued[-1]["seq"] if more else max(end, after), more)

    def states(self, entity: str, keys: Sequence[str]) -> list[Mutation]:
        """Return rows of one kind as they are now, without those that must stay on this machine."""
        with self._store.transaction():
            self._prepare()
            return self._signed([one for one in self._outgoing.rows(entity, keys) if one.entity])

    def apply(
        self,
        mutations: Sequence[Mutation],
        *,
        source: str = "",
        author: str = "",
        author_name: str = "",
        signed_by: str = "",
        own: bool = False,
    ) -> AppliedBatch:
        """Apply mutations of other machines in one transaction; an unreadable one is refused by its index.

        The order of the batch, of batches, and how often one arrives make no difference to what is here in the end.
        ``source`` is the target they came from, which is not told of them again. ``author`` is what the door knows of
        who wrote them, ``author_name`` how they call themselves; see ``memory/privacy/provenance.py``. ``signed_by`` is
        the key that signed them as a whole; a row has a signature of its own besides. ``own``: the user of this machine
        says that they wrote them.
        """
        # Imported here: reading what others sent needs pydantic, telling them does not.
        from engram_py.sharing.sync.replica.apply import apply_order

        if not mutations:
            return AppliedBatch()
        new_id = sorted(enumerate(mutations), key=lambda one: apply_order(one[1]))
        parsed = [_parse(mutation) for mutation in mutations]  # before anybody has to wait for the lock
        total = AppliedBatch()
        with self.batch(source=source, author=author, author_name=author_name, own=own) as batch:
            batch.signed_by = signed_by
            for mutation, read in zip(mutations, parsed, strict=True):
                if (number := getattr(read, "number", None)) is not None:
                    batch.offered.setdefault(TABLES[mutation.entity][0], []).append(number)
            for index, mutation in new_id:
                total += self._take(batch, index, mutation, parsed[index])
        return replace(total, refused=tuple(sorted(total.refused, key=lambda one: one.index)), ahead=batch.ahead)

    @contextmanager
    def batch(self, *, source: str, author: str, author_name: str, own: bool) -> Iterator[Batch]:
        """Open a batch in a transaction, and settle what follows from it at the end; the names are those of
        ``apply``."""
        with self._store.transaction():
            self._journal.device()  # made by now, or nothing here could be told from what others wrote
            batch = self._prepare(source)
            batch.author, batch.author_name, batch.own = author, author_name, own
            yield batch
            self._finish(batch)
        self._erase(batch)

    def forget(self, keys: Sequence[str]) -> None:
        """Take observations away as if they had never arrived: no other machine hears of it; they may come again."""
        from engram_py.sharing.sync.replica.apply import forget_observation

        with self._store.transaction():
            batch = self._prepare()
            for key in keys:
                forget_observation(batch, key)
            self._finish(batch)
        self._erase(batch)

    def retry_deferred(self) -> AppliedBatch:
        """Retry everything that is deferred."""
        with self._store.transaction():
            batch = self._prepare()
            total = self._retry(batch, deferred(self._store))
            self._finish(batch)
        self._erase(batch)
        return total

    def digest(
        self, *, projects: Sequence[str] | None = None, counts_in: Callable[[Mutation], bool] = lambda mutation: True
    ) -> ReplicaDigest:
        """Return a value that two replicas share exactly when their shared rows, texts and verdicts are equal, of those
        that ``counts_in`` counts.

        Reads every shared row; true of a moment only while nobody writes. What is of one machine alone has no part in
        it: personal rows, unanswered questions, how often something was read, numbers of rows, projects without rows.
        """
        with self._store.transaction():
            self._prepare()
        # Outside of it: reading a large memory takes seconds, for which nobody should have to wait.
        total, counts = 0, dict.fromkeys((*table.PAGES, "version", "alias", "deleted"), 0)
        for mutation in filter(counts_in, self._all_rows(projects)):
            total += _number(mutation)
            kind = "deleted" if mutation.op == "delete" else mutation.entity
            counts[kind] = counts.get(kind, 0) + 1
        return ReplicaDigest(f"{total % 2**256:064x}", counts)

    # --- the parts ---------------------------------------------------------------------------------------

    def _signed(self, made: Sequence[Mutation]) -> list[Mutation]:
        """Return rows with the signature of their person: the own ones are signed, others have the one they came with.

        Raises PersonKeyError, DataDirError.
        """
        others = [(one.entity, one.entity_key) for one in made if UNCHECKED in one.payload.get(OWN_BLOCK, {})]
        kept = table.by_name(self._store, "signatures", others) if others else {}
        found: list[Mutation] = []
        for one in made:
            signature = ""
            if one.op == "upsert" and one.entity in SPOKEN:
                if UNCHECKED not in one.payload[OWN_BLOCK]:
                    signature = self._keys.person.sign(signed_content(one))
                elif (row := kept.get((one.entity, one.entity_key))) is not None and row["clock"] == one.clock:
                    signature = row["signature"]
            found.append(with_signature(one, signature) if signature else one)
        return found

    def _prepare(self, source: str = "") -> Batch:
        collect_aliases(self._store)
        moment = self._journal.moment().astimezone(UTC)
        now_milliseconds = int(moment.timestamp() * 1000)
        batch = Batch(self._store, self._journal, source, now_milliseconds, load_names(self._store), self._keys)
        if due := deferred(self._store, until=due_before(batch.now_milliseconds)):
            self._retry(batch, due)
            self._finish(batch)
        settle(batch)
        return batch

    def _take(self, batch: Batch, index: int, mutation: Mutation, parsed: Any) -> AppliedBatch:
        from engram_py.sharing.sync.replica.apply import apply_mutation
        from engram_py.sharing.sync.replica.parse import UnreadableError, redacted

        try:
            if isinstance(parsed, UnreadableError):
                raise parsed
            if batch.is_ahead(mutation.clock):
                batch.wait(redacted(mutation, parsed))
                return AppliedBatch(deferred=1)
            with self._store.transaction():  # a savepoint: one bad row undoes nothing but itself
                taken = apply_mutation(batch, mutation, parsed)
        except of_any_driver(*_UNKEEPABLE) as exc:
            batch.defer(mutation, waits_for="", reason=str(exc), dead=True)
            return AppliedBatch(refused=(Refused(index, mutation.entity, mutation.entity_key, str(exc)[:300]),))
        if taken is None:
            return AppliedBatch(deferred=1)
        return AppliedBatch(applied=1) if taken else AppliedBatch(unchanged=1)

    def _finish(self, batch: Batch) -> None:
        while batch.arrived:
            ready = deferred(self._store, waiting_for=batch.arrived)
            batch.arrived = set()
            self._retry(batch, ready)
        settle(batch)
        if batch.newest > (mutation_queue.get_meta(self._store, "clock") or ""):
            mutation_queue.set_meta(self._store, "clock", batch.newest)

    def _retry(self, batch: Batch, waiting: Sequence[tuple[int, str, Mutation]]) -> AppliedBatch:
        total = AppliedBatch()
        own = batch.source
        # Whoever sent what these rows waited for did not send them.
        batch.author = batch.author_name = batch.signed_by = ""
        for row_id, source, mutation in waiting:
            # It is deferred again if something else is still missing.
            self._store.execute("delete from sync_apply_deferred where id = :id", id=row_id)
            batch.own = source == HERE
            batch.source = "" if batch.own else source
            total += self._take(batch, 0, mutation, _parse(mutation))
        batch.source, batch.own = own, False
        return total

    def _erase(self, batch: Batch) -> None:
        if batch.destroyed:
            erase(self._store, OBSERVATIONS)

    def _all_rows(self, projects: Sequence[str] | None) -> Iterator[Mutation]:
        for entity in table.PAGES:
            after = ""
            while keys := table.page(self._store, entity, after=after, projects=projects, limit=_PAGE_ROWS):
                yield from self._outgoing.rows(entity, keys)
                after = keys[-1]
        versions = table.version_names(self._store, projects)
        for start in range(0, len(versions), _PAGE_ROWS):
            keys = [version_key(*pair) for pair in versions[start : start + _PAGE_ROWS]]
            yield from self._outgoing.rows("version", keys)
        if projects is None:
            yield from self._outgoing.rows("alias", [r[0] for r in self._store.rows("select alias from sync_aliases")])
            gone = "select entity_key from tombstones where entity = :entity and final"
            for entity in ("observation", "prompt", "relation"):
                yield from self._outgoing.rows(entity, [row[0] for row in self._store.rows(gone, entity=entity)])


def _parse(mutation: Mutation) -> Any:
    """Return the parsed mutation, or the error that it cannot be parsed."""
    from engram_py.sharing.sync.replica.apply import read
    from engram_py.sharing.sync.replica.parse import UnreadableError

    try:
        return read(mutation)
    except of_any_driver(*_UNKEEPABLE) as exc:
        return UnreadableError(str(exc)[:300])


def _number(mutation: Mutation) -> int:
    """Return a row as a number of 256 bits; the sum of rows does not depend on their order."""
    parts = [mutation.entity, mutation.entity_key]
    if mutation.entity == "version":  # the text alone: when it stood, and who kept it, depends on what a machine saw
        text = {name: mutation.payload[name] for name in ("title", "content")}
        parts = [mutation.entity, version_owner(mutation.entity_key)[0], fingerprint(text)]
    else:
        # The project it belongs to, by whatever name it was given.
        content = fingerprint({**mutation.payload, "project": mutation.project})
        parts += [mutation.clock, content if mutation.op == "upsert" else "deleted"]
    return int.from_bytes(hashlib.sha256("\0".join(parts).encode("utf-8", "surrogatepass")).digest(), "big")
