"""SQL of the doctor: checks of the file, and repair of what is derived."""

from __future__ import annotations

import contextlib
import re
import sqlite3

from engram_py.base.database import fts, migrations, soundness
from engram_py.base.database.connection import of_any_driver
from engram_py.base.database.errors import IndexDamagedError
from engram_py.base.database.soundness import INDEXES, InvalidText
from engram_py.base.database.store import Store
from engram_py.base.lazy import regex

_NAMES = {index.name for index in INDEXES}

# Rows the index holds are in its `docsize` table.
_MISSING = "select count(*) from {table} where {live} and id not in (select id from {index}_docsize)"
_EXTRA = "select count(*) from {index}_docsize where id not in (select id from {table} where {live})"

_CREATED = regex(r"^create (?:virtual table|trigger) (\w+)", re.MULTILINE)
_FORGET = "delete from sqlite_master where tbl_name in (select value from json_each(:names))"

ORPHANED_OBSERVATIONS = """
select id, session_id, project from observations
where session_id not in (select id from sessions)
order by id
"""

LOOSE_RELATIONS = """
select id, sync_id, project from memory_relations
where judgment_status in ('pending', 'judged')
  and ((source_id not like 'entity:%' and source_id not in (select sync_id from observations))
    or (target_id not like 'entity:%' and target_id not in (select sync_id from observations)))
order by id
"""

# Kept without an end that nobody here destroyed: it never arrived, or came after them.
_KNOWN_END = "({end} like 'entity:%' or exists (select 1 from observations where sync_id = r.{end}))"
_DESTROYED_END = "exists (select 1 from tombstones where entity = 'observation' and entity_key = r.{end})"
_WHOLE = " and ".join(_KNOWN_END.format(end=end) for end in ("source_id", "target_id"))
_EXPLAINED = " and ".join(
    f"({_KNOWN_END.format(end=end)} or {_DESTROYED_END.format(end=end)})" for end in ("source_id", "target_id")
)
_ORPHANED = "select id, sync_id, project, relation from memory_relations as r where judgment_status = 'orphaned'"
ORPHANED_RELATIONS = f"{_ORPHANED} and not ({_EXPLAINED}) order by id"
WHOLE_AGAIN_RELATIONS = f"{_ORPHANED} and {_WHOLE} order by id"

UNLISTED_PROJECTS = """
select distinct project from (
    select project from observations union select project from sessions union select project from user_prompts
)
where project <> '' and project not in (select name from projects)
order by project
"""

# What an agent started by itself; ours are named after the process and the project.
_OF_AGENTS = "id not like 'mcp-%' and id not like 'manual-save%'"

SESSION_PLACES = f"""
select directory, project, count(*) as sessions, max(started_at) as latest from sessions
where {_OF_AGENTS} and directory <> ''
group by directory, project
order by latest desc, directory, project limit 200
"""

MISNAMED_MANUAL_SESSIONS = """
select sessions.id, sessions.project
from sessions join projects on projects.name = substr(sessions.id, length('manual-save-') + 1)
where sessions.id like 'manual-save-%' and sessions.project <> projects.name
order by sessions.id
"""

_LAST_USED = "coalesce((select max(created_at) from observations where session_id = sessions.id), started_at)"

SEVERAL_OPEN_SESSIONS = f"""
select project, directory, count(*) as active_candidate_count, json_group_array(id) as session_ids
from sessions
where ended_at is null and {_OF_AGENTS} and {_LAST_USED} >= :since
group by project, directory
having count(*) > 1
order by project, directory
"""

STALE_OPEN_SESSIONS = f"""
select id, project, {_LAST_USED} as last_used from sessions
where ended_at is null and {_LAST_USED} < :before
order by last_used, id
"""

BLANK_SESSIONS = "select id, project from sessions where trim(id) = ''"

UNOWNED_SESSIONS = "select id, directory from sessions where trim(project) = '' order by id"

INCOMPLETE_OBSERVATIONS = """
select id, project from observations where deleted_at is null
  and (trim(title) = '' or trim(content) = '' or trim(type) = '' or trim(session_id) = '' or trim(sync_id) = '')
order by id
"""

FOREIGN_TARGETS = "select target_key from sync_state where target_key <> :known order by target_key"


def integrity(store: Store) -> list[str]:
    """Return what SQLite finds wrong with the file, the search index excepted."""
    with store.connection() as connection:
        return soundness.problems(connection)


def invalid_texts(store: Store) -> list[InvalidText]:
    """Return the texts that are not UTF-8."""
    with store.connection() as connection:
        return soundness.invalid_texts(connection)


def mend_texts(store: Store) -> None:
    """Replace the bytes that are no text. Other machines are not told: their copies are sound."""
    for text in invalid_texts(store):
        with (
            store.connection() as connection,
            contextlib.suppress(*of_any_driver(sqlite3.IntegrityError)),
            store.transaction(),
        ):
            soundness.mend_text(connection, text)


def index_damage(store: Store) -> list[str]:
    """Return what is wrong with the full-text indexes themselves, whatever rows they hold."""
    with store.connection() as connection:
        return soundness.index_damage(connection)


def index_drift(store: Store) -> dict[str, tuple[int, int]]:
    """Return for each full-text index how many rows it lacks and how many it should not hold; -1 without an index."""
    found = {}
    for index in INDEXES:
        name, table, live = index.name, index.table, index.live
        if store.value("select count(*) from sqlite_master where name = :name", name=f"{name}_docsize"):
            missing, extra = (store.value(sql.format(table=table, index=name, live=live)) for sql in (_MISSING, _EXTRA))
            found[name] = (int(missing), int(extra))
        else:
            found[name] = (-1, 0)
    return found


def missing_triggers(store: Store) -> list[str]:
    """Return the missing triggers and vocabulary tables of the index."""
    present = {row[0] for row in store.rows("select name from sqlite_master where type in ('trigger', 'table')")}
    return sorted(_definitions().keys() - _NAMES - present)


def mend(store: Store) -> bool:
    """Make an index that is not whole from its definition, at once; return whether that was needed."""
    broken = bool(index_damage(store) or missing_triggers(store))
    if broken:
        rebuild_indexes(store)
    return broken


def rebuild_indexes(store: Store) -> None:
    """Make the full-text tables and their triggers anew from the rows, in a transaction of its own."""
    try:
        with store.transaction():
            _remake(store)
    except IndexDamagedError:
        with store.transaction():
            _strike_out(store)
            _remake(store)
        with store.connection() as connection:
            connection.execute("vacuum")


def _remake(store: Store) -> None:
    definitions = _definitions()
    tables = (*soundness.WORD_TABLES, *_NAMES)
    for name in definitions.keys() - set(tables):
        store.execute(f"drop trigger if exists {name}")
    for name in tables:
        store.execute(f"drop table if exists {name}")
    for statement in definitions.values():
        store.execute(statement)
    for index in INDEXES:
        fts.refill(store, index)


def _definitions() -> dict[str, str]:
    """Return the statements of the migrations that make the indexes, their triggers and word tables, by name."""
    found = {}
    for file in migrations.migration_files():
        for statement in migrations.statements(file.read_text(encoding="utf-8")):
            name = created[1] if (created := _CREATED.search(statement)) else ""
            if name in soundness.WORD_TABLES or name.startswith(tuple(_NAMES)):
                found[name] = statement
    return found


def _strike_out(store: Store) -> None:
    """Remove the tables of the indexes from the schema, because a damaged one cannot be dropped."""
    names = [name for index in INDEXES for name in (index.name, *index.shadows)]
    names += soundness.WORD_TABLES
    store.execute("pragma writable_schema = on")
    try:
        store.execute(_FORGET, names=names)
    finally:
        store.execute("pragma writable_schema = reset")


SET_ASIDE = """
select name as file, reason, target from sync_memory_files where state = 'refused'
union all
select chunk, reason, target from sync_chunks where state = 'broken'
order by target, file
"""
