"""All routes: importing the families registers them."""

from __future__ import annotations


def load() -> None:
    """Register every route. Called once for each application; a second time changes nothing."""
    from engram_py.interfaces.http import (  # noqa: F401
        routes_care,
        routes_conflicts,
        routes_observations,
        routes_projects,
        routes_recall,
        routes_search,
        routes_sessions,
    )
