"""Count which names are mentioned, in what was saved and said since the last pass. All of it is of this machine."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from engram_py.database.journal import get_meta, set_meta
from engram_py.database.store import Row, Store
from engram_py.dataclass import dataclass, field
from engram_py.entities import table
from engram_py.entities.names import Name, names_in, runs, words_of
from engram_py.entities.resolving import Known, slugs_of
from engram_py.entities.values import ENOUGH_MENTIONS, SLUG_CHARS, Counted

_BATCH = 50
# So many mentions of a name are kept: more of them tell nothing.
MOST_MENTIONS = 100
_CURSOR = "entities.{}"


def is_promoted(name: Mapping[str, Any]) -> bool:
    """Return whether a mentioned name is an entity: somebody's own, or written as a name three times and more often
    than as a common word."""
    often = int(name["mentions"])
    return bool(name["claimed"]) or (often >= ENOUGH_MENTIONS and bool(name["strong"]) and often > int(name["plain"]))


@dataclass
class _Project:
    """What is known of the names of one project while a pass goes on."""

    names: dict[str, dict[str, Any]]
    entities: dict[str, str]  # slug of any name → slug of the entity
    parts: dict[str, str]  # a first or last word of an entity's name → its slug, where it is the only one
    promoted: int = 0
    dirty: set[str] = field(default_factory=set)
    canonical: frozenset[str] = frozenset()  # the slugs of entities

    def meant(self, slug: str) -> str:
        slug = self.entities.get(slug, slug)
        return slug if slug in self.names else self.parts.get(slug, slug)


def count_mentions(
    store: Store, *, authors: Callable[[], Mapping[str, list[str]]], until: float | None = None, rebuild: bool = False
) -> Counted:
    """Read what is new, a batch in a transaction, until then (``time.monotonic``)."""
    projects: dict[str, _Project] = {}
    if rebuild:
        _restart(store)
    with store.transaction():
        for project, people in authors().items():
            _learn_authors(_known(store, projects, project), people)
            _write(store, project, projects[project], [])
    rows = mentions = 0
    for source in table.SOURCES:
        while until is None or time.monotonic() < until:
            store.give_way()
            with store.transaction():
                read, added = _batch(store, source, projects)
            rows, mentions = rows + read, mentions + added
            if read < _BATCH:
                break
        else:
            return Counted(rows, mentions, _promoted(store, projects), done=False)
    with store.transaction():
        for project in projects:
            table.forget(store, project)
    return Counted(rows, mentions, _promoted(store, projects), done=True)


def forget_mentions(store: Store, observation_id: int) -> None:
    """Drop what an observation mentions: it left its project. Call inside a transaction."""
    store.execute("delete from entity_mentions where observation_id = :id", id=observation_id)


def _restart(store: Store) -> None:
    with store.transaction():
        store.execute("delete from entity_mentions")
        store.execute("delete from entity_names")
        for source in table.SOURCES:
            set_meta(store, _CURSOR.format(source), "0")


def _promoted(store: Store, projects: Mapping[str, _Project]) -> int:
    """Return how many names became entities in this pass."""
    now = {name: sum(map(is_promoted, table.names(store, name).values())) for name in projects}
    return max(0, sum(now[name] - one.promoted for name, one in projects.items()))


def _known(store: Store, projects: dict[str, _Project], project: str) -> _Project:
    if project not in projects:
        known = Known.of(store, project=project, scope="project")
        facts = table.facts(store, project=project, scope="project")
        entities = known.called | known.merged | {slug: known.canonical(slug) for slug in (*known.rows, *facts)}
        names = {slug: dict(values) for slug, values in table.names(store, project).items()}
        promoted = [slug for slug, values in names.items() if is_promoted(values)]
        parts = defaultdict(set)
        for slug in {*entities.values(), *promoted}:
            words = slug.split("-")
            for word in {words[0], words[-1]} if len(words) > 1 else ():
                parts[word].add(slug)
        only = {word: next(iter(slugs)) for word, slugs in parts.items() if len(slugs) == 1 and word not in entities}
        projects[project] = _Project(names, entities, only, len(promoted), canonical=frozenset(entities.values()))
    return projects[project]


def _learn_authors(known: _Project, people: list[str]) -> None:
    """Who committed has a name; only what mentions it counts."""
    for name in people:
        for slug in slugs_of([name])[:1]:
            if slug not in known.names and len(slug) <= SLUG_CHARS:
                known.names[slug] = _new(name, "person")
                known.dirty.add(slug)


def _new(name: str, kind: str | None) -> dict[str, Any]:
    return {"name": name, "kind": kind, "claimed": 0, "plain": 0, "mentions": 0, "seen_at": ""}


def _batch(store: Store, source: str, projects: dict[str, _Project]) -> tuple[int, int]:
    cursor = _CURSOR.format(source)
    after = int(get_meta(store, cursor) or 0)
    rows = store.rows(table.SOURCES[source], after=after, limit=_BATCH)
    added: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        known = _known(store, projects, row["project"])
        added[row["project"]] += _mentions(known, row, source)
    for project, mentions in added.items():
        _write(store, project, projects[project], mentions)
    if rows:
        set_meta(store, cursor, str(rows[-1]["id"]))
    return len(rows), sum(map(len, added.values()))


def _mentions(known: _Project, row: Row, source: str) -> list[dict[str, Any]]:
    saved = source == "observations"
    unit = f"observation:{row['id']}" if saved else f"session:{row['session_id']}"
    there = {
        "unit": unit,
        "observation_id": row["id"] if saved else None,
        "session_id": None if saved else row["session_id"],
    }
    trusted = source != "turns" or row["role"] == "user"
    found: dict[str, bool] = {}
    for name in names_in(row["text"]):
        for slug in slugs_of([name.text])[:1]:
            meant = known.meant(slug)
            if len(meant) <= SLUG_CHARS:
                found[meant] = found.get(meant, False) or name.strong
                _learn(known, meant, name, row["at"], claimed=name.claimed and trusted)
    words = words_of(f"{row['text']} {row['paths'] or '' if saved else ''}")
    for slug in set(runs(words)) - found.keys():
        meant = known.meant(slug)
        if meant in found:
            continue
        if meant in known.canonical or "-" in slug:
            if meant in known.names or meant in known.canonical:
                found[meant] = False
                _learn(known, meant, None, row["at"])
        elif slug in known.names and slug not in known.parts:  # written as a common word
            known.names[slug]["plain"] += 1
            known.dirty.add(slug)
    return [{"slug": slug, "strong": int(strong), **there} for slug, strong in found.items()]


def _learn(known: _Project, slug: str, name: Name | None, at: str, *, claimed: bool = False) -> None:
    values = known.names.get(slug)
    if values is None:
        text = name.text if name is not None else slug.replace("-", " ")
        values = known.names[slug] = _new(text, name.kind if name is not None and claimed else None)
        known.dirty.add(slug)
    if claimed and name is not None:
        values["claimed"] = 1
        values["kind"] = values["kind"] or name.kind
        known.dirty.add(slug)
    if at > values["seen_at"]:
        values["seen_at"] = at
        known.dirty.add(slug)


def _write(store: Store, project: str, known: _Project, mentions: list[dict[str, Any]]) -> None:
    for slug in known.dirty:
        one = known.names[slug]
        values = {name: one[name] for name in ("name", "kind", "claimed", "plain", "seen_at")}
        store.insert("entity_names", {"project": project, "slug": slug, **values}, replace=True)
    known.dirty.clear()
    insert = partial(store.execute, INSERT)
    for one in mentions:
        name = known.names[one["slug"]]
        if name["mentions"] < MOST_MENTIONS:
            name["mentions"] += insert(project=project, **one).rowcount


INSERT = """
insert into entity_mentions (project, slug, unit, observation_id, session_id, strong)
values (:project, :slug, :unit, :observation_id, :session_id, :strong)
on conflict (project, slug, unit) do update set strong = 1 where excluded.strong > strong
"""
