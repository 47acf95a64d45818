"""The list of entities: from their own rows, the facts about them, their edges, and the names that are mentioned."""

from __future__ import annotations

from typing import Any

from engram_py.database.store import Store
from engram_py.dataclass import dataclass, field
from engram_py.entities import table
from engram_py.entities.mentions import MOST_MENTIONS, is_promoted
from engram_py.entities.resolving import Known, aliases_of, slugs_of
from engram_py.entities.values import EntityLine

UNKNOWN_YET = "- nothing is known yet"


@dataclass
class _Entry:
    name: str = ""
    kind: str | None = None
    is_entity: bool = False
    facts: int = 0
    mentions: int = 0
    at: list[str] = field(default_factory=list)


def entity_lines(store: Store, known: Known, *, project: str, scope: str, repository: bool) -> dict[str, EntityLine]:
    """Return every entity and candidate by slug, in its order. A ``repository`` is an entity from the start."""
    found: dict[str, _Entry] = {}

    def entry(slug: str) -> _Entry:
        return found.setdefault(known.canonical(slug), _Entry())

    if repository:
        for slug in slugs_of([project]):
            one = entry(slug)
            one.name, one.kind, one.is_entity = project, "project", True
    for slug, values in table.names(store, project).items() if scope == "project" else ():
        _mentioned(entry(slug), values)
    for row in table.edges(store, None, project=project, scope=scope):
        for end in (row[0], row[2]):
            entry(str(end).removeprefix("entity:"))
    for slug, (_, active, at) in table.facts(store, project=project, scope=scope).items():
        one = entry(slug)
        one.is_entity, one.facts, one.at = True, one.facts + active, [*one.at, at]
    for slug in known.rows:
        entry(slug)
    return {slug: _line(slug, found[slug], known) for slug in sorted(found)}


def _mentioned(one: _Entry, values: Any) -> None:
    one.name = one.name or values["name"]
    one.kind = one.kind or values["kind"]
    one.is_entity = one.is_entity or is_promoted(values)
    one.mentions = min(MOST_MENTIONS, one.mentions + values["mentions"])
    one.at += [values["seen_at"]] if values["seen_at"] else []


def _line(slug: str, one: _Entry, known: Known) -> EntityLine:
    row = known.rows.get(slug)
    state = "active" if one.is_entity else "candidate"
    if row is not None:
        state = "archived" if row.lifecycle == "archived" else "active"
        one.at.append(row.updated_at)
    return EntityLine(
        slug=slug,
        name=row.title if row else one.name or slug.replace("-", " ").title(),
        kind=(row.entity_kind if row else None) or one.kind,
        state=state,
        id=row.id if row else None,
        aliases=aliases_of(row) if row else (),
        facts=one.facts,
        mentions=one.mentions,
        has_summary=row is not None and UNKNOWN_YET not in row.content,
        last_updated=max(one.at, default=None),
    )
