"""Record which observations sessions were shown unasked and which agents cited, weigh that in rank, and list what a
session was given and what one memory was given to.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Literal, get_args

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions.values import Tally

Surface = Literal["session", "prompt", "pointer", "compact", "subagent", "file", "project"]
SURFACES: tuple[Surface, ...] = get_args(Surface)

MOST_KEPT = 20_000
_CITED = regex(r"\[#([0-9]{1,18})\]")

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

# An id that names nothing, or what was destroyed, is no citation. Nor is one of another project that the session was
# never shown: `[#1]` may mean an issue there.
_CITE = """
insert into citations (session_id, observation_id, times, injected, last_at)
select
    :session_id, observations.id, :times,
    exists (select 1 from injections where session_id = :session_id and observation_id = observations.id),
    :now
from observations
where observations.id = :id and (
    scope = 'personal'
    or project = coalesce((select project from sessions where id = :session_id), project)
    or exists (select 1 from injections where session_id = :session_id and observation_id = :id)
    or exists (select 1 from recalls where session_id = :session_id and observation_id = :id)
)
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


def cited_ids(text: str) -> list[int]:
    """Return the ids a text cites as ``[#12]``, once each, in their order."""
    return list(dict.fromkeys(int(number) for number in _CITED.findall(text)))


class Citations:
    """Records injections and citations. Both are of this machine alone, and the latest 20,000 of each are kept."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal = core.store, core.journal

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
        """Return when one of the surfaces last gave the session anything; None if it never did."""
        found: str | None = self._store.value(_LAST_GIVEN, session_id=session_id, surfaces=json.dumps(surfaces))
        return found

    def new_window(self, session_id: str) -> None:
        """Begin a new context window: what the last one showed may be shown again."""
        with self._store.transaction():
            self._store.execute(_HIDE, session_id=session_id)

    def cite(self, session_id: str, ids: Iterable[int]) -> int:
        """Count each id as often as it is given; the number of ids that name an observation of the session's."""
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


MOST = 500

_TO_SESSION = """
select
    injections.observation_id as id, surface, times, bytes, injected_at as at, observations.title, type,
    observations.deleted_at is not null as deleted,
    exists (
        select 1 from citations
        where session_id = injections.session_id and observation_id = injections.observation_id
    ) as cited
from injections join observations on observations.id = injections.observation_id
where injections.session_id = :session_id
order by injections.id limit :most
"""

_OF_OBSERVATION = """
select
    sessions.id, sessions.project, sessions.agent, sessions.started_at,
    coalesce((
        select group_concat(distinct surface) from injections
        where session_id = sessions.id and observation_id = :id
    ), '') as surfaces,
    coalesce((select times from citations where session_id = sessions.id and observation_id = :id), 0) as cited
from sessions
where id in (
    select session_id from injections where observation_id = :id
    union
    select session_id from citations where observation_id = :id
)
order by sessions.started_at desc, sessions.id limit :most
"""

_COUNTS = """
select
    (select count(distinct observation_id) from injections where session_id = :session_id),
    (select count(*) from citations where session_id = :session_id),
    (select coalesce(sum(bytes), 0) from ledger where session_id = :session_id)
"""


# A cross join reads the few rows of the ledger first, and not every observation.
_MOST_CITED = """
select observations.id, title, type, project, updated_at, sum(times) as cited
from citations cross join observations on observations.id = citations.observation_id
where deleted_at is null and (:project is null or project = :project)
group by observations.id order by cited desc, observations.id desc limit :most
"""

_IN_VAIN = """
select observations.id, title, type, project, updated_at, count(distinct injections.session_id) as given
from injections cross join observations on observations.id = injections.observation_id
where deleted_at is null and (:project is null or project = :project)
  and not exists (select 1 from citations where observation_id = observations.id)
group by observations.id order by given desc, observations.id desc limit :most
"""


@dataclass(frozen=True, slots=True)
class UsedMemory:
    """A memory, and how often it was cited, or to how many sessions it was given in vain."""

    id: int
    title: str
    type: str
    project: str
    updated_at: str
    times: int


@dataclass(frozen=True, slots=True)
class Given:
    """A memory that a session was shown unasked. ``at`` is the last of ``times``, ``bytes`` what it took in all."""

    id: int
    surface: str
    times: int
    bytes: int
    at: str
    title: str
    type: str
    deleted: bool
    cited: bool


@dataclass(frozen=True, slots=True)
class GivenTo:
    """A session that was shown a memory unasked, on these ``surfaces``, or ``cited`` it so often."""

    id: str
    project: str
    agent: str
    started_at: str
    surfaces: str
    cited: int


@dataclass(frozen=True, slots=True)
class GivenCounts:
    """Counts of the memories that a session was shown unasked and cited, and the bytes of all its answers."""

    given: int
    cited: int
    bytes: int


def given_to_session(store: Store, session_id: str) -> list[Given]:
    """Return what a session was shown unasked, in the order it first was, the first 500."""
    rows = store.tuples(_TO_SESSION, session_id=session_id, most=MOST)
    return [Given(*row) for row in rows]


def sessions_given(store: Store, observation_id: int, *, limit: int) -> list[GivenTo]:
    """The sessions that were shown a memory or cited it, latest first."""
    return [GivenTo(*row) for row in store.tuples(_OF_OBSERVATION, id=observation_id, most=limit)]


def most_cited(store: Store, project: str | None, *, limit: int) -> list[UsedMemory]:
    """Return the memories that agents cited most often."""
    return [UsedMemory(*row) for row in store.tuples(_MOST_CITED, project=project, most=limit)]


def given_in_vain(store: Store, project: str | None, *, limit: int) -> list[UsedMemory]:
    """The memories that most sessions were given unasked and none ever cited."""
    return [UsedMemory(*row) for row in store.tuples(_IN_VAIN, project=project, most=limit)]


def counts(store: Store, session_id: str) -> GivenCounts:
    [row] = store.tuples(_COUNTS, session_id=session_id)
    return GivenCounts(*row)
