"""What a new session reads: the user's own words, pins, preferences, where sessions stopped, what was decided."""

from __future__ import annotations

from datetime import timedelta

from engram_py.capture.orders import reads_like_an_order
from engram_py.context import table
from engram_py.context.providers import LOOKED_THROUGH, SUMMARY, Providers, in_order
from engram_py.context.request import Build
from engram_py.context.values import Section
from engram_py.database.store import Store
from engram_py.entities.values import TYPE as ENTITY
from engram_py.identity import table as identity_table
from engram_py.observations import table as observation_table
from engram_py.observations.values import Observation
from engram_py.recall.query.days import Days
from engram_py.sessions import table as session_table

SESSIONS, PROMPTS, PINNED, RECENT, UNCHECKED = 5, 10, 20, 20, 8
DECISIONS, NOTES = 8, 20
PROFILE_LINES = 12
_DECIDING = ("decision", "architecture", "policy")
_POOL = 2 * RECENT
# What somebody wants holds for long, and few say it: more is looked through for it.
PREFERENCES, _OF_THE_PERSON = 6, 3
_WANTED = ("preference", "policy")
_WANTED_AMONG = 5 * LOOKED_THROUGH


def session_sections(store: Store, providers: Providers, build: Build) -> tuple[Section, ...]:
    """Return each section newest first, of recent observations the decisions before the rest."""
    ask = build.ask
    overrides = [row for row in providers.overrides(build) if ask.scope in (None, row.scope)]
    profiles = [row for row in providers.profiles(build) if ask.scope in (None, row.scope)]
    said = {row.id for row in (*overrides, *profiles)}
    pinned = table_rows(store, build, limit=PINNED + len(said), pinned=True)
    pinned = [row for row in providers.vetted(build, pinned) if row.id not in said][:PINNED]
    since = max((row.updated_at for row in profiles if row.origin == "derived"), default="")
    wanted = _preferences(store, providers, build, since=since)
    notes = _notes(store, providers, build)
    known = {row.id for row in (*wanted, *notes)} | said
    prompts = session_table.recent_prompts(store, projects=ask.reads, limit=PROMPTS, own=True)
    if build.unasked:  # an imported one may have been written for whoever reads it
        prompts = [prompt for prompt in prompts if not reads_like_an_order(prompt.content)]
    return (
        Section("overrides", tuple(overrides)),
        Section("profile", tuple(profiles), lines=PROFILE_LINES),
        Section("pinned", tuple(pinned)),
        Section("preferences", tuple(wanted)),
        Section("sessions", tuple(providers.last_sessions(build, limit=SESSIONS))),
        Section("recent", tuple(_recent(store, providers, build, without=known, since=since))),
        Section("notes", tuple(notes)),
        Section("prompts", tuple(prompts)),
        *_apart(providers, build),
    )


def _apart(providers: Providers, build: Build) -> list[Section]:
    rows = providers.unchecked(build, limit=UNCHECKED)
    return [Section("unchecked", tuple(rows))] if rows else []


def _notes(store: Store, providers: Providers, build: Build) -> list[Observation]:
    """Return the notes of today and yesterday in the reader's zone, the newest first, so that the past is cut."""
    ask = build.ask
    if ask.scope not in (None, "project") or not ask.place.project:
        return []
    since, until = ask.moments(Days(ask.today - timedelta(days=1), ask.today + timedelta(days=1), ""))
    project = ask.place.project
    rows = observation_table.notes_between(store, project=project, since=since, until=until, limit=NOTES)
    return providers.vetted(build, rows, unasked=True)


def table_rows(store: Store, build: Build, *, limit: int, pinned: bool = False) -> list[Observation]:
    ask = build.ask
    without = [] if pinned else [SUMMARY, ENTITY]  # a pass of upkeep rewrites what is known of all entities at once
    return observation_table.recent(
        store, projects=ask.reads, limit=limit, pinned=pinned, scope=ask.scope, without=without, own=True
    )


def _preferences(store: Store, providers: Providers, build: Build, *, since: str) -> list[Observation]:
    """Return what the person prefers anywhere, then the project's preferences, then its policies.

    A derived profile tells what is personal up to ``since``.
    """
    ask = build.ask
    person = [] if ask.scope not in (None, "personal") else identity_table.personal(store, limit=2 * _OF_THE_PERSON)
    person = [row for row in person if not _told(row, since)]
    rules = table.of_types(
        store, _WANTED, projects=ask.reads, scope=ask.scope, pool=_WANTED_AMONG, limit=4 * PREFERENCES
    )
    rules.sort(key=lambda row: row.type != "preference")
    first = providers.vetted(build, person)[:_OF_THE_PERSON]
    known = {row.id for row in first}
    rest = providers.vetted(build, [row for row in rules if row.id not in known and not _told(row, since)])
    return in_order([*first, *rest], limit=PREFERENCES)


def _told(row: Observation, since: str) -> bool:
    return row.scope == "personal" and row.type in ("identity", "preference", "fact") and row.updated_at <= since


def _recent(store: Store, providers: Providers, build: Build, *, without: set[int], since: str) -> list[Observation]:
    ask = build.ask
    decisions = table.of_types(
        store, _DECIDING, projects=ask.reads, scope=ask.scope, pool=LOOKED_THROUGH, limit=DECISIONS + len(without)
    )
    decisions = [row for row in decisions if row.id not in without]
    first = in_order(providers.vetted(build, decisions), limit=DECISIONS)
    known = {row.id for row in first} | without
    rest = table_rows(store, build, limit=_POOL + len(without))
    rest = [row for row in rest if row.id not in known and not _told(row, since)]
    return [*first, *in_order(providers.vetted(build, rest), limit=RECENT - len(first))]
