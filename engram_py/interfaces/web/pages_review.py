"""Review: what needs a person, each with what they can do about it."""

from __future__ import annotations

from collections.abc import Mapping

from engram_py.anchors.values import StaleLine
from engram_py.dataclass import dataclass
from engram_py.distill.table import failures
from engram_py.interfaces.web.pages_memory import done_to, seen
from engram_py.interfaces.web.visit import Goto, Shown, Visit, observation_number, page
from engram_py.interfaces.wording.anchors import anchors
from engram_py.observations.relation_values import VERBS
from engram_py.observations.values import Observation

_SHOWN = 50


@dataclass(frozen=True, slots=True)
class _Waiting:
    """A memory that waits for a person, why, and the mark of how it reads now."""

    row: Observation
    why: str
    seen: str


@page("GET", "/ui/review")
def review_page(visit: Visit) -> Shown:
    """Pairs without a verdict, what was derived or reads like an order, memories that are overdue or whose files
    changed, and sessions that a distiller failed on."""
    judged, changed = visit.asked("judged"), visit.asked("id")
    due = visit.app.observations.due_for_review(**visit.place, limit=_SHOWN).items
    orders = visit.app.browsing.quarantined(**visit.place, limit=_SHOWN)
    held = {row.id for row in orders}
    derived = [row for row in visit.app.browsing.unconfirmed(**visit.place, limit=_SHOWN) if row.id not in held]
    [row] = visit.app.browsing.whole([observation_number(changed)]) or [None] if changed else [None]
    return Shown(
        "review.html",
        done_to(visit, row)
        | {
            "pairs": visit.app.relations.pending(**visit.place, limit=_SHOWN),
            "orders": _waiting(visit, {row.id: _from(row) for row in orders}),
            "derived": _waiting(visit, {row.id: "" for row in derived}),
            "due": _waiting(
                visit, {one.id: f"due {one.review_after[:10]}" for one in due if not isinstance(one, StaleLine)}
            ),
            "stale": _waiting(visit, {one.id: anchors(one.anchors) for one in due if isinstance(one, StaleLine)}),
            "failed": [row for row in failures(visit.app.store) if visit.project in (None, row["project"])],
            "verbs": VERBS,
            "judged": visit.app.relations.show(judged) if judged else None,
            "seen": seen(row) if row is not None else "",
        },
    )


def _waiting(visit: Visit, why: Mapping[int, str]) -> list[_Waiting]:
    return [_Waiting(row, why[row.id], seen(row)) for row in visit.app.browsing.whole(list(why))]


def _from(row: Observation) -> str:
    return {"import": "imported", "derived": "derived"}.get(row.origin, "from another machine")


@page("POST", "/ui/judge")
def judge(visit: Visit) -> Goto:
    """Give a verdict on a pair; another one takes its place."""
    judged = visit.app.relations.judge(visit.form.get("id", ""), visit.form.get("relation", ""))
    project = visit.form.get("project", "")
    return Goto("/ui/review", {"judged": judged.sync_id} | ({"project": project} if project else {}))
