"""Which of the steps that sessions left open an order is to do."""

from __future__ import annotations

import json
from collections.abc import Sequence

from engram_py.capture.orders import reads_like_an_order
from engram_py.context import table
from engram_py.context.gate.order_subject import is_step_of, ordered
from engram_py.database.store import Store
from engram_py.observations.values import Observation
from engram_py.sessions.summary_steps import open_steps

_SUMMARY = "session_summary"
# Of the summaries among so many of the latest observations of a project the last ones: an older step is stale.
_LOOKED_THROUGH, _SUMMARIES = 200, 10
_MOST = 2


def steps_ordered(store: Store, prompt: str, projects: Sequence[str] | None) -> list[tuple[Observation, str]]:
    """The summaries of sessions of which ``prompt`` orders an open step, latest first, each with the step."""
    order = ordered(prompt)
    if order is None:
        return []
    types = json.dumps([_SUMMARY])
    rows = table.of_types(store, types, projects=projects, scope=None, pool=_LOOKED_THROUGH, limit=_SUMMARIES)
    told = [row for row in rows if not reads_like_an_order(row.content)]
    steps = ((row, step) for row in told for step in open_steps(row.content, most=None) if is_step_of(order, step))
    first = {row.id: (row, step) for row, step in reversed(list(steps))}
    return list(reversed(first.values()))[:_MOST]
