"""Record the moments in which a memory spoke because of what an agent was doing, and what came of it.

A moment that was held back on purpose is recorded as well: it tells what happens without the memory. A memory that did
more harm than help is retired: no door gives it unasked until somebody reviewed it. ``worth.py`` adds all of it up.
"""

from __future__ import annotations

import json
import os
from collections.abc import Collection
from typing import TYPE_CHECKING, Literal

from engram_py.base.dataclass import dataclass
from engram_py.memory.projects.projects import Core

if TYPE_CHECKING:
    from engram_py.base.database.store import Row

Kind = Literal["guard", "fix", "file", "prompt"]
Came = Literal["heeded", "ignored", "repeated", "overruled", "undone"]
HARMFUL: tuple[Came, ...] = ("overruled", "undone")
MOST_MOMENTS = 20_000
LAST = 10  # moments that decide whether a memory is retired
LEAST_HARM = 3  # one overruling may be the mistake

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
_OF_SESSION = """
select observation_id, subject, outcome, given_at, outcome_at from moments
where session_id = :session_id and kind = :kind and outcome in ('', 'heeded')
order by id
"""
_HAPPENED = """
update moments set outcome_at = :now
where session_id = :session_id and observation_id = :id and kind = :kind and subject = :subject and outcome = ''
"""
_OVERRULED = """
select count(distinct session_id) from moments
where observation_id = :id and kind = :kind and outcome = 'overruled'
  and outcome_at > coalesce((select reviewed_at from retirements where observation_id = :id), '')
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

# The last moments of which something came, once a session: a memory that was given helped where it was cited, or where
# a file it is about was edited.
_LAST_MOMENTS = """
with since (at) as (
    select max(
        coalesce((select reviewed_at from retirements where observation_id = :id), ''),
        coalesce((
            select updated_at from observations
            where id = :id and exists (select 1 from observation_versions where observation_id = :id)
        ), '')
    )
),
last as (
    select
        max(outcome = 'heeded') and not max(outcome in ('overruled', 'undone')) as helped,
        max(outcome in ('overruled', 'undone')) as harmed, max(given_at) as at
    from moments, since
    where observation_id = :id and given = 1 and kind in ('guard', 'fix') and outcome <> ''
    group by session_id, kind having max(given_at) > since.at
    union all
    select 1, 0, max(injected_at)
    from injections as one, since
    where observation_id = :id and (
        exists (select 1 from citations where session_id = one.session_id and observation_id = :id)
        or exists (
            select 1 from moments
            where session_id = one.session_id and observation_id = :id and kind = 'file' and outcome = 'heeded'
        )
    )
    group by one.session_id having max(injected_at) > since.at
    order by at desc, helped, harmed limit :last
)
select coalesce(sum(helped), 0) as helped, coalesce(sum(harmed), 0) as harmed from last
"""
_RETIRE = """
insert into retirements (observation_id, retired_at) values (:id, :now)
on conflict (observation_id) do update set retired_at = coalesce(retired_at, excluded.retired_at)
"""

# What a session was given, or held back from, that is about a file of this name. A line that came with an edit says
# nothing of that edit, which was decided before: `begun` is that the edit was seen.
_ABOUT = """
select
    given.observation_id as id, anchors.path, moments.id as moment, moments.kind,
    moments.outcome_at is not null as begun
from (
    select observation_id from injections where session_id = :session_id
    union
    select observation_id from moments where session_id = :session_id and kind in ('file', 'prompt') and given = 0
) as given
join anchors on anchors.observation_id = given.observation_id and anchors.name in (select value from json_each(:names))
left join moments on moments.session_id = :session_id and moments.observation_id = given.observation_id
    and moments.kind in ('file', 'prompt')
where coalesce(moments.outcome, '') = ''
"""
_BEGUN = "update moments set outcome_at = :now where id = :id"
_EDITED = "update moments set outcome = 'heeded', outcome_at = :now where id = :id"
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
        self._holdout: float = core.settings.holdout

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
        """Record what came of a memory in a session: of its moments without an outcome, or with one of ``over``.

        More harm than help in its last ten moments, three times at least, retires the memory.
        """
        values = {"session_id": session_id, "id": observation_id, "kind": kind, "outcome": outcome}
        now = self._journal.now()
        with self._store.transaction():
            self._store.execute(_CAME, **values, over=json.dumps(["", *over]), now=now)
            if outcome in HARMFUL:
                last = self._store.row(_LAST_MOMENTS, id=observation_id, last=LAST)
                if last and last["harmed"] >= LEAST_HARM and last["harmed"] > last["helped"]:
                    self._store.execute(_RETIRE, id=observation_id, now=now)

    def edited(self, files: Collection[str], session_id: str) -> int:
        """Record that a session edited files, and return of how many memories about them that it was given.

        The edit that a line came with does not count, the next one does.
        """
        paths = [path.replace(os.sep, "/") for path in files]
        names = json.dumps([path.rpartition("/")[2] for path in paths])
        rows = self._store.rows(_ABOUT, session_id=session_id, names=names)
        found = {row["id"]: row for row in rows if any(f"/{path}".endswith(f"/{row['path']}") for path in paths)}
        if not found:
            return 0
        now = self._journal.now()
        with self._store.transaction():
            for observation_id, row in found.items():
                moment = row["moment"]
                if moment is None:
                    self.add(session_id, observation_id, "file", paths[0])
                    moment = self._store.value("select last_insert_rowid()")
                begins = row["kind"] == "file" and not row["begun"]
                self._store.execute(_BEGUN if begins else _EDITED, id=moment, now=now)
        return len(found)

    def holds_back(self, session_id: str, kind: Kind, subject: str) -> bool:
        """Return whether a memory stays silent in a session on purpose, so that there is something to compare with.

        ``ENGRAM_HOLDOUT`` is the share. The answer follows from session and subject: every hook of a session decides
        alike. Never asked for what denies, which would let a forbidden act happen; for what a person asked for; nor for
        what a session or a subagent starts with: the person's standing orders, and twenty lines at once tell of none.
        """
        if not self._holdout:
            return False
        from hashlib import blake2b  # few users make the experiment

        digest = blake2b(f"{session_id}\n{subject}".encode(errors="replace"), digest_size=8).digest()
        return int.from_bytes(digest, "big") < self._holdout * 2**64

    def begin(self, session_id: str, observation_ids: Collection[int], kind: Kind, *, given: bool) -> None:
        """Record once a session that an existing session was given these memories, or that they were held back."""
        if observation_ids:
            with self._store.transaction():
                for one in observation_ids:
                    if self.last(session_id, one, kind) is None:
                        self.add(session_id, one, kind, subject_of(one), given=given)

    def unsettled(self, session_id: str, kind: Kind) -> list[Row]:
        """Return the moments of a session, held back ones too, of which nothing bad came, oldest first."""
        return self._store.rows(_OF_SESSION, session_id=session_id, kind=kind)

    def happened(self, session_id: str, observation_id: int, kind: Kind, subject: str) -> None:
        """Record that the act itself was done that a memory spoke about; that it comes again is another matter."""
        values = {"session_id": session_id, "id": observation_id, "kind": kind, "subject": subject[:1_000]}
        with self._store.transaction():
            self._store.execute(_HAPPENED, **values, now=self._journal.now())

    def overruled(self, observation_id: int, kind: Kind) -> int:
        """Return in how many sessions somebody overruled a memory since it was reviewed."""
        return int(self._store.value(_OVERRULED, id=observation_id, kind=kind))

    def counts(self, observation_id: int) -> dict[str, Counts]:
        """Return the counts of a memory, by kind."""
        return {row["kind"]: Counts(*row) for row in self._store.rows(_COUNTS, id=observation_id)}


def subject_of(observation_id: int) -> str:
    """Return the subject of a moment that is about no more than a memory itself."""
    return f"#{observation_id}"
