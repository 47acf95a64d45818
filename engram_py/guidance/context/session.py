"""Assemble what a new session reads: the user's own words, pins, preferences, where sessions stopped, what was
decided."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path, PurePath

from engram_py.base.capture.orders import reads_like_an_order
from engram_py.base.database.store import Store
from engram_py.base.git.program import Deadline
from engram_py.base.lazy import regex
from engram_py.base.text.words import camel_parts
from engram_py.guidance.context import table
from engram_py.guidance.context.providers import LOOKED_THROUGH, SUMMARY, Providers, in_order
from engram_py.guidance.context.values import POINTED, Context, Section
from engram_py.guidance.context.visibility import Build, Findings, VisibilityFilter
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.entities.values import TYPE as ENTITY
from engram_py.memory.identity import table as identity_table
from engram_py.memory.observations import table as observation_table
from engram_py.memory.observations.values import Observation
from engram_py.memory.observations.visible import count_visible
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions import table as session_table
from engram_py.memory.sessions.sessions import Sessions
from engram_py.memory.sessions.values import Prompt
from engram_py.memory.writing.prompts import summary_topic
from engram_py.recall.dates import Days

SESSIONS, PROMPTS, PINNED, RECENT, UNCHECKED = 5, 10, 20, 20, 8
DECISIONS, NOTES = 8, 20
PROFILE_LINES = 12
_DECIDING = ("decision", "architecture", "policy")
_POOL, _PROMPT_POOL = 2 * RECENT, 4 * PROMPTS
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
    prompts = session_table.recent_prompts(store, projects=ask.reads, limit=_PROMPT_POOL, own=True)
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
        Section("prompts", tuple(_distinct(prompts)[:PROMPTS])),
        *_apart(providers, build),
    )


def _distinct(prompts: Sequence[Prompt]) -> list[Prompt]:
    """Return the prompts without those that repeat an earlier one of the list: some are typed again and again."""
    found: dict[str, Prompt] = {}
    for one in prompts:
        found.setdefault(" ".join(one.content.split()), one)
    return list(found.values())


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
        store, projects=ask.reads, limit=limit, pinned=pinned, scope=ask.scope, without=without, given=True
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
    kept_at = max(row.updated_at, row.last_seen_at or "")  # what was learned of an old conversation is as old as that
    return row.scope == "personal" and row.type in ("identity", "preference", "fact") and kept_at <= since


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


# spec/engram-behaviour.md 1.11, the compaction variant.
SAVED, PROMPTS_OF_SESSION = 20, 10
BUDGET_BYTES = 6_000
SUMMARY_LINES = 40
FILE_BYTES = 800
_FILE_ROWS, _MOST_NAMED = 5, 3
_WORD = regex(r"[^\W\d_][^\W_]*")

SUMMARY_SECTION = "this session's summary so far"
SAVED_SECTION = "saved in this session"
ASKED_SECTION = "asked in this session"
FILE_SECTION = "about this file"


class SessionMemory:
    """Contexts that are about one session or one file rather than about a project."""

    def __init__(self, core: Core, sessions: Sessions, anchors: Anchors) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._sessions = sessions
        self._anchors = anchors
        self._vetting = VisibilityFilter(core.store, core.journal, anchors)

    def own(self, session_id: str) -> Context:
        """Return what the session saved, its last summary, and what its user asked for, the latest first.

        Raises SessionNotFoundError.
        """
        session = self._sessions.get(session_id)
        topic = summary_topic(session.id)
        summary = observation_table.live_topic(self._store, topic_key=topic, project=session.project, scope="project")
        rows = table.saved(self._store, session.id, project=session.project, since=session.started_at, limit=SAVED)
        findings = Findings()
        kept = self._vetting.vetted(rows, findings, unasked=True)
        told = self._vetting.vetted([summary] if summary else [], findings, unasked=True)
        # An imported prompt may have been written for whoever reads it.
        prompts = table.prompts(self._store, session.id, limit=PROMPTS_OF_SESSION)
        asked = [one for one in prompts if not reads_like_an_order(one.content)]
        self._vetting.look_at_files(kept, findings)
        return Context(
            project=session.project,
            project_source="session",
            sections=(
                Section(SUMMARY_SECTION, tuple(told), lines=SUMMARY_LINES),
                Section(SAVED_SECTION, tuple(kept)),
                Section(ASKED_SECTION, tuple(asked)),
            ),
            max_bytes=BUDGET_BYTES,
            memories=count_visible(self._store, [session.project]),
            remarks=findings.remarks,
        )

    def of_files(
        self, paths: Sequence[str], *, session_id: str, without: set[int], unnamed: set[int], deadline: Deadline
    ) -> Context:
        """Return the observations anchored to these files that may be shown unasked, ``without`` those of these ids,
        and at most three to name that the words of the files' paths lead to, without the ids in ``unnamed``.

        Git has until the ``deadline`` to say which of them were recorded under another name.
        """
        place = self._projects.for_read(session_id=session_id)
        ids: list[int] = []
        for path in paths:
            ids += self._anchors.of_file(path, limit=20, projects=place.reads, deadline=deadline)
        wanted = [row_id for row_id in dict.fromkeys(ids) if row_id not in without]
        found = observation_table.by_ids(self._store, wanted) if wanted else {}
        findings = Findings()
        rows = self._vetting.vetted([found[row_id] for row_id in wanted if row_id in found], findings, unasked=True)[
            :_FILE_ROWS
        ]
        apart = findings.told_apart(_FILE_ROWS - len(rows))
        named = self._named_by(paths, place.reads, without=unnamed | set(ids)) if place.project else []
        named = self._vetting.vetted(named, findings, unasked=True)
        self._vetting.look_at_files([*rows, *apart, *named], findings)
        return Context(
            project=place.project,
            project_source=place.source,
            sections=(
                Section(FILE_SECTION, tuple(rows)),
                *([Section("unchecked", tuple(apart))] if apart else []),
                Section(POINTED, tuple(named)),
            ),
            max_bytes=FILE_BYTES,
            mode="query",
            remarks=findings.remarks,
            today=self._journal.calendar.today.isoformat(),
        )

    def _named_by(
        self, paths: Sequence[str], projects: tuple[str, ...] | None, *, without: set[int]
    ) -> list[Observation]:
        """Return what may well be needed by the words of the paths.

        Of 49 files of three invented projects 24 name a memory, each time one that is about the file; of 150 files of
        this project in the memories of six others 0 to 15 %. Were folders that no memory knows missing words, 18 would;
        by names alone 27, and of the others up to 49 %.
        """
        from engram_py.guidance.context.prompt_gate import known_words, look_up

        location = self._projects.settings_here()
        root = location.repository.root if location.repository else location.directory
        calendar = self._journal.calendar
        named: dict[int, Observation] = {}
        for path in paths[:_FILE_ROWS]:
            folder, name = path_words(path, root)
            looked_up = look_up(self._store, f"{known_words(self._store, folder)} {name}", projects, calendar)
            named |= {one.id: looked_up.found.rows[one.id] for one in looked_up.pointed() if looked_up.found}
        return [row for row_id, row in named.items() if row_id not in without][:_MOST_NAMED]


def path_words(path: str, root: Path) -> tuple[str, str]:
    """Return the words of a file's folder below ``root``, none of one elsewhere, and those of its name without the
    ending."""
    file = PurePath(path)
    if file.is_absolute():
        file = file.relative_to(root) if file.is_relative_to(root) else PurePath(file.name)
    folder, name = (
        " ".join(part for word in _WORD.findall(text) for part in camel_parts(word))
        for text in (str(file.parent), file.stem)
    )
    return folder, name
