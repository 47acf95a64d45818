"""The schema: what the migrations make, and that they bring every earlier file to it."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import zipfile
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.database import migrations
from engram_py.base.database.connection import connect, use_wal
from engram_py.base.database.errors import StoreForeignError, StoreTooNewError
from engram_py.base.database.store import Store
from engram_py.base.settings import Settings
from tests.base.database.files import filled, make_foreign, make_newer, make_of_schema, opened, save
from tests.template import migrated_once

ROOT = Path(__file__).resolve().parents[3]
NAMES = [file.stem for file in migrations.migration_files()]


def schema(path: Path) -> list[tuple[str, str]]:
    with closing(sqlite3.connect(path)) as connection:
        rows = connection.execute("select name, sql from sqlite_master where sql is not null order by name")
        return [(name, sql) for name, sql in rows if name != migrations.LEDGER]


@pytest.mark.migrates
def test_migrations_are_numbered_without_a_gap_and_applied_in_that_order(store: Store) -> None:
    assert [int(name[:4]) for name in NAMES] == list(range(1, len(NAMES) + 1))
    with store.connection() as connection:
        assert migrations.applied(connection) == NAMES


def test_every_table_is_strict_and_an_index_over_words_belongs_to_one_with_an_integer_key(store: Store) -> None:
    loose = store.rows(
        "select name from pragma_table_list where schema = 'main' and type = 'table' and not strict order by name"
    )
    assert [row[0] for row in loose] == [migrations.LEDGER, "sqlite_schema", "sqlite_sequence"]
    for table in ("observations", "user_prompts"):
        [key] = store.rows(f"select name, type from pragma_table_info('{table}') where pk > 0")
        assert tuple(key) == ("id", "INTEGER")


# The steps behind are the same for each: a sixth of the versions, the first and the last among them, shows as much.
BEGUN = sorted({*range(1, len(NAMES), 6), len(NAMES) - 1})


@pytest.mark.parametrize("count", BEGUN, ids=[NAMES[count - 1] for count in BEGUN])
def test_a_file_of_an_earlier_version_is_brought_to_the_same_schema(data_dir: Path, tmp_path: Path, count: int) -> None:
    make_of_schema(data_dir / "engram.db", count)
    (tmp_path / "new.db").write_bytes(migrated_once())
    Store.open(data_dir).close()
    assert schema(data_dir / "engram.db") == schema(tmp_path / "new.db")


def test_a_memory_of_an_earlier_version_can_be_used_after_the_upgrade(data_dir: Path) -> None:
    make_of_schema(data_dir / "engram.db", 1)
    with opened(data_dir) as app:
        save(app, "upgraded-gearbox")
        assert [hit.title for hit in app.search("gearbox").results] == ["About upgraded-gearbox"]
        assert app.doctor.examine().status == "ok"


def test_what_was_said_is_counted_from_one_after_the_upgrade_as_engram_counts_it(data_dir: Path) -> None:
    before = NAMES.index("0017_duplicate_count")
    with opened(data_dir) as app:
        ours, again, imported, odd = (save(app, text).id for text in ("ours", "again", "imported", "odd"))
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection, connection:
        connection.execute(f"delete from {migrations.LEDGER} where name = ?", (NAMES[before],))
        counts = [(0, "agent", ours), (3, "user", again), (2, "import", imported), (0, "import", odd)]
        connection.executemany("update observations set duplicate_count = ?, origin = ? where id = ?", counts)

    with opened(data_dir) as app:
        found = {row.id: row.duplicate_count for row in app.browsing.whole([ours, again, imported, odd])}

    assert found == {ours: 1, again: 4, imported: 2, odd: 1}


def test_a_migration_that_fails_leaves_the_file_as_it_was(
    data_dir: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_of_schema(data_dir / "engram.db", 1)
    before = schema(data_dir / "engram.db")
    broken = tmp_path / "0002_search.sql"
    broken.write_text("create table half (id integer) strict;\ninsert into nowhere values (1);\n", encoding="utf-8")
    files = (migrations.migration_files()[0], broken)
    monkeypatch.setattr(migrations, "migration_files", lambda: files)

    with pytest.raises(sqlite3.OperationalError, match="nowhere"):
        Store.open(data_dir)

    assert schema(data_dir / "engram.db") == before


@pytest.mark.parametrize("mode", ["delete", "wal"])
def test_a_database_of_a_newer_program_is_refused_and_not_a_byte_changed(data_dir: Path, mode: str) -> None:
    path = filled(data_dir)
    make_newer(path)
    with closing(sqlite3.connect(path)) as connection:
        connection.execute(f"pragma journal_mode = {mode}")
    before = path.read_bytes()

    with pytest.raises(StoreTooNewError) as refused:
        Store.open(data_dir)

    assert refused.value.unknown == ["9999_future"]
    assert path.read_bytes() == before
    assert [file.name for file in data_dir.iterdir()] == ["engram.db"]


def test_the_database_of_engram_itself_is_refused_and_not_a_byte_changed(data_dir: Path) -> None:
    make_foreign(data_dir / "engram.db")
    before = (data_dir / "engram.db").read_bytes()

    with pytest.raises(StoreForeignError) as refused:
        Store.open(data_dir)

    assert "observations" in refused.value.tables
    assert f"`engram import --from engram {data_dir / 'engram.db'}`" in (refused.value.hint or "")
    assert (data_dir / "engram.db").read_bytes() == before
    assert [file.name for file in data_dir.iterdir()] == ["engram.db"]


def test_a_file_of_another_program_is_not_said_to_be_engrams(data_dir: Path) -> None:
    data_dir.mkdir(mode=0o700, parents=True, exist_ok=True)
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection:
        connection.execute("create table recipes (id integer primary key)")

    with pytest.raises(StoreForeignError) as refused:
        Store.open(data_dir)

    assert "another program" in refused.value.message
    assert "import" not in (refused.value.hint or "")


def test_a_file_that_another_process_is_migrating_is_never_taken_for_a_foreign_one(tmp_path: Path) -> None:
    path = tmp_path / "engram.db"
    with closing(connect(path)) as looking, closing(connect(path)) as migrating:
        use_wal(looking, path)
        statements: list[str] = []

        def migrate_between_the_looks(statement: str) -> None:
            statements.append(statement)
            if "sqlite_master" in statement and sum("sqlite_master" in one for one in statements) == 2:
                migrations.migrate(migrating, path)

        looking.set_trace_callback(migrate_between_the_looks)
        pending = migrations.check_origin(looking, path)

        assert pending == NAMES
        assert migrations.applied(migrating) == NAMES


def test_the_statements_of_a_script_keep_trigger_bodies_whole() -> None:
    script = migrations.migration_files()[1].read_text(encoding="utf-8")
    triggers = [one for one in migrations.statements(script) if "create trigger" in one]
    assert len(triggers) == script.count("create trigger")
    assert all(one.rstrip().endswith("end;") for one in triggers)


def test_a_built_wheel_brings_the_migrations_and_runs_without_the_checkout(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(tmp_path / "dist"), str(ROOT)]
    result = subprocess.run(build, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout + result.stderr
    [wheel] = (tmp_path / "dist").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "site")

    shipped = sorted(file.name for file in (tmp_path / "site" / "engram_py" / "migrations").iterdir())
    assert shipped == [file.name for file in migrations.migration_files()]
    code = (
        "import sys; sys.path.insert(0, sys.argv[1]); from pathlib import Path; "
        "from engram_py.base.database import migrations; from engram_py.base.database.store import Store; "
        "Store.open(Path(sys.argv[2])).close(); print(migrations.migration_files()[0].parent)"
    )
    run = [sys.executable, "-I", "-c", code, str(tmp_path / "site"), str(tmp_path / "data")]
    printed = subprocess.run(run, capture_output=True, text=True, check=True, cwd=tmp_path).stdout.strip()
    assert Path(printed) == tmp_path / "site" / "engram_py" / "migrations"


SESSION = "insert into sessions (id, project, started_at, updated_at, clock) values ('s', 'widgets', '', '', '')"
TURN = """
insert into turns (session_id, project, key, position, role, content, read_at)
values ('s', 'widgets', 'k', 0, 'user', 'where is the narwhal?', '2026-01-01T00:00:00.000Z')
"""


def of_schema_before(data_dir: Path, migration: str, *statements: str) -> None:
    """Make a file as it was before a migration, with what the statements put there."""
    make_of_schema(data_dir / "engram.db", NAMES.index(migration))
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection, connection:
        for sql in statements:
            connection.execute(sql)


def test_what_hooks_and_sync_kept_before_the_switches_is_there_after_them(data_dir: Path) -> None:
    of_schema_before(
        data_dir,
        NAMES[NAMES.index("0014_session_order") + 1],
        SESSION,
        TURN,
        "insert into sync_chunks (target, chunk, state, size, signature_size, sha256, seen_at)"
        " values ('git:1', 'abc', 'imported', 1, 1, 'x', '2026-01-01')",
        "insert into sync_devices (target, key, device, seen_at) values ('git:1', 'k', 'd', '2026-01-01')",
        "insert into cloud_projects (server, project, enrolled_at) values ('https://x', 'widgets', '2026-01-01')",
    )

    with closing(Store.open(data_dir)) as store:
        for table in ("turns", "sync_chunks", "sync_devices", "cloud_projects"):
            assert store.value(f"select count(*) from {table}") == 1
        assert store.value("select content from turns") == "where is the narwhal?"
        assert store.value("select count(*) from switches") == 0


def test_what_a_verdict_replaced_is_historical_after_the_upgrade(data_dir: Path) -> None:
    """And in a circle of verdicts the last ones count, as for those that are given now."""
    make_of_schema(data_dir / "engram.db", [name[5:] for name in NAMES].index("replaced"))
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection:
        connection.execute(
            "insert into sessions (id, project, started_at, updated_at, clock) values ('s','p','','','')"
        )
        for name in ("one", "two", "three", "plain"):
            connection.execute(
                "insert into observations (sync_id, session_id, project, title, content, content_hash, created_at, "
                "updated_at, clock) values (?, 's', 'p', ?, ?, '', '', '', '')",
                (name, name, name),
            )
        for day, (newer, older) in enumerate((("two", "one"), ("three", "two"), ("one", "three"))):
            connection.execute(
                "insert into memory_relations (sync_id, source_id, target_id, relation, judgment_status, created_at, "
                "updated_at, clock) values (?, ?, ?, 'supersedes', 'judged', '', ?, '')",
                (f"rel-{day}", newer, older, f"2026-01-0{day + 1}"),
            )
        connection.commit()

    with closing(Store.open(data_dir)) as upgraded:
        states = dict(upgraded.tuples("select title, lifecycle from observations"))

    assert states == {"one": "active", "two": "historical", "three": "historical", "plain": "active"}


def test_the_turns_of_a_file_of_the_schema_before_wait_to_be_distilled_after_the_upgrade(data_dir: Path) -> None:
    of_schema_before(data_dir, "0022_distilling", SESSION, SESSION.replace("'s'", "'silent'"), TURN)

    with closing(Store.open(data_dir)) as upgraded:
        rows = upgraded.tuples("select id, distill_state, distill_attempts, last_turn_at from sessions order by id")
        assert [tuple(row) for row in rows] == [
            ("s", "pending", 0, "2026-01-01T00:00:00.000Z"),
            ("silent", None, 0, None),
        ]
        assert upgraded.value("select count(*) from turns where distilled_at is null") == 1
        assert upgraded.value("select count(*) from runs") == 0


def test_the_turns_of_a_file_of_the_schema_before_are_found_after_the_upgrade(data_dir: Path) -> None:
    of_schema_before(data_dir, "0024_turns_search", SESSION, TURN)

    with closing(Store.open(data_dir)) as upgraded:
        assert upgraded.value("select rowid from turns_fts where turns_fts match 'narwhal'") == 1
        with upgraded.transaction():
            upgraded.execute("insert into turns_fts (turns_fts) values ('integrity-check')")
            upgraded.execute("delete from sessions")
        assert upgraded.value("select count(*) from turns_fts where turns_fts match 'narwhal'") == 0


def test_a_file_of_the_schema_before_has_entities_after_the_upgrade(data_dir: Path) -> None:
    entity = """
    insert into observations (sync_id, session_id, project, type, title, content, topic_key, content_hash, created_at,
        updated_at, clock)
    values ('obs-1', 's', 'widgets', 'note', 'Gateway', 'Routes all', 'entity/gateway', '', '', '', '')
    """
    of_schema_before(data_dir, "0027_entities", SESSION, entity)

    with Engram(data_dir, project="widgets") as upgraded:
        assert [one.slug for one in upgraded.entities.listed().entities if one.id] == ["gateway"]
        upgraded.entities.link("gateway", "calls", "ledger")
        assert upgraded.store.value("select count(*) from entity_names") == 0


def test_a_question_that_an_earlier_version_learned_stays_with_its_answer_and_in_the_kept_run(data_dir: Path) -> None:
    of_schema_before(
        data_dir,
        "0034_no_learned_questions",
        SESSION,
        "insert into observations (sync_id, session_id, project, title, content, content_hash, created_at, updated_at,"
        " clock) values ('obs-1', 's', 'widgets', 'Tokens', 'Fifteen minutes', '', '', '', '')",
        "insert into eval_questions (project, question, folded, origin, times, created_at, last_at)"
        " values ('widgets', 'which tokens', 'which tokens', 'learned', 3, '', '')",
        "insert into eval_answers (question_id, sync_id, times, last_at) values (1, 'obs-1', 3, '')",
        "insert into eval_runs (id, kept_at, facts) values (1, '2026-01-01', '{}')",
        "insert into eval_outcomes (run_id, question_id, outcome, rank) values (1, 1, 'found', 1)",
    )

    with Engram(data_dir, project="widgets") as upgraded:
        [question] = upgraded.evaluations.questions()
        assert (question.question, [answer.title for answer in question.answers]) == ("which tokens", ["Tokens"])
        assert [one.comparable for one in upgraded.evaluations.run({}).asked] == [True]


def test_an_upgrade_keeps_a_copy_of_before_and_says_from_which_version(data_dir: Path) -> None:
    make_of_schema(data_dir / "engram.db", 40)

    with Engram(settings=Settings(data_dir), directory=data_dir) as app:
        [said] = app.store.tell()

    copy = data_dir / "backups" / f"engram-before-{NAMES[-1][:4]}-of-0040.db"
    assert f"from schema 0040 to {NAMES[-1][:4]}" in said
    assert str(copy) in said
    with closing(sqlite3.connect(copy)) as connection:
        assert migrations.applied(connection) == NAMES[:40]


def test_a_new_file_has_nothing_to_copy(data_dir: Path) -> None:
    with Engram(settings=Settings(data_dir), directory=data_dir) as app:
        assert app.store.tell() == []
    assert not (data_dir / "backups").exists()
