"""The pages of entities, and of one."""

from __future__ import annotations

from collections import Counter

from engram_py.interfaces.web.visit import (
    Shown,
    Visit,
    neighbours,
    page,
    page_number,
)

_ENTITIES = 40
_FACTS = 50


@page("GET", "/ui/entities")
def entities_page(visit: Visit) -> Shown:
    """Return the entities of a project, active ones first, or one of them; entities belong to a project, so one is
    chosen."""
    names = [one.name for one in visit.app.projects.list()]
    project = visit.project or (names[0] if len(names) == 1 else None)
    if project is None:
        return Shown("entities.html", {"project": None, "names": names, "kind": visit.asked("kind")})
    if name := visit.asked("name"):
        return _entity(visit, name, project)
    lines = visit.app.entities.listed(archived=True, project=project).entities
    kind, number = visit.asked("kind"), page_number(visit)
    found = sorted((one for one in lines if kind in ("", one.kind)), key=lambda one: one.state != "active")
    shown = found[_ENTITIES * number : _ENTITIES * (number + 1)]
    states = [(state, [one for one in shown if one.state == state]) for state in ("active", "archived")]
    kinds = Counter(one.kind for one in lines if one.kind)
    values = {"project": project, "names": names, "states": states, "kind": kind, "kinds": kinds.most_common()}
    return Shown("entities.html", values | neighbours(number, more=len(found) > _ENTITIES * (number + 1)))


def _entity(visit: Visit, name: str, project: str) -> Shown:
    found = visit.app.entities.show(name, project=project)
    facts = visit.app.facts.of(found.entity.slug, past=True, project=project, limit=_FACTS).items
    present, past = ([one for one in facts if one.past is was] for was in (False, True))
    values = {"project": project, "one": found.entity, "found": found, "present": present, "past": past}
    return Shown("entity.html", values)
