"""A search of the memory as it was known on a day, over a copy in memory."""

from __future__ import annotations

from contextlib import closing
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection
from typing import Any

from engram_py.anchors.anchors import Anchors
from engram_py.database import migrations
from engram_py.database.connection import Generation, connect
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import replace
from engram_py.observations import table
from engram_py.observations.arguments import end_of
from engram_py.observations.usage import Usage
from engram_py.projects.projects import Core
from engram_py.recall import index as search
from engram_py.recall.query import match_any, parse_query
from engram_py.recall.search import Search
from engram_py.recall.values import Results
from engram_py.relations import table as relations
from engram_py.text.words import derived_terms
from engram_py.times import to_text
from engram_py.vectors.vectors import Vectors

# Of a larger memory only the newest that have a word of the query now, or had another text then: one of 20,000 rows
# takes two seconds to put together.
_MOST = 20_000


class _Nowhere(Generation):
    """A file that nobody can replace."""

    moved = False

    def closed(self, *, again: bool = False) -> None:
        """Do nothing: there is no file."""


class _Memory(Store):
    """A store in memory."""

    def _connect(self) -> Connection:
        self._generation = _Nowhere(self.path)
        connection = connect(self.path)
        migrations.migrate(connection, self.path)
        connection.execute("pragma foreign_keys = off")  # sessions are not needed
        return connection


def search_as_of(core: Core, anchors: Anchors, as_of: str, query: str, **wanted: Any) -> Results:
    """Search the rows that were there at the end of that day, in the text and with the verdicts they had then.

    Rows that were deleted since stay hidden. Raises InvalidArgumentError for what is no date, and what a search raises.
    """
    today = core.journal.moment()
    moment = datetime.fromisoformat(end_of("as_of", as_of, today, never=False) or "")
    with closing(_Memory(Path(":memory:"))) as store:
        clock = Journal(store, lambda: min(moment, today))
        with store.transaction():
            _fill(core.store, store, to_text(moment), query)
        then = Search(
            replace(core, store=store, journal=clock),
            anchors=anchors,
            usage=Usage(store, clock),
            vectors=Vectors(store, clock.moment),
        )
        return then.search(query, **wanted)


def _fill(now: Store, then: Store, at: str, query: str) -> None:
    ids = table.known_at(now, at, limit=_MOST)
    if len(ids) == _MOST:
        words = parse_query(query, filters=True).words
        matching = search.newest(now, match_any(words), limit=_MOST) if words else ids
        ids = [*{*matching, *table.rewritten_since(now, at, limit=_MOST)}]
    texts = table.texts_at(now, ids, at)
    for row in table.whole(now, ids, at):
        values = dict(row) | {"lifecycle": "archived" if row["lifecycle"] == "archived" else "active"}
        if row["id"] in texts:
            values |= texts[row["id"]]
            text = (values["title"], row["topic_key"] or "", row["aliases"], values["content"])
            values |= {"terms": derived_terms(*text)}
        values["updated_at"] = min(values["updated_at"], at)
        then.insert("observations", values)
    for row in table.verdicts_at(now, at):
        gone = row["superseded_at"] and row["superseded_at"] >= at
        then.insert("memory_relations", dict(row) | ({"superseded_at": None} if gone else {}))
    relations.settle_all(then)
