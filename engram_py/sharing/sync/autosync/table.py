"""Values and SQL of server sync: login, projects with their cursors, state and lease, rows that were set aside."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass
from engram_py.sharing.sync.replica.table import newest_seq

Phase = Literal["idle", "pushing", "pulling", "push_failed", "pull_failed", "backoff", "healthy", "disabled"]
Direction = Literal["push", "pull"]


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """The result of a login. ``kept_in`` says where the token is: ``keychain`` or ``file``."""

    server: str
    principal: str
    role: str
    kept_in: str
    token_expires_at: str | None = None
    projects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """The result of a logout; ``server`` is '' when nobody was logged in."""

    server: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The projects that were enrolled or unenrolled now; ``projects`` are all that are enrolled."""

    server: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CloudProject:
    """An enrolled project: its access, the number of pending changes, and what blocks it.

    Of one that may only be read, ``pending`` are the changes made on this machine, which stay here.
    """

    name: str
    access: str
    pending: int
    reason_code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A row that was refused: by the server (``push``) or by this program (``pull``)."""

    direction: Direction
    entity: str
    entity_key: str
    project: str
    reason_code: str
    reason: str
    repairable: bool
    tries: int
    last_seen_at: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class CloudStatus:
    """The status of sync with a server. ``enabled`` says whether server processes sync in the background."""

    enabled: bool
    server: str = ""
    principal: str = ""
    kept_in: str = ""
    phase: Phase = "disabled"
    reason_code: str = ""
    reason_message: str = ""
    next_step: str = ""
    consecutive_failures: int = 0
    backoff_until: str | None = None
    last_attempt_at: str | None = None
    last_success_at: str | None = None
    projects: tuple[CloudProject, ...] = ()
    set_aside_total: int = 0
    set_aside: tuple[SetAside, ...] = ()
    deferred: int = 0
    dead: int = 0
    notice: str = ""

    @property
    def pending(self) -> int:
        """The number of changes that will be sent."""
        return sum(one.pending for one in self.projects if one.access != "read")


@dataclass(slots=True)
class CloudSynced:
    """The result of an exchange, counted while it runs. ``outcome`` is ``busy`` while another process syncs."""

    outcome: Literal["done", "failed", "busy"]
    server: str
    sent: int = 0
    known: int = 0
    received: int = 0
    applied: int = 0
    deferred: int = 0
    set_aside: int = 0
    reason_code: str = ""
    reason_message: str = ""
    next_step: str = ""
    warnings: tuple[str, ...] = ()


# The source and target of server sync in the queue; folders have their own.
TARGET = "cloud"

ADD_SET_ASIDE = """
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

# --- the login --------------------------------------------------------------------------------------------


def is_used(store: Store) -> bool:
    """Return whether this memory was ever shared through a server or a repository's folder."""
    used = " or ".join(f"exists (select 1 from {name})" for name in ("cloud_logins", "sync_chunks", "sync_exports"))
    return bool(store.value(f"select {used}"))


def login(store: Store) -> Row | None:
    return store.row("select * from cloud_logins where id = 1")


# --- the state of a target --------------------------------------------------------------------------------


def state(store: Store, target: str) -> Row | None:
    return store.row("select * from sync_state where target_key = :target", target=target)


def set_state(store: Store, target: str, **values: Any) -> None:
    store.execute("insert or ignore into sync_state (target_key) values (:target)", target=target)
    store.update("sync_state", {"target_key": target}, values)


def is_refused_token(store: Store, fingerprint: str) -> bool:
    """Return whether the server refused the token with this fingerprint."""
    row = state(store, TARGET)
    return row is not None and row["refused_token"] == fingerprint


# --- the projects -----------------------------------------------------------------------------------------


def projects(store: Store, server: str) -> list[Row]:
    return store.rows("select * from cloud_projects where server = :server order by project", server=server)


def has_projects(store: Store, server: str) -> bool:
    return store.row("select 1 from cloud_projects where server = :server limit 1", server=server) is not None


def anything_waits(store: Store, server: str) -> bool:
    """Return whether a project that may be sent has changes after its cursor."""
    sql = """
    select 1
    from cloud_projects as p join sync_mutations as m on m.project = p.project and m.seq > p.pushed_seq
    where p.server = :server
      and p.access not in ('read', 'none', 'paused')
      and (m.source <> :target or m.seq <= p.resend_upto)
    limit 1
    """
    return store.row(sql, server=server, target=TARGET) is not None


def enroll(store: Store, server: str, project: str) -> bool:
    """Enroll a project, all of it to be exchanged; return whether it was new."""
    sql = "insert or ignore into cloud_projects (server, project, resend_upto) values (:server, :project, :upto)"
    return store.execute(sql, server=server, project=project, upto=newest_seq(store)).rowcount > 0


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
    """Return the enrolled projects that were merged into a project that is not enrolled, with that project."""
    sql = """
    select enrolled.project, project_aliases.project as became
    from cloud_projects as enrolled
    join project_aliases on project_aliases.alias = enrolled.project
    where enrolled.server = :server
      and project_aliases.project not in (select project from cloud_projects where server = :server)
    order by enrolled.project
    """
    return {row["project"]: row["became"] for row in store.rows(sql, server=server)}


def names_now(store: Store, server: str) -> str:
    """Return what decides which project an arrived row is of; it changes with a merge, an end and an enrollment."""
    sql = """
    select group_concat(name, ' ') from (
        select alias || '=' || project as name from project_aliases
        union all select '-' || entity_key from tombstones where entity = 'project'
        union all select '+' || project from cloud_projects where server = :server
        order by name
    )
    """
    names = store.value(sql, server=server) or ""
    import hashlib

    return hashlib.sha256(names.encode()).hexdigest()[:16]


def first_set_aside(store: Store, server: str) -> dict[str, int]:
    """Return the projects of which arrived rows were set aside, and where the first of them is in the server's log."""
    sql = """
    select project, min(remote_seq) as first from sync_set_aside
    where server = :server and direction = 'pull' and remote_seq > 0 group by project
    """
    return {row["project"]: row["first"] for row in store.rows(sql, server=server)}


# --- the queue --------------------------------------------------------------------------------------------


def seq_of(store: Store, entity: str, entity_key: str) -> int | None:
    """Return the position of a row's present state."""
    sql = "select seq from sync_mutations where entity = :entity and entity_key = :entity_key"
    found: int | None = store.value(sql, entity=entity, entity_key=entity_key)
    return found


def pending(store: Store, project: Row) -> int:
    """Count the changes of an enrolled project after its cursor.

    Where it may only be read, those made on this machine: what came from elsewhere is not this account's to send.
    """
    sql = """
    select count(*)
    from sync_mutations
    where project = :project and seq > :after
      and case when :read_only then source = '' else source <> :target or seq <= :resend end
    """
    cursors = {"after": project["pushed_seq"], "resend": project["resend_upto"]}
    read_only = project["access"] == "read"
    return int(store.value(sql, project=project["project"], read_only=read_only, target=TARGET, **cursors))


# --- rows that were set aside -----------------------------------------------------------------------------


def clear_set_aside(store: Store, server: str, direction: str, keys: Sequence[tuple[str, str]]) -> None:
    """Remove rows from set-aside that were accepted after all."""
    if not count_set_aside(store, server, direction):
        return
    sql = """
    delete from sync_set_aside
    where server = :server and direction = :direction and entity = :entity and entity_key = :entity_key
    """
    for entity, entity_key in keys:
        store.execute(sql, server=server, direction=direction, entity=entity, entity_key=entity_key)


def set_aside(store: Store, server: str, *, limit: int, refused_as: str | None = None) -> list[Row]:
    """Return rows that were set aside, the newest first; with ``refused_as`` those the server refused so."""
    sql = """
    select *
    from sync_set_aside
    where server = :server and (:code is null or direction = 'push' and reason_code = :code)
    order by last_seen_at desc, id desc
    limit :limit
    """
    return store.rows(sql, server=server, code=refused_as, limit=limit)


def come_due(store: Store, server: str, due: str, *, limit: int) -> list[Row]:
    """Return rows that the server refused because they were dated ahead, and that are dated before ``due``."""
    sql = """
    select refused.entity, refused.entity_key, refused.project
    from sync_set_aside as refused join sync_mutations as here using (entity, entity_key)
    where refused.server = :server and direction = 'push' and reason_code = 'dated_ahead' and here.clock < :due
    order by refused.id limit :limit
    """
    return store.rows(sql, server=server, due=due, limit=limit)


def count_set_aside(store: Store, server: str, direction: str | None = None) -> int:
    sql = """
    select count(*) from sync_set_aside
    where server = :server and (:direction is null or direction = :direction)
    """
    return int(store.value(sql, server=server, direction=direction))
