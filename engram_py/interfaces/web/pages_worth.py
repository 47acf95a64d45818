"""Worth: what the memory took of agents' context, and what came of it, in sums and week by week."""

from __future__ import annotations

from datetime import UTC

from engram_py.interfaces.web.visit import Shown, Visit, page
from engram_py.ledger.given import given_in_vain, most_cited
from engram_py.ledger.trends import never_used, session_tokens, weekly

_TOP, _SESSIONS = 10, 40
_DAYS = {"7": 7, "30": 30, "365": 365}
# How many weeks are shown beside the sums of these days: one alone tells no trend.
_WEEKS = {"7": 8, "30": 13}
_MOST_WEEKS = 53


@page("GET", "/ui/worth")
def worth_page(visit: Visit) -> Shown:
    """Return what the memory took of agents' context, and what of it was cited."""
    asked, project, store = visit.asked("days"), visit.project, visit.app.store
    cost = visit.app.costs.of(project=project, days=_DAYS.get(asked))
    today = visit.app.journal.moment().astimezone(UTC).date()
    return Shown(
        "worth.html",
        {
            "cost": cost,
            "days": asked if asked in _DAYS else "",
            "spans": tuple(_DAYS),
            "weeks": weekly(store, project, today=today, weeks=_WEEKS.get(asked, _MOST_WEEKS)),
            "sessions": session_tokens(store, project, since=cost.since, limit=_SESSIONS),
            "cited": most_cited(store, project, limit=_TOP),
            # Without a transcript nobody knows what was cited, so nothing is known to be in vain.
            "in_vain": given_in_vain(store, project, limit=_TOP) if cost.cited else [],
            "never_used": never_used(store, project, limit=_TOP),
        },
    )
