"""SQL over transcripts and the turns read from them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from engram_py.database.store import Store
from engram_py.dataclass import asdict, dataclass
from engram_py.sessions.values import KeptTurn, Turn

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
order by id desc limit :limit
"""
OF_SESSION = """
select role, content, key, position, agent, said_at from turns where session_id = :session_id order by id limit 1000
"""


@dataclass(frozen=True, slots=True)
class Cursor:
    """How far a transcript was read, and how to tell that it is still the same file."""

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


def latest(store: Store, *, session_id: str | None, projects: Sequence[str] | None, limit: int) -> list[KeptTurn]:
    """Return the turns that were read last, newest first."""
    rows = store.tuples(LATEST, session_id=session_id, projects=projects, limit=limit)
    return [KeptTurn(*row) for row in rows]


def of_session(store: Store, session_id: str) -> list[Turn]:
    """Return the first 1,000 turns of a session in the order they were read."""
    return [Turn(*row) for row in store.tuples(OF_SESSION, session_id=session_id)]
