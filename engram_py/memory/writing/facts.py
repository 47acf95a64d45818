"""Facts: a sentence each about an entity. A new value replaces the old; what is said already is not said again.
Notes: a line about the day, appended and never changed by the next one.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

from engram_py.base.dataclass import replace
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.times import parse_time, to_text
from engram_py.memory.entities.names import canonical, names_of
from engram_py.memory.observations import table
from engram_py.memory.observations.arguments import clamp, clean_scope, key_in
from engram_py.memory.observations.fact_rules import Rules, rules_of
from engram_py.memory.observations.listing import Fact, Listing, Note
from engram_py.memory.observations.validation import NAME_LIMIT_CHARS, clean_line, slug_of, title_of
from engram_py.memory.observations.values import Draft, Observation, Origin, Saved
from engram_py.memory.projects.projects import Core
from engram_py.memory.writing.observations import Observations

MOST_FACTS = 200
_DATE_CHARS = len("2025-05-04")


class Facts:
    """Adds facts through the one write path, and lists those of an entity.

    ``renew`` brings the summary of an entity (its slug, project and scope) up to date: what a fact replaced stands
    there no longer.
    """

    def __init__(
        self, core: Core, observations: Callable[[], Observations], renew: Callable[[str, str, str], None]
    ) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._observations, self._renew = observations, renew
        self._rules = core.settings.fact_rules

    def add(
        self,
        entity: str,
        text: str,
        *,
        checked: bool = True,
        kind: str | None = None,
        category: str | None = None,
        source: str | None = None,
        source_ref: str | None = None,
        date: str | None = None,
        scope: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        origin: Origin = "agent",
    ) -> Saved:
        """Keep ``text`` as a fact about ``entity``.

        ``deduped``: an active fact of the entity has 70 % of its words, a derived one 60 %. ``superseded``: one has
        another value of the same kind ("works at"), and becomes historical. Not ``checked``, it is kept as it is.
        ``kind`` is that of the entity (person), ``category`` that of the fact (milestone), ``source`` where it is from
        (meeting) and ``source_ref`` which one. A ``date`` is when it held first; what was said later stays above it.

        Raises InvalidInputError (fact_refused): it is too short, or tells what passes; and what a save raises.
        """
        details = {"category": category, "source": source, "source_ref": source_ref}
        more: dict[str, Any] = {name: _line(name, given) for name, given in details.items()}
        more |= {"entity_kind": (_line("kind", kind) or "").lower() or None, "said_at": self._said_at(date)}
        with self._store.transaction():
            place = self._projects.for_write(project, session_id=session_id, scope=clean_scope(scope))
            key = key_in(place, scope)
            slug = canonical(self._store, slug_of(entity), **key)  # by an alias as well
            draft = Draft(title_of(text), text, "fact", scope=scope, about=slug, origin=origin, **more)
            rules = self.rules if checked else None
            if rules is not None and origin == "derived":
                rules = replace(rules, same=min(rules.same, rules.same_derived))
            saved = self._observations().save(draft, project=project, session_id=session_id, rules=rules)
            if saved.outcome == "superseded":
                self._renew(slug, key["project"], key["scope"])
        return saved

    def _said_at(self, date: str | None) -> str | None:
        """Return when a fact held first; of a day alone its noon."""
        if date is None or not date.strip():
            return None
        moment, now = parse_time(date), self._journal.moment()
        if len(date.strip()) == _DATE_CHARS and (day := self._journal.calendar.span(date)):
            moment = day[0] + timedelta(hours=12)
        if moment is None or moment > now + timedelta(days=1):
            raise InvalidArgumentError("date", date, expected="a day up to today, such as 2025-05-04")
        return to_text(min(now, moment))

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
        """Return the facts about an entity, the latest first; with ``past`` those that were replaced as well."""
        limit, said = clamp("limit", limit, 1, MOST_FACTS)
        place = self._projects.for_read(project, session_id=session_id)
        key = key_in(place, scope)
        slugs = names_of(self._store, slug_of(entity), **key)
        rows = table.facts_about(
            self._store, *slugs, project=key["project"], scope=key["scope"], past=past, limit=limit
        )
        return Listing("facts", tuple(map(_fact, rows)), (*said, *place.warnings))


def _fact(row: Observation) -> Fact:
    past, more = row.lifecycle != "active", (row.category, row.source, row.source_ref)
    return Fact(row.id, row.about or "", row.content, row.updated_at, past, row.entity_kind, *more)


def _line(name: str, given: str | None) -> str | None:
    return clean_line(name, given, limit=NAME_LIMIT_CHARS)[0] if given and given.strip() else None


MOST_NOTES = 500


class Notes:
    """Appends notes through the one write path, and lists those of a day in the zone that is set."""

    def __init__(self, core: Core, observations: Callable[[], Observations]) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._observations = observations

    def add(
        self,
        text: str,
        *,
        title: str | None = None,
        at: str | None = None,
        project: str | None = None,
        session_id: str | None = None,
        origin: Origin = "user",
        operation_id: str | None = None,
    ) -> Saved:
        """Keep ``text`` as a note of now, or of the UTC time ``at``. Raises what a save raises."""
        draft = Draft(title or title_of(text), text, "note", origin=origin, operation_id=operation_id, said_at=at)
        with self._store.transaction():
            saved = self._observations().save(draft, project=project, session_id=session_id)
            if at is not None and saved.outcome == "added":
                self._store.update("observations", {"id": saved.id}, {"updated_at": self._journal.now()})
        return replace(saved, suggested_topic_key=None, topic_holder=None)

    def of_day(self, day: str | None = None, *, project: str | None = None) -> Listing:
        """Return the notes of a local day (``2026-03-14``, ``today``), oldest first. Raises InvalidArgumentError."""
        place = self._projects.for_read(project)
        since, until = self._span(day or "today")
        rows = table.notes_between(self._store, project=place.project, since=since, until=until, limit=MOST_NOTES)
        notes = tuple(Note(row.id, row.content, row.created_at) for row in reversed(rows))
        return Listing("notes", notes, place.warnings)

    def _span(self, day: str) -> tuple[str, str]:
        calendar = self._journal.calendar
        named = {"today": calendar.today, "yesterday": calendar.today - timedelta(days=1)}
        try:
            start = named.get(day.strip().lower()) or date.fromisoformat(day.strip())
            return calendar.moments(start, start + timedelta(days=1))
        except (ValueError, OverflowError) as exc:
            raise InvalidArgumentError("day", day, expected="a day such as 2026-03-14, today or yesterday") from exc
