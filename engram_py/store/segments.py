"""The pieces a full-text index lies in. FTS5 calls them segments: each write adds one, and every look-up asks all."""

from __future__ import annotations

from engram_py.store.database import Store

# Pages that one step of a merge may write: about 10 ms.
_MERGED_PAGES = 64


def sizes(store: Store, index: str) -> list[int]:
    """The pages of each piece that begin with another word than the page before; the order is of no meaning."""
    return [row[0] for row in store.tuples(f"select count(*) from {index}_idx group by segid")]


def merge(store: Store, index: str, *, first: bool) -> bool:
    """One step towards an index in one piece; whether there is more to do. Call inside a transaction.

    The ``first`` step chooses what is merged: everything that is there.
    """
    before = store.value("select total_changes()")
    pages = -_MERGED_PAGES if first else _MERGED_PAGES
    store.execute(f"insert into {index} ({index}, rank) values ('merge', :pages)", pages=pages)
    return int(store.value("select total_changes()")) - int(before) >= 2
