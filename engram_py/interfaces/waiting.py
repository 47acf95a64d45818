"""Values of what waits for a person's review, and why: those of the page's review and of the terminal's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.anchors.values import StaleLine
from engram_py.app import Engram
from engram_py.dataclass import dataclass
from engram_py.distill.table import failures
from engram_py.interfaces.wording.anchors import anchors
from engram_py.interfaces.wording.phrases import whence
from engram_py.observations.values import Observation
from engram_py.relations.values import Relation

_SHOWN = 50


@dataclass(frozen=True, slots=True)
class Waiting:
    """A memory that waits for a person, and why."""

    row: Observation
    why: str


@dataclass(frozen=True, slots=True)
class FailedSession:
    """A session that a distiller failed on; ``state`` is ``dead`` where it gave up."""

    id: str
    project: str
    state: str
    detail: str


@dataclass(frozen=True, slots=True)
class Review:
    """Pairs without a verdict, memories that read like an order, that came from elsewhere, were derived, are overdue or
    whose files changed, and sessions that a distiller failed on."""

    pairs: Sequence[Relation]
    orders: Sequence[Waiting]
    unchecked: Sequence[Waiting]
    derived: Sequence[Waiting]
    due: Sequence[Waiting]
    stale: Sequence[Waiting]
    failed: Sequence[FailedSession]


def review(app: Engram, project: str | None) -> Review:
    """Return what waits in a project, in all of them for None, the first 50 of each kind."""
    place: dict[str, Any] = {"project": project, "all_projects": project is None, "limit": _SHOWN}
    due = app.observations.due_for_review(**place).items
    orders = app.browsing.quarantined(**place)
    held = {row.id for row in orders}
    unchecked = [row for row in app.browsing.unchecked(**place) if row.id not in held]
    derived = [row for row in app.browsing.unconfirmed(**place) if row.id not in held]
    overdue = {one.id: f"due {one.review_after[:10]}" for one in due if not isinstance(one, StaleLine)}
    stale = {one.id: anchors(one.anchors) for one in due if isinstance(one, StaleLine)}
    return Review(
        pairs=app.relations.pending(**place),
        orders=[Waiting(row, _source(row)) for row in orders],
        unchecked=[Waiting(row, _source(row)) for row in unchecked],
        derived=[Waiting(row, "") for row in derived if not row.unchecked],
        due=_waiting(app, overdue),
        stale=_waiting(app, stale),
        failed=[
            FailedSession(row["id"], row["project"], row["distill_state"], row["distill_detail"] or "")
            for row in failures(app.store)
            if project in (None, row["project"])
        ],
    )


def _waiting(app: Engram, why: Mapping[int, str]) -> list[Waiting]:
    return [Waiting(row, why[row.id]) for row in app.browsing.whole(list(why))]


def _source(row: Observation) -> str:
    return ", ".join(whence(row.unchecked)) or {"import": "imported"}.get(row.origin, row.origin)
