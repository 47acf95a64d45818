"""Erase destroyed text from the file's bytes, not only from its tables.

SQLite zeroes what a deletion frees (``pragma secure_delete``, see connection.py). Two places keep copies: the
full-text index, where a deletion is a note beside the words until their segments are merged, and the write-ahead log.
"""

from __future__ import annotations

from engram_py.database import fts
from engram_py.database.lock_timeout import waiting
from engram_py.database.soundness import Index
from engram_py.database.store import Store
from engram_py.errors import StoreError
from engram_py.log import logger_of

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
        if fts.level_count(store, index.name) > _MOST_LEVELS:
            fts.refill(store, index)
        else:
            store.execute(f"insert into {index.name} ({index.name}) values ('optimize')")
    return True
