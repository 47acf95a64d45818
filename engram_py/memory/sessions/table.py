"""SQL over sessions, prompts, transcripts and the turns read from them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import asdict, dataclass
from engram_py.memory.privacy.provenance import IMPORT, own, unchecked
from engram_py.memory.sessions.values import SESSION_COLUMNS, KeptTurn, Prompt, Session, SessionLine, Turn

COLUMNS = ", ".join(SESSION_COLUMNS)
_POOL = 50
# The directory of a session that nobody ran: an import made it up for rows whose own session is not known.
MADE_UP = "(recovered-missing-session)"

# What a session says of itself, else the last summary that was saved in it: Engram, and whoever has its rows, keeps
# summaries as observations alone.
SUMMARY = """coalesce(nullif(sessions.summary, ''), (
    select content from observations indexed by observations_summaries
    where session_id = sessions.id and type = 'session_summary' and deleted_at is null
      and project = sessions.project and scope <> 'personal' and lifecycle = 'active'
      and (arrival is sessions.arrival or arrival is null)
    order by observations.id desc limit 1
))"""

# The one order of sessions. Engram keeps whole seconds: of sessions of one second the one that saved last was the last.
NEWEST = "(select max(id) from observations where session_id = sessions.id and deleted_at is null) as newest"
LATEST_FIRST = "order by last_activity_at desc, newest desc, id"

# The latest sessions are among those started last (that left a summary, where only these are asked for) and those of
# the observations changed last: looking at these alone keeps the cost at the limit, not at the size of the memory.
RECENT = f"""
with candidates (id) as (
    select id from (
        select id from sessions where {{sessions}} and not :told order by started_at desc, id limit :pool
    )
    union
    select id from (
        select id from sessions where {{sessions}} and :told and summary <> '' and {own("sessions")}
        order by started_at desc, id limit :pool
    )
    union
    select session_id from (
        select session_id from observations
        where {{observations}} and :told and type = 'session_summary' and deleted_at is null and {own("observations")}
        order by updated_at desc, session_id limit :pool
    )
    union
    select session_id from (
        select session_id from observations where {{observations}} and deleted_at is null
        order by updated_at desc, id desc limit :pool
    )
)
select
    id, project, agent, started_at, ended_at, {SUMMARY} as summary,
    (select count(*) from (
        select 1 from observations where session_id = sessions.id and deleted_at is null limit iif(:told, 1000, -1)
    )) as observations,
    max(started_at, coalesce((
        select created_at from observations where session_id = sessions.id and deleted_at is null
        order by observations.id desc limit 1
    ), started_at)) as last_activity_at,
    {unchecked("sessions")} as unchecked,
    {NEWEST}
from sessions where id in (select id from candidates) and +{{sessions}}
  and (not :told or {own("sessions")})
  and (directory is not :without or {SUMMARY} is not null)
  and (not :told or {SUMMARY} is not null
       or exists (select 1 from observations where session_id = sessions.id and deleted_at is null))
{LATEST_FIRST} limit :limit
"""
RECENT_IN_PROJECT = RECENT.format(sessions="project = :project", observations="project = :project")
RECENT_ANYWHERE = RECENT.format(sessions="true", observations="true")

# Every session that is listed, for a list that is read page by page: an ended one that holds nothing but deleted
# observations is not. ``containing`` is looked for in what a line shows.
PAGE = f"""
select
    id, project, agent, started_at, ended_at, {SUMMARY} as summary,
    (select count(*) from observations where session_id = sessions.id and deleted_at is null) as observations,
    max(started_at, coalesce((
        select created_at from observations where session_id = sessions.id and deleted_at is null
        order by observations.id desc limit 1
    ), started_at)) as last_activity_at,
    {unchecked("sessions")} as unchecked,
    {NEWEST}
from sessions
where (:projects is null or project in (select value from json_each(:projects)))
  and (directory is not :without or {SUMMARY} is not null)
  and (ended_at is null or {SUMMARY} is not null
       or exists (select 1 from observations where session_id = sessions.id and deleted_at is null)
       or not exists (select 1 from observations where session_id = sessions.id))
  and (:containing = ''
       or instr(lower(id || ' ' || agent || ' ' || project || ' ' || coalesce({SUMMARY}, '')), :containing))
{LATEST_FIRST} limit :limit offset :offset
"""

PROMPT = f"""
select id, sync_id, session_id, project, content, created_at, {unchecked("user_prompts")} as unchecked from user_prompts
"""
_PROMPTS = (
    f"{PROMPT} where {{where}} and (:own = 0 or {own('user_prompts')}) order by created_at desc, id desc limit :limit"
)
PROMPTS_IN_PROJECT = _PROMPTS.format(where="project = :project")
PROMPTS_ANYWHERE = _PROMPTS.format(where="true")
FIRST_PROMPTS = """
select asked.value as session_id, content
from json_each(:sessions) as asked
join user_prompts on user_prompts.id in (
    select id from user_prompts where session_id = asked.value order by id limit :each
)
order by asked.key, user_prompts.id
"""
PROMPTS_OF_SESSION = f"{PROMPT} where session_id = :session_id order by id"

LAST_ACTIVE = """
select max(
    updated_at,
    coalesce((select max(created_at) from user_prompts where session_id = :id), ''),
    coalesce((select max(updated_at) from observations where session_id = :id), ''),
    coalesce((select max(read_at) from turns where session_id = :id), '')
)
from sessions where id = :id
"""

HOSTED = """
select session_id, hosts, directory, session_hosts.started_at from session_hosts
join sessions on sessions.id = session_id
where project = :project and ended_at is null
order by session_hosts.started_at desc, session_id limit 20
"""

SEARCH_PROMPTS = f"""
select user_prompts.id, sync_id, session_id, project, user_prompts.content, created_at,
    {unchecked("user_prompts")} as unchecked
from prompts_fts
join user_prompts on user_prompts.id = prompts_fts.rowid
where prompts_fts match :match
  and (:projects is null or project in (select value from json_each(:projects)))
order by bm25(prompts_fts), user_prompts.id desc limit :limit
"""


@dataclass(frozen=True, slots=True)
class Host:
    """The processes above the hook that started a session; none where a plugin started it over HTTP."""

    session_id: str
    processes: list[str]
    directory: str
    started_at: str


def by_id(store: Store, session_id: str) -> Session | None:
    row = store.row(f"select {COLUMNS} from sessions where id = :id", id=session_id)
    return None if row is None else Session.from_row(row)


def last_active(store: Store, session_id: str) -> str:
    """Return when a session was last started, ended, asked, saved or read; empty for an unknown one."""
    return str(store.value(LAST_ACTIVE, id=session_id) or "")


def keep_hosts(store: Store, session_id: str, hosts: Sequence[str], now: str) -> None:
    """Remember the processes above the hook of a session, () where they are not known. Call inside a transaction."""
    values = {"session_id": session_id, "hosts": json.dumps(hosts), "started_at": now}
    if hosts or store.row("select 1 from session_hosts where session_id = :id", id=session_id) is None:
        store.insert("session_hosts", values, replace=True)


def join(store: Store, session_id: str, hosts: Sequence[str]) -> None:
    """Note the processes of the server that joined a session of which no process was known. Needs a transaction."""
    sql = "update session_hosts set hosts = :hosts where session_id = :id and hosts = '[]'"
    store.execute(sql, id=session_id, hosts=json.dumps(hosts))


def hosted(store: Store, project: str) -> list[Host]:
    """Return the hosts of the latest live sessions of a project that a hook or a plugin started, latest first."""
    return [Host(row[0], json.loads(row[1]), *row[2:]) for row in store.tuples(HOSTED, project=project)]


def recent(
    store: Store, *, projects: Sequence[str] | None, limit: int, made_up: bool = True, told: bool = False
) -> list[SessionLine]:
    """Return the sessions of the projects, the most recently active first; ``made_up``: also those that nobody ran;
    ``told``: only those that left a summary or an observation."""
    values = {"limit": limit, "pool": limit + _POOL, "without": None if made_up else MADE_UP, "told": told}
    rows = per_project(store, projects, RECENT_ANYWHERE, RECENT_IN_PROJECT, values)
    rows.sort(key=lambda row: row["id"])
    rows.sort(key=lambda row: (str(row["last_activity_at"]), row["newest"] or 0), reverse=True)
    return [SessionLine(*row[:-1]) for row in rows[:limit]]


def page(
    store: Store, *, projects: Sequence[str] | None, containing: str, limit: int, offset: int
) -> list[SessionLine]:
    """Return the sessions that contain a text, the most recently active first, from the place ``offset`` on."""
    values = {"projects": projects, "without": MADE_UP, "containing": containing.lower()}
    return [SessionLine(*row[:-1]) for row in store.rows(PAGE, limit=limit, offset=offset, **values)]


def per_project(
    store: Store, projects: Sequence[str] | None, anywhere: str, in_project: str, values: Mapping[str, object]
) -> list[Row]:
    """Return the rows of one statement, or of another for each ``:project``, so that its index gives the order."""
    if projects is None:
        return store.rows(anywhere, **values)
    return [row for project in projects for row in store.rows(in_project, project=project, **values)]


def recent_prompts(store: Store, *, projects: Sequence[str] | None, limit: int, own: bool = False) -> list[Prompt]:
    """Return the prompts of the projects, newest first; ``own``: none that is unchecked."""
    rows = per_project(store, projects, PROMPTS_ANYWHERE, PROMPTS_IN_PROJECT, {"limit": limit, "own": own})
    rows.sort(key=lambda row: (row["created_at"], row["id"]), reverse=True)
    return [Prompt(*row) for row in rows[:limit]]


def prompts_of(store: Store, session_id: str) -> list[Prompt]:
    return [Prompt(*row) for row in store.rows(PROMPTS_OF_SESSION, session_id=session_id)]


def first_prompts(store: Store, sessions: Sequence[str], *, each: int) -> dict[str, list[str]]:
    """Return the first prompts of each of these sessions, the earliest first; a session without one is left out."""
    found: dict[str, list[str]] = {}
    for session_id, content in store.tuples(FIRST_PROMPTS, sessions=list(sessions), each=each):
        found.setdefault(session_id, []).append(content)
    return found


def search_prompts(store: Store, *, match: str, projects: Sequence[str] | None, limit: int) -> list[Prompt]:
    rows = store.rows(SEARCH_PROMPTS, match=match, projects=projects, limit=limit)
    return [Prompt(*row) for row in rows]


def prompt_by_id(store: Store, prompt_id: int) -> Prompt | None:
    row = store.row(f"{PROMPT} where id = :id", id=prompt_id)
    return None if row is None else Prompt(*row)


def equal_prompt(store: Store, *, session_id: str, project: str, content: str) -> Prompt | None:
    sql = f"{PROMPT} where session_id = :session_id and project = :project and content = :content"
    row = store.row(sql, session_id=session_id, project=project, content=content)
    return None if row is None else Prompt(*row)


def observations_in(store: Store, session_id: str) -> int:
    """Return how many observations name this session, soft-deleted ones included."""
    return int(store.value("select count(*) from observations where session_id = :id", id=session_id))


def arrived(store: Store, session_id: str) -> bool:
    """Return whether a session came from another machine: what it says of directories is not so here."""
    sql = "select 1 from sessions join arrivals on arrivals.id = arrival where sessions.id = :id and source <> :own"
    return store.row(sql, id=session_id, own=IMPORT) is not None


CURSOR = "select identity, head, head_bytes, position from transcripts where path = :path"

ADD = """
insert into turns (session_id, project, agent, key, position, role, content, terms, said_at, read_at, distilled_at)
values (:session_id, :project, :agent, :key, :position, :role, :content, :terms, :said_at, :read_at, :distilled_at)
on conflict (session_id, key) do update
set content = excluded.content, terms = excluded.terms, distilled_at = excluded.distilled_at
where length(excluded.content) > length(turns.content)
"""

KNOWN = """
select key, length(content) from turns
where session_id = :session_id and key in (select value from json_each(:keys))
"""

# The subquery reads an index alone: the texts of a whole buffer are not.
ELSEWHERE = """
select key, role, content from turns
where id in (
    select id from turns where key in (select value from json_each(:keys)) and session_id <> :session_id
)
"""

WAIT = "update sessions set distill_state = 'pending', last_turn_at = :now where id = :session_id"

# The oldest go first, whether they were distilled or not: this is a buffer.
SHRINK = """
delete from turns
where (select max(id) - min(id) from turns) >= :most
  and id in (select id from turns order by id desc limit -1 offset :most)
"""
FORGET_CURSORS = """
delete from transcripts
where path in (select path from transcripts order by read_at desc, path limit -1 offset :most)
"""

LATEST = """
select session_id, project, role, agent, content, said_at, read_at from turns
where (:session_id is null or session_id = :session_id)
  and (:projects is null or project in (select value from json_each(:projects)))
order by id desc limit :limit offset :offset
"""
OF_SESSION = """
select role, content, key, position, agent, said_at from turns where session_id = :session_id order by id limit 1000
"""


@dataclass(frozen=True, slots=True)
class Cursor:
    """The place up to which a transcript was read, and marks to tell that it is still the same file."""

    identity: str
    head: str
    head_bytes: int
    position: int


def cursor(store: Store, path: str) -> Cursor | None:
    row = store.row(CURSOR, path=path)
    return None if row is None else Cursor(*row)


def keep_cursor(store: Store, path: str, cursor: Cursor, *, session_id: str, now: str, most: int) -> None:
    """Remember how far ``path`` was read. Call inside a transaction."""
    store.insert("transcripts", asdict(cursor) | {"path": path, "session_id": session_id, "read_at": now}, replace=True)
    store.execute(FORGET_CURSORS, most=most)


def add(
    store: Store, turn: Turn, *, terms: str, session_id: str, project: str, now: str, distilled_at: str | None = None
) -> bool:
    """Keep a turn with what it is indexed by; False when its session has it already. Call inside a transaction.

    A program writes a message again while it grows, under the same name: the longest text stays.
    """
    values = asdict(turn) | {"terms": terms, "session_id": session_id, "project": project, "read_at": now}
    values["distilled_at"] = distilled_at
    return store.execute(ADD, **values).rowcount > 0


def known(store: Store, session_id: str, keys: Iterable[str]) -> dict[str, int]:
    """Return those of the keys whose turns the session has already, each with the length of its text."""
    return {row[0]: row[1] for row in store.rows(KNOWN, session_id=session_id, keys=list(keys))}


def elsewhere(store: Store, session_id: str, keys: Iterable[str]) -> dict[str, set[tuple[str, str]]]:
    """Return for those of the keys that turns of other sessions have the roles and texts of these turns."""
    found: dict[str, set[tuple[str, str]]] = {}
    for key, role, content in store.tuples(ELSEWHERE, session_id=session_id, keys=list(keys)):
        found.setdefault(key, set()).add((role, content))
    return found


# What a program told of as a whole; no agent names a message so.
TOLD = "told-"
_TOLD = f"from turns where session_id = :session_id and key glob '{TOLD}*'"


def told_keys(store: Store, session_id: str) -> list[str]:
    """Return the keys of the turns of a session that a program told of, in their order."""
    return [row[0] for row in store.tuples(f"select key {_TOLD} order by id", session_id=session_id)]


def forget_told(store: Store, session_id: str) -> None:
    """Delete the turns of a session that a program told of; what hooks read stays. Call inside a transaction."""
    store.execute(f"delete {_TOLD}", session_id=session_id)


def wait(store: Store, session_id: str, *, now: str) -> None:
    """Note that a session has turns to distill. Call inside a transaction."""
    store.execute(WAIT, session_id=session_id, now=now)


def shrink(store: Store, *, most: int) -> int:
    """Drop the oldest turns beyond the latest ``most``; how many. Call inside a transaction."""
    return store.execute(SHRINK, most=most).rowcount


def any_before(store: Store, before: str) -> bool:
    """Return whether a turn was read before that moment."""
    return store.row("select 1 from turns where read_at < :before limit 1", before=before) is not None


def prune(store: Store, *, before: str) -> int:
    """Delete the turns that were read before that moment; how many. Call inside a transaction."""
    return store.execute("delete from turns where read_at < :before", before=before).rowcount


def latest(
    store: Store, *, session_id: str | None, projects: Sequence[str] | None, limit: int, offset: int = 0
) -> list[KeptTurn]:
    """Return the turns that were read last, newest first."""
    rows = store.tuples(LATEST, session_id=session_id, projects=projects, limit=limit, offset=offset)
    return [KeptTurn(*row) for row in rows]


def of_session(store: Store, session_id: str) -> list[Turn]:
    """Return the first 1,000 turns of a session in the order they were read."""
    return [Turn(*row) for row in store.tuples(OF_SESSION, session_id=session_id)]
