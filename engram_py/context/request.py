"""What a context is asked for, once its arguments were checked, and one in the making."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, tzinfo

from engram_py.context.likely import LookedUp
from engram_py.context.values import Mode
from engram_py.context.visibility import Findings
from engram_py.dataclass import dataclass, field
from engram_py.projects.values import Place
from engram_py.recall.query.days import Days
from engram_py.times import to_text


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
    def today(self) -> date:
        """The reader's own day."""
        return self.now.astimezone(self.zone).date()

    def moments(self, days: Days | None) -> tuple[str, str]:
        """Return the UTC times between which something happened on ``days`` of the reader; of None, at any time."""
        if days is None:
            return "", "9999"
        return self._midnight(days.start), self._midnight(days.end)

    def _midnight(self, day: date) -> str:
        local = datetime.combine(day, time.min)
        try:
            return to_text((local.replace(tzinfo=self.zone) if self.zone else local).astimezone(UTC))
        except (OverflowError, ValueError, OSError):  # the first and the last day there is, seen from another zone
            return to_text(local.replace(tzinfo=UTC))


@dataclass(slots=True)
class Build:
    """One context being built: what was asked, and what vetting finds on the way.

    ``unmerged`` includes what is on a branch that is not merged, to tell of it.
    """

    ask: Ask
    unasked: bool
    unmerged: bool = False
    findings: Findings = field(default_factory=Findings)
