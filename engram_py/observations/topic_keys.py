"""The topic of a project that a topic key is near, so that one answer does not get two topics."""

from __future__ import annotations

from functools import cache

from engram_py.database.store import Store
from engram_py.observations import table
from engram_py.observations.browse_values import Suggestion
from engram_py.observations.near_topics import beginnings, nearest
from engram_py.observations.topic_suggestions import FAMILY_OF_TYPE

# The keys of a project that are read for one text: those that may be near stand first.
_MOST_READ = 60


def near_topic(store: Store, key: str, *, project: str, scope: str) -> Suggestion | None:
    """The live topic that has this key or a near one, and what holds it."""
    names = _families()
    begin = beginnings(key, families=names)
    read = table.topics_beginning(store, begin, project=project, scope=scope, limit=_MOST_READ)
    topic_key = nearest(key, read, families=names)
    held = table.live_topic(store, topic_key=topic_key, project=project, scope=scope) if topic_key else None
    return Suggestion(held.topic_key or key, held.id, held.title) if held is not None else None


@cache
def _families() -> dict[str, str]:
    """The names of each family; ``topic`` is what has none."""
    return {**{family: family for family in FAMILY_OF_TYPE.values()}, **FAMILY_OF_TYPE, "topic": ""}
