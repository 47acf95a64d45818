"""Worth: what the memory took of agents' context, and what came of it."""

from __future__ import annotations

from engram_py.interfaces.web.visit import Shown, Visit, page
from engram_py.ledger.given import given_in_vain, most_cited

_TOP = 10
_DAYS = {"7": 7, "30": 30, "365": 365}


@page("GET", "/ui/worth")
def worth_page(visit: Visit) -> Shown:
    """What the memory took of agents' context, and what of it was cited."""
    asked = visit.asked("days")
    cost = visit.app.costs.of(project=visit.project, days=_DAYS.get(asked))
    return Shown(
        "worth.html",
        {
            "cost": cost,
            "days": asked if asked in _DAYS else "",
            "spans": tuple(_DAYS),
            "cited": most_cited(visit.app.store, visit.project, limit=_TOP),
            # Without a transcript nobody knows what was cited, so nothing is known to be in vain.
            "in_vain": given_in_vain(visit.app.store, visit.project, limit=_TOP) if cost.cited else [],
        },
    )
