"""Settings and projects as they stand, and Clear: destroy what the reader typed the name of."""

from __future__ import annotations

from collections.abc import Iterator

from engram_py.capture.secret_patterns import PREFIXED
from engram_py.dataclass import dataclass
from engram_py.errors import InvalidArgumentError
from engram_py.interfaces.web.visit import Goto, Shown, Visit, page
from engram_py.interfaces.wording.privacy import clearing
from engram_py.privacy.retention import turns_kept
from engram_py.sessions.agents import last_active
from engram_py.settings import setting_values

_CLEAR = "/ui/clear"


@dataclass(frozen=True, slots=True)
class _Connected:
    """An agent: where it was set up, whether it is installed here, and what its sessions tell."""

    name: str
    title: str
    scopes: tuple[str, ...]
    installed: bool
    sessions: int
    last_at: str


@page("GET", "/ui/settings")
def settings_page(visit: Visit) -> Shown:
    """Nothing is set here: each part names the command that does."""
    app = visit.app
    values = {one.setting.name: one for one in setting_values(app.settings.data_dir)}
    turns, oldest = turns_kept(app.store)
    return Shown(
        "settings.html",
        {
            "cleared": visit.asked("cleared"),
            "state": app.switches.state(),
            "allowed": app.switches.allowed(visit.project or ""),
            "values": values,
            "warnings": app.settings.warnings,
            "turns": turns,
            "oldest": oldest,
            "turn_days": app.settings.turn_retention_days,
            "kinds": len({kind for kind, _, _ in PREFIXED}),
            "agents": list(_connected(visit)),
        },
    )


def _connected(visit: Visit) -> Iterator[_Connected]:
    """The agents that were set up, then those that are here or had a session."""
    # They parse TOML and JSON5, and take longer to load than any other page to make.
    from engram_py.interfaces.setup.agents import AGENTS
    from engram_py.interfaces.setup.installing import setup_here

    app = visit.app
    setup = setup_here(app.projects.settings_here().directory, app.settings.data_dir)
    used: dict[str, list[str]] = {}
    for name, scope in setup.in_use():
        used.setdefault(name, []).append(scope)
    here, active = {agent.name for agent in setup.detected()}, last_active(app.store)
    for name in dict.fromkeys([*used, *(name for name in AGENTS if name in here), *filter(None, active)]):
        title = AGENTS[name].title if name in AGENTS else name
        sessions, at = active.get(name, (0, ""))
        yield _Connected(name, title, tuple(used.get(name, ())), name in here, sessions, at)


@page("GET", "/ui/projects")
def projects_page(visit: Visit) -> Shown:
    return Shown("projects.html", {"lines": visit.app.projects.list()})


@page("GET", _CLEAR)
def clear_page(visit: Visit) -> Shown:
    """Count what would be destroyed, and ask."""
    return _asking(visit, *_target(visit, visit.asked("what"), visit.asked("project")))


@page("POST", _CLEAR)
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
