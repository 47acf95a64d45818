"""List whole rows for a program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

from engram_py.base.database import mutation_queue
from engram_py.base.database.mutation_queue import TABLES
from engram_py.base.database.store import Row, Store
from engram_py.base.errors import EmptyFieldError, InvalidArgumentError
from engram_py.memory.observations import table as observation_table
from engram_py.memory.observations.arguments import MAX_ID, clamp, clean_scope
from engram_py.memory.observations.listing import ObservationLine
from engram_py.memory.observations.table import COLUMNS
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import author, given, is_withheld, unchecked, waits
from engram_py.memory.projects import table as project_table
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import normalize_project
from engram_py.memory.relations.table import relation_notes, replacement

if TYPE_CHECKING:
    from engram_py.memory.observations.listing import Blocked


PAGE = f"""
select {COLUMNS} from observations where id > :cursor and deleted_at is null
  and (:projects is null or project in (select value from json_each(:projects)))
  and updated_at >= :since
order by id limit :limit
"""


_LINE = f"""
select id, title, type, project, scope, topic_key, pinned, updated_at, deleted_at,
    {unchecked("observations")} as unchecked, {author("observations")} as author
from observations
"""
LINES = f"{_LINE} where id in (select value from json_each(:ids))"
LIVE_LINES = f"{_LINE} where {{column}} = :value and deleted_at is null order by updated_at desc, id desc"


UNCONFIRMED = f"""
select {COLUMNS} from observations indexed by observations_derived
where origin = 'derived' and deleted_at is null and lifecycle = 'active' and {waits()}
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


_COMPLETES = f"""
where deleted_at is null and {given("observations")}
  and (:projects is null or project in (select value from json_each(:projects)))
"""
# What completes a part of a value: values that begin with it first, the latest first; of ids only those.
COMPLETIONS = {
    column: f"""
select {column} from observations {_COMPLETES} and {column} is not null and instr(lower({column}), lower(:part))
group by {column} order by instr(lower({column}), lower(:part)) > 1, max(updated_at) desc, {column} limit :limit
"""
    for column in ("topic_key", "type")
}
COMPLETIONS["id"] = f"""
select cast(id as text) from observations {_COMPLETES} and instr(id, :part) = 1 order by id desc limit :limit
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


def owners_of(store: Store, kind: str, ids: Sequence[object]) -> dict[object, str]:
    """Return the project of each row of ``kind`` that exists, by its id."""
    sql = f"select id, project from {TABLES[kind][0]} where id in (select value from json_each(:ids))"
    return dict(store.tuples(sql, ids=list(ids)))


def page(store: Store, *, projects: Sequence[str] | None, since: str, cursor: int, limit: int) -> list[Row]:
    """Return the live observations after ``cursor``, in the order of their ids."""
    return store.rows(PAGE, projects=projects, since=since, cursor=cursor, limit=limit)


MOST = 500
_LAST = "9999-12-31T23:59:59.999Z"
LOOKED_AT = 2_000


class Browsing:
    """Reads rows for a program that lists them; none of them counts as shown to a model."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects

    def recent(
        self,
        project: str | None = None,
        *,
        newest: bool = False,
        all_projects: bool = False,
        scope: str | None = None,
        limit: int = 20,
    ) -> tuple[Observation, ...]:
        """Return the observations changed last, at most 500; with ``newest`` those saved last, whatever changed
        since."""
        limit, _ = clamp("limit", limit, 1, MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        read = observation_table.newest if newest else observation_table.recent
        return tuple(read(self._store, projects=place.reads, limit=limit, scope=clean_scope(scope)))

    def saved(
        self,
        project: str | None = None,
        *,
        all_projects: bool = False,
        before: tuple[str, int] | None = None,
        limit: int,
    ) -> tuple[Observation, ...]:
        """Return the observations saved last, whatever changed since, at most 500; ``before``: the time and the id of
        the last one of the page before."""
        limit, _ = clamp("limit", limit, 1, MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        moment, below = before or (_LAST, MAX_ID)
        return tuple(
            observation_table.saved_before(self._store, projects=place.reads, moment=moment, below=below, limit=limit)
        )

    def values_of(self, column: Literal["topic_key", "id", "type"], part: str, *, limit: int) -> tuple[str, ...]:
        """Return the values of a column in the current project that ``part`` may stand for, the latest first."""
        reads = self._projects.for_read(head=False).reads
        found = self._store.tuples(COMPLETIONS[column], projects=reads, part=part, limit=limit)
        return tuple(row[0] for row in found)

    def whole(self, ids: Sequence[int]) -> tuple[Observation, ...]:
        """Return the observations of these ids that exist, in the order of ``ids``."""
        found = observation_table.by_ids(self._store, ids)
        return tuple(found[one] for one in ids if one in found)

    def unconfirmed(
        self, project: str | None = None, *, all_projects: bool = False, limit: int = 20
    ) -> tuple[Observation, ...]:
        """Return what was derived and nobody accepted, newest first, without summaries of sessions and entities."""
        limit, _ = clamp("limit", limit, 1, MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        return tuple(unconfirmed(self._store, projects=place.reads, limit=limit))

    def quarantined(
        self, project: str | None = None, *, all_projects: bool = False, limit: int = 20
    ) -> tuple[Observation, ...]:
        """Return what agents are not shown because it reads like an order, of the latest 2,000, newest first."""
        limit, _ = clamp("limit", limit, 1, MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        rows = latest(self._store, projects=place.reads, limit=LOOKED_AT)
        return tuple(row for row in rows if is_withheld(row))[:limit]

    def unchecked(
        self, project: str | None = None, *, all_projects: bool = False, limit: int = 20
    ) -> tuple[Observation, ...]:
        """Return what came from elsewhere and nobody trusted, the latest change first."""
        limit, _ = clamp("limit", limit, 1, MOST)
        reads = self._projects.for_read(project, all_projects=all_projects).reads
        names = project_table.names(self._store) if reads is None else reads
        return tuple(observation_table.unchecked_in(self._store, names, limit=limit))

    def replacements(self, rows: Sequence[Observation]) -> dict[int, int]:
        """Return the id of the replacement of each replaced row, by its id."""
        notes = relation_notes(self._store, [row.sync_id for row in rows])
        found = {row.id: replacement(notes.get(row.sync_id, ())) for row in rows}
        return {row_id: by for row_id, by in found.items() if by is not None}

    def instance(self) -> str:
        """Return the name of this database among all others, from a read of the file."""
        known = mutation_queue.get_meta(self._store, "device_id")
        if known is not None:  # a look must not wait for whoever writes
            return known
        with self._store.transaction():
            return self._journal.device()

    def unowned(
        self,
        target: str,
        *,
        observations: Sequence[int] = (),
        sessions: Sequence[str] = (),
        prompts: Sequence[int] = (),
    ) -> tuple[Blocked, ...]:
        """Return those of the selected rows that are not ``target``'s, with the reason.

        Every row has an owner from its first moment, so there is none to give away. Raises InvalidInputError.
        """
        from engram_py.memory.observations.listing import Blocked

        if not target.strip():
            raise EmptyFieldError("target_project")
        name = normalize_project(target)
        if not any(one.strip() for one in sessions) and not observations and not prompts:
            raise InvalidArgumentError("ids", said="no id was given", step="give at least one id")
        for number in (*observations, *prompts):
            if not 1 <= number <= MAX_ID:
                raise InvalidArgumentError("ids", number, expected="a positive number")
        chosen = {"session": sessions, "observation": observations, "prompt": prompts}
        found = []
        for kind, ids in chosen.items():
            owners = owners_of(self._store, kind, ids)
            for one in dict.fromkeys(ids):
                owner = owners.get(one)
                if owner != name:
                    reason = "missing" if owner is None else "owned_by_other_project"
                    found.append(Blocked(kind, str(one), reason, owner or ""))
        return tuple(found)
