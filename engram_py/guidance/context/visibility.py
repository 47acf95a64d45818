"""Leave out the observations that must not be shown, and collect remarks on the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, tzinfo

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.times import Calendar
from engram_py.guidance.context.prompt_gate import LookedUp
from engram_py.guidance.context.values import Mode, Remarks
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.anchors.values import AnchorState
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import NOT_TOLD, WAITS, is_withheld, retired
from engram_py.memory.projects.values import Place
from engram_py.recall.dates import Days
from engram_py.recall.values import Hit


def handle(observation_id: int | None, title: str) -> str:
    """Return how an observation is named that is not shown itself."""
    return f'[#{observation_id}] "{title}"'


@dataclass(slots=True)
class Findings:
    """Remarks on one answer, and what was withheld from it."""

    remarks: Remarks = field(default_factory=Remarks)
    withheld: set[int] = field(default_factory=set)
    states: dict[int, tuple[AnchorState, ...]] = field(default_factory=dict)
    unmerged: bool = False  # whether something was left out because of its branch
    unchecked: dict[int, Observation] = field(default_factory=dict)  # kept apart: nobody trusted where they came from

    def told_apart(self, limit: int) -> list[Observation]:
        """Return what came from elsewhere, the latest change first."""
        rows = [row for row in self.unchecked.values() if row.type not in NOT_TOLD]
        return sorted(rows, key=lambda row: (row.updated_at, row.id), reverse=True)[:limit]


class VisibilityFilter:
    """Leaves out what must not be shown, and remarks on the rest.

    Gone are rows that are not current (deleted, historical, archived or expired) or wait for review. An unchecked row
    (``memory/privacy/provenance.py``) never stands among the user's own: it is put apart in ``Findings.unchecked``. What
    was imported or derived, or is unchecked, and reads like an order is withheld. A row of a branch that is not in the
    history of HEAD sinks behind the others and is labelled; ``unasked`` it is left out, like what is retired
    (``guidance/ledger/moments.py``).
    """

    def __init__(self, store: Store, journal: Journal, anchors: Anchors) -> None:
        self._store = store
        self._journal = journal
        self._anchors = anchors

    def vetted(
        self,
        rows: Sequence[Observation],
        findings: Findings,
        *,
        unasked: bool,
        unmerged: bool = False,
        hits: Mapping[int, Hit] | None = None,
    ) -> list[Observation]:
        """Return the rows that may be shown, in their order, with what there is to say added to ``findings``.

        ``unmerged`` keeps what is of a branch even ``unasked``: to tell of it, not to show it.
        ``hits`` are the rows as a search gave them: it has looked at their relations, branches and files already.
        """
        now = self._journal.now()
        current = [row for row in rows if _is_current(row, now) and row.unchecked != WAITS]
        harmful = {row.id for row in current if is_withheld(row)}
        findings.withheld |= harmful
        harmful |= retired(self._store) if unasked and current else set()
        fit = [row for row in current if row.id not in harmful]
        findings.unchecked |= {row.id: row for row in fit if row.unchecked and row.scope != "personal"}
        kept = [row for row in fit if not row.unchecked]
        old = {row_id: hit.instead_of for row_id, hit in (hits or {}).items() if hit.instead_of}
        findings.remarks.instead_of.update({row_id: handle(note.id, note.title) for row_id, note in old.items()})
        findings.states.update({row_id: hit.anchors for row_id, hit in (hits or {}).items()})
        elsewhere = self._elsewhere(kept, hits)
        here = [row for row in kept if row.id not in elsewhere]
        if unasked and not unmerged:
            findings.unmerged = findings.unmerged or bool(elsewhere)
            return here
        findings.remarks.branches.update(elsewhere)
        return [*here, *(row for row in kept if row.id in elsewhere)]

    def look_at_files(self, rows: Sequence[Observation], findings: Findings) -> None:
        """Remark on the rows whose files changed since: those that are shown only, because each file is read."""
        findings.states.update(self._anchors.states([row for row in rows if row.id not in findings.states]))
        stale = {row.id: tuple(one for one in findings.states.get(row.id, ()) if one.stale) for row in rows}
        findings.remarks.files.update({row_id: states for row_id, states in stale.items() if states})

    def _elsewhere(self, rows: list[Observation], hits: Mapping[int, Hit] | None) -> dict[int, str]:
        """By id, the branch of each row that was made where HEAD does not lead."""
        if hits is not None:
            return {row.id: hits[row.id].branch for row in rows if hits[row.id].branch}
        seen = self._anchors.visibility(rows)
        return {row.id: seen[row.id].label for row in rows if row.id in seen and seen[row.id].elsewhere}


def _is_current(row: Observation, now: str) -> bool:
    return row.deleted_at is None and row.lifecycle == "active" and not (row.expires_at and row.expires_at <= now)


@dataclass(frozen=True, slots=True)
class Ask:
    """``project`` and ``session_id`` are as the caller gave them, ``place`` is what they mean.

    ``looked_up`` is what the words of the query led to, where somebody looked already.
    """

    mode: Mode
    place: Place
    max_bytes: int
    now: datetime
    zone: tzinfo | None
    project: str | None = None
    session_id: str | None = None
    scope: str | None = None
    compact: bool = False
    query: str = ""
    looked_up: LookedUp | None = None

    @property
    def reads(self) -> tuple[str, ...] | None:
        return self.place.reads

    @property
    def tokens(self) -> int:
        return self.max_bytes // 4

    @property
    def calendar(self) -> Calendar:
        return Calendar(self.now, self.zone)

    @property
    def today(self) -> date:
        """The reader's own day."""
        return self.calendar.today

    def moments(self, days: Days | None) -> tuple[str, str]:
        """Return the UTC times between which something happened on ``days`` of the reader; of None, at any time."""
        if days is None:
            return "", "9999"
        return self.calendar.moments(days.start, days.end)


@dataclass(slots=True)
class Build:
    """One context being built: what was asked, and what vetting finds on the way.

    ``unmerged`` includes what is on a branch that is not merged, to tell of it.
    """

    ask: Ask
    unasked: bool
    unmerged: bool = False
    findings: Findings = field(default_factory=Findings)
