"""Entities: those of a project, and one of them with what is known of it."""

from __future__ import annotations

from engram_py.interfaces.web.visit import Shown, Visit, page


@page("GET", "/ui/entities")
def entities_page(visit: Visit) -> Shown:
    """The entities of a project, active ones first, or one of them; entities belong to a project, so one is chosen."""
    names = [one.name for one in visit.app.projects.list()]
    project = visit.project or (names[0] if len(names) == 1 else None)
    if project is None:
        return Shown("entities.html", {"project": None, "names": names})
    if name := visit.asked("name"):
        found = visit.app.entities.show(name, project=project)
        return Shown("entity.html", {"project": project, "one": found.entity, "found": found})
    lines = visit.app.entities.listed(archived=True, project=project).entities
    states = [(state, [one for one in lines if one.state == state]) for state in ("active", "archived")]
    return Shown("entities.html", {"project": project, "names": names, "states": states})
