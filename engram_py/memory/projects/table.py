"""SQL over projects, their aliases, and the repositories that are theirs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram_py.base.database import mutation_queue
from engram_py.base.database.store import Row, Store
from engram_py.memory.projects.values import ProjectLine

_KEPT = "(select coalesce(sum(number), 0) from counts where kind = '{}' and project = projects.name)"
_LINES = """
select
    projects.name,
    {observations} as observations, {sessions} as sessions, {prompts} as prompts,
    (select max(coalesce(last_seen_at, created_at)) from observations
     where project = projects.name and deleted_at is null) as last_activity_at,
    (select group_concat(alias, char(10)) from project_aliases where project = projects.name) as aliases
from projects
order by last_activity_at desc nulls last, projects.name
"""
LINES = _LINES.format(
    **{f"{kind}s": _KEPT.format(kind) for kind in ("observation", "session", "prompt")},
)
LATEST_NAMES = """
select name from projects
order by (
    select updated_at from observations where project = projects.name and deleted_at is null
    order by updated_at desc, id desc limit 1
) desc nulls last, name
"""


def latest_names(store: Store) -> list[str]:
    """Return the names of the projects, that of the latest change first."""
    return [row[0] for row in store.rows(LATEST_NAMES)]


def exists(store: Store, name: str) -> bool:
    return store.row("select 1 from projects where name = :name", name=name) is not None


def names(store: Store) -> list[str]:
    return [row[0] for row in store.rows("select name from projects order by name")]


def count_observations(store: Store, name: str) -> int:
    """Return how many live observations a project has."""
    return mutation_queue.count_rows(store, "observation", [name])


# A project that nobody used yet, or whose first session here ran in this folder.
_BEGAN_BELOW = """
select case
    when first.directory is not null
    then first.directory = :root or substr(first.directory, 1, length(:root) + 1) = :root || '/'
    else not exists (select 1 from observations where project = :project)
        and not exists (select 1 from sessions where project = :project)
end
from (select 1) left join (
    select directory from sessions where project = :project and arrival is null order by started_at, id limit 1
) as first
"""


def began_below(store: Store, project: str, root: str) -> bool:
    """Return whether a project has no memory yet, or began in this folder."""
    return bool(store.value(_BEGAN_BELOW, project=project, root=root))


def is_confirmed(store: Store, project: str, places: Sequence[str]) -> bool:
    sql = """
    select 1 from project_confirmations
    where project = :project and place in (select value from json_each(:places))
    """
    return store.row(sql, project=project, places=list(places)) is not None


def confirm(store: Store, project: str, place: str, *, now: str) -> None:
    """Call inside a transaction."""
    sql = """
    insert or ignore into project_confirmations (place, project, created_at) values (:place, :project, :now)
    """
    store.execute(sql, place=place, project=project, now=now)


def target_of_alias(store: Store, alias: str) -> str | None:
    found: str | None = store.value("select project from project_aliases where alias = :alias", alias=alias)
    return found


def aliases(store: Store) -> list[Row]:
    return store.rows("select alias, project, created_at, clock from project_aliases order by alias")


def aliases_of(store: Store, project: str) -> list[str]:
    rows = store.rows("select alias from project_aliases where project = :project order by alias", project=project)
    return [row[0] for row in rows]


def identity_owner(store: Store, kind: str, value: str) -> str | None:
    sql = "select project from project_identities where kind = :kind and value = :value"
    found: str | None = store.value(sql, kind=kind, value=value)
    return found


def identities_of(store: Store, kind: str, project: str) -> list[str]:
    """Return the values of a project's identities of a kind: ``remote`` or ``common_dir``."""
    sql = "select value from project_identities where kind = :kind and project = :project"
    return [row[0] for row in store.rows(sql, kind=kind, project=project)]


def lines(store: Store) -> list[ProjectLine]:
    found = store.tuples(LINES)
    return [ProjectLine(*(*row[:-1], tuple(row[-1].split("\n")) if row[-1] else ())) for row in found]


# What a project must not have to be empty: a hidden observation can be brought back, so it is something.
EMPTY = """
select name from projects
where not exists (select 1 from observations where project = projects.name)
  and not exists (select 1 from user_prompts where project = projects.name)
  and not exists (select 1 from memory_relations where project = projects.name)
  and not exists (
      select 1 from sessions where project = projects.name
        and (summary is not null or exists (select 1 from observations where session_id = sessions.id)
            or exists (select 1 from user_prompts where session_id = sessions.id)
            or exists (select 1 from turns where session_id = sessions.id))
  )
order by name
"""


def empty(store: Store) -> list[str]:
    """Return the projects of which nothing is kept."""
    return [row[0] for row in store.rows(EMPTY)]


def move_rows(store: Store, table: str, *, project: str, into: str) -> list[Any]:
    """Give a project's rows of one table to another project; the sync keys of those that moved."""
    key = "id" if table == "sessions" else "sync_id"
    moved = [row[0] for row in store.rows(f"select {key} from {table} where project = :project", project=project)]
    store.execute(f"update {table} set project = :into where project = :project", project=project, into=into)
    return moved


def clashing_topics(store: Store, *, project: str, into: str) -> Sequence[Row]:
    """Return the pairs of live observations of two projects that hold the same topic in the same scope."""
    return store.rows(
        """
        select mine.id as id, theirs.id as other from observations as mine
        join observations as theirs
          on theirs.topic_key = mine.topic_key and theirs.scope = mine.scope
        where mine.project = :project and theirs.project = :into
          and mine.deleted_at is null and theirs.deleted_at is null
        order by mine.id
        """,
        project=project,
        into=into,
    )
