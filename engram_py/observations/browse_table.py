"""SQL of lists of observations: by id, by session or project, and by what they wait for."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.journal import TABLES
from engram_py.database.store import Row, Store
from engram_py.observations.listing import ObservationLine
from engram_py.observations.table import COLUMNS
from engram_py.observations.values import Observation
from engram_py.privacy.provenance import unchecked

PAGE = f"""
select {COLUMNS} from observations where id > :cursor and deleted_at is null
  and (:projects is null or project in (select value from json_each(:projects)))
  and updated_at >= :since
order by id limit :limit
"""


_LINE = f"""
select id, title, type, project, scope, topic_key, pinned, updated_at, deleted_at,
    {unchecked("observations")} as unchecked
from observations
"""
LINES = f"{_LINE} where id in (select value from json_each(:ids))"
LIVE_LINES = f"{_LINE} where {{column}} = :value and deleted_at is null order by updated_at desc, id desc"


# What upkeep rewrites itself, and summaries of sessions, nobody need confirm.
UNCONFIRMED = f"""
select {COLUMNS} from observations indexed by observations_derived
where origin = 'derived' and deleted_at is null and lifecycle = 'active' and type <> 'session_summary'
  and (topic_key is null or topic_key not like 'entity/%' and topic_key <> 'identity/profile')
  and (:projects is null or project in (select value from json_each(:projects)))
order by id desc limit :limit
"""
# Of the latest alone: a text that is not read yet came lately.
LATEST = f"""
select {COLUMNS} from (
    select * from observations order by id desc limit :limit
) as observations
where deleted_at is null and lifecycle = 'active'
  and (:projects is null or project in (select value from json_each(:projects)))
order by id desc
"""


def unconfirmed(store: Store, *, projects: Sequence[str] | None, limit: int) -> list[Observation]:
    """Return what was derived and nobody confirmed, newest first."""
    return [Observation.from_row(row) for row in store.rows(UNCONFIRMED, projects=projects, limit=limit)]


def latest(store: Store, *, projects: Sequence[str] | None, limit: int) -> list[Observation]:
    """Return the active ones of a project among the ``limit`` observations that came last, newest first."""
    return [Observation.from_row(row) for row in store.rows(LATEST, projects=projects, limit=limit)]


def lines(store: Store, ids: Sequence[int]) -> list[ObservationLine]:
    """Return the observations of these ids that exist, in the order of ``ids``."""
    found = {row["id"]: _line(row) for row in store.rows(LINES, ids=list(ids))}
    return [found[one] for one in ids if one in found]


def live_lines(store: Store, column: str, value: str) -> list[ObservationLine]:
    """Return the live observations by one column, which is a name of this program's own, latest change first."""
    return [_line(row) for row in store.rows(LIVE_LINES.format(column=column), value=value)]


def _line(row: Row) -> ObservationLine:
    return ObservationLine(**{**dict(row), "pinned": bool(row["pinned"])})


def prompts_and_sessions(store: Store, project: str) -> tuple[tuple[int, ...], tuple[str, ...]]:
    """Return the ids of a project's prompts and of its sessions."""
    sql = "select id from {} where project = :project order by id"
    prompts, sessions = (store.rows(sql.format(name), project=project) for name in ("user_prompts", "sessions"))
    return tuple(row[0] for row in prompts), tuple(row[0] for row in sessions)


def owners(store: Store, kind: str, ids: Sequence[object]) -> dict[object, str]:
    """Return the project of each row of ``kind`` that exists, by its id."""
    sql = f"select id, project from {TABLES[kind][0]} where id in (select value from json_each(:ids))"
    return dict(store.tuples(sql, ids=list(ids)))


def page(store: Store, *, projects: Sequence[str] | None, since: str, cursor: int, limit: int) -> list[Row]:
    """Return the live observations after ``cursor``, in the order of their ids."""
    return store.rows(PAGE, projects=projects, since=since, cursor=cursor, limit=limit)
