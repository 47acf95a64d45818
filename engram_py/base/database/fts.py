"""Rebuild a full-text index beside the one in use, swap them, merge segments, and erase destroyed text from the file.

Other processes go on reading the old one. What they change meanwhile is taken out of the new one by triggers of its
own, and brought in again before it takes its place. A process that dies in the middle leaves the new one as it was;
the next goes on from there.

SQLite zeroes what a deletion frees (``pragma secure_delete``, see connection.py). Two places keep copies: the
full-text index, where a deletion is a note beside the words until their segments are merged, and the write-ahead log.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from engram_py.base.database import migrations, mutation_queue
from engram_py.base.database.soundness import INDEXES, Index
from engram_py.base.database.store import Row, Store, waiting
from engram_py.base.errors import StoreError
from engram_py.base.lazy import logger_of

# Pages that one step of the removal of an index zeroes: about 10 ms.
_DISCARDED_PAGES = 256
_LAST = 2**63 - 1


# A row that others change leaves the new index, and is brought in again with what is missing from it.
_TRIGGERS = """
create trigger {next}_delete before delete on {table}
when exists (select 1 from {next}_docsize where id = old.id) begin
    insert into {next} ({next}, rowid, {columns}) values ('delete', old.id, {old});
end;

create trigger {next}_leave before update of {watched} on {table}
when exists (select 1 from {next}_docsize where id = old.id) begin
    insert into {next} ({next}, rowid, {columns}) values ('delete', old.id, {old});
end;
"""

_FILL = """
insert into {next} (rowid, {columns})
select id, {columns} from {table} where id in (
    select id from {table}
    where id > :after and id <= :last and {is_live} and id not in (select id from {next}_docsize)
)
order by id
"""

_REFILL = "insert into {index} (rowid, {columns}) select id, {columns} from {table} where {live} order by id"

# The first rows of this table say how the index is made; the rest are its pages.
_DISCARD = """
delete from {old}_data where id in (select id from {old}_data where id > 10 order by id limit :pages)
"""


def definition(store: Store, index: str) -> str | None:
    """Return the columns and options of a full-text table, None when it does not exist."""
    sql = store.value("select sql from sqlite_master where type = 'table' and name = :name", name=index)
    return None if sql is None else re.sub(r"\s+", " ", sql.partition("fts5(")[2]).strip()


def unfinished(store: Store) -> list[str]:
    """Return the indexes whose rebuild was begun and not finished."""
    return [one.name for one in INDEXES if any(definition(store, name) is not None for name in (one.next, one.old))]


def begin(store: Store, index: Index, version: str) -> int | None:
    """Start a new index, or find one that was started by the same ``version``; then the id it has come to."""
    with store.transaction():
        made_of = definition(store, index.name)
        known, _, after = (mutation_queue.get_meta(store, index.cursor) or "").rpartition(" ")
        if definition(store, index.next) == made_of and known == version:
            return int(after)
        _drop_triggers(store, index)
        store.execute(f"drop table if exists {index.next}")
        store.execute(f"create virtual table {index.next} using fts5({made_of}")
        for statement in migrations.statements(_TRIGGERS.format(**_parts(store, index))):
            store.execute(statement)
        mutation_queue.set_meta(store, index.cursor, f"{version} 0")
    return None


def rows_after(store: Store, index: Index, after: int, *, limit: int) -> list[Row]:
    sql = f"select * from {index.table} where id > :after order by id limit :limit"
    return store.rows(sql, after=after, limit=limit)


def rewrite(store: Store, index: Index, row: Row, columns: Mapping[str, str]) -> int:
    """Set what is derived of a row, unless somebody changed it since it was read; the index in use follows."""
    names = [name for name in ("id", "clock") if name in row.keys()]  # noqa: SIM118 - a turn has no clock
    return store.update(index.table, {name: row[name] for name in names}, columns)


def fill(store: Store, index: Index, version: str, *, after: int, last: int) -> None:
    """Bring the rows of a range into the new index, and note that it has come this far."""
    store.execute(_FILL.format(**_parts(store, index)), after=after, last=last)
    # Only the one who filled everything up to here moves the mark: another process may be at another place.
    store.update("meta", {"key": index.cursor, "value": f"{version} {after}"}, {"value": f"{version} {last}"})


def is_building(store: Store, index: Index) -> bool:
    """Return whether the rebuild is still this process's; False when another one has finished it."""
    return definition(store, index.next) is not None


def swap(store: Store, index: Index) -> None:
    """Put the new index in the place of the old, which ``discard`` then takes away. Call inside a transaction."""
    # Rows that were changed or saved since their turn are missing.
    store.execute(_FILL.format(**_parts(store, index)), after=0, last=_LAST)
    _drop_triggers(store, index)
    # Renaming a table reads every trigger again, and fails at one that names a table that is not there.
    triggers = store.rows(
        "select name, sql from sqlite_master where type = 'trigger' and instr(sql, :index) order by name",
        index=index.name,
    )
    for row in triggers:
        store.execute(f"drop trigger {row['name']}")
    store.execute(f"alter table {index.name} rename to {index.old}")
    store.execute(f"alter table {index.next} rename to {index.name}")
    for row in triggers:
        store.execute(row["sql"])
    store.execute("delete from meta where key = :key", key=index.cursor)


def discard(store: Store, index: Index) -> bool:
    """Remove a step of the old index; return whether there is more to do."""
    with store.transaction():
        if definition(store, index.old) is None:
            return False
        if store.execute(_DISCARD.format(old=index.old), pages=_DISCARDED_PAGES).rowcount:
            return True
        store.execute(f"drop table {index.old}")
    return False


def count(store: Store) -> int:
    """Count the rows that all indexes are built from."""
    return sum(int(store.value(f"select count(*) from {index.table}")) for index in INDEXES)


def sample(store: Store, index: Index, *, size: int) -> Sequence[Row]:
    """Return the oldest and the newest rows, ``size`` of each."""
    sql = f"""
    select * from {index.table}
    where id in (select id from {index.table} order by id limit :size)
       or id in (select id from {index.table} order by id desc limit :size)
    """
    return store.rows(sql, size=size)


def _parts(store: Store, index: Index) -> dict[str, str]:
    columns = [row[0] for row in store.rows("select name from pragma_table_info(:index)", index=index.name)]
    return {
        "next": index.next,
        "table": index.table,
        "columns": ", ".join(columns),
        "old": ", ".join(f"old.{name}" for name in columns),
        "watched": ", ".join([*columns, *(["deleted_at"] if "deleted_at" in index.live else [])]),
        "is_live": index.live,
    }


def _drop_triggers(store: Store, index: Index) -> None:
    for kind in ("delete", "leave"):
        store.execute(f"drop trigger if exists {index.next}_{kind}")


# Pages that one step of a merge may write: about 10 ms.
_MERGED_PAGES = 64
# FTS5 merges pieces of one level into one of the next, by itself only four at a time, when it is told to ("usermerge")
# also two: then there is no more than one of a level, and each page is written about once for each doubling.
_AT_LEAST = 2

COUNT = """
with recursive piece (id) as (
    select min(segid) from {index}_idx
    union all
    select (select min(segid) from {index}_idx where segid > id) from piece where id is not null
)
select count(id) from piece
"""


def segment_count(store: Store, index: str) -> int:
    """Count the segments of an index."""
    return int(store.value(COUNT.format(index=index)))


def level_count(store: Store, index: str) -> int:
    """Return how many levels the segments of an index are ordered in.

    It is the first number of the structure record, after four bytes (sqlite.org/src: ext/fts5/fts5_index.c).
    """
    levels = 0
    for byte in store.value(f"select substr(block, 5, 9) from {index}_data where id = 10"):
        levels = levels << 7 | byte & 0x7F
        if byte < 0x80:
            break
    return levels


def refill(store: Store, index: Index) -> None:
    """Empty an index and bring all its rows in again. Call inside a transaction."""
    store.execute(f"insert into {index.name} ({index.name}) values ('delete-all')")
    columns = ", ".join(row[0] for row in store.rows("select name from pragma_table_info(:index)", index=index.name))
    store.execute(_REFILL.format(index=index.name, table=index.table, live=index.live, columns=columns))


def merge_some(store: Store, index: str) -> bool:
    """Do one step towards few segments; return whether there is more to do. Call inside a transaction."""
    held = store.value(f"select v from {index}_config where k = 'usermerge'")
    if held != _AT_LEAST:
        store.execute(f"insert into {index} ({index}, rank) values ('usermerge', :least)", least=_AT_LEAST)
    return _merged(store, index, _MERGED_PAGES)


def merge_all(store: Store, index: str, *, first: bool) -> bool:
    """Do one step towards a single segment; return whether there is more to do. Call inside a transaction."""
    return _merged(store, index, -_MERGED_PAGES if first else _MERGED_PAGES)


def _merged(store: Store, index: str, pages: int) -> bool:
    before = store.value("select total_changes()")
    store.execute(f"insert into {index} ({index}, rank) values ('merge', :pages)", pages=pages)
    return int(store.value("select total_changes()")) - int(before) >= 2


logger = logger_of(__name__)

# An index of this many rows is merged in about half a second, and nobody else writes meanwhile. In a larger one the
# words stay until its segments are merged in the course of time, or by `engram reindex`.
MERGED_AT_ONCE = 20_000
# Merging all of an index adds two levels to it, and SQLite takes one of more than 2,000 for damaged.
_MOST_LEVELS = 200
_SECONDS = 0.2


def erase(store: Store, index: Index) -> bool:
    """Rewrite ``index`` without what a committed deletion left in it, and empty the log; return whether both were done.

    Somebody who reads or writes just now, or a large index, is a reason to leave it: the row itself is gone. Inside a
    transaction nothing is committed yet, and nothing done.
    """
    if store.in_transaction:
        return False
    try:
        with waiting(store, _SECONDS):
            merged = _merge(store, index)
            with store.connection() as connection:
                return not connection.execute("pragma wal_checkpoint(truncate)").fetchone()[0] and merged
    except StoreError as exc:
        logger.info("deleted words may still be in the file: %s", exc.message)
        return False


def _merge(store: Store, index: Index) -> bool:
    sql = f"select count(*) from (select 1 from {index.name}_docsize limit :cap)"
    if int(store.value(sql, cap=MERGED_AT_ONCE + 1)) > MERGED_AT_ONCE:
        return False
    with store.transaction():
        if level_count(store, index.name) > _MOST_LEVELS:
            refill(store, index)
        else:
            store.execute(f"insert into {index.name} ({index.name}) values ('optimize')")
    return True
