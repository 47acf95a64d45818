"""Record the moments in which a memory spoke because of what an agent was doing, and what came of it.

A moment that was held back on purpose is recorded as well: it tells what happens without the memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from engram_py.dataclass import dataclass
from engram_py.projects.projects import Core

if TYPE_CHECKING:
    from engram_py.database.store import Row

Kind = Literal["guard", "fix", "file"]
Came = Literal["heeded", "ignored", "repeated", "overruled", "undone"]
HARMFUL: tuple[Came, ...] = ("overruled", "undone")
MOST_MOMENTS = 20_000

_LAST = """
select * from moments
where session_id = :session_id and observation_id = :id and kind = :kind and (:subject is null or subject = :subject)
order by id desc limit 1
"""
_CAME = """
update moments set outcome = :outcome, outcome_at = :now
where session_id = :session_id and observation_id = :id and kind = :kind
  and outcome in (select value from json_each(:over))
"""
_COUNTS = """
select
    kind,
    sum(given) as given,
    sum(given = 0) as held_back,
    sum(given and outcome = 'heeded') as heeded,
    sum(given and outcome = 'ignored') as ignored,
    sum(given and outcome = 'repeated') as repeated,
    sum(given and outcome = 'overruled') as overruled,
    sum(given and outcome = 'undone') as undone,
    sum(bytes) as bytes
from moments where observation_id = :id group by kind
"""
_SHRINK = "delete from moments where id <= (select max(id) from moments) - :most"


@dataclass(frozen=True, slots=True)
class Counts:
    """Of one memory and one kind: in how many moments it was given or held back, what came of them, and their bytes."""

    kind: Kind
    given: int
    held_back: int
    heeded: int
    ignored: int
    repeated: int
    overruled: int
    undone: int
    bytes: int


class Moments:
    """Records moments and outcomes. They are of this machine alone, and the latest 20,000 are kept."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal = core.store, core.journal

    def add(
        self, session_id: str, observation_id: int, kind: Kind, subject: str, *, given: bool = True, size: int = 0
    ) -> None:
        """Record that an existing session was given a memory, ``size`` bytes of it, or that it was held back."""
        values = {
            "session_id": session_id, "observation_id": observation_id, "kind": kind, "subject": subject[:1_000],
            "given": int(given), "bytes": size, "given_at": self._journal.now(),
        }  # fmt: skip
        with self._store.transaction():
            self._store.insert("moments", values)
            self._store.execute(_SHRINK, most=MOST_MOMENTS)

    def last(self, session_id: str, observation_id: int, kind: Kind, subject: str | None = None) -> Row | None:
        """Return the last moment of a memory in a session, about ``subject`` where that is given."""
        return self._store.row(_LAST, session_id=session_id, id=observation_id, kind=kind, subject=subject)

    def came(
        self, session_id: str, observation_id: int, kind: Kind, outcome: Came, *, over: tuple[Came, ...] = ()
    ) -> None:
        """Record what came of a memory in a session: of its moments without an outcome, or with one of ``over``."""
        values = {"session_id": session_id, "id": observation_id, "kind": kind, "outcome": outcome}
        with self._store.transaction():
            self._store.execute(_CAME, **values, over=["", *over], now=self._journal.now())

    def counts(self, observation_id: int) -> dict[str, Counts]:
        """Return the counts of a memory, by kind."""
        return {row["kind"]: Counts(*row) for row in self._store.rows(_COUNTS, id=observation_id)}
