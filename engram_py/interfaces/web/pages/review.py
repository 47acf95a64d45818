"""The page of what waits for a person: both sides of edits, texts from elsewhere, pairs that may contradict."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.interfaces.screen_values import Waiting, review
from engram_py.interfaces.web.pages.memory import done_to, place, seen
from engram_py.interfaces.web.visit import (
    Goto,
    Shown,
    Visit,
    observation_number,
    page,
    page_number,
)
from engram_py.memory.observations.values import (
    Observation,
)
from engram_py.memory.relations.values import VERBS, Relation

_WAITING = ("untaken", "edited", "orders", "unchecked", "derived", "due", "stale", "offered")


@page("GET", "/ui/review")
def review_page(visit: Visit) -> Shown:
    """Show what waits for a person: ``screen_values.Review``."""
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
            **{name: _forms(getattr(found, name)) for name in _WAITING},
            "failed": found.failed,
            "kind": visit.asked("kind"),
            "number": page_number(visit),
            "authors": [one for one in visit.app.trust.arrivals().items if one.rows and not one.trusted],
            "verbs": VERBS,
            "judged": verdict,
            "seen": seen(row) if row is not None else "",
        },
    )


def _forms(waiting: Sequence[Waiting]) -> list[dict[str, object]]:
    """Return memories that wait for a person, why, and the mark of how each reads now."""
    return [
        {"row": one.row, "why": one.why, "seen": seen(one.row), "other": one.other, "version": one.version}
        for one in waiting
    ]


def _texts(visit: Visit, pairs: Sequence[Relation]) -> dict[int, Observation]:
    """Both memories of each pair."""
    ends = [end for one in pairs for end in (one.source_observation, one.target_observation) if end]
    return {row.id: row for row in visit.app.browsing.whole(ends) if not row.deleted_at}


@page("POST", "/ui/judge")
def judge(visit: Visit) -> Goto:
    """Give a verdict on a pair; another one takes its place."""
    judged = visit.app.relations.judge(visit.form.get("id", ""), visit.form.get("relation", ""))
    return Goto("/ui/review", {"judged": judged.sync_id} | place(visit))
