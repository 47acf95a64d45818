"""SQL over anchors: which files an observation is about, and which observations are about a file."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass
from engram_py.memory.anchors.values import ANCHOR_COLUMNS, Anchor
from engram_py.memory.observations.table import COLUMNS, read
from engram_py.memory.observations.values import Observation

_COLUMNS = ", ".join(ANCHOR_COLUMNS)
_MOST_MEMORIES = 50_000
_MOST_NAMED_SO = 10_000

OF_OBSERVATIONS = f"""
select {_COLUMNS}
from anchors
where observation_id in (select value from json_each(:ids))
order by observation_id, id
"""

# A null `:projects` looks into all of them.
_VISIBLE = """observations.deleted_at is null
  and (:projects is null or observations.project in (select value from json_each(:projects)))"""

# `:name` is the last part of the path, so the index finds the few rows that can match; `:tail` is `/` and the path.
OF_FILE = f"""
select observations.id
from anchors
join observations on observations.id = anchors.observation_id
where anchors.name = :name
  and (anchors.path = :path or substr(anchors.path, -length(:tail)) = :tail)
  and {_VISIBLE}
group by observations.id
order by max(anchors.path = :path) desc, observations.updated_at desc, observations.id desc
limit :limit
"""

# The same of the newest alone, so that a search pays no more for `README.md` in a large memory.
NEWEST_OF_FILE = f"""
select observations.id
from (
    select observation_id, path from anchors where name = :name order by observation_id desc limit :read
) as named
join observations on observations.id = named.observation_id
where (named.path = :path or substr(named.path, -length(:tail)) = :tail)
  and {_VISIBLE}
group by observations.id
order by observations.id desc
limit :limit
"""

OF_FOLDER = f"""
select observations.id
from anchors
join observations on observations.id = anchors.observation_id
where anchors.path >= :folder and anchors.path < :beyond
  and {_VISIBLE}
group by observations.id
order by observations.updated_at desc, observations.id desc
limit :limit
"""

ANCHORED = f"""
select {COLUMNS}
from observations
where project = :project and deleted_at is null and lifecycle = 'active'
  and exists (select 1 from anchors where observation_id = observations.id)
order by updated_at desc, id desc
limit :limit
"""

# The anchors of the memories of one project that changed last: other projects, however large, take no part in it.
# Of so many memories that it does not matter for how long most of them have none.
_NEWEST = """
select anchors.*
from observations
cross join anchors on anchors.observation_id = observations.id
where observations.project = :project and observations.deleted_at is null
  and observations.updated_at >= coalesce(
    (
        select updated_at
        from observations
        where project = :project and deleted_at is null
        order by updated_at desc, id desc
        limit 1 offset :memories
    ),
    ''
  )
order by observations.updated_at desc, observations.id desc, anchors.id desc
limit :limit
"""

NEWEST_PATHS = f"select path from ({_NEWEST})"

PATHS_NAMED = """
select named.path
from (
    select observation_id, path from anchors where name = :name order by observation_id desc limit :memories
) as named
join observations on observations.id = named.observation_id
where observations.project in (select value from json_each(:projects)) and observations.deleted_at is null
group by named.path
order by max(named.observation_id) desc
limit :limit
"""

# One of each path is enough to see where its file went.
NEWEST_AT = f"""
select {_COLUMNS}
from anchors
where id in (
    select max(anchors.id)
    from anchors
    join observations on observations.id = anchors.observation_id
    where anchors.name in (select value from json_each(:names))
      and anchors.path in (select value from json_each(:paths))
      and anchors.digest is not null
      and observations.project in (select value from json_each(:projects)) and observations.deleted_at is null
    group by anchors.path
)
order by id desc
"""

# A probe is `offset.length.checksum` of one of the lines (see anchors/worktree.py); a whole file has none.
ALIKE = f"""
select newest.observation_id, newest.digest, newest.probe, newest.end_line - newest.start_line + 1 as lines
from ({_NEWEST}) as newest
where newest.path <> :path
  and case
        when newest.probe is null
        then newest.file_digest in (select value from json_each(:digests))
          or newest.digest in (select value from json_each(:digests))
        else substr(newest.probe, instr(newest.probe, '.') + 1) in (select value from json_each(:probes))
      end
"""

AT_PATHS = f"""
select {COLUMNS}
from observations
where id in (
    select observation_id from anchors
    where name in (select value from json_each(:names)) and path in (select value from json_each(:paths))
)
and project in (select value from json_each(:projects)) and deleted_at is null
order by updated_at desc, id desc
limit :limit
"""

# The `reason` stays: it is said in the words of the memory that reads the file.
_EXPORTED = (
    "path", "start_line", "end_line", "origin", "digest", "probe", "copies", "ordinal", "file_digest", "blob",
    "git_commit", "recorded_at",
)  # fmt: skip

EXPORT = f"""
select observations.sync_id, {", ".join(f"anchors.{name}" for name in _EXPORTED)}
from anchors
join observations on observations.id = anchors.observation_id
where (:projects is null or observations.project in (select value from json_each(:projects)))
order by observations.id, anchors.id
"""


def of_observations(store: Store, ids: Sequence[int]) -> dict[int, tuple[Anchor, ...]]:
    """Return the anchors of each observation that has any, in the order they were given."""
    anchors: dict[int, tuple[Anchor, ...]] = {}
    for anchor in _anchors(store, OF_OBSERVATIONS, ids=ids):
        anchors[anchor.observation_id] = (*anchors.get(anchor.observation_id, ()), anchor)
    return anchors


def of_file(store: Store, path: str, *, projects: Sequence[str] | None, limit: int) -> list[int]:
    """Return the observations anchored to ``path``, or to a path that ends in it: exact ones first, then the newest."""
    values = {"name": _name(path), "path": path, "tail": f"/{path}", "limit": limit}
    return [row for [row] in store.tuples(OF_FILE, projects=projects, **values)]


def newest_of_file(store: Store, path: str, *, projects: Sequence[str] | None, limit: int) -> list[int]:
    """Return the newest of them, of the last 10,000 anchors to a file with this name."""
    values = {"name": _name(path), "path": path, "tail": f"/{path}", "read": _MOST_NAMED_SO, "limit": limit}
    return [row for [row] in store.tuples(NEWEST_OF_FILE, projects=projects, **values)]


def of_folder(store: Store, folder: str, *, projects: Sequence[str] | None, limit: int) -> list[int]:
    """Return the observations anchored to anything below ``folder``, which ends in ``/``."""
    values = {"folder": folder, "beyond": folder[:-1] + "0"}  # the character after the slash
    return [row for [row] in store.tuples(OF_FOLDER, projects=projects, limit=limit, **values)]


def newest_paths(store: Store, project: str, *, limit: int) -> list[str]:
    """Return the paths of the last ``limit`` anchors of a project's live observations, the newest first."""
    rows = store.tuples(NEWEST_PATHS, project=project, memories=_MOST_MEMORIES, limit=limit)
    return list(dict.fromkeys(path for [path] in rows))


def paths_named(store: Store, projects: Sequence[str], name: str, *, limit: int) -> list[str]:
    """Return the last ``limit`` paths of observations of the projects whose last part is ``name``."""
    values = {"name": name, "memories": _MOST_MEMORIES, "limit": limit}
    return [path for [path] in store.tuples(PATHS_NAMED, projects=projects, **values)]


def newest_at(store: Store, paths: Sequence[str], *, projects: Sequence[str]) -> list[Anchor]:
    """Return of each path that was read the newest anchor of a live observation of the projects."""
    return _anchors(store, NEWEST_AT, names=list(map(_name, paths)), paths=paths, projects=projects)


@dataclass(frozen=True, slots=True)
class Likeness:
    """A text that may stand in a file: so many ``lines`` of it, or without a ``probe`` the whole."""

    observation_id: int
    digest: str
    probe: str | None
    lines: int | None


def alike(
    store: Store, path: str, probes: Collection[str], digests: Sequence[str], *, project: str, limit: int
) -> list[Likeness]:
    """Return those of the last ``limit`` anchors of a project that may stand in a text with these lines (``probes``)
    and ``digests``, but for those of ``path``, the newest first."""
    texts = {"path": path, "probes": list(probes), "digests": digests}
    rows = store.tuples(ALIKE, project=project, memories=_MOST_MEMORIES, limit=limit, **texts)
    return [Likeness(*row) for row in rows]


def at_paths(store: Store, paths: Sequence[str], *, projects: Sequence[str], limit: int) -> list[Observation]:
    """Return the live observations of the projects that are anchored to exactly one of the paths, newest first."""
    return read(store, AT_PATHS, names=list(map(_name, paths)), paths=paths, projects=projects, limit=limit)


def anchored(store: Store, project: str, *, limit: int) -> list[Observation]:
    """Return the live observations of a project that have anchors, newest first."""
    return read(store, ANCHORED, project=project, limit=limit)


def exported(store: Store, projects: Sequence[str] | None) -> dict[str, list[dict[str, Any]]]:
    """Return the anchors of every observation of the projects, by its sync id."""
    return _exported(store.rows(EXPORT, projects=projects), "sync_id")


def exported_of(store: Store, ids: Sequence[int]) -> dict[int, list[dict[str, Any]]]:
    """Return the anchors of these observations, as they are exported, by id."""
    return _exported(store.rows(OF_OBSERVATIONS, ids=ids), "observation_id")


def _exported(rows: Sequence[Row], key: str) -> dict[Any, list[dict[str, Any]]]:
    exported: dict[Any, list[dict[str, Any]]] = {}
    for row in rows:
        exported.setdefault(row[key], []).append({name: row[name] for name in _EXPORTED})
    return exported


def replace(store: Store, observation_id: int, anchors: Sequence[Mapping[str, Any]]) -> None:
    """Give an observation these anchors instead of those it has."""
    store.execute("delete from anchors where observation_id = :id", id=observation_id)
    for values in anchors:
        store.insert("anchors", {"observation_id": observation_id, "name": _name(str(values["path"])), **values})


def _anchors(store: Store, sql: str, **values: Any) -> list[Anchor]:
    return [Anchor(*row) for row in store.tuples(sql, **values)]


def _name(path: str) -> str:
    return path.rstrip("/").rsplit("/", 1)[-1]
