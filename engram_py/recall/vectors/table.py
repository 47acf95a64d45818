"""SQL over vectors: the models there are, what each has computed, and what is pending."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache
from typing import Literal

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass
from engram_py.memory.observations.table import VISIBLE
from engram_py.memory.observations.visible import live_ids


@dataclass(frozen=True)
class Kind:
    """What has vectors, by the names of its tables in SQL.

    ``live`` is the condition of a row that is not deleted, ``visible`` of one that a search within ``:within`` sees:
    projects of memories, collections of passages. What is ``marked`` has a stale row from the moment it is written.
    """

    texts: str
    vectors: str
    key: str
    live: str
    visible: str
    marked: bool

    def sql(self, statement: str) -> str:
        """Return a statement with the names of this kind."""
        return _named(self, statement)


@cache
def _named(kind: Kind, statement: str) -> str:
    return statement.format(texts=kind.texts, vectors=kind.vectors, key=kind.key, live=kind.live, visible=kind.visible)


MEMORIES = Kind(
    "observations", "observation_vectors", "observation_id", "deleted_at is null",
    VISIBLE.replace(":projects", ":within"), marked=False,
)  # fmt: skip
PASSAGES = Kind(
    "passages", "passage_vectors", "passage_id", "true",
    "(:within is null or collection_id in (select value from json_each(:within)))", marked=True,
)  # fmt: skip
KINDS = (MEMORIES, PASSAGES)

_TEXT = "{texts}.id, title, content, aliases"

STALE = f"""
select {_TEXT}
from {{vectors}}
join {{texts}} on {{texts}}.id = {{key}}
where embedder_id = :embedder and stale = 1 and {{live}}
order by {{key}}
limit :limit
"""

# Ids of memories only grow, and one that comes back from a delete is marked stale: what is new lies beyond the last one
# done.
NEW = f"""
select {_TEXT}
from {{texts}}
where id > :done_to and {{live}}
order by id
limit :limit
"""

TEXTS = f"select {_TEXT} from {{texts}} where id in (select value from json_each(:ids))"

CHANGED = """
select seq, {key}, vectors
from {vectors}
where embedder_id = :embedder and seq > :seen
order by seq
limit :limit
"""

# Every n-th row, from the index alone until it is one of them.
SPREAD = """
select vectors
from {vectors}
where embedder_id = :embedder and seq % :step = 0 and vectors <> x''
order by seq
limit :limit
"""

SEEN = """
select id from {texts} where id in (select value from json_each(:ids)) and {live} and {visible}
"""

OF_COLLECTIONS = """
select id from passages where collection_id in (select value from json_each(:within)) limit :most
"""

FORGET = """
delete from {vectors}
where seq in (select seq from {vectors} where embedder_id = :embedder order by seq limit :limit)
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
    if any(store.execute(kind.sql(FORGET), embedder=embedder_id, limit=limit).rowcount for kind in KINDS):
        return True
    store.execute("delete from embedders where id = :id", id=embedder_id)
    return False


# --- computing ---------------------------------------------------------------------------------------------


def pending(store: Store, kind: Kind, embedder_id: int, *, done_to: int, limit: int) -> tuple[list[Row], list[Row]]:
    """Return texts whose vector is out of date, and new ones by their ids; ``limit`` of both together."""
    stale = store.rows(kind.sql(STALE), embedder=embedder_id, limit=limit)
    if kind.marked or len(stale) == limit:
        return stale, []
    return stale, store.rows(kind.sql(NEW), done_to=done_to, limit=limit - len(stale))


def texts(store: Store, kind: Kind, ids: Iterable[int]) -> dict[int, Row]:
    return {row["id"]: row for row in store.rows(kind.sql(TEXTS), ids=list(ids))}


def put(
    store: Store, kind: Kind, *, embedder_id: int, id: int, text_hash: str, vectors: bytes, stale: bool = False
) -> None:
    """Keep the vectors of a text, in place of those it had; ``stale`` when its text is another one by now."""
    key = {"embedder_id": embedder_id, kind.key: id}
    values = {"text_hash": text_hash, "vectors": vectors, "stale": int(stale)}
    store.insert(kind.vectors, key | values, replace=True)


def known_hashes(store: Store, kind: Kind, embedder_id: int, ids: Iterable[int]) -> dict[int, str]:
    sql = """
    select {key}, text_hash from {vectors}
    where embedder_id = :embedder and {key} in (select value from json_each(:ids))
    """
    return {row[0]: row[1] for row in store.rows(kind.sql(sql), embedder=embedder_id, ids=list(ids))}


def done_to(store: Store, embedder_id: int, last: int) -> None:
    store.execute("update embedders set done_to = max(done_to, :last) where id = :id", id=embedder_id, last=last)


def retry_empty(store: Store, embedder_id: int) -> None:
    """Mark what the model refused, or had nothing to read in, as never computed."""
    for kind in KINDS:
        store.update(kind.vectors, {"embedder_id": embedder_id, "vectors": b""}, {"text_hash": "", "stale": 1})


def count_pending(store: Store, kind: Kind, embedder_id: int, done_to: int) -> int:
    new = "select count(*) from {texts} where id > :done_to and {live}"
    stale = """
    select count(*) from {vectors} join {texts} on {texts}.id = {key}
    where embedder_id = :id and stale = 1 and {live}
    """
    marked = int(store.value(kind.sql(stale), id=embedder_id))
    return marked if kind.marked else marked + int(store.value(kind.sql(new), done_to=done_to))


def count_observations(store: Store) -> int:
    """Return how many observations have vectors of any model."""
    return int(store.value("select count(distinct observation_id) from observation_vectors"))


def count_documents(store: Store) -> int:
    """Return how many passages of documents are to have vectors."""
    sql = "select count(*) from passages join collections on collections.id = collection_id where kind <> 'git'"
    return int(store.value(sql))


def size(store: Store) -> int:
    """Return the bytes of all vectors."""
    sums = (f"select coalesce(sum(length(vectors)), 0) from {kind.vectors}" for kind in KINDS)
    return sum(int(store.value(sql)) for sql in sums)


def clear(store: Store) -> int:
    """Delete every vector of every model. Return how many observations had one."""
    had = count_observations(store)
    for kind in KINDS:
        store.execute(f"delete from {kind.vectors}")
    store.execute("delete from embedders")
    return had


# --- searching ---------------------------------------------------------------------------------------------


def changed(store: Store, kind: Kind, embedder_id: int, *, seen: int, limit: int) -> list[tuple[int, int, bytes]]:
    """Return what was written after the row ``seen``, in that order: the row, the text, its vectors."""
    return store.tuples(kind.sql(CHANGED), embedder=embedder_id, seen=seen, limit=limit)


def last_seq(store: Store, kind: Kind, embedder_id: int) -> int:
    sql = "select coalesce(max(seq), 0) from {vectors} where embedder_id = :embedder"
    return int(store.value(kind.sql(sql), embedder=embedder_id))


def spread(store: Store, kind: Kind, embedder_id: int, *, limit: int) -> list[bytes]:
    """Return vectors of about ``limit`` texts, from all over the memory."""
    step = max(1, last_seq(store, kind, embedder_id) // limit)
    return [row[0] for row in store.rows(kind.sql(SPREAD), embedder=embedder_id, step=step, limit=limit)]


def read(
    store: Store, kind: Kind, embedder_id: int, keys: Iterable[int], *, by: Literal["seq", "id"]
) -> dict[int, bytes]:
    """Return the vectors of each text that has some, by its id, or by the row (``seq``) they were seen in: those
    written anew since are left out."""
    column = kind.key if by == "id" else by
    sql = f"""
    select {{key}}, vectors from {{vectors}}
    where embedder_id = :embedder and {column} in (select value from json_each(:keys))
    """
    return {row[0]: row[1] for row in store.rows(kind.sql(sql), embedder=embedder_id, keys=list(keys))}


def seen(store: Store, kind: Kind, ids: Iterable[int], *, within: Sequence[object] | None) -> set[int]:
    """Return those of the texts that a search within these projects, or collections, may show."""
    return {row[0] for row in store.rows(kind.sql(SEEN), ids=list(ids), within=within)}


def all_within(store: Store, kind: Kind, within: Sequence[object], *, most: int) -> set[int] | None:
    """Return the ids of all that a search within them may show; None of ``most`` or more."""
    if kind is MEMORIES:
        live = live_ids(store, [str(project) for project in within], cap=most)
        return None if live is None else set(live)
    ids = {row[0] for row in store.tuples(OF_COLLECTIONS, within=within, most=most)}
    return ids if len(ids) < most else None
