"""Which of the observations that claim a topic is live.

Two machines may open one topic key before they hear of each other, so several rows can claim it: rows of one project,
scope and topic key that nobody deleted. The one whose text was written last holds the topic; an unchecked one
(``privacy/provenance.py``) never does where the user's own claims it. The others are *folded* into the holder: hidden,
and their texts are shown among its versions.

What folds is a view and no change. A folded row keeps its state, its clock and its place in what other machines are
told; ``folded_into`` and the ``deleted_at`` beside it are this machine's own columns. ``fold`` works the view out of
the rows that are here, each time one of them arrives or leaves. So it is the same on machines that know the same rows,
in whatever order they came, and a text comes back when the one that stood before it is gone.

Here a person sees one memory. What they do to it here happens to all of it: ``follow``.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from engram_py.database.journal import Journal
from engram_py.database.store import Row, Store
from engram_py.observations.values import Observation
from engram_py.privacy.provenance import unchecked
from engram_py.text.words import derived_terms

# A topic: project, scope and key.
Topic = tuple[str, str, str]

_TOPIC = "topic_key = :topic_key and project = :project and scope = :scope"
_CLAIMANTS = f"""
select *, {unchecked("observations")} as unchecked from observations where {_TOPIC} and deleted_at is null
union all
select *, {unchecked("observations")} as unchecked from observations where {_TOPIC} and folded_into is not null
"""

# The view does not hold any more: the holder left, or the row did.
_STALE = """
select row.project, row.scope, row.topic_key, row.folded_into
from observations as row indexed by observations_folded
left join observations as holder
    on holder.sync_id = row.folded_into and holder.deleted_at is null
    and (holder.project, holder.scope, holder.topic_key) = (row.project, row.scope, row.topic_key)
where row.folded_into is not null and holder.id is null
"""

# What another row shows has a digest that begins with a minus and has a slash; what is private has no slash.
_TEXTS = """
select updated_at as at, title, content, arrival from observations where id = :id
union
select created_at, title, content, arrival from observation_versions
where observation_id = :id and (digest is null or digest not like '-%')
order by at, title, content
"""


def topic_holder(observations: Iterable[Any]) -> Any:
    """Return the row that holds the topic among those that claim it: the text written last, of checked ones if any."""
    return max(observations, key=lambda row: (not row["unchecked"], row["updated_at"], row["clock"], row["sync_id"]))


def topic_of(row: Any) -> Topic:
    return row["project"], row["scope"], row["topic_key"]


def stale_topics(store: Store) -> set[Topic]:
    """Return the topics whose holder was changed here since they were folded; it shows their texts no more."""
    rows = store.rows(_STALE)
    for row in rows:
        unshow(store, row["folded_into"])
    return {topic_of(row) for row in rows}


def unshow(store: Store, sync_id: str) -> None:
    """Take the texts of folded rows out of the versions of an observation."""
    sql = """
    delete from observation_versions
    where observation_id = (select id from observations where sync_id = :sync_id) and digest like '-%/%'
    """
    store.execute(sql, sync_id=sync_id)


def fold(store: Store, topic: Topic) -> list[Row]:
    """Hide all rows that claim a topic but its holder, and show their texts with it; return those that claim it."""
    project, scope, topic_key = topic
    rows = store.rows(_CLAIMANTS, project=project, scope=scope, topic_key=topic_key)
    if not rows:
        return rows
    holder = topic_holder(rows)
    for row in rows:
        into = None if row["id"] == holder["id"] else holder["sync_id"]
        hidden = row["updated_at"] if into else None
        if (row["folded_into"], row["deleted_at"]) != (into, hidden):
            store.update("observations", {"id": row["id"]}, {"folded_into": into, "deleted_at": hidden})
        unshow(store, row["sync_id"])
    for row in rows:
        if row["id"] != holder["id"]:
            _show(store, row, holder["id"])
    return rows


def _show(store: Store, row: Row, holder: int) -> None:
    """Show the texts of a folded row among the versions of the holder."""
    for place, text in enumerate(store.rows(_TEXTS, id=row["id"])):
        store.execute(
            """
            insert into observation_versions
                (observation_id, version, title, content, created_at, clock, digest, arrival)
            select :holder, coalesce(max(version), 0) + 1, :title, :content, :at, :clock, :digest, :arrival
            from observation_versions where observation_id = :holder
            """,
            **dict(text),
            holder=holder,
            clock=row["clock"],
            digest=f"-{row['sync_id']}/{place:06}",
        )


# Changing these columns changes who claims a topic.
CLAIMING = frozenset({"deleted_at", "project", "scope", "topic_key"})


def follow(store: Store, journal: Journal, old: Observation, values: Mapping[str, Any], clock: str) -> None:
    """Do to what is folded into an observation what a person does to it here: move it, or hide it.

    What they make personal is theirs alone: the texts of other machines stay shared, and the latest is live again.
    """
    rows = store.rows("select * from observations where folded_into = :holder", holder=old.sync_id)
    if not rows:
        return
    told = {name: values[name] for name in CLAIMING & values.keys()}
    now = {"project": old.project, "scope": old.scope, "topic_key": old.topic_key} | told
    if now["scope"] != "personal" and now["topic_key"]:
        for row in rows:
            terms = derived_terms(row["title"], now["topic_key"], row["aliases"], row["content"])
            into = None if told.get("deleted_at") else old.sync_id
            changed = told | {"terms": terms, "folded_into": into, "clock": clock}
            store.update("observations", {"id": row["id"]}, changed)
            journal.changed("observation", row["sync_id"], project=now["project"], clock=clock)
    unshow(store, old.sync_id)
    for topic in {topic_of(rows[0]), topic_of(now)}:
        fold(store, topic)
