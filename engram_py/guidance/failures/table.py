"""SQL of the commands that failed, and of what was done while they were failing."""

from __future__ import annotations

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass

MOST_FAILURES = 2_000
MOST_REPAIRS = 60  # of one failure

_OF_SESSION = """
select * from failures
where session_id = :session_id and command = :command and directory = :directory
order by id desc limit 20
"""
# Of one command that failed with several errors, one after the other, the last.
_OPEN = """
select id, command from (
    select id, command, row_number() over (partition by command, directory order by failed_at desc, id desc) as place
    from failures where session_id = :session_id and passed_at is null
)
where place = 1
"""
_REPAIRS = "select kind, name, done_at from repairs where failure_id = :id order by id"
_REPAIR = """
insert or ignore into repairs (failure_id, kind, name, done_at)
select :id, :kind, :name, :now where (select count(*) from repairs where failure_id = :id) < :most
"""
_NO_REPAIR = """
delete from repairs where kind = 'command' and name = :name and failure_id in (
    select id from failures where session_id = :session_id and passed_at is null
)
"""
_SHRINK = "delete from failures where id <= (select max(id) from failures) - :most"
# Of errors that differ by their first line: what many of them share names none.
_SHARING = """
select count(distinct substr(signature, 1, instr(signature || char(10), char(10)) - 1))
from failures where instr(char(10) || signature || char(10), char(10) || :key || char(10))
"""


@dataclass(frozen=True, slots=True)
class Failure:
    """A command that failed in a session; ``keys`` are those of its signature, ``said`` the lines as printed."""

    id: int
    keys: tuple[str, ...]
    said: tuple[str, ...]
    git_commit: str | None
    times: int
    failed_at: str
    passed_at: str | None
    observation_id: int | None


def of_command(store: Store, session_id: str, command: str, directory: str) -> list[Failure]:
    """Return the failures of one command in a session, the latest first."""
    rows = store.rows(_OF_SESSION, session_id=session_id, command=command, directory=directory)
    return [_failure(row) for row in rows]


def _failure(row: Row) -> Failure:
    keys, said = (tuple(row[name].split("\n")) for name in ("signature", "excerpt"))
    names = ("git_commit", "times", "failed_at", "passed_at", "observation_id")
    return Failure(row["id"], keys, said, *(row[name] for name in names))


def add(store: Store, values: dict[str, object]) -> None:
    """Keep a failure, and the latest 2,000 alone. Call inside a transaction."""
    store.insert("failures", values)
    store.execute(_SHRINK, most=MOST_FAILURES)


def still_failing(store: Store, session_id: str) -> list[Row]:
    """Return ``id`` and ``command`` of what fails now in a session."""
    return store.rows(_OPEN, session_id=session_id)


def repaired(store: Store, failure_id: int, kind: str, name: str, now: str) -> None:
    """Keep what was done while a command was failing. Call inside a transaction."""
    store.execute(_REPAIR, id=failure_id, kind=kind, name=name, now=now, most=MOST_REPAIRS)


def not_repaired(store: Store, session_id: str, command: str) -> None:
    """Forget that a command was run while others were failing: it failed. Call inside a transaction."""
    store.execute(_NO_REPAIR, session_id=session_id, name=command)


def repairs(store: Store, failure_id: int) -> list[tuple[str, str, str]]:
    """Return what was done while a command was failing, in its order: ``file`` or ``command``, its name, the time."""
    return store.tuples(_REPAIRS, id=failure_id)


def sharing(store: Store, key: str) -> int:
    """Return how many errors that are not the same have this line."""
    return int(store.value(_SHARING, key=key))
