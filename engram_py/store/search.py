"""SQL of the full-text search over observations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from engram_py.store.database import Store
from engram_py.store.observations import VISIBLE, projects_json

# Columns: title, topic_key, aliases, content, terms. A title is its author's own summary; the figures are
# where spec/retrieval's baselines found titles to be worth about six times the body.
WEIGHTS = "6.0, 4.0, 2.0, 1.0, 1.0"

MATCHING = f"""
select observations.id, bm25(observations_fts, {WEIGHTS}) as score
from observations_fts
join observations on observations.id = observations_fts.rowid
where observations_fts match :match
  and (:type is null or observations.type = :type)
  and (:scope is null or observations.scope = :scope)
  and {VISIBLE}
order by score, observations.id desc
limit :limit
"""

# Pins, projects and soft-deleted rows are judged after this: it only bounds what a word costs.
FREQUENCY = "select count(*) from (select 1 from observations_fts where observations_fts match :match limit :cap)"

TOPIC = f"""
select id
from observations
where topic_key = :topic_key and deleted_at is null
  and (:type is null or type = :type)
  and (:scope is null or scope = :scope)
  and {VISIBLE}
order by +updated_at desc, +id desc
limit :limit
"""

CANDIDATES = """
select observations.id, observations.title, bm25(observations_fts, 1.0, 0.0, 0.0, 0.0, 0.0) as score
from observations_fts
join observations on observations.id = observations_fts.rowid
where observations_fts match :match
  and observations.project = :project and observations.scope = :scope and observations.id <> :id
order by score, observations.id desc
limit :limit
"""


def matching(
    store: Store, *, match: str, projects: Sequence[str] | None, type: str | None, scope: str | None, limit: int
) -> list[tuple[int, float]]:
    """(id, BM25) of the best matches; BM25 as FTS5 gives it, smaller is better."""
    values: dict[str, Any] = {"match": match, "projects": projects_json(projects), "type": type, "scope": scope}
    return [(row[0], row[1]) for row in store.rows(MATCHING, **values, limit=limit)]


def frequency(store: Store, match: str, *, cap: int) -> int:
    """How many rows match, counted no further than ``cap``."""
    return int(store.value(FREQUENCY, match=match, cap=cap))


def by_topic(
    store: Store, topic_key: str, *, projects: Sequence[str] | None, type: str | None, scope: str | None, limit: int
) -> list[int]:
    rows = store.rows(TOPIC, topic_key=topic_key, projects=projects_json(projects), type=type, scope=scope, limit=limit)
    return [row[0] for row in rows]


def title_matches(
    store: Store, *, match: str, project: str, scope: str, without: int, limit: int
) -> list[tuple[int, str]]:
    """(id, title) of observations whose title matches, best first."""
    rows = store.rows(CANDIDATES, match=match, project=project, scope=scope, id=without, limit=limit)
    return [(row[0], row[1]) for row in rows]
