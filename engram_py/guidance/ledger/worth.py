"""Add up what came of the memories that were given unasked, beside what came of the moments without them.

A moment is a guard, a fix or a memory in one session, however often it spoke there. It was *heeded* (the agent did as
it says, did not do what it warned of, cited the memory, or edited a file it is about), *ignored* (none of this, or the
act that a guard warned of again), *repeated* (the same failure again in spite of it) or *harmful* (overruled, undone;
or replaced, rewritten or deleted by a person or an agent while the session ran). Without it were the moments that were
held back, and for a fix the failures before it existed.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from datetime import timedelta
from typing import Literal

from engram_py.base.database.store import Row
from engram_py.base.dataclass import dataclass
from engram_py.guidance.ledger.costs import tokens_of
from engram_py.memory.observations.arguments import kept_observation
from engram_py.memory.privacy.provenance import retired
from engram_py.memory.projects.projects import Core

WorthKind = Literal["guard", "fix", "memory"]
KINDS: tuple[WorthKind, ...] = ("guard", "fix", "memory")
LEAST_MOMENTS = 5  # below this a share says nothing
_Z = 1.96  # of 95 %

# What a session was given changed while it ran: until an hour after, where nobody said when it ended.
_CHANGED = """
observations.origin <> 'derived' and observations.type not in ('session_summary', 'entity', 'note') and (
    observations.deleted_at between first and until
    or exists (
        select 1 from observation_versions where observation_id = observations.id
          and (observations.updated_at between first and until or (version > 1 and created_at between first and until))
    )
    or exists (
        select 1 from memory_relations
        where target_id = observations.sync_id and relation = 'supersedes' and judgment_status = 'judged'
          and superseded_at is null and updated_at between first and until
    )
)
"""
_CITED = """exists (
    select 1 from citations where session_id = {0}.session_id and observation_id = {0}.observation_id
)"""
_READ = """(
    exists (select 1 from transcripts where session_id = {0}.session_id)
    or exists (select 1 from turns where session_id = {0}.session_id)
    or exists (select 1 from citations where session_id = {0}.session_id)
)"""

_WORTH = f"""
with shown as (
    select
        injections.session_id, observation_id, sum(bytes) as bytes, min(injected_at) as first,
        coalesce(ended_at, last_turn_at, strftime('%Y-%m-%dT%H:%M:%fZ', max(injected_at), '+1 hour')) as until
    from injections join sessions on sessions.id = injections.session_id
    where :id is null or observation_id = :id
    group by injections.session_id, observation_id
),
came (observation_id, kind, given, bytes, at, outcome) as (
    select observation_id, 'memory', 1, bytes, first, case
        when {_CHANGED} then 'harmful'
        when {_CITED.format("shown")} or exists (
            select 1 from moments where session_id = shown.session_id and observation_id = shown.observation_id
              and kind = 'file' and outcome = 'heeded'
        ) then 'heeded'
        when {_READ.format("shown")} then 'ignored'
        else '' end
    from shown join observations on observations.id = shown.observation_id
    union all
    select observation_id, iif(kind in ('guard', 'fix'), kind, 'memory') as of, given, sum(bytes), min(given_at), case
        when max(outcome in ('overruled', 'undone')) then 'harmful'
        when max(outcome = 'repeated') then 'repeated'
        when max(outcome = 'ignored') then 'ignored'
        when max(outcome = 'heeded') then 'heeded'
        when kind in ('guard', 'fix') then ''
        when {_CITED.format("moments")} then 'heeded'
        when {_READ.format("moments")} then 'ignored'
        else '' end
    from moments
    where (:id is null or observation_id = :id) and (
        kind in ('guard', 'fix') or (given = 0 and not exists (
            select 1 from injections where session_id = moments.session_id and observation_id = moments.observation_id
        ))
    )
    group by session_id, observation_id, of, given
    union all
    select observation_id, 'fix', 0, 0, failed_at,
        case when times > 1 then 'repeated' when passed_at is not null then 'heeded' else '' end
    from failures
    where observation_id is not null and (:id is null or observation_id = :id) and not exists (
        select 1 from moments
        where session_id = failures.session_id and observation_id = failures.observation_id and kind = 'fix'
    )
)
select
    observations.id, title, type, project, kind, given, count(*) as moments, sum(outcome = 'heeded') as heeded,
    sum(outcome = 'ignored') as ignored, sum(outcome = 'repeated') as repeated, sum(outcome = 'harmful') as harmful,
    sum(bytes) as bytes
from came cross join observations on observations.id = came.observation_id
where at >= :since and (:project is null or project = :project)
group by observations.id, kind, given
"""


@dataclass(frozen=True, slots=True)
class Tally:
    """What came of some moments. ``share`` is the heeded among those with a known outcome, None where these are fewer
    than five."""

    moments: int = 0
    heeded: int = 0
    ignored: int = 0
    repeated: int = 0
    harmful: int = 0
    unknown: int = 0
    tokens: int = 0
    share: float | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """How much larger the share of the heeded is with the memory than without, and the interval of 95 %."""

    value: float
    low: float
    high: float


@dataclass(frozen=True, slots=True)
class Compared:
    """The moments of one kind with and without the memory. ``difference`` is None where one side has fewer than five.

    It is None of memories as well: an agent cites only what it was given.
    """

    kind: WorthKind
    given: Tally
    without: Tally
    difference: Difference | None


@dataclass(frozen=True, slots=True)
class MemoryWorth:
    """What came of one memory. ``retired``: it is given to nobody unasked until somebody reviewed it."""

    id: int
    title: str
    type: str
    project: str
    retired: bool
    given: Tally
    without: Tally


@dataclass(frozen=True, slots=True)
class Worth:
    """What came of everything that was given: in all, by kind, and of the ``memories`` with most harm and moments.

    ``count`` is how many memories there are, ``holdout`` the share that the setting holds back now.
    """

    project: str | None
    since: str | None
    all: Tally
    kinds: tuple[Compared, ...]
    memories: tuple[MemoryWorth, ...]
    count: int
    holdout: float


class Worths:
    """Reports what came of what was given."""

    def __init__(self, core: Core) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._holdout: float = core.settings.holdout

    def of(
        self, observation_id: int | None = None, *, project: str | None = None, days: int | None = None, limit: int = 20
    ) -> Worth:
        """Return what came of one memory, or of all: ever, or given in the last days (today included).

        Raises ObservationNotFoundError, UnknownProjectError.
        """
        if observation_id is not None:
            kept_observation(self._store, observation_id)
        project = self._projects.existing(project) if project is not None else None
        calendar = self._journal.calendar
        since = None if days is None else calendar.today - timedelta(days=days - 1)
        since_at = "" if since is None else calendar.midnight(since)
        rows = self._store.rows(_WORTH, id=observation_id, project=project, since=since_at)
        memories = self._memories(rows)
        return Worth(
            project=project,
            since=None if since is None else since.isoformat(),
            all=_tally(row for row in rows if row["given"]),
            kinds=tuple(_compared(kind, [row for row in rows if row["kind"] == kind]) for kind in KINDS),
            memories=tuple(memories[:limit]),
            count=len(memories),
            holdout=self._holdout,
        )

    def _memories(self, rows: Sequence[Row]) -> list[MemoryWorth]:
        """Return each memory: what is retired first, then by harm, then by moments."""
        of: dict[int, list[Row]] = {}
        for row in rows:
            of.setdefault(row["id"], []).append(row)
        gone = retired(self._store)
        found = [
            MemoryWorth(
                id=observation_id,
                title=own[0]["title"],
                type=own[0]["type"],
                project=own[0]["project"],
                retired=observation_id in gone,
                given=_tally(row for row in own if row["given"]),
                without=_tally(row for row in own if not row["given"]),
            )
            for observation_id, own in of.items()
        ]
        found.sort(key=lambda one: (one.retired, one.given.harmful, one.given.moments, one.id), reverse=True)
        return found


def _tally(rows: Iterable[Row]) -> Tally:
    names = ("moments", "heeded", "ignored", "repeated", "harmful", "bytes")
    listed = list(rows)
    moments, heeded, ignored, repeated, harmful, size = (sum(row[name] for row in listed) for name in names)
    known = heeded + ignored + repeated + harmful
    share = round(heeded / known, 4) if known >= LEAST_MOMENTS else None
    return Tally(moments, heeded, ignored, repeated, harmful, moments - known, tokens_of(size), share)


def _compared(kind: WorthKind, rows: Sequence[Row]) -> Compared:
    given, without = (_tally(row for row in rows if bool(row["given"]) is side) for side in (True, False))
    comparable = kind != "memory" and given.share is not None and without.share is not None
    return Compared(kind, given, without, difference(given, without) if comparable else None)


def difference(given: Tally, without: Tally) -> Difference:
    """Return the difference of two shares with its interval.

    Newcombe's hybrid score interval: R. Newcombe, *Interval estimation for the difference between independent
    proportions*, Statistics in Medicine 17, 1998, method 10.
    """
    (one, low_1, high_1), (two, low_2, high_2) = _wilson(given), _wilson(without)
    value = one - two
    low = value - math.hypot(one - low_1, high_2 - two)
    high = value + math.hypot(high_1 - one, two - low_2)
    return Difference(round(value, 4), round(low, 4), round(high, 4))


def _wilson(tally: Tally) -> tuple[float, float, float]:
    """Return a share, and the ends of Wilson's interval of it."""
    count = tally.moments - tally.unknown
    share = tally.heeded / count
    middle = (share + _Z**2 / (2 * count)) / (1 + _Z**2 / count)
    half = _Z * math.sqrt(share * (1 - share) / count + _Z**2 / (4 * count**2)) / (1 + _Z**2 / count)
    return share, middle - half, middle + half
