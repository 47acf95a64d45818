"""Merge and rename projects; where both hold a topic, both texts are kept."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import replace
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.reasons import reason
from engram_py.memory.observations import table as observation_table
from engram_py.memory.observations.values import Observation
from engram_py.memory.projects import table
from engram_py.memory.projects.projects import Identities
from engram_py.memory.projects.values import Alike, Merged, Pruned, Renamed, normalize_project, similar_projects
from engram_py.memory.relations import table as relations

_MOVED = (("observations", "observation"), ("sessions", "session"), ("user_prompts", "prompt"))


class _Undone(Exception):
    """Takes back a transaction that was only to be looked at."""


class Merging:
    """Merges projects and keeps aliases, so that the old names go on working."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal
        self._identities = Identities(store, journal)

    def would_merge(self, names: Sequence[str], into: str) -> Merged:
        """Return what ``merge`` would move, and move nothing. Raises what it raises."""
        merged: list[Merged] = []
        with contextlib.suppress(_Undone), self._store.transaction():
            merged.append(self.merge(names, into))
            raise _Undone
        return replace(merged[0], warnings=(), dry_run=True)

    def merge(self, names: Sequence[str], into: str) -> Merged:
        """Move everything of the projects ``names`` to ``into``; where both hold a topic, the later text is live.

        Raises:
            UnknownProjectError: one of ``names`` does not exist. Nothing is moved then.
            InvalidArgumentError: no name, or a project would be merged into itself.
        """
        target = normalize_project(into)
        sources = list(dict.fromkeys(normalize_project(name) for name in names if name.strip()))
        if not sources:
            raise InvalidArgumentError("from", ",".join(names), expected="one or more project names, comma-separated")
        with self._store.transaction():
            target = self._identities.canonical(target)
            sources = [self._identities.existing(name) for name in sources]
            if target in sources:
                raise InvalidArgumentError("to", into, expected="a project that is not merged away in the same call")
            created = not table.exists(self._store, target)
            if created:
                self._identities.create(target)
            totals = [self._merge_one(source, target) for source in sources]
            before = {"names": sources, "created": created}
            self._journal.keep_change("projects", target, before, {"into": target}, [])
        observations, sessions, prompts, folded = (sum(column) for column in zip(*totals, strict=True))
        warnings = (reason("created_project", project=target, similar=()),) if created else ()
        return Merged(target, tuple(sources), observations, sessions, prompts, folded, warnings)

    def rename(self, project: str, name: str) -> Renamed:
        """Give a project another name; the old one goes on working. Raises UnknownProjectError,
        InvalidArgumentError."""
        target = normalize_project(name)
        with self._store.transaction():
            source = self._identities.existing(normalize_project(project))
            if table.exists(self._store, target) or self._identities.canonical(target) not in (target, source):
                raise InvalidArgumentError(
                    "name", name, expected="a name that no project has (`engram projects merge` joins two)"
                )
            if table.target_of_alias(self._store, target) is not None:  # it was called so before
                self._drop_alias(target)
            self.merge([source], target)
        return Renamed(source, target)

    def alike(self, name: str | None = None) -> tuple[Alike, ...]:
        """Return the groups of projects with names so alike that they may be one; with ``name``, the group it is in.

        Projects of different remotes are different repositories, however alike their names are.
        """
        lines = sorted(table.lines(self._store), key=lambda line: (-line.observations, line.name))
        wanted = self._identities.existing(normalize_project(name)) if name else None
        groups: list[Alike] = []
        taken: set[str] = set()
        for line in lines:
            if line.name in taken:
                continue
            others = [one.name for one in lines if one.name not in taken | {line.name}]
            near = similar_projects(line.name, others, limit=len(others))
            remotes = {*table.identities_of(self._store, "remote", line.name)}
            near = [one for one in near if not self._has_other_remotes(one, remotes)]
            if near and wanted in (None, line.name, *near):
                taken |= {line.name, *near}
                groups.append(Alike(line.name, tuple(near)))
        return tuple(groups)

    def prune(self, *, dry_run: bool = False) -> Pruned:
        """Remove the projects of which nothing is kept, and their empty sessions.

        A deleted observation that can be brought back is something.
        """
        with self._store.transaction():
            names = table.empty(self._store)
            for name in () if dry_run else names:
                for row in self._store.rows("select id from sessions where project = :name", name=name):
                    self._store.execute("delete from sessions where id = :id", id=row["id"])
                    self._journal.removed("session", row["id"], project=name, clock=self._journal.stamp())
                for alias in table.aliases_of(self._store, name):
                    self._drop_alias(alias)
                self._remove(name)
        return Pruned(tuple(names), dry_run)

    def alias(self, alias: str, project: str) -> tuple[str, str]:
        """Make ``alias`` another name of ``project``. Raises when the alias is a project with memories of its own."""
        alias, project = normalize_project(alias), normalize_project(project)
        with self._store.transaction():
            project = self._identities.existing(project)
            if alias == project or table.exists(self._store, alias):
                raise InvalidArgumentError(
                    "alias", alias, expected="a name that is not a project itself (`engram projects merge` joins two)"
                )
            self._set_alias(alias, project)
        return alias, project

    def _merge_one(self, source: str, target: str) -> tuple[int, int, int, int]:
        folded = self._fold_topics(source, target)
        clock = self._journal.stamp()
        counts: list[int] = []
        for table_name, entity in _MOVED:
            moved = table.move_rows(self._store, table_name, project=source, into=target)
            key = "id" if table_name == "sessions" else "sync_id"
            for entity_key in moved:
                self._store.update(table_name, {key: entity_key}, {"clock": clock})
                self._journal.changed(entity, entity_key, project=target, clock=clock)
            counts.append(len(moved))
        for sync_id in table.move_rows(self._store, "memory_relations", project=source, into=target):
            self._store.update("memory_relations", {"sync_id": sync_id}, {"clock": clock})
            self._journal.changed("relation", sync_id, project=target, clock=clock)
        self._move_names(source, target)
        relations.settle_all(self._store)
        return counts[0], counts[1], counts[2], folded

    def _move_names(self, source: str, target: str) -> None:
        sql = "update project_identities set project = :into where project = :source"
        self._store.execute(sql, into=target, source=source)
        for name in ("entity_names", "entity_mentions"):
            self._store.execute(
                f"update or replace {name} set project = :into where project = :source", into=target, source=source
            )
        # Of two of one name, that of the project that stays is kept: they are read again from their sources.
        self._store.execute(
            "update or ignore collections set project = :into where project = :source", into=target, source=source
        )
        self._store.execute(
            "update or ignore trusted set project = :into where project = :source", into=target, source=source
        )
        for alias in table.aliases_of(self._store, source):
            self._set_alias(alias, target)
        self._remove(source)
        self._set_alias(source, target)

    def _remove(self, project: str) -> None:
        for name, column in (("projects", "name"), ("collections", "project")):
            self._store.execute(f"delete from {name} where {column} = :name", name=project)
        self._journal.removed("project", project, project=project, clock=self._journal.stamp())

    def _has_other_remotes(self, project: str, remotes: set[str]) -> bool:
        own = table.identities_of(self._store, "remote", project)
        return bool(own and remotes) and remotes.isdisjoint(own)

    def _drop_alias(self, alias: str) -> None:
        for name in ("project_aliases", "sync_aliases"):
            self._store.execute(f"delete from {name} where alias = :alias", alias=alias)
        self._journal.removed("alias", alias, project=alias, clock=self._journal.stamp())

    def _set_alias(self, alias: str, project: str) -> None:
        clock = self._journal.stamp()
        values = {"alias": alias, "project": project, "created_at": self._journal.now(), "clock": clock}
        self._store.insert("project_aliases", values, replace=True)
        self._journal.changed("alias", alias, project=project, clock=clock)

    def _fold_topics(self, source: str, target: str) -> int:
        pairs = table.clashing_topics(self._store, project=source, into=target)
        for pair in pairs:
            one = observation_table.by_id(self._store, pair["id"])
            other = observation_table.by_id(self._store, pair["other"])
            if one and other and not one.deleted_at and not other.deleted_at:
                fold_topic(self._store, self._journal, one, other)
        return len(pairs)


def fold_topic(store: Store, journal: Journal, one: Observation, other: Observation) -> Observation:
    """Keep the later of two observations of one topic live; the earlier texts become its versions.

    The earlier row is soft-deleted, so its identity is known when another machine sends it again.
    """
    earlier, later = sorted((one, other), key=lambda row: (row.updated_at, row.sync_id))
    clock, now = journal.stamp(), journal.now()
    observation_table.copy_versions(store, of=earlier.id, to=later.id)
    observation_table.keep_version(store, earlier, of=later.id, clock=clock)
    count = later.revision_count + 1
    store.update(
        "observations",
        {"id": later.id},
        {"revision_count": count, "pinned": int(earlier.pinned or later.pinned), "clock": clock},
    )
    store.update("observations", {"id": earlier.id}, {"deleted_at": now, "updated_at": now, "clock": clock})
    for row in (earlier, later):
        journal.changed("observation", row.sync_id, project=row.project, clock=clock)
    relations.settle(store, [earlier.sync_id])
    return later
