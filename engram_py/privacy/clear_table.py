"""SQL over what is destroyed as a whole: turns, a project, everything."""

from __future__ import annotations

import json
from collections.abc import Sequence

from engram_py.database.store import Store

# What is counted before it is destroyed, each with the column of its project.
COUNTED = {
    "observations": "select count(*) from observations where {where}",
    "versions": "select count(*) from observation_versions where observation_id in "
    "(select id from observations where {where})",
    "prompts": "select count(*) from user_prompts where {where}",
    "sessions": "select count(*) from sessions where {where}",
    "relations": "select count(*) from memory_relations where {where}",
    "turns": "select count(*) from turns where {where}",
}
_IN_PROJECT = "(:project is null or project = :project)"
TURNS = (
    "from turns where (:project is null or project = :project) and (:session_id is null or session_id = :session_id)"
)

# What was counted in conversations names what they spoke of; prompts are counted again by a rebuild.
NAMES_SAID = f"delete {TURNS.replace('turns', 'entity_mentions', 1)} and entity_mentions.session_id is not null"

OBSERVATIONS = "select id, sync_id, scope, session_id from observations where project = :project limit :limit"
PROMPTS = "select id, sync_id, session_id from user_prompts where project = :project limit :limit"
RELATIONS = """
select sync_id, project from memory_relations
where source_id in (select value from json_each(:ends)) or target_id in (select value from json_each(:ends))
"""
RELATIONS_LEFT = "select sync_id, project from memory_relations where project = :project"
# A session that holds something of another project stays, without what it says of this one.
SESSIONS = """
select id, exists (select 1 from observations where session_id = sessions.id)
    or exists (select 1 from user_prompts where session_id = sessions.id) as is_held
from sessions where project = :project
"""
KEEP_PRIVATE = "insert or ignore into sync_private (entity, entity_key) values (:entity, :key)"

# What else names a project; what a session or an observation owns goes with it.
_OF_PROJECT = (
    "turns", "ledger", "eval_questions", "sync_apply_deferred", "sync_set_aside", "sync_carried", "sync_renamed",
    "sync_withdrawn", "entity_mentions", "entity_names", "collections",
)  # fmt: skip
_OF_NO_PROJECT = (
    "turns", "transcripts", "runs", "ledger", "recalls", "eval_runs", "eval_questions",
    "save_operations", "checkpoints", "git_answers", "sync_apply_deferred", "sync_set_aside", "sync_carried",
    "entity_mentions", "entity_names", "collections",
)  # fmt: skip


def counts(store: Store, project: str | None) -> dict[str, int]:
    return {name: int(store.value(sql.format(where=_IN_PROJECT), project=project)) for name, sql in COUNTED.items()}


def projects(store: Store) -> list[str]:
    """Return every project that anything names."""
    sql = """
    select name from projects union select project from observations union select project from sessions
    union select project from user_prompts union select project from memory_relations order by 1
    """
    return [row[0] for row in store.rows(sql)]


def delete(store: Store, table: str, column: str, keys: Sequence[object]) -> None:
    """Call inside a transaction."""
    sql = f"delete from {table} where {column} in (select value from json_each(:keys))"
    store.execute(sql, keys=json.dumps(list(keys)))


def delete_rest(store: Store, project: str) -> None:
    """What is of the project, once its rows are gone, and its name. Call inside a transaction."""
    for table in _OF_PROJECT:
        store.execute(f"delete from {table} where project = :project", project=project)
    store.execute(
        "delete from checkpoints where session_id in (select id from sessions where project = :project)",
        project=project,
    )
    store.execute("delete from save_operations where answer ->> 'project' = :project", project=project)
    # One that has other names is still where they lead.
    store.execute(
        """
        delete from projects
        where name = :project
          and name not in (select project from sync_aliases union select project from project_aliases)
        """,
        project=project,
    )


def delete_all_rest(store: Store) -> None:
    """What is of no project. Call inside a transaction."""
    for table in _OF_NO_PROJECT:
        store.execute(f"delete from {table}")
