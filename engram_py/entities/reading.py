"""List entities, show one, and walk their edges."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from difflib import get_close_matches

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.entities import table
from engram_py.entities.edges import walk
from engram_py.entities.errors import EntityNotFoundError
from engram_py.entities.lines import entity_lines
from engram_py.entities.resolving import Known
from engram_py.entities.values import (
    MOST_DEPTH,
    Edge,
    EntityDetail,
    EntityLine,
    EntityList,
    Graph,
    Mention,
)
from engram_py.observations.facts import Facts
from engram_py.observations.validation import clamp, clean_scope, slug_of
from engram_py.projects.projects import ProjectOperations, Projects
from engram_py.projects.values import Place

_SHOWN_FACTS, _SHOWN_MENTIONS = 50, 10


class EntityReading(ProjectOperations):
    """Reads what is known of entities; writes nothing."""

    def __init__(self, store: Store, journal: Journal, projects: Projects, facts: Facts) -> None:
        super().__init__(store, journal, projects)
        self._facts = facts

    def listed(
        self,
        *,
        candidates: bool = False,
        archived: bool = False,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
    ) -> EntityList:
        """Return the entities of a project, by slug; with ``archived`` those put away, with ``candidates`` names as
        well that are mentioned too seldom."""
        place = self._projects.for_read(project, session_id=session_id)
        wanted = {"active", *(("archived",) if archived else ()), *(("candidate",) if candidates else ())}
        lines = tuple(line for line in self._lines(place, scope).values() if line.state in wanted)
        bare = sum(not line.has_summary for line in lines)
        return EntityList(lines, bare, place.project, place.warnings)

    def show(
        self, name: str, *, scope: str | None = None, project: str | None = None, session_id: str | None = None
    ) -> EntityDetail:
        """One entity: its summary, facts, edges, and what mentions it. Raises EntityNotFoundError."""
        place = self._projects.for_read(project, session_id=session_id)
        known, line, key = self._found(name, place, scope)
        ends = table.edges(self._store, known.group(line.slug), **key)
        facts = self._facts.of(line.slug, project=place.project or None, scope=scope, limit=_SHOWN_FACTS)
        said = table.mentioned(self._store, known.group(line.slug), project=place.project, limit=_SHOWN_MENTIONS)
        return EntityDetail(
            line,
            known.rows[line.slug].content if line.slug in known.rows else "",
            facts.items,
            tuple(dict.fromkeys(edge_of(known, row) for row in ends)),
            tuple(Mention(*row) for row in said),
            place.warnings,
        )

    def graph(
        self,
        name: str,
        *,
        depth: int = 2,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
    ) -> Graph:
        """Return what is at most ``depth`` (1..4) edges away from an entity. Raises EntityNotFoundError."""
        depth, said = clamp("depth", depth, 1, MOST_DEPTH)
        place = self._projects.for_read(project, session_id=session_id)
        known, line, key = self._found(name, place, scope)
        edges = [edge_of(known, row) for row in table.edges(self._store, None, **key)]
        names = {slug: row.title for slug, row in known.rows.items()}
        return Graph(line.slug, depth, walk(line.slug, edges, names, depth=depth), (*said, *place.warnings))

    def _lines(self, place: Place, scope: str | None) -> Mapping[str, EntityLine]:
        repository = place.project and place.source != "explicit" and self._projects.settings_here().repository
        key = {"project": place.project, "scope": clean_scope(scope) or place.default_scope}
        return entity_lines(self._store, Known.of(self._store, **key), repository=bool(repository), **key)

    def _found(self, name: str, place: Place, scope: str | None) -> tuple[Known, EntityLine, dict[str, str]]:
        key = {"project": place.project, "scope": clean_scope(scope) or place.default_scope}
        known = Known.of(self._store, **key)
        slug = known.canonical(slug_of(name))
        lines = self._lines(place, scope)
        if slug not in lines:
            raise EntityNotFoundError(name, get_close_matches(slug, lines, n=3))
        return known, lines[slug], key


def edge_of(known: Known, row: Sequence[object]) -> Edge:
    source, verb, target, fact, said = row
    ends = (known.canonical(str(end).removeprefix("entity:")) for end in (source, target))
    return Edge(next(ends), str(verb), next(ends), int(str(fact)), str(said))
