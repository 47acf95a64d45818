"""SQL over observations and their versions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Row, Store
from engram_py.base.text.normalize import content_hash, normalized
from engram_py.base.times import parse_time
from engram_py.memory.observations.listing import UntakenLine
from engram_py.memory.observations.values import MOST_COUNTED, OBSERVATION_COLUMNS, Neighbour, Observation, Version
from engram_py.memory.privacy.provenance import GIVEN, OWN, RETIRED, author, given, own, unchecked, waits

# What nobody uses weighs less, by what upkeep reckoned on this machine.
COLUMNS = (
    ", ".join(OBSERVATION_COLUMNS[:-2])
    .replace(" salience,", " salience * faded as salience,")
    .replace(" pinned,", " pinned and observations.arrival is null as pinned,")
    + f", {unchecked('observations')} as unchecked, {author('observations')} as author"
)

# What a project sees: its own rows, and what the user keeps as personal or global wherever it was saved. None sees all
# projects.
SHARED = f"scope <> 'project' and {OWN}"
VISIBLE = f"""(
    :projects is null
    or project in (select value from json_each(:projects))
    or {SHARED}
)"""

BY_ID = f"select {COLUMNS} from observations where id = :id"
BY_SYNC_ID = f"select {COLUMNS} from observations where sync_id = :sync_id"

# Indexed look-ups of the write path: the newest live row of a topic, the newest equal text.
# `+` keeps SQLite from walking the whole project in the order of its last changes.
LIVE_TOPIC = f"""
select {COLUMNS} from observations
where topic_key = :topic_key and project = :project and scope = :scope and deleted_at is null
order by +updated_at desc, +id desc limit 1
"""

FACTS_ABOUT = f"""
select {COLUMNS} from observations indexed by observations_about
where about in (select value from json_each(:about)) and project = :project and scope = :scope
  and type = 'fact' and deleted_at is null and (:past or lifecycle = 'active')
  and {given("observations")} and (:waiting or not {waits()})
order by updated_at desc, id desc limit :limit
"""

NOTES = f"""
select {COLUMNS} from observations
where project = :project and type = 'note' and created_at >= :since and created_at < :until
  and deleted_at is null and lifecycle = 'active' and {GIVEN}
order by created_at desc, id desc limit :limit
"""

# The newest row without a key whose save suggested this one.
SUGGESTED = f"""
select {COLUMNS} from observations indexed by observations_suggested
where suggested_key = :topic_key and topic_key is null and deleted_at is null
  and project = :project and scope = :scope
order by id desc limit 1
"""

# Read from the index of topics alone: each beginning is one step into it.
TOPICS_BEGINNING = """
select topic_key from json_each(:beginnings) as beginning
cross join observations indexed by observations_topic
    on project = :project and scope = :scope and deleted_at is null
    and topic_key >= beginning.value and topic_key < beginning.value || :last
limit :limit
"""

# The rows that a save of their text is counted at, in the order of the index. Hardly two have another title.
EQUAL_TEXT = f"""
select id, title from observations indexed by observations_hash
where content_hash = :content_hash and project = :project and scope = :scope and type = :type and about is :about
  and deleted_at is null and lifecycle = 'active' and (expires_at is null or expires_at > :now)
  and created_at >= :since and created_at < :until and {own("observations")}
order by id desc limit {MOST_COUNTED}
"""

# What may be given of a project, of each source the newest ``:pool``: the rows of others that may not be given cost
# nothing, however many they are. ``where`` holds for all of them, ``chosen`` chooses among the newest.
NEWEST_GIVEN = f"""
select id from (
    select id, type, pinned, lifecycle, arrival from observations indexed by observations_own
    where project = :project and arrival is null and deleted_at is null and not {waits()} and {{where}}
    order by updated_at desc, id desc limit :pool
)
where {{chosen}}
union all
select newest.value from trusted, json_each((
    select json_group_array(id) from (
        select id, type, pinned, lifecycle, arrival from observations indexed by observations_arrival
        where project = :project and arrival = trusted.arrival and deleted_at is null and not {waits()} and {{where}}
        order by updated_at desc, id desc limit :pool
    )
    where {{chosen}}
)) as newest
where trusted.project = :project and trusted.trusted_at is not null
"""

# One project at a time, so that the index gives the order and the cost is the limit, not the memory.
# The fix of an error speaks when the error returns.
_RECENT = f"""
select {COLUMNS} from observations
where deleted_at is null and lifecycle = 'active' and pinned = {{pinned}}
  and type not in (select value from json_each(:without))
  and (:scope is null or scope = :scope)
  and ({{pinned}} or topic_key is null or topic_key not like 'failure/%')
  and {{where}}
order by updated_at desc, id desc limit :limit
"""
# Spelt out for pinned and not, because a partial index serves only a condition SQLite can read in the text.
RECENT_IN_PROJECT, RECENT_SHARED, RECENT_ANYWHERE = (
    tuple(_RECENT.format(where=where, pinned=pinned) for pinned in (0, 1))
    for where in ("project = :project", SHARED, "true")
)
_GIVEN = """lifecycle = 'active' and (pinned = 0 or arrival is not null)
      and type not in (select value from json_each(:without)) and (:scope is null or scope = :scope)
      and (topic_key is null or topic_key not like 'failure/%')"""
# A pin of somebody else says nothing to the user.
RECENT_GIVEN = (
    f"""
select {COLUMNS} from observations
where id in ({NEWEST_GIVEN.format(where=_GIVEN, chosen="true")})
order by updated_at desc, id desc limit :limit
""",
    _RECENT.format(where=f"project = :project and {OWN}", pinned=1),
)

NEWEST = f"""
select {COLUMNS} from observations
where deleted_at is null and lifecycle = 'active' and (:scope is null or scope = :scope) and {VISIBLE}
order by created_at desc, id desc limit :limit
"""

# What was saved before a moment, the latest first, whatever changed since. The index of changes gives the rows that
# did not change in this order; those that did have an index of their own.
SAVED = f"""
select {COLUMNS} from observations where id in (
    select id from (
        select id from observations indexed by {{index}}
        where deleted_at is null and {{where}} updated_at <= :moment and created_at = updated_at
          and (updated_at < :moment or id < :id)
        order by updated_at desc, id desc limit :limit
    )
    union all
    select id from (
        select id from observations indexed by observations_made
        where deleted_at is null and created_at <> updated_at and {{where}} created_at <= :moment
          and (created_at < :moment or id < :id)
        order by created_at desc, id desc limit :limit
    )
)
order by created_at desc, id desc limit :limit
"""
SAVED_ANYWHERE = SAVED.format(index="observations_newest", where="")
SAVED_IN = SAVED.format(index="observations_recent", where="project = :project and")

# What the user did not write and nobody trusted, of a project, the newest of each source: each is read from the index.
UNCHECKED_IN = f"""
select {COLUMNS} from observations
where id in (
    select newest.value from arrivals, json_each((
        select json_group_array(id) from (
            select id from observations indexed by observations_arrival
            where project = :project and arrival = arrivals.id
            order by updated_at desc, id desc limit :limit
        )
    )) as newest
    where not exists (
        select 1 from trusted where arrival = arrivals.id and project = :project and trusted_at is not null
    )
)
and deleted_at is null and lifecycle = 'active' and type not in (select value from json_each(:without))
order by updated_at desc, id desc limit :limit
"""

# Of several texts that were not taken the latest; one that stands there again was chosen.
UNTAKEN = f"""
select observations.id, observations.title, type, project, observations.content, max(version), kept.title, kept.content,
    coalesce({unchecked("observations")}, {unchecked("kept", "observations.project")}), updated_at
from observation_versions as kept indexed by observation_versions_untaken
join observations on observations.id = observation_id
where untaken and deleted_at is null and (kept.title, kept.content) <> (observations.title, observations.content)
  and {VISIBLE}
group by observations.id order by updated_at desc, observations.id desc limit :limit
"""

# What did more harm than help comes first.
DUE = f"""
select {COLUMNS} from observations
where (review_after <= :now or id in ({RETIRED})) and deleted_at is null and {VISIBLE}
order by id not in ({RETIRED}), review_after, id limit :limit
"""


def _neighbours(beyond: str, order: str) -> str:
    return f"""
    select id, type, title, created_at, {unchecked("observations")} from observations
    where session_id = :session_id and id {beyond} :id and deleted_at is null
    order by id {order} limit :limit
    """


BEFORE, AFTER = _neighbours("<", "desc"), _neighbours(">", "asc")


def _one(store: Store, sql: str, **values: Any) -> Observation | None:
    row = store.row(sql, **values)
    return None if row is None else Observation.from_row(row)


def read(store: Store, sql: str, **values: Any) -> list[Observation]:
    """Return the observations of a statement whose columns begin with ``COLUMNS``."""
    return [Observation.from_row(row) for row in store.tuples(sql, **values)]


def newest_of(
    store: Store, projects: Sequence[str] | None, sql: Sequence[str], *, limit: int, **values: Any
) -> list[Observation]:
    """Return what ``projects`` see, latest change first, asking each project by itself.

    ``sql`` are three statements in that order: of any project, of shared rows, of one ``:project``.
    """
    anywhere, shared, own = sql
    values["limit"] = limit
    found = read(store, anywhere if projects is None else shared, **values)
    for project in projects or ():
        found += read(store, own, **values, project=project)
    unique = {row.id: row for row in found}.values()
    return sorted(unique, key=lambda row: (row.updated_at, row.id), reverse=True)[:limit]


def by_id(store: Store, observation_id: int) -> Observation | None:
    return _one(store, BY_ID, id=observation_id)


def by_sync_id(store: Store, sync_id: str) -> Observation | None:
    return _one(store, BY_SYNC_ID, sync_id=sync_id)


def topics_beginning(store: Store, beginnings: Sequence[str], *, project: str, scope: str, limit: int) -> list[str]:
    """Return the topic keys of a project and a scope that begin so, those of the first beginning first."""
    values = {"beginnings": beginnings, "last": chr(0x10FFFF), "limit": limit}
    return [row[0] for row in store.tuples(TOPICS_BEGINNING, project=project, scope=scope, **values)]


def live_topic(store: Store, *, topic_key: str, project: str, scope: str) -> Observation | None:
    return _one(store, LIVE_TOPIC, topic_key=topic_key, project=project, scope=scope)


def suggested(store: Store, *, topic_key: str, project: str, scope: str) -> Observation | None:
    return _one(store, SUGGESTED, topic_key=topic_key, project=project, scope=scope)


def facts_about(
    store: Store,
    *about: str,
    project: str,
    scope: str,
    past: bool = False,
    waiting: bool = False,
    limit: int = 1_000,
) -> list[Observation]:
    """Return the facts about an entity, latest change first; with ``past`` those that others replaced as well, with
    ``waiting`` those that wait for review; none that is unchecked.

    ``about`` are its slug and those of entities that were merged into it.
    """
    values: dict[str, Any] = {"about": about, "project": project, "scope": scope}
    return read(store, FACTS_ABOUT, **values, past=past, waiting=waiting, limit=limit)


def notes_between(store: Store, *, project: str, since: str, until: str, limit: int) -> list[Observation]:
    """Return the notes of a project that were made from ``since`` to before ``until``, the latest first."""
    return read(store, NOTES, project=project, since=since, until=until, limit=limit)


def equal_text(
    store: Store, *, title: str, since: str = "", until: str = "9999", **key: str | None
) -> Observation | None:
    """Return the newest current row of the user's own with this title and text, but for case and white space."""
    wanted, rows = normalized(title), store.tuples(EQUAL_TEXT, **key, since=since, until=until)
    equal = next((row for row, other in rows if normalized(other) == wanted), None)
    return None if equal is None else by_id(store, equal)


def hash_was_deleted(store: Store, *, content_hash: str, project: str, personal: bool = False) -> bool:
    """Return whether an observation of ``project``, or a ``personal`` one, with this text was deleted. Reads the whole
    table."""
    sql = """
    select 1 from observations
    where content_hash = :hash and deleted_at is not null and (project = :project or (:personal and scope = 'personal'))
    limit 1
    """
    return store.row(sql, hash=content_hash, project=project, personal=personal) is not None


def hash_exists(store: Store, *, content_hash: str, project: str) -> int | None:
    """Return the id of a live observation of ``project`` with this text, whatever its title or age."""
    sql = "select id from observations where content_hash = :hash and project = :project and deleted_at is null limit 1"
    found: int | None = store.value(sql, hash=content_hash, project=project)
    return found


def by_ids(store: Store, ids: Sequence[int]) -> dict[int, Observation]:
    sql = f"select {COLUMNS} from observations where id in (select value from json_each(:ids))"
    return {row.id: row for row in read(store, sql, ids=list(ids))}


def recent(
    store: Store,
    *,
    projects: Sequence[str] | None,
    limit: int,
    pinned: bool = False,
    scope: str | None = None,
    without: Sequence[str] = (),
    given: bool = False,
) -> list[Observation]:
    """Return the newest active observations the projects see, latest change first; ``given``: of the projects' what may
    be given, of which ``pinned`` ones are those that the user pinned."""
    of_project = RECENT_GIVEN if given else RECENT_IN_PROJECT
    statements = tuple(one[pinned] for one in (RECENT_ANYWHERE, RECENT_SHARED, of_project))
    return newest_of(store, projects, statements, limit=limit, pool=limit, scope=scope, without=list(without))


def newest(store: Store, *, projects: Sequence[str] | None, limit: int, scope: str | None = None) -> list[Observation]:
    """Return the active observations the projects see that were saved last, pinned ones among them."""
    return read(store, NEWEST, projects=projects, limit=limit, scope=scope)


def saved_before(
    store: Store, *, projects: Sequence[str] | None, moment: str, below: int, limit: int
) -> list[Observation]:
    """Return the live observations of the projects that were saved before a moment, or at it with an id below
    ``below``, the latest first."""
    values = {"moment": moment, "id": below, "limit": limit}
    if projects is None:
        return read(store, SAVED_ANYWHERE, **values)
    found = [row for project in projects for row in read(store, SAVED_IN, project=project, **values)]
    return sorted(found, key=lambda row: (row.created_at, row.id), reverse=True)[:limit]


def unchecked_in(
    store: Store, projects: Sequence[str], *, without: Sequence[str] = (), limit: int
) -> list[Observation]:
    """Return the latest of these projects that came from elsewhere and nobody trusted, but those of some types."""
    values = {"without": list(without), "limit": limit}
    found = [row for project in projects for row in read(store, UNCHECKED_IN, project=project, **values)]
    return sorted(found, key=lambda row: (row.updated_at, row.id), reverse=True)[:limit]


def untaken(store: Store, *, projects: Sequence[str] | None, limit: int) -> list[UntakenLine]:
    """Return the observations with a text that a merge did not take, latest change first."""
    return [UntakenLine(*row) for row in store.tuples(UNTAKEN, projects=projects, limit=limit)]


def settle_untaken(store: Store, observation_id: int) -> None:
    """Note that a person chose between the texts of an observation. Call inside a transaction."""
    store.update("observation_versions", {"observation_id": observation_id, "untaken": 1}, {"untaken": 0})


def due(store: Store, *, now: str, projects: Sequence[str] | None, limit: int) -> list[Observation]:
    return read(store, DUE, now=now, projects=projects, limit=limit)


def neighbours(store: Store, observation: Observation, *, before: int, after: int) -> tuple[list[Neighbour], ...]:
    """Return the rows of its session before and after an observation, both oldest first."""
    key = {"session_id": observation.session_id, "id": observation.id}
    earlier, later = store.tuples(BEFORE, **key, limit=before)[::-1], store.tuples(AFTER, **key, limit=after)
    return [Neighbour(*row) for row in earlier], [Neighbour(*row) for row in later]


def count_in_session(store: Store, session_id: str) -> int:
    sql = "select count(*) from observations where session_id = :session_id and deleted_at is null"
    return int(store.value(sql, session_id=session_id))


def keep_version(store: Store, observation: Observation, *, clock: str, of: int | None = None) -> None:
    """Keep an observation's present text as its own next version, or as one of another observation ``of``."""
    store.execute(
        """
        insert into observation_versions (observation_id, version, title, content, created_at, clock, arrival)
        select :id, coalesce(max(version), 0) + 1, :title, :content, :created_at, :clock,
            (select arrival from observations where id = :own)
        from observation_versions where observation_id = :id
        """,
        id=observation.id if of is None else of,
        own=observation.id,
        title=observation.title,
        content=observation.content,
        created_at=observation.updated_at,
        clock=clock,
    )


# The columns that taking a change back gives their values again; of lifecycle only whether it is archived.
_TAKEN_BACK = ("type", "scope", "topic_key", "salience", "expires_at", "pinned", "project", "deleted_at")


def keep_change(journal: Journal, old: Observation, values: Mapping[str, Any], *, clock: str) -> None:
    """Keep what ``values`` change of a row, so that it can be taken back. Texts stay in their versions."""
    now = {name: getattr(old, name) for name in ("title", "content", "lifecycle", *_TAKEN_BACK)}
    new = {name: values.get(name, one) for name, one in now.items()}
    names = [name for name in _TAKEN_BACK if new[name] != now[name]]
    before, after = ({name: one[name] for name in names} for one in (now, new))
    if (new["title"], new["content"]) != (old.title, old.content):
        before["text"], after["text"] = clock, text_mark(new["title"], new["content"])
    if (new["lifecycle"] == "archived") != (old.lifecycle == "archived"):
        before["archived"], after["archived"] = old.lifecycle == "archived", new["lifecycle"] == "archived"
    if before:
        journal.keep_change("observation", old.sync_id, before, after, [old.id])


def keep_save(journal: Journal, observation_id: int, sync_id: str, title: str, content: str) -> None:
    """Keep that a row was saved, so that it can be withdrawn while it has this text."""
    after = {"saved": True, "text": text_mark(title, content)}
    journal.keep_change("observation", sync_id, {"saved": False}, after, [observation_id])


def text_mark(title: str, content: str) -> str:
    """Return what tells a text from others."""
    return content_hash(f"{title}\n{content}")[:16]


def version_at(store: Store, observation_id: int, clock: str) -> int | None:
    """Return the number of the version that was kept at a clock."""
    sql = "select version from observation_versions where observation_id = :id and clock = :clock"
    number: int | None = store.value(sql, id=observation_id, clock=clock)
    return number


def copy_versions(store: Store, *, of: int, to: int) -> None:
    """Give the older texts of one observation to another as well, after those it has."""
    store.execute(
        """
        insert into observation_versions (observation_id, version, title, content, created_at, clock, arrival)
        select :to, version + (select coalesce(max(version), 0) from observation_versions where observation_id = :to),
            title, content, created_at, clock, arrival
        from observation_versions
        where observation_id = :of and (digest is null or digest not like '-%') order by version
        """,
        of=of,
        to=to,
    )


_OF_VERSION = "(select project from observations where id = observation_versions.observation_id)"
VERSIONS = f"""
select version, title, content, created_at, {unchecked("observation_versions", _OF_VERSION)} as unchecked
from observation_versions
where observation_id = :id and (:cursor is null or version < :cursor)
order by version desc limit :limit
"""

# The text that stood at a moment: of those that were replaced since, which their clocks say, the last one written by
# then, else the first there is.
TEXTS_AT = """
select observation_id, title, content, created_at from (
    select
        *,
        row_number() over (
            partition by observation_id
            order by created_at < :at desc, iif(created_at < :at, -version, version)
        ) as place
    from observation_versions
    where observation_id in (select value from json_each(:ids)) and clock >= :stamp
)
where place = 1
"""


def versions(store: Store, observation_id: int, *, cursor: int | None, limit: int) -> list[Version]:
    rows = store.rows(VERSIONS, id=observation_id, cursor=cursor, limit=limit)
    return [Version(*row) for row in rows]


def restore_arrival(store: Store, observation_id: int, version: int) -> None:
    """Let an observation come from where one of its versions came from."""
    sql = """
    update observations set arrival = (
        select arrival from observation_versions where observation_id = :id and version = :version
    )
    where id = :id
    """
    store.execute(sql, id=observation_id, version=version)


def count_versions(store: Store, observation_id: int) -> int:
    return int(store.value("select count(*) from observation_versions where observation_id = :id", id=observation_id))


def known_at(store: Store, at: str, *, limit: int) -> list[int]:
    """Return the newest live observations that were there before a moment."""
    sql = "select id from observations where created_at < :at and deleted_at is null order by id desc limit :limit"
    return [row for [row] in store.tuples(sql, at=at, limit=limit)]


def rewritten_since(store: Store, at: str, *, limit: int) -> list[int]:
    """Return the observations of which a text was replaced since, the newest versions first."""
    sql = """
    select observation_id from observation_versions join observations on observations.id = observation_id
    where updated_at >= :at and deleted_at is null order by observation_versions.id desc limit :limit
    """
    return [row for [row] in store.tuples(sql, at=at, limit=limit)]


def whole(store: Store, ids: Sequence[int], at: str) -> list[Row]:
    """Return those of these ids that were there, with every column."""
    sql = """
    select * from observations
    where id in (select value from json_each(:ids)) and created_at < :at and deleted_at is null
    """
    return store.rows(sql, ids=list(ids), at=at)


def texts_at(store: Store, ids: Sequence[int], at: str) -> dict[int, dict[str, str]]:
    """Return the title, content and time of the text that each observation had, where it was replaced since."""
    moment = parse_time(at)
    stamp = f"{int(moment.timestamp() * 1000):012x}" if moment else ""
    rows = store.rows(TEXTS_AT, ids=list(ids), at=at, stamp=stamp)
    return {
        row["observation_id"]: {"title": row["title"], "content": row["content"], "updated_at": row["created_at"]}
        for row in rows
    }


def verdicts_at(store: Store, at: str) -> list[Row]:
    """Return the relations that were judged before a moment."""
    sql = "select * from memory_relations where judgment_status = 'judged' and updated_at < :at order by id"
    return store.rows(sql, at=at)


# How a value from elsewhere is taken: as it is, as a text without its secrets, or as a time.
Kind = Literal["value", "text", "time"]

# Columns that Engram has too, in the order of its JSON.
ENGRAM = (
    "sync_id", "session_id", "type", "title", "content", "tool_name", "project", "scope", "topic_key",
    "revision_count", "duplicate_count", "last_seen_at", "created_at", "updated_at", "deleted_at",
)  # fmt: skip

# Columns that Engram's JSON has where they have a value.
SOMETIMES = ("org",)

# Columns of ours alone: they travel in the block `engram_py`, which Engram ignores.
OWN_COLUMNS: dict[str, Kind] = {
    "salience": "value",
    "expires_at": "time",
    "git_branch": "text",
    "git_commit": "text",
    "about": "text",
    "entity_kind": "text",
}
# Of these the ones that have a value: what older versions write stays as it is.
OWN_SOMETIMES: dict[str, Kind] = {"category": "text", "source": "text", "source_ref": "text", "guards": "text"}
# Taken by rules of their own on the way in: aliases are indexed, an origin is believed of our own files alone, and what
# was replaced follows from the verdicts.
SPECIAL = ("aliases", "origin", "lifecycle")
# Counted on each machine by itself: exported, never synced.
COUNTED_HERE: dict[str, Kind] = {"access_count": "value", "last_accessed_at": "time"}

# Engram writes whole seconds: the block repeats these with their milliseconds.
EXACT = ("created_at", "updated_at", "last_seen_at", "deleted_at")
TIMES = frozenset((*EXACT, "review_after"))
