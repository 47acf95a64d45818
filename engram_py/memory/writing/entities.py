"""List, show, connect, rename, join and archive entities, and the passes that keep them up to date."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from difflib import get_close_matches
from typing import Unpack

from engram_py.base.dataclass import replace
from engram_py.base.errors import NotFoundError, TextTooLongError
from engram_py.base.files import lines_of
from engram_py.base.git.program import Deadline, ask_git
from engram_py.base.reasons import operation, reason, sentence
from engram_py.memory.entities import table
from engram_py.memory.entities.names import Known, aliases_of, count_mentions, slugs_of
from engram_py.memory.entities.values import (
    MOST_DEPTH,
    SLUG_CHARS,
    Counted,
    Edge,
    EntityChanged,
    EntityDetail,
    EntityLine,
    EntityList,
    EntityRefusedError,
    Graph,
    Linked,
    Mention,
    Rewritten,
    edge_values,
    predicate_of,
    walk,
)
from engram_py.memory.observations.arguments import clamp, clean_scope, key_in
from engram_py.memory.observations.validation import (
    MAX_ALIASES,
    NAME_LIMIT_CHARS,
    TYPE_LIMIT_CHARS,
    clean_line,
    slug_of,
)
from engram_py.memory.observations.values import Change, Draft, Observation, Origin
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import Asked, Place
from engram_py.memory.relations import table as relations_table
from engram_py.memory.relations.relations import Relations
from engram_py.memory.writing.facts import Facts
from engram_py.memory.writing.observations import Observations
from engram_py.memory.writing.summaries import Summaries, entity_lines

_SHOWN_FACTS, _SHOWN_MENTIONS = 50, 10


class EntityReading:
    """Reads what is known of entities; writes nothing."""

    def __init__(self, core: Core, facts: Facts) -> None:
        self._store, self._projects = core.store, core.projects
        self._facts = facts

    def listed(
        self, *, candidates: bool = False, archived: bool = False, kind: str | None = None, **asked: Unpack[Asked]
    ) -> EntityList:
        """Return the entities of a project, of a ``kind`` or all, by slug; with ``archived`` those put away, with
        ``candidates`` names as well that are mentioned too seldom."""
        place = self._read(asked)
        wanted = {"active", *(("archived",) if archived else ()), *(("candidate",) if candidates else ())}
        lines = tuple(
            line
            for line in self._lines(place, asked).values()
            if line.state in wanted and (not kind or line.kind == kind.strip().lower())
        )
        bare = sum(not line.has_summary for line in lines)
        return EntityList(lines, bare, place.project, place.warnings)

    def show(self, name: str, **asked: Unpack[Asked]) -> EntityDetail:
        """Return an entity with its summary, facts, edges and mentions. Raises NotFoundError (entity_not_found)."""
        place = self._read(asked)
        entities, line, key = self._found(name, place, asked)
        ends = table.edges(self._store, entities.group(line.slug), **key)
        facts = self._facts.of(line.slug, project=place.project or None, scope=asked.get("scope"), limit=_SHOWN_FACTS)
        mentions = table.mentioned(self._store, entities.group(line.slug), project=place.project, limit=_SHOWN_MENTIONS)
        return EntityDetail(
            line,
            entities.rows[line.slug].content if line.slug in entities.rows else "",
            facts.items,
            tuple(dict.fromkeys(edge_of(entities, row) for row in ends)),
            tuple(Mention(*row) for row in mentions),
            place.warnings,
        )

    def graph(self, name: str, *, depth: int = 2, **asked: Unpack[Asked]) -> Graph:
        """Return the entities at most ``depth`` (1..4) edges away from one. Raises NotFoundError (entity_not_found)."""
        depth, notes = clamp("depth", depth, 1, MOST_DEPTH)
        place = self._read(asked)
        entities, line, key = self._found(name, place, asked)
        edges = [edge_of(entities, row) for row in table.edges(self._store, None, **key)]
        names = {slug: row.title for slug, row in entities.rows.items()}
        return Graph(line.slug, depth, walk(line.slug, edges, names, depth=depth), (*notes, *place.warnings))

    def _read(self, asked: Asked) -> Place:
        return self._projects.for_read(asked.get("project"), session_id=asked.get("session_id"))

    def _lines(self, place: Place, asked: Asked) -> Mapping[str, EntityLine]:
        repository = place.project and place.source != "explicit" and self._projects.settings_here().repository
        key = key_in(place, asked.get("scope"))
        return entity_lines(self._store, Known.of(self._store, **key), repository=bool(repository), **key)

    def _found(self, name: str, place: Place, asked: Asked) -> tuple[Known, EntityLine, dict[str, str]]:
        key = key_in(place, asked.get("scope"))
        entities = Known.of(self._store, **key)
        slug = entities.canonical(slug_of(name))
        lines = self._lines(place, asked)
        if slug not in lines:
            near = ", ".join(get_close_matches(slug, lines, n=3))
            hint = f"similar: {near}" if near else sentence(operation("entities"), " shows those that are known")
            raise NotFoundError(f"no entity {name[:80]!r} here", hint=hint, code="entity_not_found")
        return entities, lines[slug], key


def edge_of(entities: Known, row: Sequence[object]) -> Edge:
    source, verb, target, fact, text = row
    ends = (entities.canonical(str(end).removeprefix("entity:")) for end in (source, target))
    return Edge(next(ends), str(verb), next(ends), int(str(fact)), str(text))


_GIT_SECONDS = 1.0
_MOST_COMMITS = 500


class Entities(EntityReading):
    """Names things in a project: people, services, libraries, the repository itself."""

    def __init__(self, core: Core, saving: Observations, facts: Facts, relations: Relations) -> None:
        super().__init__(core, facts)
        self._journal = core.journal
        self._observations = saving
        self._relations = relations

    def link(
        self,
        subject: str,
        predicate: str,
        object: str,
        *,
        fact: str | None = None,
        kind: str | None = None,
        object_kind: str | None = None,
        checked: bool = True,
        origin: Origin = "agent",
        **asked: Unpack[Asked],
    ) -> Linked:
        """Connect two entities: ``alice`` `works_at` ``acme``. The ``fact`` that says so is kept as well, and while it
        holds the edge does.

        Raises InvalidArgumentError for a predicate that is not snake_case, and what keeping a fact raises; nothing was
        stored then.
        """
        verb = predicate_of(predicate)
        with self._store.transaction():
            place = self._written(asked)
            key = key_in(place, asked.get("scope"))
            entities = Known.of(self._store, **key)
            lines = self._lines(place, asked)
            source, target = (entities.canonical(self._slug(name)) for name in (subject, object))
            if source == target:
                raise EntityRefusedError(f"{subject!r} and {object!r} are one entity", "connect two different ones")
            before = table.edges(self._store, [source], **key)
            same = [row for row in before if (row[0], row[1], row[2]) == (f"entity:{source}", verb, f"entity:{target}")]
            if same and fact is None:
                edge = edge_of(entities, same[0])
                return Linked(
                    edge, "duplicate", edge_values(key["project"], key["scope"], source, verb, target)["sync_id"]
                )
            text = fact if fact is not None else f"{subject.strip()} {verb.replace('_', ' ')} {object.strip()}"
            saved = self._facts.add(
                source,
                text,
                checked=checked and fact is not None,
                scope=key["scope"],
                project=place.project,
                session_id=asked.get("session_id"),
                origin=origin,
            )
            row = edge_values(key["project"], key["scope"], source, verb, target) | {"evidence": saved.sync_id}
            self._keep_edge(row)
            for slug, name, what in ((source, subject, kind), (target, object, object_kind)):
                if what:
                    self._describe(slug, name, what, key)
        warnings = [*saved.warnings]
        if target not in lines or lines[target].state == "candidate":
            warnings.append(reason("unknown_entity", entity=target))
        edge = Edge(source, verb, target, saved.id, saved.title)
        return Linked(edge, saved.outcome, str(row["sync_id"]), tuple(warnings))

    def _written(self, asked: Asked) -> Place:
        scope = clean_scope(asked.get("scope"))
        return self._projects.for_write(asked.get("project"), session_id=asked.get("session_id"), scope=scope)

    def _keep_edge(self, row: dict[str, object]) -> None:
        now, clock, key = self._journal.now(), self._journal.stamp(), str(row["sync_id"])
        relation = relations_table.by_sync_id(self._store, key)
        values = row | {"superseded_at": None, "updated_at": now, "clock": clock}
        if relation is None:
            self._store.insert("memory_relations", values | {"created_at": now})
        else:
            self._store.update("memory_relations", {"id": relation.id}, values)
        self._journal.changed("relation", key, project=str(row["project"]), clock=clock)

    def alias(self, name: str, aliases: Sequence[str], **asked: Unpack[Asked]) -> EntityChanged:
        """Give an entity other names, by which it is found as well.

        Raises EntityRefusedError where another entity has the name, or it would have more than 32.
        """
        with self._store.transaction():
            entities, row, slug, key = self._own(name, asked)
            taken = set(slugs_of((row.title, *aliases_of(row), slug)))
            new: dict[str, str] = {}
            for alias in [aliases] if isinstance(aliases, str) else aliases:
                line = clean_line("aliases", alias, limit=NAME_LIMIT_CHARS)[0].replace(";", ",")
                other = entities.canonical(slug_of(line))
                if other != slug and (other in entities.rows or other in table.facts(self._store, **key)):
                    hint = f"`engram entity merge {other} {slug}` makes them one"
                    raise EntityRefusedError(f'"{line}" is another entity already', hint)
                if slug_of(line) not in taken:
                    new[slug_of(line)] = line
            whole = (*aliases_of(row), *new.values())
            if len(whole) > MAX_ALIASES:
                why = f"{slug} would have {len(whole)} aliases; an entity has at most {MAX_ALIASES}"
                raise EntityRefusedError(why, "give those that people really use")
            if new:
                self._save(row, whole, key["project"])
        return EntityChanged(slug, row.id, "aliases" if new else "unchanged", whole)

    def describe(
        self, name: str, *, kind: str | None = None, aliases: Sequence[str] = (), **asked: Unpack[Asked]
    ) -> EntityChanged:
        """Set the kind of an entity, and give it more names. Raises the errors of ``alias``."""
        with self._store.transaction():
            _, row, slug, key = self._own(name, asked)
            if kind and kind != row.entity_kind:
                self._describe(slug, row.title, kind, key)
            if aliases:
                self.alias(slug, aliases, **asked)
            now = Known.of(self._store, **key).rows[slug]
        changed = (row.entity_kind, row.aliases) != (now.entity_kind, now.aliases)
        return EntityChanged(slug, row.id, "updated" if changed else "unchanged", aliases_of(now))

    def merge(self, name: str, into: str, **asked: Unpack[Asked]) -> EntityChanged:
        """Say that two are one: ``name`` becomes an alias of ``into``, which has the facts and edges of both."""
        with self._store.transaction():
            _, gone, old, _ = self._own(name, asked)
            entities, kept, slug, key = self._own(into, asked)
            if old == slug:
                raise EntityRefusedError(f"{name!r} and {into!r} are one entity already", "nothing is to be merged")
            names = (*aliases_of(kept), gone.title, *aliases_of(gone))
            unique = {slug_of(alias): alias for alias in reversed(names) if slug_of(alias) != slug_of(kept.title)}
            aliases = tuple(reversed(unique.values()))
            self._save(kept, aliases[:MAX_ALIASES], key["project"])
            why = "they are one entity"
            self._relations.compare(kept.id, gone.id, "supersedes", confidence=1.0, reasoning=why, by="upkeep")
            entities = Known.of(self._store, **key)
            self._summaries.write(slug, entities=entities, **key)
        left = len(aliases) - MAX_ALIASES
        notes = (f"{left} aliases were left out: an entity has at most {MAX_ALIASES}",) if left > 0 else ()
        return EntityChanged(slug, kept.id, "merged", aliases[:MAX_ALIASES], old, notes)

    def archive(self, name: str, *, restore: bool = False, **asked: Unpack[Asked]) -> EntityChanged:
        """Put an entity away, or bring it back. Its facts stay, and being mentioned does not bring it back."""
        with self._store.transaction():
            _, row, slug, _ = self._own(name, asked)
            done = self._observations.update(row.id, Change(archived=not restore))
        outcome = ("restored" if restore else "archived") if done.outcome == "updated" else "unchanged"
        return EntityChanged(slug, row.id, outcome, aliases_of(row))

    def _own(self, name: str, asked: Asked) -> tuple[Known, Observation, str, dict[str, str]]:
        """Return the own row of an entity that is known, made where it had none. Call inside a transaction."""
        place = self._written(asked)
        entities, line, key = self._found(name, place, asked)
        slug = self._slug(line.slug)
        if slug not in entities.rows:
            self._summaries.write(slug, entities=entities, name=line.name, kind=line.kind, **key)
            entities = Known.of(self._store, **key)
        return entities, entities.rows[slug], slug, key

    def _describe(self, slug: str, name: str, kind: str, key: dict[str, str]) -> None:
        kind = clean_line("kind", kind, limit=TYPE_LIMIT_CHARS)[0].lower()
        entities = Known.of(self._store, **key)
        named = None if slug in entities.rows or name == slug else clean_line("entity", name, limit=NAME_LIMIT_CHARS)[0]
        self._summaries.write(slug, entities=entities, kind=kind, name=named, **key)

    def _save(self, row: Observation, aliases: Sequence[str], project: str) -> None:
        draft = Draft(row.title, row.content, row.type, scope=row.scope, topic_key=row.topic_key, origin=row.origin)
        archived = row.lifecycle == "archived"
        self._observations.save(replace(draft, aliases=tuple(aliases)), project=project)
        if archived:  # what is written is active again
            self._observations.update(row.id, Change(archived=True))

    def _slug(self, name: str) -> str:
        slug = slug_of(name)
        if len(slug) > SLUG_CHARS:
            raise TextTooLongError("entity", len(slug), SLUG_CHARS)
        return slug

    # --- upkeep --------------------------------------------------------------------------------------------

    def count_mentions(self, *, until: float | None = None, rebuild: bool = False) -> Counted:
        """Count the names in what was saved and said since the last pass, until then (``time.monotonic``); what is
        left is read by the next. ``rebuild`` forgets the counts and begins again."""
        return count_mentions(self._store, authors=self._authors_by_project, until=until, rebuild=rebuild)

    def rewrite_summaries(self, now: datetime | None = None, *, until: float | None = None) -> Rewritten:
        """Bring derived summaries up to date, supersede facts that contradict later ones, and shorten what was replaced
        half a year before ``now``."""
        return self._summaries.rewrite(now=now or self._journal.moment(), until=until)

    def renew(self, slug: str, project: str, scope: str) -> None:
        """Bring the derived summary of an entity up to date, where it has one."""
        with self._store.transaction():
            entities = Known.of(self._store, slug, project=project, scope=scope)
            if entities.canonical(slug) in entities.rows:
                slug = entities.canonical(slug)
                self._summaries.write(slug, project=project, scope=scope, entities=entities)

    @property
    def _summaries(self) -> Summaries:
        return Summaries(self._store, self._journal, self._observations, self._relations, self._facts.rules)

    def _authors_by_project(self) -> Mapping[str, list[str]]:
        place, repository = self._projects.for_read(), self._projects.settings_here().repository
        if repository is None or not place.project or not repository.commit:
            return {}
        deadline = Deadline(_GIT_SECONDS)
        answer = ask_git(repository.root, "log", f"-{_MOST_COMMITS}", "--format=%aN", deadline=deadline)
        lines = lines_of(answer[0].decode("utf-8", "replace")) if answer else []
        return {place.project: list(dict.fromkeys(line.strip() for line in lines if " " in line.strip()))}
