"""SQL of server sync: login, projects with their cursors, state and lease, rows that were set aside."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from engram_py.database.store import Row, Store
from engram_py.sync.autosync.settings import TARGET

LOGIN = "select * from cloud_logins where id = 1"

USED = """
select exists (select 1 from cloud_logins) or exists (select 1 from sync_chunks) or exists (select 1 from sync_exports)
"""

STATE = "select * from sync_state where target_key = :target"

PROJECTS = "select * from cloud_projects where server = :server order by project"

ANY_PROJECT = "select 1 from cloud_projects where server = :server limit 1"

ANYTHING_WAITS = """
select 1
from cloud_projects as p join sync_mutations as m on m.project = p.project and m.seq > p.pushed_seq
where p.server = :server
  and p.access not in ('read', 'none', 'paused')
  and (m.source <> :target or m.seq <= p.resend_upto)
limit 1
"""

LAST_SEQ = "select coalesce(max(seq), 0) from sync_mutations"

# The queue's row for the present state of a row.
SEQ_OF = "select seq from sync_mutations where entity = :entity and entity_key = :entity_key"

WAITING = """
select count(*)
from sync_mutations
where project = :project
  and seq > :after
  and (source <> :target or seq <= :resend)
"""

WAITING_OF_HERE = """
select count(*)
from sync_mutations
where project = :project
  and seq > :after
  and source = ''
"""

SET_ASIDE = """
select *
from sync_set_aside
where server = :server
order by last_seen_at desc, id desc
limit :limit
"""

SET_ASIDE_FOR = """
select *
from sync_set_aside
where server = :server
  and direction = 'push'
  and reason_code = :code
order by last_seen_at desc, id desc
limit :limit
"""

COUNT_SET_ASIDE = "select count(*) from sync_set_aside where server = :server"

COUNT_OF_DIRECTION = "select count(*) from sync_set_aside where server = :server and direction = :direction"

LAY_ASIDE = """
insert into sync_set_aside (
    server, direction, entity, entity_key, project, remote_seq, reason_code, reason, repairable, first_seen_at,
    last_seen_at
)
values (
    :server, :direction, :entity, :entity_key, :project, :remote_seq, :reason_code, :reason, :repairable, :now, :now
)
on conflict (server, direction, entity, entity_key) do update set
    project = excluded.project,
    remote_seq = excluded.remote_seq,
    reason_code = excluded.reason_code,
    reason = excluded.reason,
    repairable = excluded.repairable,
    tries = tries + 1,
    last_seen_at = excluded.last_seen_at
"""

TAKE_BACK = """
delete from sync_set_aside
where server = :server
  and direction = :direction
  and entity = :entity
  and entity_key = :entity_key
"""

DEFERRED = (
    "select apply_status, count(*) from sync_apply_deferred where apply_status <> 'applied' group by apply_status"
)

DEFERRED_ROWS = """
select
    id, target_key, remote_seq, entity, entity_key, op, project, reason_code, apply_status, retry_count, last_error,
    last_attempted_at, first_seen_at
from sync_apply_deferred
where apply_status <> 'applied'
  and (:status is null or apply_status = :status)
order by id
limit :limit offset :offset
"""

# Enrolled projects that were merged into a project that is not enrolled.
MERGED_AWAY = """
select cloud_projects.project, project_aliases.project as became
from cloud_projects
join project_aliases on project_aliases.alias = cloud_projects.project
where cloud_projects.server = :server
  and project_aliases.project not in (select project from cloud_projects where server = :server)
order by cloud_projects.project
"""


# --- the login --------------------------------------------------------------------------------------------


def is_used(store: Store) -> bool:
    """Return whether this memory was ever shared through a server or a repository's folder."""
    return bool(store.value(USED))


def login(store: Store) -> Row | None:
    return store.row(LOGIN)


def keep_login(store: Store, values: Mapping[str, Any]) -> None:
    store.insert("cloud_logins", {"id": 1, **values}, replace=True)


def forget_login(store: Store) -> None:
    store.execute("delete from cloud_logins")


# --- the state of a target --------------------------------------------------------------------------------


def state(store: Store, target: str) -> Row | None:
    return store.row(STATE, target=target)


def set_state(store: Store, target: str, **values: Any) -> None:
    store.execute("insert or ignore into sync_state (target_key) values (:target)", target=target)
    if values:
        store.update("sync_state", {"target_key": target}, values)


def is_refused_token(store: Store, fingerprint: str) -> bool:
    """Return whether the server refused the token with this fingerprint."""
    row = state(store, TARGET)
    return row is not None and row["refused_token"] == fingerprint


def deferred_counts(store: Store) -> dict[str, int]:
    return {row[0]: row[1] for row in store.rows(DEFERRED)}


def deferred_rows(store: Store, *, status: str | None, limit: int, offset: int) -> list[dict[str, Any]]:
    rows = store.rows(DEFERRED_ROWS, status=status, limit=limit, offset=offset)
    return [{name: row[name] for name in row.keys()} for row in rows]  # noqa: SIM118 (a row is no mapping)


# --- the projects -----------------------------------------------------------------------------------------


def projects(store: Store, server: str) -> list[Row]:
    return store.rows(PROJECTS, server=server)


def has_projects(store: Store, server: str) -> bool:
    return store.row(ANY_PROJECT, server=server) is not None


def anything_waits(store: Store, server: str, target: str) -> bool:
    """Return whether a project that may be sent has changes after its cursor."""
    return store.row(ANYTHING_WAITS, server=server, target=target) is not None


def enroll(store: Store, server: str, project: str) -> bool:
    """Enroll a project, all of it to be exchanged; return whether it was new."""
    sql = """
    insert or ignore into cloud_projects (server, project, resend_upto)
    values (:server, :project, :upto)
    """
    return store.execute(sql, server=server, project=project, upto=last_seq(store)).rowcount > 0


def unenroll(store: Store, server: str, project: str) -> bool:
    sql = "delete from cloud_projects where server = :server and project = :project"
    gone = store.execute(sql, server=server, project=project).rowcount > 0
    if gone:
        sql = """
        delete from sync_set_aside
        where server = :server
          and (project = :project or project = '' and not exists (select 1 from cloud_projects where server = :server))
        """
        store.execute(sql, server=server, project=project)
    return gone


def set_projects(store: Store, server: str, names: Iterable[str], **values: Any) -> None:
    for name in names:
        store.update("cloud_projects", {"server": server, "project": name}, values)


def merged_away(store: Store, server: str) -> dict[str, str]:
    return {row["project"]: row["became"] for row in store.rows(MERGED_AWAY, server=server)}


# --- the queue --------------------------------------------------------------------------------------------


def last_seq(store: Store) -> int:
    """Return the position of the newest change, in constant time."""
    return int(store.value(LAST_SEQ))


def seq_of(store: Store, entity: str, entity_key: str) -> int | None:
    found: int | None = store.value(SEQ_OF, entity=entity, entity_key=entity_key)
    return found


def pending(store: Store, project: str, *, after: int, resend: int, target: str) -> int:
    return int(store.value(WAITING, project=project, after=after, resend=resend, target=target))


def pending_local(store: Store, project: str, *, after: int) -> int:
    """Count the pending changes that were made on this machine."""
    return int(store.value(WAITING_OF_HERE, project=project, after=after))


# --- what was not taken -----------------------------------------------------------------------------------


def add_set_aside(store: Store, rows: Iterable[Mapping[str, Any]], *, now: str) -> None:
    for row in rows:
        store.execute(LAY_ASIDE, **row, now=now)


def clear_set_aside(store: Store, server: str, direction: str, keys: Sequence[tuple[str, str]]) -> None:
    """Remove rows from set-aside that were accepted after all."""
    if not count_set_aside(store, server, direction):
        return
    for entity, entity_key in keys:
        store.execute(TAKE_BACK, server=server, direction=direction, entity=entity, entity_key=entity_key)


def set_aside(store: Store, server: str, *, limit: int) -> list[Row]:
    return store.rows(SET_ASIDE, server=server, limit=limit)


def set_aside_for(store: Store, server: str, code: str, *, limit: int) -> list[Row]:
    """Return the rows that the server refused for one reason."""
    return store.rows(SET_ASIDE_FOR, server=server, code=code, limit=limit)


def count_set_aside(store: Store, server: str, direction: str | None = None) -> int:
    if direction is None:
        return int(store.value(COUNT_SET_ASIDE, server=server))
    return int(store.value(COUNT_OF_DIRECTION, server=server, direction=direction))
