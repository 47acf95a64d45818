"""What git was asked once, kept for the next process. Derived: a row that is lost costs one more question."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Mapping, Sequence

from engram_py.database.store import Store
from engram_py.errors import StoreError

ANSWERS = """
select question, answer
from git_answers
where repository = :repository and head = :head and question in (select value from json_each(:questions))
"""

INSERT = """
insert or replace into git_answers (repository, head, question, answer, asked_at)
values (:repository, :head, :question, :answer, :asked_at)
"""

# The answers of HEADs that somebody may come back to: the branches in use.
_HEADS_KEPT = 16
FORGET = f"""
delete from git_answers
where repository = :repository and head not in (
    select head from git_answers where repository = :repository
    group by head order by max(asked_at) desc, head limit {_HEADS_KEPT}
)
"""


def answers(store: Store, *, repository: str, head: str, questions: Sequence[str]) -> dict[str, str]:
    rows = store.rows(ANSWERS, repository=repository, head=head, questions=json.dumps(list(questions)))
    return {row["question"]: row["answer"] for row in rows}


def remember(store: Store, found: Mapping[str, str], *, repository: str, head: str, now: str) -> None:
    """Keep answers, unless the file is being written right now or cannot be: a search does not wait for that."""
    key = {"repository": repository, "head": head}
    try:
        with store.connection() as connection:
            if connection.in_transaction:
                return
            patience = connection.execute("pragma busy_timeout").fetchone()[0]
            connection.execute("pragma busy_timeout = 0")
            try:
                _write(connection, [key | {"question": one, "answer": found[one], "asked_at": now} for one in found])
            finally:
                connection.execute(f"pragma busy_timeout = {int(patience)}")
    except StoreError:
        return


def _write(connection: sqlite3.Connection, rows: list[dict[str, str]]) -> None:
    connection.execute("begin immediate")
    try:
        connection.executemany(INSERT, rows)
        connection.execute(FORGET, {"repository": rows[0]["repository"]})
        connection.execute("commit")
    finally:
        if connection.in_transaction:
            connection.execute("rollback")
