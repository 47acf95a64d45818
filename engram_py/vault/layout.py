"""Which row has its home in which file (spec/seed-capabilities.md 2.8, Aurelius's PARA folders)."""

from __future__ import annotations

import re
from collections.abc import Sequence

from engram_py.lazy import regex
from engram_py.observations.values import Observation
from engram_py.vault.values import Edge, EntityPage, Shelf

INDEX = "life/index.json"
PROFILE = "identity/profile"
ENTITY = "entity/"

_FOLDERS = {
    "project": "projects",
    "repository": "projects",
    "repo": "projects",
    "person": "areas/people",
    "company": "areas/companies",
    "organization": "areas/companies",
    "team": "areas/companies",
    "service": "areas/services",
}
_GENERATED = regex(
    r"identity\.md|MEMORY\.md|observations\.md|memory/\d{4}-\d\d-\d\d\.md|life/index\.json|life/.+/(?:summary|_index)\.md"
    r"|life/.+/items\.json"
)
_SLUG = regex(r"entity/[^\W_]+(?:-[^\W_]+)*")
# Names that Windows keeps for devices, with any ending.
_DEVICES = regex(r"(?:con|prn|aux|nul|com\d|lpt\d)", re.IGNORECASE)


def is_generated(path: str) -> bool:
    """Return whether the memory owns the file of this path; any other is the person's."""
    return _GENERATED.fullmatch(path) is not None


def slug_of_page(path: str) -> str:
    """Return the slug of the entity whose folder has the file of this path."""
    return path.split("/")[-2].rstrip("_")


def entity_folder(page: EntityPage) -> str:
    """Where an entity's files are: by its kind, or with what is archived."""
    folder = "archives" if page.archived else _FOLDERS.get(page.kind, "resources")
    name = f"{page.slug}_" if _DEVICES.fullmatch(page.slug) else page.slug
    return f"life/{folder}/{name}"


def shelved(rows: Sequence[Observation], edges: dict[str, list[Edge]]) -> Shelf:
    """Return the rows by their homes, each list in the order of its file. ``edges`` are by an entity's slug."""
    identity, memory, log, days = [], [], [], []
    entities: dict[str, Observation] = {}
    facts: dict[str, list[Observation]] = {}
    for row in rows:
        topic = row.topic_key or ""
        if _SLUG.fullmatch(topic):
            entities.setdefault(topic.removeprefix(ENTITY), row)
        elif row.type == "fact" and row.about:
            facts.setdefault(row.about, []).append(row)
        elif row.lifecycle != "active":
            continue
        elif row.type == "identity":
            identity.append(row)
        elif row.pinned or topic == PROFILE:
            memory.append(row)
        elif row.type in ("note", "session_summary"):
            days.append(row)
        else:
            log.append(row)
    slugs = sorted({*entities, *facts, *edges})
    pages = (_page(slug, entities.get(slug), facts.get(slug, []), edges.get(slug, [])) for slug in slugs)
    return Shelf(
        tuple(sorted(identity, key=_age)),
        tuple(sorted(memory, key=lambda row: (row.topic_key != PROFILE, _age(row)))),
        tuple(sorted(log, key=_age, reverse=True)),
        tuple(sorted(days, key=_age)),
        tuple(page for page in pages if page is not None),
    )


def _page(slug: str, row: Observation | None, facts: list[Observation], edges: list[Edge]) -> EntityPage | None:
    now = sorted((one for one in facts if one.lifecycle == "active"), key=_age, reverse=True)
    past = sorted((one for one in facts if one.lifecycle != "active"), key=_age, reverse=True)
    if row is None and not facts:
        return None
    return EntityPage(
        slug,
        row.title if row is not None else slug,
        (row.entity_kind if row is not None else None) or "unknown",
        tuple(one for one in (row.aliases.split("; ") if row is not None else ()) if one),
        row is not None and row.lifecycle == "archived",
        row,
        tuple(now),
        tuple(past),
        tuple(sorted(edges, key=lambda edge: (edge.predicate, edge.target))),
    )


def _age(row: Observation) -> tuple[str, str]:
    return row.created_at, row.sync_id
