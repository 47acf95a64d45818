"""Clear: destroy raw messages, a project or everything, after the reader typed what it is."""

from __future__ import annotations

from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.web.visit import Goto, Shown, Visit, page
from engram_py.interfaces.wording.privacy import clearing

_PATH = "/ui/clear"


@page("GET", _PATH)
def clear_page(visit: Visit) -> Shown:
    """Count what would be destroyed, and ask."""
    return _asking(visit, *_target(visit, visit.asked("what"), visit.asked("project")))


@page("POST", _PATH)
def clear(visit: Visit) -> Shown | Goto:
    """Destroy it if the reader typed its name; nothing brings it back but a backup."""
    what, project, name = _target(visit, visit.form.get("what", ""), visit.form.get("project", ""))
    if visit.form.get("name", "").strip() != name:
        return _asking(visit, what, project, name, wrong=True)
    visit.app.clearing.clear(what, project=project)
    return Goto("/ui/settings", {"cleared": name})


def _target(visit: Visit, what: str, project: str) -> tuple[str, str | None, str]:
    """Return what to clear, its project, and the word that confirms it. Raises InvalidArgumentError,
    UnknownProjectError."""
    if what not in ("turns", "project", "everything") or (what == "project" and not project.strip()):
        raise InvalidArgumentError("what", what, expected="turns, everything, or project with its name")
    if what != "project":
        return what, None, what
    name = visit.app.projects.existing(project)
    return what, name, name


def _asking(visit: Visit, what: str, project: str | None, name: str, *, wrong: bool = False) -> Shown:
    lines = clearing(visit.app.clearing.look(what, project=project))
    values = {"what": what, "of": project or "", "name": name, "lines": lines, "wrong": wrong}
    return Shown("clear.html", values, status=400 if wrong else 200)
