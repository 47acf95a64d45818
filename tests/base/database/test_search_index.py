"""The full-text index: its triggers, its counts, and how damage is found and mended."""

from __future__ import annotations

import json
import sqlite3
import tempfile
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule
from mcp import Client

from engram_py import Draft, Engram
from engram_py.base.database import mutation_queue
from engram_py.base.database.errors import IndexDamagedError
from engram_py.base.database.store import Store
from engram_py.base.settings import Settings
from engram_py.interfaces.http.mcp_endpoint import build_server
from engram_py.memory.observations.values import Change
from engram_py.upkeep import hook_log
from tests import forked
from tests.base.database.files import damage_table, filled, opened, save
from tests.interfaces.mcp.agent import Agent
from tests.template import put

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


def imported(app: Engram) -> None:
    file = app.store.path.parent.parent / "export.json"
    app.transfer.export(file)
    app.clearing.clear("everything")
    app.transfer.import_file(file)


def revised(app: Engram) -> None:
    app.observations.update(1, Change(content="Another text."))
    app.observations.revert(1)


def judged(app: Engram) -> None:
    app.relations.compare(1, 2, "supersedes", confidence=0.9, reasoning="later")


def renamed(app: Engram) -> None:
    app.save(Draft("Elsewhere", "It is of another project."), project="gizmos")
    app.observations.move(1, "gizmos")
    app.merging.rename("widgets", "things")
    app.merging.merge(["things"], into="gizmos")


def synced(app: Engram) -> None:
    other = Engram(app.store.path.parent.parent / "other", directory=app.store.path.parent)
    changes = app.replica.changes()
    other.replica.apply(changes.mutations)
    other.replica.apply(changes.mutations)
    assert mutation_queue.count_rows(other.store, "observation") == 2
    assert mutation_queue.wrong_counts(other.store) == []
    other.close()


CHANGES: dict[str, Callable[[Engram], object]] = {
    "saved": lambda app: save(app, "three", type="decision"),
    "retyped": lambda app: app.observations.update(1, Change(type="policy")),
    "revised": revised,
    "hidden": lambda app: app.observations.delete(1),
    "brought-back": lambda app: (app.observations.delete(1), app.observations.undelete(1)),
    "destroyed": lambda app: app.observations.delete_many([1, 2], hard=True),
    "hidden-then-destroyed": lambda app: (app.observations.delete(1), app.observations.delete(1, hard=True)),
    "a-prompt-removed": lambda app: app.prompts.delete(1),
    "judged": judged,
    "moved-and-merged": renamed,
    "a-project-cleared": lambda app: app.clearing.clear("project", project="widgets"),
    "exported-cleared-and-imported": imported,
    "synced": synced,
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_what_is_kept_is_what_counting_gives(app: Engram, change: Callable[[Engram], object], tmp_path: Path) -> None:
    save(app, "one")
    save(app, "two", type="decision")
    app.prompts.save("A prompt")
    change(app)
    assert mutation_queue.wrong_counts(app.store) == []
    kept = mutation_queue.count_types(app.store)
    assert sum(kept.values()) == app.store.value("select count(*) from observations where deleted_at is null")


def test_a_number_that_went_wrong_is_named_and_counted_again(app: Engram) -> None:
    save(app, "one")
    with app.store.transaction():
        app.store.execute("update counts set number = 7 where kind = 'session'")
    [wrong] = mutation_queue.wrong_counts(app.store)
    assert wrong.startswith("session ")
    with app.store.transaction():
        mutation_queue.count_again(app.store)
    assert mutation_queue.wrong_counts(app.store) == []


DAMAGE = {
    "index": "drop table observations_fts",
    "prompts": "drop table prompts_fts",
    "words": "drop table observations_mentions",
    "part": "pragma writable_schema = on; delete from sqlite_master where name = 'observations_fts_config'",
    "blocks": "update observations_fts_data set block = x'ffffffffffffffff' where id > 1",
    "no-blocks": "delete from observations_fts_data",
    "version": "update observations_fts_config set v = 99 where k = 'version'",
}
PARTS = ("data", "idx", "docsize", "config")


def damage(path: Path, kind: str) -> None:
    """Damage the index of a closed database, by SQL or in the pages of one of its tables."""
    if kind in PARTS:
        damage_table(path, f"observations_fts_{kind}")
        return
    with closing(sqlite3.connect(path)) as connection:
        connection.executescript(DAMAGE[kind])


@pytest.fixture(scope="module")
def many(tmp_path_factory: pytest.TempPathFactory) -> bytes:
    """The database of two hundred observations."""
    texts = [f"number {number} " + "word " * (number % 7) for number in range(200)]
    return filled(tmp_path_factory.mktemp("many") / "data", texts).read_bytes()


@pytest.mark.parametrize("kind", [*(kind for kind in DAMAGE if kind != "prompts"), *PARTS])
def test_a_damaged_index_is_named_and_mended_and_nothing_saved_is_lost(data_dir: Path, many: bytes, kind: str) -> None:
    path = data_dir / "engram.db"
    data_dir.mkdir(mode=0o700)
    put(path, many)
    damage(path, kind)
    with opened(data_dir) as app:
        with pytest.raises(IndexDamagedError) as refused:
            app.search("content")
        assert "engram doctor --fix" in refused.value.hint

        found = {check.check_id: check for check in app.doctor.examine().checks}
        assert (found["search_index"].result, found["search_index"].fixable) == ("error", True)
        assert found["integrity"].result == "ok"

        assert app.doctor.examine(fix=True).status == "ok"
        assert app.store.value("pragma integrity_check") == "ok"
        saved = save(app, "later")
        assert [hit.id for hit in app.search("later").results] == [saved.id]
        assert app.store.value("select count(*) from observations_fts where observations_fts match 'number'") == 200


def test_damage_of_more_than_the_index_is_not_called_the_indexs(data_dir: Path) -> None:
    path = filled(data_dir)
    damage(path, "index")
    damage_table(path, "sessions")
    with opened(data_dir) as app:
        found = {check.check_id: check for check in app.doctor.examine().checks}
    assert (found["integrity"].result, found["integrity"].fixable) == ("error", False)
    assert "restore" in (found["integrity"].safe_next_step or "")


def test_a_mistake_in_sql_is_not_called_damage(data_dir: Path) -> None:
    with opened(data_dir) as app, pytest.raises(sqlite3.OperationalError):
        app.store.rows("select nothing from nowhere")


def test_rebuilding_the_index_mends_one_whose_blocks_are_damaged(data_dir: Path) -> None:
    damage(filled(data_dir), "blocks")
    with opened(data_dir) as app:
        assert app.reindexing.run().mended
        assert len(app.search("content").results) == 3


# --- each door ----------------------------------------------------------------------------------------------


@pytest.fixture
def broken(data_dir: Path) -> Path:
    path = filled(data_dir)
    damage(path, "index")
    return path


def engram(*arguments: str, data_dir: Path, text: str) -> int:
    environment = {"ENGRAM_DATA_DIR": str(data_dir), "ENGRAM_PROJECT": "widgets"}
    return forked.run(arguments, stdin=text.encode(), cwd=data_dir.parent, environ=environment)[0]


def test_a_hook_logs_the_code_keeps_the_prompt_and_the_doctor_tells_what_to_do(data_dir: Path) -> None:
    damage(filled(data_dir), "prompts")
    event = {"session_id": "s", "cwd": str(data_dir.parent), "prompt": "rename the parser of invoices"}
    assert engram("hook", "user-prompt", data_dir=data_dir, text=json.dumps(event)) == 0
    with opened(data_dir) as app:
        assert {one.reason for one in hook_log.lately(data_dir, app.journal.moment())} == {"index_damaged"}
        [check] = app.doctor.examine(check="hooks").checks
        assert "engram doctor --fix" in (check.safe_next_step or "")
        app.doctor.examine(fix=True)
    engram("hook", "session-end", data_dir=data_dir, text=json.dumps(event | {"reason": "exit"}))
    with opened(data_dir) as app:
        assert app.store.value("select content from user_prompts") == "rename the parser of invoices"


@pytest.mark.anyio
async def test_mcp_names_the_way_out(
    broken: Path, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    async with Client(build_server(Settings(data_dir), project="widgets")) as client:
        agent = Agent(client)
        for tool, given in (("mem_search", {"query": "content"}), ("mem_save", {"title": "A", "content": "B"})):
            facts = await agent.refusal(tool, **given)
            assert facts["error_code"] == "index_damaged"
            assert "engram doctor --fix" in facts["hint"]
