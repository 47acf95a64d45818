"""Facts: a sentence each about an entity. A new value replaces the old; what is said already is not said again."""

from __future__ import annotations

from collections.abc import Callable

from engram_py.dataclass import replace
from engram_py.entities.names import canonical, names_of
from engram_py.observations import table
from engram_py.observations.arguments import clamp, clean_scope
from engram_py.observations.fact_rules import Rules, rules_of
from engram_py.observations.listing import Fact, Listing
from engram_py.observations.observations import Observations
from engram_py.observations.validation import slug_of, title_of
from engram_py.observations.values import Draft, Origin, Saved
from engram_py.projects.projects import Core

MOST = 200


class Facts:
    """Adds facts through the one write path, and lists those of an entity."""

    def __init__(self, core: Core, observations: Callable[[], Observations]) -> None:
        self._store, self._projects = core.store, core.projects
        self._observations = observations
        self._rules = core.settings.fact_rules

    def add(
        self,
        entity: str,
        text: str,
        *,
        checked: bool = True,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        origin: Origin = "agent",
    ) -> Saved:
        """Keep ``text`` as a fact about ``entity``.

        ``deduped``: an active fact of the entity has 70 % of its words, a derived one 60 %. ``superseded``: one has
        another value of the same kind ("works at"), and becomes historical. Not ``checked``, it is kept as it is.

        Raises FactRefusedError: it is too short, or tells what passes; and what a save raises.
        """
        with self._store.transaction():
            place = self._projects.for_write(project, session_id=session_id, scope=clean_scope(scope))
            key = {"project": place.project, "scope": clean_scope(scope) or place.default_scope}
            slug = canonical(self._store, slug_of(entity), **key)  # by an alias as well
            draft = Draft(title_of(text), text, "fact", scope=scope, about=slug, origin=origin)
            rules = self.rules if checked else None
            if rules is not None and origin == "derived":
                rules = replace(rules, same=min(rules.same, rules.same_derived))
            return self._observations().save(draft, project=project, session_id=session_id, rules=rules)

    @property
    def rules(self) -> Rules:
        """By what a fact is judged."""
        return rules_of(self._rules)

    def of(
        self,
        entity: str,
        *,
        past: bool = False,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        limit: int = 50,
    ) -> Listing:
        """Return the facts about an entity, latest change first; with ``past`` those that were replaced as well."""
        limit, said = clamp("limit", limit, 1, MOST)
        place = self._projects.for_read(project, session_id=session_id)
        key = {"project": place.project, "scope": clean_scope(scope) or place.default_scope}
        slugs = names_of(self._store, slug_of(entity), **key)
        rows = table.facts_about(self._store, *slugs, **key, past=past, limit=limit)
        facts = (Fact(row.id, row.about or "", row.content, row.updated_at, row.lifecycle != "active") for row in rows)
        return Listing("facts", tuple(facts), (*said, *place.warnings))
