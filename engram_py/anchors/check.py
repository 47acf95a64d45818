"""Goes through all anchors of a project: what went stale, and how many are as they were."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from engram_py.anchors import table
from engram_py.anchors.places import Here
from engram_py.anchors.report_values import Checked, StaleLine
from engram_py.anchors.values import AnchorState
from engram_py.database.store import Store
from engram_py.observations.values import Observation
from engram_py.projects.values import Place

States = Callable[[Sequence[Observation]], Mapping[int, tuple[AnchorState, ...]]]

MOST_CHECKED = 10_000  # observations of one check
CHECK_SECONDS = 30.0  # for git, when somebody asked for a check and waits for it
_MOST_REVIEWED = 2_000  # of a list of what is due, which somebody waits for


def check(store: Store, place: Place, here: Here, states: States) -> Checked:
    """The report of a check of the project of ``place``."""
    rows = table.anchored(store, place.project, limit=MOST_CHECKED + 1)
    warnings = list(place.warnings)
    if len(rows) > MOST_CHECKED:
        rows = rows[:MOST_CHECKED]
        warnings.append(f"only the {MOST_CHECKED:,} newest observations with files were checked")
    if rows and here.repository_of(place.project) is None:
        warnings.append(f"the repository of {place.project} is not here; run this inside it")
    found = states(rows)
    every = [state for row in found.values() for state in row]
    return Checked(
        project=place.project,
        observations=len(found),
        anchors=len(every),
        states=dict(sorted(Counter("elsewhere" if one.elsewhere else one.state for one in every).items())),
        stale=_lines(rows, found),
        warnings=tuple(warnings),
        elsewhere=_lines(rows, found, elsewhere=True),
    )


def stale_lines(
    store: Store, projects: Sequence[str] | None, here: Here, states: States, *, without: Sequence[int], limit: int
) -> tuple[StaleLine, ...]:
    """The stale observations of the projects that are of the repository here."""
    if limit < 1:
        return ()
    names = [name for name in sorted(here.names) if projects is None or name in projects]
    rows = [row for name in names for row in table.anchored(store, name, limit=_MOST_REVIEWED)]
    rows = [row for row in rows if row.id not in without]
    return _lines(rows, states(rows))[:limit] if rows else ()


def _lines(
    rows: Sequence[Observation], states: Mapping[int, tuple[AnchorState, ...]], *, elsewhere: bool = False
) -> tuple[StaleLine, ...]:
    lines = []
    for row in rows:
        stale = tuple(one for one in states.get(row.id, ()) if (one.elsewhere if elsewhere else one.stale))
        if stale:
            lines.append(StaleLine(row.id, row.title, row.type, row.project, row.review_after, row.updated_at, stale))
    return tuple(lines)
