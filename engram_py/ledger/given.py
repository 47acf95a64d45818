"""Which memories a session was given, which it cited, and which sessions one memory was given to."""

from __future__ import annotations

from engram_py.database.store import Store
from engram_py.dataclass import dataclass

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
class Used:
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
    """How many memories a session was shown unasked and how many it cited, and the bytes of all its answers."""

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


def most_cited(store: Store, project: str | None, *, limit: int) -> list[Used]:
    """Return the memories that agents cited most often."""
    return [Used(*row) for row in store.tuples(_MOST_CITED, project=project, most=limit)]


def given_in_vain(store: Store, project: str | None, *, limit: int) -> list[Used]:
    """The memories that most sessions were given unasked and none ever cited."""
    return [Used(*row) for row in store.tuples(_IN_VAIN, project=project, most=limit)]


def counts(store: Store, session_id: str) -> GivenCounts:
    [row] = store.tuples(_COUNTS, session_id=session_id)
    return GivenCounts(*row)
