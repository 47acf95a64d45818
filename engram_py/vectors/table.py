"""SQL over vectors: the models there are, what each has computed, and what is pending."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Literal

from engram_py.database.store import Row, Store
from engram_py.observations.table import VISIBLE

_TEXT = "observations.id, title, content, aliases"

STALE = f"""
select {_TEXT}
from observation_vectors
join observations on observations.id = observation_id
where embedder_id = :embedder and stale = 1 and deleted_at is null
order by observation_id
limit :limit
"""

# Ids only grow, and a row that comes back from a delete is marked stale: what is new lies beyond the last one done.
NEW = f"""
select {_TEXT}
from observations
where id > :done_to and deleted_at is null
order by id
limit :limit
"""

TEXTS = f"select {_TEXT}, deleted_at from observations where id in (select value from json_each(:ids))"

CHANGED = """
select seq, observation_id, vectors
from observation_vectors
where embedder_id = :embedder and seq > :seen
order by seq
limit :limit
"""

# Every n-th row, from the index alone until it is one of them.
SPREAD = """
select vectors
from observation_vectors
where embedder_id = :embedder and seq % :step = 0 and vectors <> x''
order by seq
limit :limit
"""

SEEN = f"""
select id from observations
where id in (select value from json_each(:ids))
  and deleted_at is null
  and {VISIBLE}
"""

FORGET = """
delete from observation_vectors
where seq in (select seq from observation_vectors where embedder_id = :embedder order by seq limit :limit)
"""

UNUSED = "select id from embedders where id <> :keep and used_at < :before order by id"


def embedder(store: Store, name: str) -> Row | None:
    """Return the model of that name, with its ``id``, ``dimension``, ``probe`` and ``done_to``."""
    return store.row("select * from embedders where name = :name", name=name)


def embedders(store: Store) -> list[Row]:
    return store.rows("select id, name, dimension, used_at from embedders order by id")


def add_embedder(store: Store, *, name: str, dimension: int, probe: bytes, now: str) -> int:
    values = {"name": name, "dimension": dimension, "probe": probe, "created_at": now, "used_at": now}
    return store.insert("embedders", values)


def set_aside(store: Store, embedder_id: int) -> None:
    """Take a model's name away: the next pass deletes its vectors, a few at a time."""
    store.execute(
        "update embedders set name = name || ' (replaced ' || id || ')', used_at = '' where id = :id", id=embedder_id
    )


def unused(store: Store, *, keep: int, before: str) -> list[int]:
    return [row[0] for row in store.rows(UNUSED, keep=keep, before=before)]


def forget(store: Store, embedder_id: int, *, limit: int) -> bool:
    """Delete some of a model's vectors, and the model itself after the last. Return whether there may be more."""
    if store.execute(FORGET, embedder=embedder_id, limit=limit).rowcount:
        return True
    store.execute("delete from embedders where id = :id", id=embedder_id)
    return False


# --- computing ---------------------------------------------------------------------------------------------


def pending(store: Store, embedder_id: int, *, done_to: int, limit: int) -> tuple[list[Row], list[Row]]:
    """Return texts whose vector is out of date, and new ones by their ids; ``limit`` of both together."""
    stale = store.rows(STALE, embedder=embedder_id, limit=limit)
    return stale, store.rows(NEW, done_to=done_to, limit=limit - len(stale)) if len(stale) < limit else []


def texts(store: Store, ids: Iterable[int]) -> dict[int, Row]:
    return {row["id"]: row for row in store.rows(TEXTS, ids=json.dumps(list(ids)))}


def put(
    store: Store, *, embedder_id: int, observation_id: int, text_hash: str, vectors: bytes, stale: bool = False
) -> None:
    """Keep the vectors of an observation, in place of those it had; ``stale`` when its text is another one by now."""
    key = {"embedder_id": embedder_id, "observation_id": observation_id}
    values = {"text_hash": text_hash, "vectors": vectors, "stale": int(stale)}
    store.insert("observation_vectors", key | values, replace=True)


def known_hashes(store: Store, embedder_id: int, ids: Iterable[int]) -> dict[int, str]:
    sql = """
    select observation_id, text_hash from observation_vectors
    where embedder_id = :embedder and observation_id in (select value from json_each(:ids))
    """
    return {row[0]: row[1] for row in store.rows(sql, embedder=embedder_id, ids=json.dumps(list(ids)))}


def done_to(store: Store, embedder_id: int, last: int) -> None:
    store.execute("update embedders set done_to = max(done_to, :last) where id = :id", id=embedder_id, last=last)


def retry_empty(store: Store, embedder_id: int) -> None:
    """Mark what the model refused, or had nothing to read in, as never computed."""
    key = {"embedder_id": embedder_id, "vectors": b""}
    store.update("observation_vectors", key, {"text_hash": "", "stale": 1})


def count_pending(store: Store, embedder_id: int, done_to: int) -> int:
    new = "select count(*) from observations where id > :done_to and deleted_at is null"
    stale = """
    select count(*) from observation_vectors join observations on observations.id = observation_id
    where embedder_id = :id and stale = 1 and deleted_at is null
    """
    return int(store.value(new, done_to=done_to)) + int(store.value(stale, id=embedder_id))


def count_observations(store: Store) -> int:
    """Return how many observations have vectors of any model."""
    return int(store.value("select count(distinct observation_id) from observation_vectors"))


def clear(store: Store) -> int:
    """Delete every vector of every model. Return how many observations had one."""
    had = count_observations(store)
    store.execute("delete from observation_vectors")
    store.execute("delete from embedders")
    return had


# --- searching ---------------------------------------------------------------------------------------------


def changed(store: Store, embedder_id: int, *, seen: int, limit: int) -> list[Row]:
    """Return the rows written after the one ``seen``, in the order they were written."""
    return store.rows(CHANGED, embedder=embedder_id, seen=seen, limit=limit)


def last_seq(store: Store, embedder_id: int) -> int:
    sql = "select coalesce(max(seq), 0) from observation_vectors where embedder_id = :embedder"
    return int(store.value(sql, embedder=embedder_id))


def spread(store: Store, embedder_id: int, *, limit: int) -> list[bytes]:
    """Return vectors of about ``limit`` observations, from all over the memory."""
    step = max(1, last_seq(store, embedder_id) // limit)
    return [row[0] for row in store.rows(SPREAD, embedder=embedder_id, step=step, limit=limit)]


def read(
    store: Store, embedder_id: int, keys: Iterable[int], *, by: Literal["seq", "observation_id"]
) -> dict[int, bytes]:
    """Return the vectors of each observation that has some, by its id, or by the row (``seq``) they were seen in: those
    written anew since are left out."""
    sql = f"""
    select observation_id, vectors from observation_vectors
    where embedder_id = :embedder and {by} in (select value from json_each(:keys))
    """
    return {row[0]: row[1] for row in store.rows(sql, embedder=embedder_id, keys=json.dumps(list(keys)))}


def seen(store: Store, ids: Iterable[int], *, projects: Sequence[str] | None) -> set[int]:
    """Return those of the observations that a search of these projects may show."""
    return {row[0] for row in store.rows(SEEN, ids=json.dumps(list(ids)), projects=projects)}
