"""What a search may see: the projects, and the filters of the query beside the arguments of the call."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable

from engram_py.database.journal import Journal
from engram_py.dataclass import dataclass, field, replace
from engram_py.errors import InvalidTopicKeyError
from engram_py.observations.arguments import clean_scope
from engram_py.observations.values import SCOPES
from engram_py.projects.errors import InvalidProjectError
from engram_py.projects.projects import Projects
from engram_py.recall.query.filters import KEYS, STATES, Filters, cut_filters
from engram_py.recall.query.parse import Query
from engram_py.text.moments import span_of
from engram_py.text.normalize import check_text, normalize_topic_key
from engram_py.times import to_text

FILTERS = KEYS
_MOST_FILES = 500
_MOST_SAID = 300  # characters, as many as a filter that was typed may have


# The ids of the observations that are about a file (``file_names.of_file``).
Files = Callable[..., list[int]]


@dataclass(frozen=True, slots=True)
class ScopeFilter:
    """``values`` are bound by the statements of ``recall/index/table.py``; ``said`` names each filter in force."""

    projects: tuple[str, ...] | None
    values: dict[str, object]
    said: tuple[str, ...] = ()
    stale: bool = False
    notes: tuple[str, ...] = field(default=())

    @property
    def filtered(self) -> bool:
        return bool(self.said)

    def unfiltered(self) -> ScopeFilter:
        """The same projects without the filters: what was filtered away is seen by it."""
        return replace(self, values=_values(self.projects), said=(), stale=False)

    def everywhere(self) -> ScopeFilter:
        """Every project, without filters."""
        return replace(self.unfiltered(), projects=None, values=_values(None))


def says_where(query: str, scope: str | None) -> bool:
    """Whether a query says itself whose memory it is about: by a filter, or because what is personal has no project."""
    filters = cut_filters(query)[0]
    scopes = (scope.strip().lower(),) if scope else filters.scopes
    return bool(filters.projects) or scopes == ("personal",)


def seen_from(projects: tuple[str, ...] | None) -> ScopeFilter:
    """All of these projects, without filters."""
    return ScopeFilter(projects, _values(projects))


def visible_from(
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
) -> tuple[ScopeFilter, tuple[str, ...]]:
    """What a search may see by its filters and arguments, and what to say of that.

    Raises InvalidArgumentError, InvalidTextError, InvalidProjectError.
    """
    check_text("type", type or "")
    scope = clean_scope(scope)
    named = project or next(iter(parsed.filters.projects), None)
    notes: tuple[str, ...] = ()
    if len(parsed.filters.projects) > 1 or (project and parsed.filters.projects):
        notes = (f"one project at a time: searched {named}",)
    personal = scope == "personal" or parsed.filters.scopes == ("personal",)
    everywhere = (
        (all_projects and not parsed.filters.projects)
        or (named or "").lower() in ("*", "all")
        or (personal and not named)
    )
    try:
        place = projects.for_read(
            None if everywhere else named, session_id=session_id, all_projects=everywhere, head=False
        )
    except InvalidProjectError as exc:
        if project:
            raise
        notes = (*notes, f"project: {exc.message}; the filter was left out")
        place = projects.for_read(None, session_id=session_id, head=False)
    sight = scope_filter_of(
        parsed.filters,
        projects=place.reads,
        type=type,
        scope=scope,
        files=files,
        journal=journal,
    )
    return sight, (*notes, *place.warnings)


def scope_filter_of(
    filters: Filters,
    *,
    projects: tuple[str, ...] | None,
    type: str | None,
    scope: str | None,
    files: Files,
    journal: Journal,
) -> ScopeFilter:
    """What ``filters`` and the arguments of the call allow together; what is not understood is noted and left out."""
    values = _values(projects)
    said: list[str] = []
    notes: list[str] = []

    def hold(name: str, key: str, wanted: Iterable[str]) -> None:
        kept = list(dict.fromkeys(wanted))
        if kept:
            values[name] = json.dumps(kept)
            said.extend(f"{key}:{value[:_MOST_SAID]}" for value in kept)

    hold("types", "type", types_of(type, filters))
    scopes = _lower(filters.scopes)
    notes += [
        f"scope:{value} is not one of {', '.join(SCOPES)}; it was left out" for value in scopes if value not in SCOPES
    ]
    hold("scopes", "scope", [*((scope,) if scope else ()), *(value for value in scopes if value in SCOPES)])
    hold("branches", "branch", filters.branches)
    hold("topics", "topic", _topics(filters.topics))
    if filters.files:
        found = [row for path in filters.files for row in files(path, limit=_MOST_FILES, projects=projects)]
        values["files"] = json.dumps(found)
        said += [f"file:{path}" for path in filters.files]
    now = journal.moment()
    for name, text in (("since", filters.since), ("until", filters.until)):
        span = span_of(text, now) if text else None
        if text and span is None:
            notes.append(f"{name}:{text[:40]} is not a date such as 2026-03-14, 2026-03 or 7d; it was left out")
        elif span is not None:
            values[name] = to_text(span[name == "until"])
            said.append(f"{name}:{text}")
    for state in filters.states:
        values[state] = to_text(now) if state == "stale" else 1
        said.append(f"is:{state}")
    return ScopeFilter(projects, values, tuple(dict.fromkeys(said)), "stale" in filters.states, tuple(notes))


def types_of(type: str | None, filters: Filters) -> list[str]:
    """The types that an argument, alternatives with commas as in ``type:a,b``, and the filters ask for."""
    return [part for part in _lower(one.strip() for one in (type or "").split(",")) if part] + _lower(filters.types)


def _values(projects: tuple[str, ...] | None) -> dict[str, object]:
    names = ("types", "scopes", "branches", "topics", "files", "since", "until", *STATES)
    return {"projects": projects, **dict.fromkeys(names)}


def _lower(values: Iterable[str]) -> list[str]:
    return [value.lower() for value in values]


def _topics(values: Iterable[str]) -> list[str]:
    keys = []
    for value in values:
        try:
            keys.append(normalize_topic_key(value))
        except InvalidTopicKeyError:
            keys.append(value.lower())
    return keys
