"""SQL of the full-text search over observations."""

from __future__ import annotations

import json
from collections.abc import Sequence

from engram_py.store.database import Row, Store
from engram_py.store.observations import VISIBLE, projects_json

# Columns: title, topic_key, aliases, content, terms. A title is its author's own summary; the figures are
# where spec/retrieval's baselines found titles to be worth about six times the body.
_POOL = 20
WEIGHTS = "6.0, 4.0, 2.0, 1.0, 1.0"

# Ranked inside the index, before any row is looked at: joined to the table, each match would cost a second look-up.
RANKED = f"""
select rowid as id, bm25(observations_fts, {WEIGHTS}) as score
from observations_fts
where observations_fts match :match and rowid >= :floor
order by score, rowid desc
limit :pool
"""

SEEN = f"""
select id from observations
where id in (select value from json_each(:ids))
  and (:type is null or type = :type)
  and (:scope is null or scope = :scope)
  and {VISIBLE}
"""

# Pins, projects and soft-deleted rows are judged after this: it only bounds what a word costs.
FREQUENCY = "select count(*) from (select 1 from observations_fts where observations_fts match :match limit :cap)"

NTH_NEWEST = """
select rowid from observations_fts where observations_fts match :match order by rowid desc limit 1 offset :n
"""

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

# Newest first, which the index gives without scoring anything.
CANDIDATES = """
select observations.id, sync_id, observations.title, type, observations.topic_key
from observations_fts
join observations on observations.id = observations_fts.rowid
where observations_fts match :match
  and project = :project and scope = :scope and observations.id <> :id
order by observations_fts.rowid desc
limit :limit
"""


def matching(
    store: Store,
    *,
    match: str,
    floor: int,
    projects: Sequence[str] | None,
    type: str | None,
    scope: str | None,
    limit: int,
) -> list[tuple[int, float]]:
    """(id, BM25) of the best matches from id ``floor`` on; BM25 as FTS5 gives it, smaller is better."""
    sight = {"projects": projects_json(projects), "type": type, "scope": scope}
    for pool in (limit * _POOL, -1):  # all of them only where the best belong to somebody else
        ranked = store.rows(RANKED, match=match, floor=floor, pool=pool)
        seen = {row[0] for row in store.rows(SEEN, ids=json.dumps([row["id"] for row in ranked]), **sight)}
        if len(seen) >= limit or len(ranked) < limit * _POOL:
            break
    return [(row["id"], row["score"]) for row in ranked if row["id"] in seen][:limit]


def frequency(store: Store, match: str, *, cap: int) -> int:
    """How many rows match, counted no further than ``cap``."""
    return int(store.value(FREQUENCY, match=match, cap=cap))


def highest_id(store: Store) -> int:
    """An upper bound of the number of observations, at no cost."""
    return int(store.value("select coalesce(max(id), 0) from observations"))


def id_of_nth_newest(store: Store, match: str, n: int) -> int | None:
    """The id of the n-th newest row that matches, None when there are fewer."""
    found: int | None = store.value(NTH_NEWEST, match=match, n=n)
    return found


def by_topic(
    store: Store, topic_key: str, *, projects: Sequence[str] | None, type: str | None, scope: str | None, limit: int
) -> list[int]:
    rows = store.rows(TOPIC, topic_key=topic_key, projects=projects_json(projects), type=type, scope=scope, limit=limit)
    return [row[0] for row in rows]


def with_title(store: Store, *, title: str, match: str, project: str, scope: str) -> list[Row]:
    """The newest observations of exactly this title, as ``title_matches`` gives them; ``match`` are its words."""
    rows = title_matches(store, match=match, project=project, scope=scope, without=0, limit=_POOL)
    return [row for row in rows if row["title"] == title]


def title_matches(store: Store, *, match: str, project: str, scope: str, without: int, limit: int) -> list[Row]:
    """Id, sync id, title, type and topic key of the newest observations whose title matches."""
    return store.rows(CANDIDATES, match=match, project=project, scope=scope, id=without, limit=limit)
