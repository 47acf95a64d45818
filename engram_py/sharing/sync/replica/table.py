"""SQL of replication: rows as they are sent, the queue, deferred rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram_py.base.database.mutation_queue import TABLES
from engram_py.base.database.store import Row, Store
from engram_py.memory.privacy.provenance import author

# The kinds that belong to a project, and move with its name.
OWNED = ("session", "observation", "prompt", "relation")

_GIVEN = """coalesce(
    (select project from sync_renamed
     where entity = '{entity}' and entity_key = t.{key} and clock = t.clock), t.project) as given_project"""

# A folded row is live, whatever this machine shows: of two columns of one name a row gives the first.
_STATE = {"observation": "iif(t.folded_into is null, t.deleted_at, null) as deleted_at, "}

_OUTGOING = {
    entity: f"select {_STATE.get(entity, '')}t.*, {_GIVEN.format(entity=entity, key=key)},"
    f" {author('t')} as author from {table} as t"
    f" where t.{key}"
    for entity, (table, key) in TABLES.items()
    if entity in OWNED
}

# A session of which nothing but its name is known here: clock zero.
MADE_UP = "000000000000-0000-"

# Every row that is shared, a thousand at a time, in the order of its key.
_PAGE = "select {key} as key from {table} where {key} > :after and {where} order by {key} limit :limit"
_IN_PROJECTS = "(:projects is null or project in (select value from json_each(:projects)))"
PAGES = {
    "session": _PAGE.format(key="id", table="sessions", where=f"clock <> '{MADE_UP}' and {_IN_PROJECTS}"),
    "observation": _PAGE.format(key="sync_id", table="observations", where=f"scope <> 'personal' and {_IN_PROJECTS}"),
    "prompt": _PAGE.format(key="sync_id", table="user_prompts", where=_IN_PROJECTS),
    "relation": _PAGE.format(
        key="sync_id",
        table="memory_relations",
        where=f"judgment_status <> 'pending' and {_IN_PROJECTS} and "
        + " and ".join(
            f"""({end} like 'entity:%' or exists (
                select 1 from observations where sync_id = memory_relations.{end} and scope <> 'personal'))"""
            for end in ("source_id", "target_id")
        )
        + """
            -- An edge between entities is as personal as the fact that says so.
            and (source_id not like 'entity:%' or target_id not like 'entity:%' or exists (
                select 1 from observations where sync_id = evidence and scope <> 'personal'))""",
    ),
}

TOPIC_CLASHES = """
select project, scope, topic_key
from observations
where deleted_at is null and topic_key is not null and project in (select value from json_each(:projects))
group by project, scope, topic_key
having count(*) > 1
"""


def queued(store: Store, *, after: int, towards: str, projects: Sequence[str] | None, limit: int) -> list[Row]:
    """Return what is queued after the cursor and did not come from where it would go."""
    sql = """
    select seq, entity, entity_key, op, project, clock, occurred_at
    from sync_mutations
    where seq > :after and (source = '' or source <> :towards)
      and (:projects is null or project in (select value from json_each(:projects)))
    order by seq
    limit :limit
    """
    return store.rows(sql, after=after, towards=towards, projects=projects, limit=limit)


def newest_seq(store: Store) -> int:
    """Return the position of the newest change, in constant time."""
    return int(store.value("select coalesce(max(seq), 0) from sync_mutations"))


def outgoing(store: Store, entity: str, keys: Sequence[str]) -> dict[str, Row]:
    _, key = TABLES[entity]
    sql = f"{_OUTGOING[entity]} in (select value from json_each(:keys))"
    return {row[key]: row for row in store.rows(sql, keys=keys)}


def one(store: Store, entity: str, key: str) -> Row | None:
    """Do as ``outgoing`` with one row, in half the time."""
    return store.row(f"{_OUTGOING[entity]} = :key", key=key)


def named(store: Store, entity: str, keys: Sequence[str]) -> dict[str, Row]:
    """Return projects or aliases as they were given."""
    table, key = ("sync_aliases", "alias") if entity == "alias" else TABLES[entity]
    sql = f"select * from {table} where {key} in (select value from json_each(:keys))"
    return {row[key]: row for row in store.rows(sql, keys=keys)}


def versions(store: Store, keys: Sequence[tuple[str, str]]) -> list[Row]:
    """Return versions by observation and digest."""
    sql = f"""
    select observations.sync_id, observations.scope, observations.origin, observations.type,
        observations.tool_name, observations.arrival,
        v.digest, v.title, v.content, v.created_at, v.clock, {author("v")} as author
    from json_each(:keys) as wanted
    join observations on observations.sync_id = wanted.value ->> 0
    join observation_versions as v on v.observation_id = observations.id and v.digest = wanted.value ->> 1
    """
    return store.rows(sql, keys=keys)


def by_name(store: Store, table: str, keys: Sequence[tuple[str, str]]) -> dict[tuple[str, str], Row]:
    """Return rows of a table that holds rows of every kind, by (entity, key)."""
    sql = f"select * from {table} where (entity, entity_key) in (select value ->> 0, value ->> 1 from json_each(:keys))"
    return {(row["entity"], row["entity_key"]): row for row in store.rows(sql, keys=keys)}


def withdrawn(store: Store, sync_ids: Sequence[str]) -> dict[str, Row]:
    sql = "select * from sync_withdrawn where sync_id in (select value from json_each(:ids))"
    return {row["sync_id"]: row for row in store.rows(sql, ids=sync_ids)}


def private(store: Store, entity: str, keys: Sequence[str]) -> list[str]:
    """Return the keys that must never be sent, not even their end."""
    sql = """
    select entity_key from sync_private
    where entity = :entity and entity_key in (select value from json_each(:keys))
    """
    return [row[0] for row in store.rows(sql, entity=entity, keys=keys)]


def with_personal_ends(store: Store, keys: Sequence[str]) -> set[str]:
    sql = """
    select r.sync_id
    from memory_relations as r
    where r.sync_id in (select value from json_each(:keys)) and exists (
        select 1 from observations where sync_id in (r.source_id, r.target_id, r.evidence) and scope = 'personal'
    )
    """
    return {row[0] for row in store.rows(sql, keys=keys)}


def page(store: Store, entity: str, *, after: str, projects: Sequence[str] | None, limit: int) -> list[str]:
    return [row[0] for row in store.rows(PAGES[entity], after=after, projects=projects, limit=limit)]


def version_names(store: Store, projects: Sequence[str] | None) -> list[tuple[str, str]]:
    """Return (observation, digest) of every older text that may be shared: each text once, and not the present one."""
    sql = f"""
    select observations.sync_id, min(v.digest)
    from observation_versions as v
    join observations on observations.id = v.observation_id
    where scope <> 'personal' and v.digest not like '-%' and {_IN_PROJECTS}
      and (v.title, v.content) <> (observations.title, observations.content)
    group by observations.id, v.title, v.content
    """
    return [(row[0], row[1]) for row in store.rows(sql, projects=projects)]


def renumber(store: Store, observation_id: int) -> None:
    """Number an observation's versions by their times. Costs one pass over them."""
    rows = store.rows(
        "select id, version from observation_versions where observation_id = :id order by created_at, digest",
        id=observation_id,
    )
    wrong = [(place, row["id"]) for place, row in enumerate(rows, 1) if row["version"] != place]
    # By way of negative numbers: they are unique at every moment.
    for place, row_id in wrong:
        store.execute("update observation_versions set version = :place where id = :id", place=-place, id=row_id)
    if wrong:
        sql = "update observation_versions set version = -version where observation_id = :id and version < 0"
        store.execute(sql, id=observation_id)


def has_version(store: Store, observation_id: int, title: str, content: str) -> bool:
    """Return whether a text is among the older ones that may be shared."""
    sql = """
    select 1 from observation_versions
    where observation_id = :id and (title, content) = (:title, :content) and (digest is null or digest not like '-%')
    """
    return store.row(sql, id=observation_id, title=title, content=content) is not None


def add_version(store: Store, observation_id: int, **columns: str | int | None) -> bool:
    """Add an older text (``digest``, ``title``, ``content``, ``at``, ``clock``, ``arrival``) unless it exists.
    ``untaken``: a person chooses between it and the present one.

    Return whether it was added. The caller renumbers.
    """
    sql = """
    insert into observation_versions
        (observation_id, version, title, content, created_at, clock, digest, arrival, untaken)
    select :id, coalesce(max(version), 0) + 1, :title, :content, :at, :clock, :digest, :arrival, :untaken
    from observation_versions where observation_id = :id
    having not exists (select 1 from observation_versions where observation_id = :id and digest = :digest)
    """
    return store.execute(sql, id=observation_id, **{"untaken": False} | columns).rowcount > 0


# --- deferred rows ------------------------------------------------------------------------------------------


def deferred_counts(store: Store) -> dict[str, int]:
    """Count the rows that are deferred or dead, by state."""
    sql = "select apply_status, count(*) from sync_apply_deferred where apply_status <> 'applied' group by apply_status"
    return {row[0]: row[1] for row in store.rows(sql)}


def deferred_rows(store: Store, *, status: str | None, limit: int, offset: int) -> list[dict[str, Any]]:
    sql = """
    select
        id, target_key, remote_seq, entity, entity_key, op, project, reason_code, apply_status, retry_count, last_error,
        last_attempted_at, first_seen_at
    from sync_apply_deferred
    where apply_status <> 'applied'
      and (:status is null or apply_status = :status)
    order by id
    limit :limit offset :offset
    """
    return [dict(row) for row in store.rows(sql, status=status, limit=limit, offset=offset)]
