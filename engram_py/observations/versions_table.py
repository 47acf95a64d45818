"""SQL over the texts that observations had before."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Row, Store
from engram_py.privacy.provenance import unchecked
from engram_py.relations.values import Version
from engram_py.times import parse_time

VERSIONS = f"""
select version, title, content, created_at, {unchecked("observation_versions")} as unchecked
from observation_versions
where observation_id = :id and (:cursor is null or version < :cursor)
order by version desc limit :limit
"""

# The text that stood at a moment: of those that were replaced since, which their clocks say, the last one written by
# then, else the first there is.
TEXTS_AT = """
select observation_id, title, content, created_at from (
    select
        *,
        row_number() over (
            partition by observation_id
            order by created_at < :at desc, iif(created_at < :at, -version, version)
        ) as place
    from observation_versions
    where observation_id in (select value from json_each(:ids)) and clock >= :stamp
)
where place = 1
"""


def versions(store: Store, observation_id: int, *, cursor: int | None, limit: int) -> list[Version]:
    rows = store.rows(VERSIONS, id=observation_id, cursor=cursor, limit=limit)
    return [Version(*row) for row in rows]


def restore_arrival(store: Store, observation_id: int, version: int) -> None:
    """Let an observation come from where one of its versions came from."""
    sql = """
    update observations set arrival = (
        select arrival from observation_versions where observation_id = :id and version = :version
    )
    where id = :id
    """
    store.execute(sql, id=observation_id, version=version)


def count_versions(store: Store, observation_id: int) -> int:
    return int(store.value("select count(*) from observation_versions where observation_id = :id", id=observation_id))


def known_at(store: Store, at: str, *, limit: int) -> list[int]:
    """Return the newest live observations that were there before a moment."""
    sql = "select id from observations where created_at < :at and deleted_at is null order by id desc limit :limit"
    return [row for [row] in store.tuples(sql, at=at, limit=limit)]


def rewritten_since(store: Store, at: str, *, limit: int) -> list[int]:
    """Return the observations of which a text was replaced since, the newest versions first."""
    sql = """
    select observation_id from observation_versions join observations on observations.id = observation_id
    where updated_at >= :at and deleted_at is null order by observation_versions.id desc limit :limit
    """
    return [row for [row] in store.tuples(sql, at=at, limit=limit)]


def whole(store: Store, ids: Sequence[int], at: str) -> list[Row]:
    """Return those of these ids that were there, with every column."""
    sql = """
    select * from observations
    where id in (select value from json_each(:ids)) and created_at < :at and deleted_at is null
    """
    return store.rows(sql, ids=list(ids), at=at)


def texts_at(store: Store, ids: Sequence[int], at: str) -> dict[int, dict[str, str]]:
    """Return the title, content and time of the text that each observation had, where it was replaced since."""
    moment = parse_time(at)
    stamp = f"{int(moment.timestamp() * 1000):012x}" if moment else ""
    rows = store.rows(TEXTS_AT, ids=list(ids), at=at, stamp=stamp)
    return {
        row["observation_id"]: {"title": row["title"], "content": row["content"], "updated_at": row["created_at"]}
        for row in rows
    }


def verdicts_at(store: Store, at: str) -> list[Row]:
    """Return the relations that were judged before a moment."""
    sql = "select * from memory_relations where judgment_status = 'judged' and updated_at < :at order by id"
    return store.rows(sql, at=at)
