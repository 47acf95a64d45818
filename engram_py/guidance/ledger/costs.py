"""Add up what the memory cost an agent, in tokens (a token is taken to be four bytes), and what it gave and kept, week
by week and session by session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import date, timedelta
from itertools import accumulate

from engram_py.base.capture.session_id import clean_session_id
from engram_py.base.database import runs
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.base.reasons import Told
from engram_py.base.times import Calendar
from engram_py.guidance.ledger import ledger as table
from engram_py.guidance.ledger.ledger import IN_SCOPE, SCOPE, Door
from engram_py.memory.observations.arguments import clamp
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions.values import SessionNotFoundError

BYTES_PER_TOKEN = 4


def tokens_of(size: int) -> int:
    """Return the tokens of ``size`` bytes, a begun one included."""
    return -(-size // BYTES_PER_TOKEN)


@dataclass(frozen=True, slots=True)
class DoorCost:
    """The cost of one tool, hook event or route."""

    door: Door
    name: str
    calls: int
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class SessionCost:
    """The cost of one session; ``project`` is empty where none was known, ``day`` is its last."""

    id: str
    project: str
    day: str
    calls: int
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class Share:
    """Some observations, and what showing them took."""

    observations: int
    bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ProfileCost:
    """The cost of a profile of tools in every session, before anything is asked: schemas and instructions."""

    profile: str
    tools: int
    schema_bytes: int
    instruction_bytes: int
    tokens: int


@dataclass(frozen=True, slots=True)
class ModelCost:
    """The tokens that models took to summarize sessions by their own count, and the runs of the last 30 days."""

    runs: int
    tokens: int
    dollars: float


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one session, one project or all of them, since the day ``since`` or ever.

    ``cited`` and ``never_used`` are None where no transcript was read: what was cited there, nobody knows.
    ``sessions`` are the dearest of ``session_count``. ``models`` is None where none said what it took, and for one
    session or project: it is counted by the run.
    """

    session_id: str | None
    project: str | None
    since: str | None
    doors: tuple[DoorCost, ...]
    sessions: tuple[SessionCost, ...]
    session_count: int
    injected: Share
    recalled: Share
    cited: Share | None
    never_used: Share | None
    profiles: tuple[ProfileCost, ...] = ()
    models: ModelCost | None = None
    warnings: tuple[Told, ...] = ()


MOST_DAYS = 3_650
SESSIONS_SHOWN = 5


class Costs:
    """Reports what the ledger counted."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects

    def of(self, *, session_id: str | None = None, project: str | None = None, days: int | None = None) -> Cost:
        """Return what was counted: of everything, or of one session, one project, the last days (today included).

        An observation counts as used when a session of the same scope cited it in the same days.

        Raises:
            SessionNotFoundError: nothing was ever kept or counted under this id.
            UnknownProjectError: nothing was ever kept for the project.
        """
        if session_id is not None:
            session_id = clean_session_id(session_id)
            if not table.known(self._store, session_id):
                raise SessionNotFoundError(session_id)
        if project is not None:
            project = self._projects.existing(project)
        since, since_at, warnings = self._since(days)
        scope = {"session_id": session_id, "project": project, "since": since or "", "since_at": since_at}
        sessions = table.sessions(self._store, scope, limit=SESSIONS_SHOWN)
        shares = {
            name: Share(row["observations"], row["bytes"], tokens_of(row["bytes"]))
            for name, row in table.shares(self._store, scope).items()
        }
        was_read = table.was_read(self._store, scope)
        return Cost(
            session_id=session_id,
            project=project,
            since=since,
            doors=tuple(
                DoorCost(**dict(row), tokens=tokens_of(row["bytes"])) for row in table.doors(self._store, scope)
            ),
            sessions=tuple(SessionCost(*(*row[:-1], tokens_of(row["bytes"]))) for row in sessions),
            session_count=sessions[0]["total"] if sessions else 0,
            injected=shares["injected"],
            recalled=shares["recalled"],
            cited=shares["cited"] if was_read else None,
            never_used=shares["never_used"] if was_read else None,
            models=self._models(since_at) if session_id is None and project is None else None,
            warnings=warnings,
        )

    def _models(self, since_at: str) -> ModelCost | None:
        count, tokens, dollars = runs.spent_since(self._store, since_at)
        return ModelCost(count, tokens, round(dollars, 4)) if count else None

    def _since(self, days: int | None) -> tuple[str | None, str, tuple[Told, ...]]:
        """Return the first of the last days, the moment at which it began, and a warning."""
        if days is None:
            return None, "", ()
        days, warnings = clamp("days", days, 1, MOST_DAYS)
        calendar = self._journal.calendar
        first = calendar.today - timedelta(days=days - 1)
        return first.isoformat(), calendar.midnight(first), warnings


_WEEK = timedelta(days=7)
_MONDAY = "date(day, 'weekday 0', '-6 days')"
_WEEKS = "weeks as materialized (select value ->> 0 as monday, value ->> 1 as begins from json_each(:weeks))"
_MONDAY_BEFORE = "(select max(monday) from weeks where begins <= {})"

_TOKENS = f"""
{SCOPE}
select {_MONDAY} as week, count(distinct session_id), sum(bytes) from ledger
where {IN_SCOPE} and day >= :since
group by week
"""

# Each memory counts once for a session. What a session cited is known where its messages were read.
_GIVEN = f"""
{SCOPE},
{_WEEKS},
given as (
    select session_id, observation_id, min(injected_at) as at from injections
    where {IN_SCOPE} and injected_at >= :since_at
    group by session_id, observation_id
),
seen as (
    select distinct session_id from given
    where exists (select 1 from transcripts where session_id = given.session_id)
       or exists (select 1 from turns where session_id = given.session_id)
       or exists (select 1 from citations where session_id = given.session_id)
)
select
    {_MONDAY_BEFORE.format("at")} as week, count(*), count(seen.session_id),
    count((
        select 1 from citations
        where session_id = given.session_id and observation_id = given.observation_id
    ))
from given left join seen using (session_id)
group by week
"""

# Prompts are silent in sessions that hooks gave anything: elsewhere no hook may have been there to answer.
_SILENT = f"""
{SCOPE},
{_WEEKS},
asked as (
    select
        session_id, {_MONDAY_BEFORE.format("created_at")} as week, count(*) as prompts,
        exists (select 1 from ledger where session_id = user_prompts.session_id and door = 'hook') as hooked
    from user_prompts
    where {IN_SCOPE} and created_at >= :since_at
    group by session_id, week
),
answered as (
    select session_id, {_MONDAY} as week, sum(calls) as calls from ledger
    where {IN_SCOPE} and day >= :since and door = 'hook' and name = 'user-prompt'
    group by session_id, week
)
select week, sum(prompts), sum(iif(hooked, max(0, prompts - coalesce(calls, 0)), 0))
from asked left join answered using (session_id, week)
group by week
"""

# By the quarter of an hour, which is what the zones of the world differ by.
_QUARTER = "substr({0}, 1, 14) || substr('00153045', substr({0}, 15, 2) / 15 * 2 + 1, 2)"
_KEPT = f"""
select made, iif(date(gone) is null, null, gone), count from (
    select {_QUARTER.format("created_at")} as made, {_QUARTER.format("deleted_at")} as gone, count(*) as count
    from observations
    where :project is null or project = :project
    group by made, gone
)
where date(made) is not null
"""

_SESSIONS = f"""
{SCOPE}
select
    session_id,
    coalesce((select project from sessions where id = session_id), max(project)),
    max(day),
    sum(bytes),
    (select count(distinct observation_id) from injections where session_id = ledger.session_id)
from ledger
where {IN_SCOPE} and day >= :since and session_id <> ''
group by session_id
order by min(id) desc limit :limit
"""

_NEVER_USED = """
select id, title, type, project, updated_at from observations
where deleted_at is null and access_count = 0 and (:project is null or project = :project)
  and not exists (select 1 from injections where observation_id = observations.id)
  and not exists (select 1 from recalls where observation_id = observations.id)
  and not exists (select 1 from citations where observation_id = observations.id)
order by id limit :most
"""


@dataclass(frozen=True, slots=True)
class Week:
    """One week from its Monday on.

    ``given`` counts the memories that sessions were shown unasked, ``judged`` those of sessions whose messages were
    read, ``cited`` how many of these the agents cited. ``silent`` counts the prompts that a hook gave nothing.
    ``kept`` is the number of memories at its end.
    """

    monday: str
    sessions: int = 0
    tokens: int = 0
    given: int = 0
    judged: int = 0
    cited: int = 0
    prompts: int = 0
    silent: int = 0
    saved: int = 0
    kept: int = 0

    @property
    def share_cited(self) -> float | None:
        """The share of what was given that was cited; None where nobody knows."""
        return self.cited / self.judged if self.judged else None

    @property
    def tokens_per_session(self) -> int:
        return round(self.tokens / self.sessions) if self.sessions else 0


@dataclass(frozen=True, slots=True)
class SessionTokens:
    """The tokens that one session was given; ``day`` is its last, ``given`` how many memories it was shown unasked."""

    id: str
    project: str
    day: str
    tokens: int
    given: int


@dataclass(frozen=True, slots=True)
class UnusedMemory:
    """A memory that no session was given, asked for or cited."""

    id: int
    title: str
    type: str
    project: str
    updated_at: str


def weekly(store: Store, project: str | None, *, calendar: Calendar, weeks: int) -> list[Week]:
    """Return the last ``weeks`` weeks, oldest first, from the first one on in which there was anything."""
    this = calendar.today - timedelta(days=calendar.today.weekday())
    mondays = [this - _WEEK * back for back in reversed(range(weeks))]
    scope = {"session_id": None, "project": project, "since": mondays[0].isoformat()}
    begins = {day.isoformat(): calendar.midnight(day) for day in mondays}
    scope |= {"since_at": begins[mondays[0].isoformat()], "weeks": json.dumps([*begins.items()])}
    tokens = _by_week(store.tuples(_TOKENS, **scope))
    given = _by_week(store.tuples(_GIVEN, **scope))
    silent = _by_week(store.tuples(_SILENT, **scope))
    kept, saved = _kept(store, project, mondays, calendar)
    found = []
    for place, monday in enumerate(day.isoformat() for day in mondays):
        sessions, size = tokens.get(monday, (0, 0))
        shown, judged, cited = given.get(monday, (0, 0, 0))
        prompts, unanswered = silent.get(monday, (0, 0))
        found.append(
            Week(
                monday,
                sessions=sessions,
                tokens=tokens_of(size),
                given=shown,
                judged=judged,
                cited=cited,
                prompts=prompts,
                silent=unanswered,
                saved=saved[place],
                kept=kept[place],
            )
        )
    used = (place for place, one in enumerate(found) if any((one.sessions, one.given, one.prompts, one.kept)))
    return found[next(used, weeks - 1) :]


def session_tokens(store: Store, project: str | None, *, since: str | None, limit: int) -> list[SessionTokens]:
    """Return what the latest sessions were given, oldest first."""
    rows = store.tuples(_SESSIONS, session_id=None, project=project, since=since or "", limit=limit)
    return [SessionTokens(name, where, day, tokens_of(size), given) for name, where, day, size, given in reversed(rows)]


def never_used(store: Store, project: str | None, *, limit: int) -> list[UnusedMemory]:
    """Return the oldest memories that no session was given, asked for or cited."""
    return [UnusedMemory(*row) for row in store.tuples(_NEVER_USED, project=project, most=limit)]


def _by_week(rows: Iterable[tuple[object, ...]]) -> dict[str, tuple[int, ...]]:
    return {str(week): tuple(int(str(one)) for one in figures) for week, *figures in rows}


def _kept(store: Store, project: str | None, mondays: list[date], calendar: Calendar) -> tuple[list[int], list[int]]:
    """Return how many memories there were at the end of each week, and how many were saved in it."""
    saved, change = [0] * len(mondays), [0] * len(mondays)
    for made, gone, count in store.tuples(_KEPT, project=project):
        day = calendar.day_of(made)
        place = _place(day, mondays)
        change[place] += count
        saved[place] += count if day >= mondays[0] else 0
        if gone is not None:
            change[_place(max(calendar.day_of(gone), day), mondays)] -= count
    return list(accumulate(change)), saved


def _place(day: date, mondays: list[date]) -> int:
    """Return the week that a day counts in: the first one for what is older, the last for a clock that is ahead."""
    return min(max(0, (day - mondays[0]).days // 7), len(mondays) - 1)
