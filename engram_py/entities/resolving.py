"""Which entity a name means: by its slug, an alias, or what it was merged into."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.entities import table
from engram_py.entities.values import TOPIC
from engram_py.observations import table as observations
from engram_py.observations.values import Observation
from engram_py.relations import table as relations
from engram_py.text.normalize import dashed


@dataclass(frozen=True)
class Known:
    """The own rows of the entities of one project and scope, by slug."""

    rows: dict[str, Observation]
    merged: dict[str, str]

    @classmethod
    def of(cls, store: Store, *slugs: str, project: str, scope: str) -> Known:
        """All of them; given ``slugs``, only what tells which entities these are."""
        key = {"project": project, "scope": scope}
        found = table.rows_about(store, slugs, **key) if slugs else table.own_rows(store, **key)
        rows = {slug_in(row): row for row in found}
        past = [row.sync_id for row in rows.values() if row.lifecycle == "historical"]
        by = relations.replacements(store, past) if past else {}
        kept = observations.by_ids(store, list(by.values())) if by else {}
        merged = {slug: slug_in(kept[by[row.sync_id]]) for slug, row in rows.items() if row.sync_id in by}
        rows |= {slug_in(row): row for row in kept.values() if is_own(row)}
        return cls(rows, {slug: to for slug, to in merged.items() if to in rows and to != slug})

    @cached_property
    def called(self) -> dict[str, str]:
        """The slug of each alias; an alias of two entities means neither."""
        found: dict[str, str] = {}
        for slug, row in self.rows.items():
            if slug not in self.merged:
                for name in slugs_of((row.title, *aliases_of(row))):
                    found[name] = slug if found.get(name, slug) == slug else ""
        return {name: slug for name, slug in found.items() if slug}

    def canonical(self, slug: str) -> str:
        """The slug that a name goes by now."""
        slug = self.merged.get(slug, slug)
        return slug if slug in self.rows else self.called.get(slug, slug)

    def group(self, slug: str) -> tuple[str, ...]:
        """Return the slug, and those that mean it as well: of aliases, and of entities that were merged into it."""
        slug = self.canonical(slug)
        others = [one for one, to in (*self.merged.items(), *self.called.items()) if to == slug]
        return tuple(dict.fromkeys((slug, *others)))


def is_own(row: Observation) -> bool:
    return (row.topic_key or "").startswith(TOPIC)


def slug_in(row: Observation) -> str:
    return (row.topic_key or "").removeprefix(TOPIC)


def aliases_of(row: Observation) -> tuple[str, ...]:
    return tuple(filter(None, row.aliases.split("; ")))


def slugs_of(names: Iterable[str]) -> list[str]:
    """Return the slugs of names, without those that have neither letter nor digit."""
    return list(filter(None, map(dashed, names)))


def canonical(store: Store, slug: str, *, project: str, scope: str) -> str:
    """Return the slug of the entity that ``slug`` means in a project."""
    if not table.has_entities(store):
        return slug
    return Known.of(store, slug, project=project, scope=scope).canonical(slug)


def names_of(store: Store, slug: str, *, project: str, scope: str) -> tuple[str, ...]:
    """Return every slug by which facts about the same entity were kept."""
    if not table.has_entities(store):
        return (slug,)
    return Known.of(store, slug, project=project, scope=scope).group(slug)
