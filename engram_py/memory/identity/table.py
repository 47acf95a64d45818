"""What is known of the person: statements that hold always, and their profile, with the SQL that reads
them; refusals.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import NotFoundError
from engram_py.base.reasons import Told, operation, sentence
from engram_py.memory.observations.table import COLUMNS
from engram_py.memory.observations.values import Observation, Scope
from engram_py.memory.privacy.provenance import OWN, own

# Every context shows every statement whole.
LONGEST_CHARS = 500
PROFILE = "identity/profile"


@dataclass(frozen=True, slots=True)
class Statement:
    """A statement that the person wants to hold always, everywhere or (``scope`` project) in one project. ``said_at``
    is UTC."""

    id: int
    text: str
    scope: Scope
    project: str
    origin: str
    said_at: str


@dataclass(frozen=True, slots=True)
class Profile:
    """The person in a few lines; ``scope`` project: how to work with them there. ``id`` is None where there is none,
    ``origin`` is ``derived`` for one that upkeep writes, which it rewrites until somebody else does."""

    id: int | None
    text: str
    scope: Scope
    project: str
    origin: str
    written_at: str
    warnings: tuple[Told, ...] = ()


class StatementNotFoundError(NotFoundError):
    def __init__(self, said: str, *, kind: str = "") -> None:
        self.said = said[:80]
        what = f"{self.said} is a {kind}" if kind else f"no statement matches {self.said!r}"
        super().__init__(f"{what}; nothing was removed", hint=sentence(operation("identity"), " shows them all"))


# Nobody else speaks of the person, and what waits for review does not either.
_LIVE = f"deleted_at is null and lifecycle = 'active' and {OWN}"
_KNOWN = f"deleted_at is null and lifecycle = 'active' and {own('observations')}"

# Theirs wherever it was saved. `scope <> 'project'` names the index of what projects share.
_PERSONAL = f"scope <> 'project' and scope = 'personal' and {_KNOWN}"

OVERRIDES = f"""
select {COLUMNS}
from observations
where pinned = 1 and scope = 'personal' and type = 'identity' and {_LIVE} and topic_key is not '{PROFILE}'
order by created_at, id
limit :limit
"""
OVERRIDES_HERE = f"""
select {COLUMNS}
from observations
where pinned = 1 and scope = 'project' and type = 'identity' and {_LIVE} and topic_key is not '{PROFILE}'
  and project in (select value from json_each(:projects))
order by created_at, id
limit :limit
"""

KNOWN_STATEMENTS = f"""
select {COLUMNS}
from observations indexed by observations_shared
where {_PERSONAL} and type = 'identity' and topic_key is not '{PROFILE}'
order by created_at, id
limit :limit
"""

# What may say of the person what a later statement says otherwise.
ABOUT_THE_PERSON = f"""
select {COLUMNS}
from observations indexed by observations_shared
where {_PERSONAL} and type in ('identity', 'preference', 'fact') and about is null and topic_key is not '{PROFILE}'
order by updated_at desc, id desc
limit :limit
"""

PERSONAL = f"""
select {COLUMNS}
from observations indexed by observations_person
where scope = 'personal' and {_LIVE} and type = :type and pinned = 0 and topic_key is not '{PROFILE}'
order by updated_at desc, id desc
limit :limit
"""

ABOUT_THEM = f"""
select {COLUMNS}
from observations indexed by observations_about
where about in (select value from json_each(:slugs)) and type = 'fact' and {_LIVE}
order by updated_at desc, id desc
limit :limit
"""

# `+` keeps the look-up on the index of topic keys.
_PROFILES = f"""
select {COLUMNS}
from observations
where topic_key = '{PROFILE}' and scope = :scope
  and (:project is null or project = :project)
"""
PROFILE_NOW = f"{_PROFILES} and {_LIVE} order by +updated_at desc, +id desc limit 1"
PROFILE_DELETED = f"{_PROFILES} and deleted_at is not null order by deleted_at desc, id desc limit 1"


def overrides(store: Store, projects: Sequence[str] | None, *, limit: int) -> list[Observation]:
    """Return what holds always, in the order it was said: everywhere first, then in the projects."""
    rows = store.rows(OVERRIDES, limit=limit)
    if projects:
        rows += store.rows(OVERRIDES_HERE, projects=json.dumps(list(projects)), limit=limit)
    return [Observation.from_row(row) for row in rows[:limit]]


def statements(store: Store, *, scope: str, project: str, limit: int = 1_000) -> list[Observation]:
    """Return the live statements of a scope, pinned or not; of scope project those that are pinned."""
    if scope == "personal":
        return [Observation.from_row(row) for row in store.rows(KNOWN_STATEMENTS, limit=limit)]
    rows = store.rows(OVERRIDES_HERE, projects=json.dumps([project]), limit=limit)
    return [Observation.from_row(row) for row in rows]


def about_the_person(store: Store, *, limit: int = 1_000) -> list[Observation]:
    """Return the active personal statements, preferences and facts, latest change first."""
    return [Observation.from_row(row) for row in store.rows(ABOUT_THE_PERSON, limit=limit)]


def was_removed(store: Store, content_hash: str) -> bool:
    """Return whether a statement about the person had this text until it was deleted."""
    sql = """
    select 1 from observations
    where type = 'identity' and content_hash = :hash and deleted_at is not null limit 1
    """
    return store.row(sql, hash=content_hash) is not None


def personal(store: Store, *, types: Sequence[str] = ("identity", "preference"), limit: int) -> list[Observation]:
    """Return what is known of the person besides the overrides, latest change first."""
    rows = [Observation.from_row(row) for type in types for row in store.rows(PERSONAL, type=type, limit=limit)]
    return sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)[:limit]


def facts_about(store: Store, slugs: Sequence[str], *, limit: int) -> list[Observation]:
    """Return the facts about one of these entities in any project, latest change first."""
    rows = store.rows(ABOUT_THEM, slugs=json.dumps(list(slugs)), limit=limit)
    return [Observation.from_row(row) for row in rows]


def profile(store: Store, *, scope: str, project: str | None) -> Observation | None:
    """Return the latest live profile of a scope; of scope project that of ``project``."""
    row = store.row(PROFILE_NOW, scope=scope, project=project if scope == "project" else None)
    return None if row is None else Observation.from_row(row)


def profile_was_deleted(store: Store, *, scope: str) -> bool:
    return store.row(PROFILE_DELETED, scope=scope, project=None) is not None
