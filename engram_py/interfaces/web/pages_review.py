"""Review: what needs a person, each with what they can do about it."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.dataclass import dataclass
from engram_py.interfaces.waiting import Waiting, review
from engram_py.interfaces.web.pages_memory import done_to, seen
from engram_py.interfaces.web.visit import Goto, Shown, Visit, observation_number, page
from engram_py.observations.values import Observation
from engram_py.relations.values import VERBS, Relation


@dataclass(frozen=True, slots=True)
class _Form:
    """A memory that waits for a person, why, and the mark of how it reads now."""

    row: Observation
    why: str
    seen: str


@page("GET", "/ui/review")
def review_page(visit: Visit) -> Shown:
    """Show what waits for a person: ``waiting.Review``."""
    judged, changed = visit.asked("judged"), visit.asked("id")
    found = review(visit.app, visit.project)
    [row] = visit.app.browsing.whole([observation_number(changed)]) or [None] if changed else [None]
    verdict = visit.app.relations.show(judged) if judged else None
    return Shown(
        "review.html",
        done_to(visit, row)
        | {
            "pairs": found.pairs,
            "texts": _texts(visit, [*found.pairs, verdict] if verdict else found.pairs),
            "orders": _forms(found.orders),
            "unchecked": _forms(found.unchecked),
            "derived": _forms(found.derived),
            "due": _forms(found.due),
            "stale": _forms(found.stale),
            "failed": found.failed,
            "verbs": VERBS,
            "judged": verdict,
            "seen": seen(row) if row is not None else "",
        },
    )


def _forms(waiting: Sequence[Waiting]) -> list[_Form]:
    return [_Form(one.row, one.why, seen(one.row)) for one in waiting]


def _texts(visit: Visit, pairs: Sequence[Relation]) -> dict[int, Observation]:
    """Both memories of each pair."""
    ends = [end for one in pairs for end in (one.source_observation, one.target_observation) if end]
    return {row.id: row for row in visit.app.browsing.whole(ends) if not row.deleted_at}


@page("POST", "/ui/judge")
def judge(visit: Visit) -> Goto:
    """Give a verdict on a pair; another one takes its place."""
    judged = visit.app.relations.judge(visit.form.get("id", ""), visit.form.get("relation", ""))
    project = visit.form.get("project", "")
    return Goto("/ui/review", {"judged": judged.sync_id} | ({"project": project} if project else {}))
