"""SQL over entities: their own rows, their edges, and the names that are mentioned."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.base.database.mutation_queue import count_types, get_meta, set_meta
from engram_py.base.database.store import Row, Store
from engram_py.memory.observations.table import COLUMNS
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import GIVEN, given, own

MOST_ENTITIES = 5_000
MOST_EDGES = 1_000

# As the partial index has it; what is unchecked names nothing.
_OWN = f"topic_key >= 'entity/' and topic_key < 'entity0' and deleted_at is null and {GIVEN}"

HAS_ENTITIES = f"select exists (select 1 from observations indexed by observations_entity where {_OWN})"
# One step into each of two small indexes: what a search of a memory without entities pays.
HAS_ANY = f"""
{HAS_ENTITIES} or exists (
    select 1 from observations indexed by observations_about where about is not null and deleted_at is null
)
"""

OWN_ROWS = f"""
select {COLUMNS} from observations indexed by observations_entity
where project = :project and {_OWN} and scope = :scope
order by topic_key, updated_at, id limit {MOST_ENTITIES}
"""

NAMED_ROWS = f"""
select {COLUMNS} from observations indexed by observations_entity_named
where project = :project and {_OWN} and (aliases <> '' or lifecycle = 'historical') and scope = :scope
order by topic_key, updated_at, id limit {MOST_ENTITIES}
"""
ROWS_OF = f"""
select {COLUMNS} from observations indexed by observations_entity
where project = :project and {_OWN} and scope = :scope and topic_key in (select value from json_each(:topics))
order by topic_key, updated_at, id
"""

# The facts of a project as a number for each slug.
FACTS = f"""
select about, count(*), sum(lifecycle = 'active'), max(updated_at), max(entity_kind)
from observations indexed by observations_about
where about is not null and deleted_at is null and type = 'fact' and {GIVEN} and project = :project and scope = :scope
group by about order by about
"""

# An edge holds while the fact does that says so.
_EDGES = f"""
select source_id, relation, target_id, fact.id, fact.content
from memory_relations
join observations as fact on fact.sync_id = memory_relations.evidence
where {{ends}}
  and source_id like 'entity:%' and target_id like 'entity:%' and memory_relations.project = :project
  and judgment_status = 'judged' and superseded_at is null
  and fact.deleted_at is null and fact.lifecycle = 'active' and fact.scope = :scope and {given("fact")}
order by memory_relations.id limit {MOST_EDGES}
"""
_TOUCHED = """memory_relations.id in (
    select id from memory_relations where source_id in (select value from json_each(:ends))
    union
    select id from memory_relations where target_id in (select value from json_each(:ends))
)"""
EDGES = _EDGES.format(ends=_TOUCHED)
ALL_EDGES = _EDGES.format(ends="source_id >= 'entity:' and source_id < 'entity;'")

MENTIONED = f"""
select observations.id, type, title, created_at from entity_mentions
join observations on observations.id = observation_id
where entity_mentions.project = :project and slug in (select value from json_each(:slugs)) and deleted_at is null
  and lifecycle = 'active' and {given("observations")}
order by created_at desc, observations.id desc limit :limit
"""

NAMES = """
select entity_names.slug, name, kind, claimed, plain,
    count(unit) as mentions, coalesce(max(strong), 0) as strong, seen_at
from entity_names left join entity_mentions using (project, slug)
where project = :project group by entity_names.slug
"""


def has_entities(store: Store) -> bool:
    return bool(store.value(HAS_ENTITIES))


def has_any(store: Store) -> bool:
    """Return whether anything is known of any entity."""
    return bool(store.value(HAS_ANY))


def own_rows(store: Store, *, project: str, scope: str) -> list[Observation]:
    """Return the own rows of entities, the later of two with one topic last."""
    return [Observation.from_row(row) for row in store.tuples(OWN_ROWS, project=project, scope=scope)]


def rows_about(store: Store, slugs: Sequence[str], *, project: str, scope: str) -> list[Observation]:
    """Return the own rows of these slugs, and of the entities that have aliases or were merged."""
    key = {"project": project, "scope": scope}
    rows = store.tuples(NAMED_ROWS, **key)
    rows += store.tuples(ROWS_OF, topics=json.dumps([f"entity/{slug}" for slug in slugs]), **key)
    return [Observation.from_row(row) for row in rows]


def facts(store: Store, *, project: str, scope: str) -> dict[str, tuple[int, int, str, str | None]]:
    """Return by slug the number of facts, the number of active ones, the time of the last change, and the kind that
    they say the entity is."""
    rows = store.tuples(FACTS, project=project, scope=scope)
    return {slug: (whole, active, at, kind) for slug, whole, active, at, kind in rows}


def edges(store: Store, slugs: Sequence[str] | None, *, project: str, scope: str) -> list[tuple[Any, ...]]:
    """Return subject, predicate, object, fact and its text of the edges at these entities, or of all edges."""
    if slugs is None:
        return store.tuples(ALL_EDGES, project=project, scope=scope)
    ends = json.dumps([f"entity:{slug}" for slug in slugs])
    return store.tuples(EDGES, ends=ends, project=project, scope=scope)


def mentioned(store: Store, slugs: Sequence[str], *, project: str, limit: int) -> list[tuple[Any, ...]]:
    return store.tuples(MENTIONED, project=project, slugs=json.dumps(list(slugs)), limit=limit)


def names(store: Store, project: str) -> dict[str, Mapping[str, Any]]:
    """Return the mentioned names by slug."""
    return {row["slug"]: dict(row) for row in store.rows(NAMES, project=project)}


def name_of(store: Store, project: str, slug: str) -> Row | None:
    """Return a mentioned name as it is written, with its kind."""
    sql = "select name, kind from entity_names where project = :project and slug = :slug"
    return store.row(sql, project=project, slug=slug)


# --- searching ---------------------------------------------------------------------------------------------

_PROJECTS = "(:projects is null or project in (select value from json_each(:projects)))"
OWN_NAMES = f"""
select project, scope, topic_key, title, aliases, lifecycle from observations indexed by observations_entity_named
where {_OWN} and (aliases <> '' or lifecycle = 'historical') and {_PROJECTS} limit {MOST_ENTITIES}
"""
ABOUT = f"""
select distinct project, scope, about from observations indexed by observations_about
where about in (select value from json_each(:slugs)) and deleted_at is null and lifecycle = 'active' and {_PROJECTS}
limit 50
"""
OWN_NAMED = f"""
select project, scope, topic_key from observations indexed by observations_topic_key
where topic_key in (select value from json_each(:topics)) and topic_key is not null and deleted_at is null
  and {_PROJECTS}
limit 50
"""
# Whose name is not all ASCII: it may be written with other letters as well.
FOREIGN_NAMED = f"""
select project, scope, topic_key from observations indexed by observations_entity
where {_OWN} and topic_key glob '*[^ -~]*' and {_PROJECTS} limit {MOST_ENTITIES}
"""
FACT_IDS = """
select id from observations indexed by observations_about
where about in (select value from json_each(:slugs)) and deleted_at is null and lifecycle = 'active'
  and project = :project and scope = :scope
order by updated_at desc, id desc limit :limit
"""


def fact_ids(store: Store, slugs: Sequence[str], *, project: str, scope: str, limit: int) -> list[int]:
    values = {"slugs": json.dumps(list(slugs)), "project": project, "scope": scope, "limit": limit}
    return [row[0] for row in store.tuples(FACT_IDS, **values)]


def named_in(store: Store, slugs: Sequence[str], projects: Sequence[str] | None) -> set[tuple[str, str, str]]:
    """Return those of the slugs that an entity has, as project, scope and slug."""
    seen = {"projects": None if projects is None else json.dumps(list(projects))}
    named = set(store.tuples(ABOUT, slugs=json.dumps(list(slugs)), **seen))
    topics = json.dumps([f"entity/{slug}" for slug in slugs])
    named |= {(p, s, key.removeprefix("entity/")) for p, s, key in store.tuples(OWN_NAMED, topics=topics, **seen)}
    return named


def foreign_named(store: Store, projects: Sequence[str] | None) -> list[tuple[str, str, str]]:
    """Return the entities whose slugs may be written in other letters, as project, scope and slug."""
    rows = store.tuples(FOREIGN_NAMED, projects=None if projects is None else json.dumps(list(projects)))
    return [(project, scope, key.removeprefix("entity/")) for project, scope, key in rows]


def with_aliases(store: Store, projects: Sequence[str] | None) -> list[tuple[Any, ...]]:
    """Return project, scope, topic, title, aliases and lifecycle of the entities that have other names."""
    seen = None if projects is None else json.dumps(list(projects))
    return store.tuples(OWN_NAMES, projects=seen)


# --- counting ----------------------------------------------------------------------------------------------

# What nobody here stands for names nothing.
OBSERVATIONS = f"""
select id, project, session_id, title || '
' || content as text,
    (select group_concat(path, ' ') from anchors where observation_id = observations.id) as paths, created_at as at
from observations
where id > :after and deleted_at is null and origin <> 'derived' and coalesce(topic_key, '') not like 'entity/%'
  and {given("observations")}
order by id limit :limit
"""
PROMPTS = f"""
select id, project, session_id, content as text, created_at as at from user_prompts
where id > :after and {own("user_prompts")}
order by id limit :limit
"""
TURNS = """
select id, project, session_id, content as text, role, read_at as at from turns where id > :after
order by id limit :limit
"""
SOURCES = {"observations": OBSERVATIONS, "prompts": PROMPTS, "turns": TURNS}

MOST_NAMES = 5_000
# The names that were said least and longest ago are forgotten, with their mentions.
FORGET = f"""
select slug from entity_names where project = :project and claimed = 0
order by (select count(*) from entity_mentions as m where m.project = :project and m.slug = entity_names.slug) desc,
    seen_at desc, slug
limit -1 offset {MOST_NAMES}
"""

EVERY_ENTITY = """
select distinct project, scope, about from observations indexed by observations_about
where about is not null and deleted_at is null and type = 'fact'
order by project, scope, about
"""


_SYNTHESIZED = "entities.synthesized"


def count_facts(store: Store) -> int:
    """Return how many facts there are; the count is kept, not made."""
    return count_types(store, None).get("fact", 0)


def synthesized(store: Store, facts: int) -> None:
    """Remember how many facts there were when a synthesis began. Call inside a transaction."""
    set_meta(store, _SYNTHESIZED, str(facts))


def facts_since_synthesis(store: Store) -> int:
    """Return how many more facts there are than then, as this machine counts."""
    return max(0, count_facts(store) - int(get_meta(store, _SYNTHESIZED) or 0))


def forget(store: Store, project: str) -> None:
    gone = json.dumps([row[0] for row in store.tuples(FORGET, project=project)])
    for name in ("entity_mentions", "entity_names"):
        sql = f"delete from {name} where project = :project and slug in (select value from json_each(:gone))"
        store.execute(sql, project=project, gone=gone)
