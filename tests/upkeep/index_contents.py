"""All that a full-text index holds, for comparing it with one that was made anew."""

from __future__ import annotations

from typing import Any

from engram_py import Engram

INDEXES = ("observations_fts", "prompts_fts", "turns_fts", "passages_fts")


def contents(app: Engram) -> dict[str, list[tuple[Any, ...]]]:
    """Every word with its row, column and place; the size of every row; and the averages that BM25 divides by."""
    found: dict[str, list[tuple[Any, ...]]] = {}
    for index in INDEXES:
        with app.store.transaction():
            app.store.execute("drop table if exists temp.words")
            app.store.execute(f"create virtual table temp.words using fts5vocab('main', '{index}', 'instance')")
        queries = (
            "select term, doc, col, offset from temp.words order by term, doc, col, offset",
            f"select id, hex(sz) from {index}_docsize order by id",
            f"select hex(block) from {index}_data where id = 1",
        )
        found[index] = [tuple(row) for sql in queries for row in app.store.rows(sql)]
        with app.store.transaction():
            app.store.execute("drop table temp.words")
    return found
