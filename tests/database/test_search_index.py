"""The triggers of the full-text index: whatever is done to the table, the index says the same."""

from __future__ import annotations

import sqlite3
import tempfile
from pathlib import Path

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from engram_py.database.store import Store

WORDS = ("alder", "birch", "cedar", "douglas")
COLUMNS = ("title", "topic_key", "aliases", "content", "terms")
texts = st.lists(st.sampled_from(WORDS), max_size=3).map(" ".join)
rows = st.fixed_dictionaries(dict.fromkeys(COLUMNS, texts))
rows |= st.fixed_dictionaries({"title": texts, "aliases": texts, "content": texts, "terms": texts})  # no topic key
picks = st.integers(min_value=0, max_value=1_000)

DOCSIZE = "select id from {index}_docsize order by id"
MATCHES = "select rowid from {index} where {index} match :word order by rowid"


class IndexFollowsTable(RuleBasedStateMachine):
    """Inserts, updates, deletes, undeletes and destroys rows; the model is a dict of the columns."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.store = Store.open(Path(self.folder.name))
        self.live: dict[int, dict[str, str]] = {}
        self.hidden: dict[int, dict[str, str]] = {}
        self.prompts: dict[int, dict[str, str]] = {}
        self.count = 0

    def teardown(self) -> None:
        self.store.close()
        self.folder.cleanup()

    @initialize()
    def session(self) -> None:
        with self.store.transaction():
            values = {"id": "s", "project": "p", "started_at": "", "updated_at": "", "clock": ""}
            self.store.insert("sessions", values)

    def _insert(self, table: str, values: dict[str, str]) -> int:
        self.count += 1
        common = {"sync_id": f"{self.count}", "session_id": "s", "project": "p", "created_at": "", "clock": ""}
        with self.store.transaction():
            return self.store.insert(table, common | values)

    def _update(self, table: str, key: int, values: dict[str, str | None]) -> None:
        with self.store.transaction():
            assert self.store.update(table, {"id": key}, values) == 1

    @rule(values=rows)
    def insert(self, values: dict[str, str]) -> None:
        more = {"content_hash": "", "updated_at": ""}
        self.live[self._insert("observations", values | more)] = values

    @rule(values=rows)
    def insert_already_deleted(self, values: dict[str, str]) -> None:
        more = {"content_hash": "", "updated_at": "", "deleted_at": "then"}
        self.hidden[self._insert("observations", values | more)] = values

    @rule(pick=picks, values=rows)
    def update_live(self, pick: int, values: dict[str, str]) -> None:
        if self.live:
            key = sorted(self.live)[pick % len(self.live)]
            self._update("observations", key, dict(values))
            self.live[key] = self.live[key] | values

    @rule(pick=picks, values=rows)
    def update_hidden(self, pick: int, values: dict[str, str]) -> None:
        if self.hidden:
            key = sorted(self.hidden)[pick % len(self.hidden)]
            self._update("observations", key, dict(values))
            self.hidden[key] = self.hidden[key] | values

    @rule(pick=picks)
    def soft_delete(self, pick: int) -> None:
        if self.live:
            key = sorted(self.live)[pick % len(self.live)]
            self._update("observations", key, {"deleted_at": "now"})
            self.hidden[key] = self.live.pop(key)

    @rule(pick=picks, values=rows)
    def undelete_with_other_text(self, pick: int, values: dict[str, str]) -> None:
        if self.hidden:
            key = sorted(self.hidden)[pick % len(self.hidden)]
            self._update("observations", key, {**values, "deleted_at": None})
            self.live[key] = self.hidden.pop(key) | values

    @rule(pick=picks)
    def destroy(self, pick: int) -> None:
        known = sorted(self.live | self.hidden)
        if known:
            key = known[pick % len(known)]
            with self.store.transaction():
                self.store.execute("delete from observations where id = :id", id=key)
            self.live.pop(key, None)
            self.hidden.pop(key, None)

    @rule(pick=picks)
    def count_and_pin_without_touching_the_index(self, pick: int) -> None:
        if self.live:
            key = sorted(self.live)[pick % len(self.live)]
            before = self._index_blocks()
            counters: dict[str, str | None] = {"access_count": "5", "pinned": "1", "last_seen_at": "now"}
            self._update("observations", key, counters | {"duplicate_count": "2", "review_after": None})
            assert self._index_blocks() == before

    @rule(values=st.fixed_dictionaries({"content": texts, "terms": texts}))
    def insert_prompt(self, values: dict[str, str]) -> None:
        self.prompts[self._insert("user_prompts", values)] = values

    @rule(pick=picks, values=st.fixed_dictionaries({"content": texts, "terms": texts}))
    def update_prompt(self, pick: int, values: dict[str, str]) -> None:
        if self.prompts:
            key = sorted(self.prompts)[pick % len(self.prompts)]
            self._update("user_prompts", key, dict(values))
            self.prompts[key] = values

    @rule(pick=picks)
    def delete_prompt(self, pick: int) -> None:
        if self.prompts:
            key = sorted(self.prompts)[pick % len(self.prompts)]
            with self.store.transaction():
                self.store.execute("delete from user_prompts where id = :id", id=key)
            del self.prompts[key]

    def _index_blocks(self) -> list[tuple[object, ...]]:
        return [tuple(row) for row in self.store.rows("select id, block from observations_fts_data order by id")]

    @invariant()
    def the_index_holds_the_live_rows_and_their_words(self) -> None:
        for index, held in (("observations_fts", self.live), ("prompts_fts", self.prompts)):
            assert [row[0] for row in self.store.rows(DOCSIZE.format(index=index))] == sorted(held)
            for word in WORDS:
                found = [row[0] for row in self.store.rows(MATCHES.format(index=index), word=word)]
                assert found == sorted(key for key, row in held.items() if word in " ".join(row.values()).split())

    @invariant()
    def the_index_is_sound(self) -> None:
        with self.store.transaction():
            self.store.execute("insert into observations_fts (observations_fts) values ('integrity-check')")
            self.store.execute("insert into prompts_fts (prompts_fts) values ('integrity-check')")


TestIndexFollowsTable = IndexFollowsTable.TestCase
TestIndexFollowsTable.settings = settings(
    max_examples=25, stateful_step_count=20, deadline=None, suppress_health_check=[HealthCheck.too_slow]
)


def test_a_write_that_is_rolled_back_is_rolled_back_in_the_index_too(store: Store) -> None:
    values = {"id": "s", "project": "p", "started_at": "", "updated_at": "", "clock": ""}
    row = {"sync_id": "o", "session_id": "s", "project": "p", "title": "alder", "content": "birch"}
    row |= {"content_hash": "", "created_at": "", "updated_at": "", "clock": ""}
    try:
        with store.transaction():
            store.insert("sessions", values)
            store.insert("observations", row)
            assert store.rows(MATCHES.format(index="observations_fts"), word="alder")
            store.insert("observations", row)
    except sqlite3.IntegrityError:
        pass
    assert store.rows(MATCHES.format(index="observations_fts"), word="alder") == []
    assert store.rows(DOCSIZE.format(index="observations_fts")) == []
