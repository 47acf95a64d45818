"""Derive what follows from a batch: renamed projects, who holds a topic, rows that were deferred.

None of it gives a row a clock of this machine's: it follows from the rows alone, so every replica comes to the same.
"""

from __future__ import annotations

import json

from engram_py.database.journal import TABLES
from engram_py.database.store import Row, Store
from engram_py.observations import topics
from engram_py.relations import table as relations
from engram_py.sync.merge import Names, version_digest, version_key
from engram_py.sync.mutation import Mutation
from engram_py.sync.replica import table
from engram_py.sync.replica.batch import Batch


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
    targets = json.dumps(sorted(set(names.moved.values())))
    for row in batch.store.rows(table.TOPIC_CLASHES, projects=targets):
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
    ids = None if waiting_for is None else json.dumps(sorted(waiting_for))
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
