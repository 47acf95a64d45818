"""Decide which rows a search may show, by projects, filters and arguments."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Sequence
from functools import cached_property

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import InvalidTopicKeyError
from engram_py.base.reasons import Reason, Told, reason
from engram_py.base.text.normalize import check_text, normalize_topic_key
from engram_py.base.times import to_text
from engram_py.memory.observations import visible
from engram_py.memory.observations.arguments import clean_scope
from engram_py.memory.observations.values import SCOPES, Observation
from engram_py.memory.observations.visible import SMALL
from engram_py.memory.projects.projects import Projects
from engram_py.memory.projects.values import InvalidProjectError
from engram_py.memory.relations import table as relations
from engram_py.recall import index
from engram_py.recall.query import KEYS, STATES, Filters, Query, cut_filters
from engram_py.recall.score import Neighbours
from engram_py.recall.terms import ANYWHERE, ProjectRows

FILTERS = KEYS
_MOST_FILES = 500
_MOST_SAID = 300  # characters, as many as a filter that was typed may have
# Looking at a row takes three microseconds and more; the ids of a small project are read at once, in less time than
# looking at a thousand.
_MANY = 200


# Returns the ids of the observations about a file (``substitutes.rows_of_file``).
Files = Callable[..., list[int]]


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """``values`` are bound by the statements of ``recall/index.py``; ``said`` names each filter in force."""

    projects: tuple[str, ...] | None
    values: dict[str, object]
    said: tuple[str, ...] = ()
    stale: bool = False
    notes: tuple[Reason, ...] = ()

    @classmethod
    def of_projects(cls, projects: tuple[str, ...] | None) -> ScopeFilter:
        """Return the filter of all of these projects (None: every project), without filters."""
        return cls(projects, _values(projects))

    @property
    def filtered(self) -> bool:
        return bool(self.said)

    @property
    def unread(self) -> tuple[str, ...]:
        """The filters that were left out because nothing of that name or date is known."""
        facts = [dict(note.facts) for note in self.notes]
        return tuple(f"{one['filter']}:{one['value']}" for one in facts)

    def unfiltered(self) -> ScopeFilter:
        """Return the same projects without the filters."""
        return replace(self, values=_values(self.projects), said=(), stale=False)


def says_where(query: str, scope: str | None) -> bool:
    """Return whether a query itself says whose memory it is about: by a filter, or because personal rows have no
    project."""
    filters = cut_filters(query)[0]
    scopes = (scope.strip().lower(),) if scope else filters.scopes
    return bool(filters.projects) or scopes == ("personal",)


def resolve_scope(
    projects: Projects,
    files: Files,
    journal: Journal,
    parsed: Query,
    project: str | None,
    all_projects: bool,
    *,
    type: str | None = None,
    scope: str | None = None,
    session_id: str | None = None,
) -> tuple[ScopeFilter, tuple[Told, ...]]:
    """Return what a search may show by its filters and arguments, and notes on that.

    Raises InvalidArgumentError, InvalidTextError, InvalidProjectError.
    """
    check_text("type", type or "")
    scope = clean_scope(scope)
    filters = parsed.filters
    named = project or next(iter(filters.projects), None)
    is_personal = scope == "personal" or filters.scopes == ("personal",)
    everywhere = (
        (all_projects and not filters.projects) or (named or "").lower() in ("*", "all") or (is_personal and not named)
    )
    notes: tuple[Told, ...] = ()
    if len(filters.projects) > 1 or (project and filters.projects):
        notes = (reason("one_project", project=named),)
    if filters.collections:  # where documents are searched, it is read before this
        notes = (*notes, reason("idle_arguments", arguments=("collection",), layer="memories"))
    try:
        place = projects.for_read(
            None if everywhere else named, session_id=session_id, all_projects=everywhere, head=False
        )
    except InvalidProjectError as exc:
        if project:
            raise
        notes = (*notes, reason("no_project", problem=exc.message))
        place = projects.for_read(None, session_id=session_id, head=False)
    found = build_scope_filter(filters, projects=place.reads, type=type, scope=scope, files=files, journal=journal)
    return found, (*notes, *place.warnings)


def build_scope_filter(
    filters: Filters,
    *,
    projects: tuple[str, ...] | None,
    type: str | None,
    scope: str | None,
    files: Files,
    journal: Journal,
) -> ScopeFilter:
    """Return what ``filters`` and the arguments of the call allow together; values that are not understood are noted
    and left out."""
    values = _values(projects)
    said: list[str] = []
    scopes, notes = _scopes(scope, filters)
    for name, key, wanted in (
        ("types", "type", types_of(type, filters)),
        ("scopes", "scope", scopes),
        ("branches", "branch", filters.branches),
        ("topics", "topic", [_topic(one) for one in filters.topics]),
    ):
        kept = list(dict.fromkeys(wanted))
        if kept:
            values[name] = json.dumps(kept)
            said += [f"{key}:{value[:_MOST_SAID]}" for value in kept]
    if filters.files:
        found = [row for path in filters.files for row in files(path, limit=_MOST_FILES, projects=projects)]
        values["files"] = json.dumps(found)
        said += [f"file:{path}" for path in filters.files]
    now = journal.moment()
    for name, text in (("since", filters.since), ("until", filters.until)):
        span = journal.calendar.span(text) if text else None
        if text and span is None:
            notes.append(reason("no_date", filter=name, value=text[:40]))
        elif span is not None:
            values[name] = to_text(span[name == "until"])
            said.append(f"{name}:{text}")
    for state in filters.states:
        values[state] = to_text(now) if state == "stale" else 1
        said.append(f"is:{state}")
    return ScopeFilter(projects, values, tuple(dict.fromkeys(said)), "stale" in filters.states, tuple(notes))


def types_of(type: str | None, filters: Filters) -> list[str]:
    """Return the types that an argument, alternatives with commas as in ``type:a,b``, and the filters ask for."""
    return [part for part in _lower(one.strip() for one in (type or "").split(",")) if part] + _lower(filters.types)


def _scopes(scope: str | None, filters: Filters) -> tuple[list[str], list[Reason]]:
    """Return the valid scopes of a search, and a note on each invalid value."""
    typed = _lower(filters.scopes)
    notes = [reason("unknown_scope", filter="scope", value=one) for one in typed if one not in SCOPES]
    return [*((scope,) if scope else ()), *(one for one in typed if one in SCOPES)], notes


def _values(projects: tuple[str, ...] | None) -> dict[str, object]:
    names = ("types", "scopes", "branches", "topics", "files", "since", "until", *STATES)
    return {"projects": projects, **dict.fromkeys(names)}


def _lower(values: Iterable[str]) -> list[str]:
    return [value.lower() for value in values]


def _topic(value: str) -> str:
    try:
        return normalize_topic_key(value)
    except InvalidTopicKeyError:
        return value.lower()


class VisibleRows:
    """Asks for one search which rows its scope lets through, first by the ids of a small project.

    ``share`` is the part of the usual number of rows that is looked at: less where few are wanted.
    """

    share = 1.0

    def __init__(self, store: Store, scope: ScopeFilter) -> None:
        self.scope = scope
        self._store = store

    @property
    def filtered(self) -> bool:
        return self.scope.filtered

    def among(self, rows: Sequence[int], *, filtered: bool = True) -> set[int]:
        """Return those of ``rows`` that the projects, and unless told otherwise the filters, let through."""
        scope = self.scope if filtered else self.scope.unfiltered()
        rows = self._of_small_project(rows)
        return index.passing(self._store, rows, scope.values) if rows else set()

    def neighbours(self, rows: Sequence[int]) -> dict[int, Neighbours]:
        """Return the neighbours of those of ``rows`` that may be shown."""
        rows = self._of_small_project(rows)
        found = index.neighbours(self._store, rows, self.scope.values) if rows else ()
        return {row[0]: Neighbours(*row[1:]) for row in found}

    def load(self, ids: Sequence[int]) -> dict[int, Observation]:
        """Return those that may be shown, whole."""
        return index.load(self._store, ids, self.scope.values)

    def replacements(self, rows: Sequence[Observation]) -> dict[int, int]:
        """Return by id what replaced those of ``rows`` that were replaced, unless these are asked for."""
        old = {row.sync_id: row.id for row in rows if row.lifecycle == "historical"}
        if not old or self.scope.values["superseded"]:
            return {}
        by = relations.replacements(self._store, old)
        return {row_id: by[sync_id] for sync_id, row_id in old.items() if sync_id in by}

    def project_rows(self, total: int) -> ProjectRows:
        """Return the rows of the projects, where these are small and have less than half of a memory of ``total``."""
        rows = self._ids(min(SMALL, total // 2))
        return ANYWHERE if rows is None else ProjectRows(rows, total)

    def _of_small_project(self, rows: Sequence[int]) -> Sequence[int]:
        if len(rows) <= _MANY or self._small is None:
            return rows
        return [row for row in rows if row in self._small]

    @cached_property
    def _small(self) -> frozenset[int] | None:
        return self._ids(SMALL)

    def _ids(self, most: int) -> frozenset[int] | None:
        """Return every row of the projects, where these have fewer than ``most``."""
        projects = self.scope.projects
        return None if projects is None else visible.ids_visible(self._store, projects, most=most)
