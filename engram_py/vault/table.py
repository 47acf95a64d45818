"""SQL of what a vault shows."""

from __future__ import annotations

from engram_py.database.store import Store
from engram_py.observations.table import COLUMNS
from engram_py.observations.values import Observation
from engram_py.privacy.provenance import OWN
from engram_py.vault.values import Edge

# The rows of a project, those of the person, and the facts and entities that are past.
ROWS = f"""
select {COLUMNS} from observations
where deleted_at is null and (project = :project or scope <> 'project') and {OWN}
  and (lifecycle = 'active' or (lifecycle = 'historical' and about is not null)
       or (lifecycle = 'archived' and topic_key > 'entity/' and topic_key < 'entity0'))
"""
EDGES = """
select substr(source_id, 8), relation, substr(target_id, 8), sync_id from memory_relations
where source_id >= 'entity:' and source_id < 'entity;' and target_id >= 'entity:' and target_id < 'entity;'
  and superseded_at is null
order by source_id, relation, target_id, sync_id
"""


def rows(store: Store, project: str) -> list[Observation]:
    return [Observation.from_row(row) for row in store.rows(ROWS, project=project)]


def edges(store: Store) -> dict[str, list[Edge]]:
    """Return the links between entities, by the slug they begin at."""
    found: dict[str, list[Edge]] = {}
    for source, predicate, target, sync_id in store.tuples(EDGES):
        found.setdefault(source, []).append(Edge(predicate, target, sync_id))
    return found
