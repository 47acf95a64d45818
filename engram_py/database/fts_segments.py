"""The pieces a full-text index lies in. FTS5 calls them segments: each write adds one, and every look-up asks all."""

from __future__ import annotations

from engram_py.database.store import Store

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


def count(store: Store, index: str) -> int:
    """In how many pieces the index lies."""
    return int(store.value(COUNT.format(index=index)))


def gather(store: Store, index: str) -> bool:
    """One step towards an index in few pieces; whether there is more to do. Call inside a transaction."""
    held = store.value(f"select v from {index}_config where k = 'usermerge'")
    if held != _AT_LEAST:
        store.execute(f"insert into {index} ({index}, rank) values ('usermerge', :least)", least=_AT_LEAST)
    return _merged(store, index, _MERGED_PAGES)


def merge(store: Store, index: str, *, first: bool) -> bool:
    """One step towards an index in one piece, whatever that takes; whether there is more to do. Call inside a
    transaction. The ``first`` step chooses what is merged: everything that is there."""
    return _merged(store, index, -_MERGED_PAGES if first else _MERGED_PAGES)


def _merged(store: Store, index: str, pages: int) -> bool:
    before = store.value("select total_changes()")
    store.execute(f"insert into {index} ({index}, rank) values ('merge', :pages)", pages=pages)
    return int(store.value("select total_changes()")) - int(before) >= 2
