"""Record which observations sessions were shown unasked and which agents cited, and weigh that in rank."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal

from engram_py.database.journal import Operations
from engram_py.database.store import Store
from engram_py.sessions.values import Tally

Surface = Literal["session", "prompt", "compact", "subagent", "file"]

MOST_KEPT = 20_000

_INJECT = """
insert into injections (session_id, observation_id, surface, bytes, visible, injected_at)
select :session_id, id, :surface, :bytes, :visible, :now from observations
where id = :id and exists (select 1 from sessions where id = :session_id)
on conflict (session_id, observation_id, surface) do update set
    times = times + 1, bytes = bytes + excluded.bytes, visible = max(visible, excluded.visible),
    injected_at = excluded.injected_at
"""

_VISIBLE = """
select distinct observation_id from injections
where session_id = :session_id and visible = 1 and surface in (select value from json_each(:surfaces))
order by observation_id
"""

_LAST_GIVEN = """
select max(injected_at) from injections
where session_id = :session_id and surface in (select value from json_each(:surfaces))
"""

_HIDE = "update injections set visible = 0 where session_id = :session_id and visible = 1"

# An id that names nothing, or what was destroyed, is no citation.
_CITE = """
insert into citations (session_id, observation_id, times, injected, last_at)
select
    :session_id, observations.id, :times,
    exists (select 1 from injections where session_id = :session_id and observation_id = observations.id),
    :now
from observations where observations.id = :id
on conflict (session_id, observation_id) do update set
    times = times + excluded.times, injected = max(injected, excluded.injected), last_at = excluded.last_at
"""

_TALLIES = """
select
    value as id,
    (select count(distinct session_id) from injections where observation_id = value) as injected,
    (select count(*) from citations where observation_id = value) as cited
from json_each(:ids)
"""

_DELETE_OLDEST = "delete from {table} where id <= (select max(id) from {table}) - :most"
_SHRINK = tuple(_DELETE_OLDEST.format(table=table) for table in ("injections", "citations"))


class Citations(Operations):
    """Records injections and citations. Both are of this machine alone, and the latest 20,000 of each are kept."""

    def inject(
        self, session_id: str, shown: Mapping[int, int], surface: Surface, *, visible: Collection[int] | None = None
    ) -> None:
        """Record that an existing session was shown these ids unasked; ``shown`` maps each to the bytes it took.

        ``visible``: the ids that need not be shown again in this context window; None means all.
        """
        if not shown:
            return
        values = {"session_id": session_id, "surface": surface, "now": self._journal.now()}
        with self._store.transaction():
            for row_id, size in shown.items():
                is_visible = visible is None or row_id in visible
                self._store.execute(_INJECT, **values, id=row_id, bytes=size, visible=int(is_visible))
            self._shrink()

    def visible(self, session_id: str, *surfaces: Surface) -> set[int]:
        """Return the ids that one of the surfaces made visible since the session's context window began."""
        return {row[0] for row in self._store.rows(_VISIBLE, session_id=session_id, surfaces=json.dumps(surfaces))}

    def last_given(self, session_id: str, *surfaces: Surface) -> str | None:
        """When one of the surfaces last gave the session anything; None if it never did."""
        found: str | None = self._store.value(_LAST_GIVEN, session_id=session_id, surfaces=json.dumps(surfaces))
        return found

    def new_window(self, session_id: str) -> None:
        """Begin a new context window: what the last one showed may be shown again."""
        with self._store.transaction():
            self._store.execute(_HIDE, session_id=session_id)

    def cite(self, session_id: str, ids: Iterable[int]) -> int:
        """Count each id as often as it is given; the number of ids that name an observation."""
        counted = Counter(ids)
        if not counted:
            return 0
        values, found = {"session_id": session_id, "now": self._journal.now()}, 0
        with self._store.transaction():
            for row_id, times in counted.items():
                found += self._store.execute(_CITE, **values, id=row_id, times=times).rowcount > 0
            self._shrink()
        return found

    def tallies(self, ids: Sequence[int]) -> dict[int, Tally]:
        """``tallies`` of this memory; none for no ids."""
        return tallies(self._store, ids) if ids else {}

    def _shrink(self) -> None:
        for statement in _SHRINK:
            self._store.execute(statement, most=MOST_KEPT)


def tallies(store: Store, ids: Sequence[int]) -> dict[int, Tally]:
    """In how many sessions each id was injected and cited; ids without either are left out."""
    rows = store.rows(_TALLIES, ids=json.dumps(list(ids)))
    return {row["id"]: Tally(row["injected"], row["cited"]) for row in rows if row["injected"] or row["cited"]}


# Each is small beside a word more or less, as the other factors of rank.py are.
RISE = 0.06
SINK = 0.06
_CITED_OFTEN = 2.0
# An agent uses much without citing it, so silence says something only after this many sessions.
_PATIENCE = 4
_IN_VAIN_OFTEN = 6.0


def citation_factor(injected: int, cited: int) -> float:
    """Return what the relevance of an observation is multiplied by, .94 to 1.06.

    1 + .06 c / (c + 2) after citations in c sessions. Never cited and injected into
    i > 4 sessions: 1 - .06 (i - 4) / (i - 4 + 6). One citation ends the sinking, whenever it came.
    """
    cited, injected = max(0, cited), max(0, injected)
    if cited:
        return 1 + RISE * cited / (cited + _CITED_OFTEN)
    vain = max(0, injected - _PATIENCE)
    return 1 - SINK * vain / (vain + _IN_VAIN_OFTEN)
