"""The pages of everything but one memory: search, time line and entities; sessions; settings and what clears."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime, tzinfo
from itertools import groupby
from typing import Any

from engram_py.base.capture.redact import PREFIXED
from engram_py.base.dataclass import dataclass, fields
from engram_py.base.errors import InvalidArgumentError, InvalidInputError
from engram_py.base.settings import BY_NAME, Setting, keep_setting, setting_values
from engram_py.base.times import parse_time
from engram_py.guidance.ledger.costs import never_used, session_tokens, weekly
from engram_py.interfaces.screen_values import (
    Explained,
    as_a_hook,
    explained,
    prompt_names,
    session_given,
    session_names,
    start_text,
)
from engram_py.interfaces.web.visit import HOME, Goto, Shown, Visit, observation_number, page, page_number, version_of
from engram_py.interfaces.wording import search
from engram_py.interfaces.wording.acting import rule_and_use
from engram_py.interfaces.wording.context import why_nothing
from engram_py.interfaces.wording.costs import compared
from engram_py.interfaces.wording.phrases import clock
from engram_py.interfaces.wording.projects import clearing
from engram_py.memory.observations.values import SCOPES, TYPES, Observation
from engram_py.memory.privacy.switches import SWITCHES
from engram_py.memory.projects.table import latest_names
from engram_py.memory.sessions.checkpoints import last_active
from engram_py.memory.sessions.citations import Given, GivenCounts, counts, given_in_vain, given_to_session, most_cited
from engram_py.memory.sessions.retention import turns_kept
from engram_py.memory.sessions.table import first_prompts
from engram_py.memory.sessions.values import SessionLine
from engram_py.recall.values import Results

# Few enough that no page is taller than 4,000 pixels on a phone.
_HITS, _LATEST, _ROWS, _ENTITIES, _PROJECTS = 15, 20, 20, 40, 20
_LOOKED_AT = 500
_FACTS = 50


@page("GET", HOME)
def search_page(visit: Visit) -> Shown:
    """Return the hits of a query with their numbers; without one, what was changed last."""
    query, kind, scope = (visit.asked(name) for name in ("q", "type", "scope"))
    values = {"query": query, "type": kind, "scope": scope, "any": visit.asked("match") == "any"}
    values |= {"types": TYPES, "scopes": SCOPES, "found": None, "latest": (), "error": None, "most": _HITS}
    try:
        if not query:
            return Shown("search.html", values | _latest(visit, kind, scope))
        found = visit.app.searches.search(
            query,
            **visit.place,
            type=kind or None,
            scope=scope or None,
            match_mode="any" if values["any"] else "all",
            limit=_HITS,
            explain=True,
            recorded=False,
        )
    except InvalidInputError as exc:  # said above the form that it was typed into
        return Shown("search.html", values | {"error": exc}, status=400)
    return Shown("search.html", values | _answer(found))


def _latest(visit: Visit, kind: str, scope: str) -> dict[str, object]:
    """Return a page of the observations that were changed last, of a type or a scope.

    Counting those that are listed takes long in a large memory; how many are kept of a type is known.
    """
    number = page_number(visit)
    start = _LATEST * number
    place = {**visit.place, "type": kind or None, "scope": scope or None}
    found = visit.app.bulk.listed(**place, limit=_LATEST + 1, offset=start).items
    lines, more = found[:_LATEST], len(found) > _LATEST
    types = visit.app.statistics.count(visit.project).types
    end, kept = start + len(lines), types.get(kind, 0) if kind else sum(types.values())
    said = f"{start + 1:,} to {end:,}" + (f" of {kept:,} kept" if not scope else "")
    said += f"; {kept - end:,} archived or superseded not listed" if kept > end and not (more or scope) else ""
    latest = visit.app.browsing.whole([line.id for line in lines])
    values: dict[str, object] = {"latest": latest, "said": said, "counts": () if kind or scope else types}
    return values | _pages(number, more=more)


def _answer(found: Results) -> dict[str, object]:
    numbers = {one.id: one for one in found.explain.hits} if found.explain else {}
    return {
        "found": found,
        "head": search.head(found, "cli"),
        "unseen": search.unknown_words(found) if found.results else (),
        "numbers": numbers,
        "marks": {hit.id: search.marks(hit) for hit in found.results},
        "titles": {hit.id: hit.goal or hit.title for hit in found.results},
        "tables": search.sections(found)[1:] if found.results else search.sections(found),
        "foot": search.foot(found.explain) if found.explain else "",
    }


def zone_of(visit: Visit) -> tzinfo | None:
    """Return the reader's zone; None is the system's."""
    return visit.app.settings.zone


def day_of(moment: str, zone: tzinfo | None) -> str:
    parsed = parse_time(moment)
    return f"{parsed.astimezone(zone):%Y-%m-%d}" if parsed else ""


@page("GET", "/ui/timeline")
def timeline_page(visit: Visit) -> Shown:
    """Return what was saved, by day, newest first, a page at a time."""
    zone, before = zone_of(visit), _before(visit)
    rows = visit.app.browsing.saved(**visit.place, before=before, limit=_ROWS + 1)
    shown = rows[:_ROWS]
    days = [(day, list(found)) for day, found in groupby(shown, key=lambda row: day_of(row.created_at, zone))]
    older = {"before": f"{shown[-1].created_at},{shown[-1].id}"} if len(rows) > _ROWS else None
    clocks = {row.id: clock(row.created_at, visit.app.journal.moment().astimezone(zone), "%H:%M") for row in shown}
    return Shown("timeline.html", {"days": days, "clocks": clocks, "older": older, "newer": {} if before else None})


def _before(visit: Visit) -> tuple[str, int] | None:
    """Return the time and the id of the last memory of the page before. Raises InvalidArgumentError."""
    moment, _, number = visit.asked("before").rpartition(",")
    if not moment:
        return None
    return moment, observation_number(number)


def saved_last(visit: Visit) -> tuple[Observation, ...]:
    """Return the observations that were saved last, newest first, up to 500 of them."""
    return visit.app.browsing.saved(**visit.place, limit=_LOOKED_AT)


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
    return Shown("entities.html", values | _pages(number, more=len(found) > _ENTITIES * (number + 1)))


def _entity(visit: Visit, name: str, project: str) -> Shown:
    found = visit.app.entities.show(name, project=project)
    facts = visit.app.facts.of(found.entity.slug, past=True, project=project, limit=_FACTS).items
    present, past = ([one for one in facts if one.past is was] for was in (False, True))
    values = {"project": project, "one": found.entity, "found": found, "present": present, "past": past}
    return Shown("entity.html", values)


_SESSIONS, _LISTED, _GIVEN, _SAVED = 40, 20, 3, 3
# --- sessions: what each was given, saved and cost ------------------------------------------------------------

_TOP, _SHOWN, _PROMPTS, _GUARDS, _FIXES = 10, 4, 6, 8, 15
_DAYS = {"7": 7, "30": 30, "365": 365}
# How many weeks are shown beside the sums of these days: one alone tells no trend.
_WEEKS = {"7": 8, "30": 13}
_MOST_WEEKS = 53


@dataclass(frozen=True, slots=True)
class _Today:
    """A session, the memories that it was given and those that it saved today, the latest first."""

    session: SessionLine
    counts: GivenCounts
    given: Sequence[Given]
    saved: Sequence[Observation]


@page("GET", "/ui/today")
def today_page(visit: Visit) -> Shown:
    """Return the sessions and the notes of the day, and the version of the memory that they were read from."""
    version = version_of(visit.app.store)
    local = zone_of(visit)
    now: datetime = visit.app.journal.moment().astimezone(local)
    today = f"{now:%Y-%m-%d}"
    latest = visit.app.sessions.recent(**visit.place, limit=_SESSIONS)
    active = [one for one in latest if day_of(one.last_activity_at or one.started_at, local) == today]
    saved = [row for row in saved_last(visit) if day_of(row.created_at, local) == today]
    shown = {one.id for one in active}
    return Shown(
        "today.html",
        {
            "day": today,
            "version": version,
            "sessions": [_of(visit, one, saved) for one in active[:_SHOWN]],
            "names": session_names(visit.app, active[:_SHOWN]),
            "more": len(active) - _SHOWN,
            "notes": [row for row in saved if row.type == "note"][:_SAVED],
            "others": [row for row in saved if row.type != "note" and row.session_id not in shown][:_SAVED],
            "most_given": _GIVEN,
            "most_saved": _SAVED,
        },
    )


def _of(visit: Visit, session: SessionLine, saved: Sequence[Observation]) -> _Today:
    latest = sorted(given_to_session(visit.app.store, session.id), key=lambda one: one.at)
    given = list({one.id: one for one in latest}.values())[::-1]  # each once, as it is counted
    own = [row for row in saved if row.session_id == session.id]
    return _Today(session, counts(visit.app.store, session.id), given, own)


@page("GET", "/ui/given")
def sessions_page(visit: Visit) -> Shown:
    """Return the sessions, the latest first, with how much each was given; those with nothing in them apart."""
    number = page_number(visit)
    found = visit.app.sessions.page(**visit.place, limit=_LISTED + 1, offset=_LISTED * number)
    sessions = found[:_LISTED]
    told = {one.id: counts(visit.app.store, one.id) for one in sessions}
    asked = set(first_prompts(visit.app.store, [one.id for one in sessions], each=1))
    full = [one for one in sessions if one.observations or one.summary or told[one.id].given or one.id in asked]
    values: dict[str, object] = {
        "sessions": full,
        "empty": [one for one in sessions if one not in full],
        "counts": told,
        "names": session_names(visit.app, sessions),
    }
    values |= _pages(number, more=len(found) > _LISTED)
    return Shown("sessions.html", values)


def _pages(number: int, *, more: bool) -> dict[str, object]:
    newer = {} if number == 1 else {"page": str(number)}
    return {"newer": newer if number else None, "older": {"page": str(number + 2)} if more else None}


@page("GET", "/ui/session")
def session_page(visit: Visit) -> Shown:
    """One session: its start, its prompts, the latest page of them first, and what else it was shown."""
    found = session_given(visit.app, visit.query.get("id", ""))
    number = page_number(visit)
    end = max(0, len(found.prompts) - _PROMPTS * number)
    prompts, more = found.prompts[max(0, end - _PROMPTS) : end], end > _PROMPTS
    shown = [one for rows in (*found.sections.values(), *(ask.given for ask in prompts)) for one in rows]
    texts = {row.id: row.content for row in visit.app.browsing.whole([one.id for one in shown]) if not row.deleted_at}
    values = {one.name: getattr(found, one.name) for one in fields(found)} | _pages(number, more=more)
    values |= {"texts": texts, "prompts": prompts, "all_prompts": len(found.prompts) + found.earlier}
    return Shown("session.html", values | {"name": session_names(visit.app, [found.session])[found.session.id]})


@page("GET", "/ui/ask")
def ask_page(visit: Visit) -> Shown:
    """Return what a prompt would be given, and what a session that starts now begins with."""
    prompt, project = visit.query.get("prompt", ""), visit.project or next(iter(latest_names(visit.app.store)), None)
    session_id = visit.asked("session")
    values: dict[str, Any] = {"prompt": prompt, "session": session_id, "found": None, "why": "", "start": None}
    values["asked_in"] = project
    if prompt.strip():
        found: Explained = explained(as_a_hook(visit.app, project=project), prompt, session_id, door="cli")
        results = visit.app.browsing.whole([hit.id for hit in found.found.results])
        values |= {"found": found, "why": why_nothing(found.values), "results": results}
    elif project is not None:
        values["start"] = start_text(visit.app, project)
    return Shown("ask.html", values)


@page("GET", "/ui/guards")
def guards_page(visit: Visit) -> Shown:
    """Return the guards with how often each spoke and what came of it, and the fixes that were kept."""
    number, found = page_number(visit), visit.app.guards.listed(**visit.place)
    guards = found[_GUARDS * number : _GUARDS * (number + 1)]
    fixes = visit.app.failures.fixes(**visit.place, limit=_FIXES)
    values = {"guards": guards, "rules": [rule_and_use(one.rule) for one in guards], "done": visit.asked("done")}
    pages = _pages(number, more=len(found) > _GUARDS * (number + 1))
    return Shown("guards.html", {**values, "fixes": fixes, **pages})


@page("POST", "/ui/guards")
def remove_guard(visit: Visit) -> Goto:
    """Take a guard away; the memory that it guards stays."""
    form = visit.form
    visit.app.guards.remove(observation_number(form.get("id", "")), observation_number(form.get("number", "")))
    return Goto("/ui/guards", {"done": "1"} | ({"project": form["project"]} if form.get("project") else {}))


@page("GET", "/ui/worth")
def worth_page(visit: Visit) -> Shown:
    """Return what the memory took of agents' context, and what of it was cited."""
    asked, project, store = visit.asked("days"), visit.project, visit.app.store
    cost = visit.app.costs.of(project=project, days=_DAYS.get(asked))
    tokens = session_tokens(store, project, since=cost.since, limit=_SESSIONS)
    came = visit.app.worths.of(project=project, days=_DAYS.get(asked), limit=_TOP)
    return Shown(
        "worth.html",
        {
            "cost": cost,
            "came": came,
            "compared": [said for one in came.kinds if (said := compared(one))],
            "days": asked if asked in _DAYS else "",
            "weeks": weekly(store, project, calendar=visit.app.journal.calendar, weeks=_WEEKS.get(asked, _MOST_WEEKS)),
            "sessions": tokens,
            "names": prompt_names(
                visit.app, [*(one.id for one in tokens), *(one.id for one in cost.sessions if one.id)]
            ),
            "cited": most_cited(store, project, limit=_TOP),
            # Without a transcript nobody knows what was cited, so nothing is known to be in vain.
            "in_vain": given_in_vain(store, project, limit=_TOP) if cost.cited else [],
            "never_used": never_used(store, project, limit=_TOP),
        },
    )


# --- settings and projects, and what clears -------------------------------------------------------------------

_CLEAR, _SETTINGS = "/ui/clear", "/ui/settings"


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
_FORM_KINDS, _NOT_HERE = ("switch", "choice", "whole", "number", "zone"), ("http_open",)


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
    """Put Engram into an agent for this user, or take it out of everywhere. Raises UnknownAgentError, SetupError."""
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
    return Shown("projects.html", {"lines": lines} | _pages(number, more=len(found) > _PROJECTS * (number + 1)))


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
