"""The pages of settings, connected agents and projects, and what clears them."""

from __future__ import annotations

from collections.abc import Iterator

from engram_py.base.capture.redact import PREFIXED
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.settings import BY_NAME, Setting, keep_setting, setting_values
from engram_py.interfaces.web.visit import (
    Goto,
    Shown,
    Visit,
    neighbours,
    page,
    page_number,
)
from engram_py.interfaces.wording.projects import clearing
from engram_py.memory.privacy.switches import SWITCHES
from engram_py.memory.sessions.checkpoints import last_active
from engram_py.memory.sessions.retention import turns_kept

_PROJECTS = 20
_CLEAR = "/ui/clear"
_SETTINGS = "/ui/settings"


@dataclass(frozen=True, slots=True)
class _Connected:
    """An agent: where it was set up, whether it is installed here, and what its sessions tell."""

    name: str
    title: str
    scopes: tuple[str, ...]
    installed: bool
    sessions: int
    last_at: str


# What a form may set: nothing that names a program or an address, or opens the server to others.
_FORM_KINDS = ("switch", "choice", "whole", "number", "zone")
_NOT_HERE = ("http_open",)


@page("POST", _SETTINGS)
def change_settings(visit: Visit) -> Goto:
    """Turn a switch of the hooks, write a setting into config.json, or put Engram into an agent or take it out."""
    project = visit.form.get("project") or None
    if name := visit.form.get("setting", ""):
        done = _set(visit, name, visit.form.get("to", ""))
    elif name := visit.form.get("agent", ""):
        done = _set_up(visit, name, visit.form.get("to", ""))
    elif (name := visit.form.get("switch", "")) in SWITCHES:
        visit.app.switches.turn([name], on=visit.form.get("to") == "on", project=project)
        done = ""
    else:
        raise InvalidArgumentError("switch", name, expected=", ".join(SWITCHES))
    return Goto(_SETTINGS, ({"project": project} if project else {}) | ({"done": done} if done else {}))


def _set(visit: Visit, name: str, text: str) -> str:
    """Keep a setting, the default where the text is empty. Raises InvalidArgumentError."""
    found = BY_NAME.get(name)
    if found is None or not _is_set_here(found):
        raise InvalidArgumentError("setting", name, expected="one that has a field on this page")
    value, _ = found.take(text, name) if text else (None, None)
    if text and value is None:
        raise InvalidArgumentError(name, text, expected=found.accepted)
    keep_setting(visit.app.settings.data_dir, name, value)
    said = "the default" if value is None else {True: "on", False: "off"}.get(value, value)
    return f"Saved: {name} is {said}. Running servers and agents use it after a restart."


def _is_set_here(setting: Setting) -> bool:
    return bool(setting.key) and setting.kind in _FORM_KINDS and setting.name not in _NOT_HERE


def _set_up(visit: Visit, name: str, to: str) -> str:
    """Put Engram into an agent for this user, or take it out of everywhere. Raises SetupError."""
    from engram_py.interfaces.setup.agents import Parts
    from engram_py.interfaces.setup.installing import agents_named, setup_here

    [agent], app = agents_named([name]), visit.app
    setup = setup_here(app.projects.settings_here().directory, app.settings.data_dir)
    if to == "on":
        made = setup.set_up(agent, "user", Parts())
        return f"{made.title} is set up. Restart it to use Engram. {made.note}".strip()
    for one, scope in setup.in_use():
        if one == agent.name:
            setup.take_out(agent, scope)
    return f"Engram was removed from {agent.title}. Restart {agent.title}. Your memories are kept."


@page("GET", _SETTINGS)
def settings_page(visit: Visit) -> Shown:
    """Return what is recorded, given, kept and connected, and each setting with where its value comes from."""
    app = visit.app
    values = {one.setting.name: one for one in setting_values(app.settings.data_dir)}
    turns, oldest = turns_kept(app.store)
    return Shown(
        "settings.html",
        {
            "cleared": visit.asked("cleared"),
            "done": visit.asked("done"),
            "set_here": [name for name, one in values.items() if _is_set_here(one.setting)],
            "state": app.switches.state(),
            "allowed": app.switches.allowed(visit.project or ""),
            "values": values,
            "warnings": app.settings.warnings,
            "turns": turns,
            "oldest": oldest,
            "turn_days": app.settings.turn_days,
            "encrypted": bool(app.store.key),
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
    number, found = page_number(visit), visit.app.projects.list()
    lines = found[_PROJECTS * number : _PROJECTS * (number + 1)]
    return Shown("projects.html", {"lines": lines} | neighbours(number, more=len(found) > _PROJECTS * (number + 1)))


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
    return Goto(_SETTINGS, {"cleared": name})


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
