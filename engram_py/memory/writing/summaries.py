"""List entities from their rows, facts, edges and mentions; write what is known of each from its facts, and set facts
right that contradict each other.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import partial
from typing import Any

from engram_py.base.database.mutation_queue import Journal, get_meta, set_meta
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.times import parse_time, to_text
from engram_py.memory.entities import table
from engram_py.memory.entities.names import MOST_MENTIONS, Known, aliases_of, is_promoted, slugs_of
from engram_py.memory.entities.values import SLUG_CHARS, TOPIC, TYPE, Edge, EntityLine, Rewritten
from engram_py.memory.observations import table as observations
from engram_py.memory.observations.fact_rules import Rules, has_anchor, judged
from engram_py.memory.observations.usage import tier
from engram_py.memory.observations.values import Change, Draft, Observation
from engram_py.memory.relations import table as relations_table
from engram_py.memory.relations.relations import Relations
from engram_py.memory.writing.observations import Observations

UNKNOWN_YET = "- nothing is known yet"


@dataclass
class _Entry:
    name: str = ""
    kind: str | None = None
    is_entity: bool = False
    facts: int = 0
    mentions: int = 0
    at: list[str] = field(default_factory=list)


def entity_lines(store: Store, entities: Known, *, project: str, scope: str, repository: bool) -> dict[str, EntityLine]:
    """Return every entity and candidate by slug, in its order. A ``repository`` is an entity from the start."""
    entries: dict[str, _Entry] = {}

    def entry(slug: str) -> _Entry:
        return entries.setdefault(entities.canonical(slug), _Entry())

    if repository:
        for slug in slugs_of([project]):
            record = entry(slug)
            record.name, record.kind, record.is_entity = project, "project", True
    for slug, values in table.names(store, project).items() if scope == "project" else ():
        _mentioned(entry(slug), values)
    for row in table.edges(store, None, project=project, scope=scope):
        for end in (row[0], row[2]):
            entry(str(end).removeprefix("entity:"))
    for slug, (_, active, at, kind) in table.facts(store, project=project, scope=scope).items():
        record = entry(slug)
        record.kind = kind or record.kind
        record.is_entity, record.facts, record.at = True, record.facts + active, [*record.at, at]
    for slug in entities.rows:
        entry(slug)
    return {slug: _line(slug, entries[slug], entities) for slug in sorted(entries)}


def _mentioned(record: _Entry, values: Any) -> None:
    record.name = record.name or values["name"]
    record.kind = record.kind or values["kind"]
    record.is_entity = record.is_entity or is_promoted(values)
    record.mentions = min(MOST_MENTIONS, record.mentions + values["mentions"])
    record.at += [values["seen_at"]] if values["seen_at"] else []


def _line(slug: str, record: _Entry, entities: Known) -> EntityLine:
    row = entities.rows.get(slug)
    state = "active" if record.is_entity else "candidate"
    if row is not None:
        state = "archived" if row.lifecycle == "archived" else "active"
        record.at.append(row.updated_at)
    return EntityLine(
        slug=slug,
        name=row.title if row else record.name or slug.replace("-", " ").title(),
        kind=(row.entity_kind if row else None) or record.kind,
        state=state,
        id=row.id if row else None,
        aliases=aliases_of(row) if row else (),
        facts=record.facts,
        mentions=record.mentions,
        has_summary=row is not None and UNKNOWN_YET not in row.content,
        last_updated=max(record.at, default=None),
    )


MOST_WORDS = 500
_HISTORY_WORDS = 120  # of these for what was, at most
_LINE_WORDS = 30
_SWEPT = 200
SHORTEN_DAYS = 180
SHORT_CHARS = 200
_CURSOR = "entities.summaries"
_DAY = 10


@dataclass
class _Counts:
    entities: int = 0
    written: int = 0
    superseded: int = 0
    shortened: int = 0
    seen: set[tuple[str, str, str]] = field(default_factory=set)


class Summaries:
    """Rewrites derived summaries. What a person or an agent wrote stays."""

    def __init__(
        self, store: Store, journal: Journal, saving: Observations, relations: Relations, rules: Rules
    ) -> None:
        self._store = store
        self._now = journal.moment()
        self._observations = saving
        self._relations = relations
        self._rules = rules

    def rewrite(self, *, now: datetime, until: float | None = None) -> Rewritten:
        """Go over the entities that have facts, from where the last pass stopped, until then (``time.monotonic``)."""
        done, before = _Counts(), to_text(now - timedelta(days=SHORTEN_DAYS))
        self._now = now
        facts = table.count_facts(self._store)
        for key in self._waiting():
            if until is not None and time.monotonic() >= until:
                with self._store.transaction():
                    set_meta(self._store, _CURSOR, "\n".join(key))
                return self._answer(done, whole=False)
            self._store.give_way()
            self._entity(*key, done, before)
        with self._store.transaction():
            set_meta(self._store, _CURSOR, "")
            table.synthesized(self._store, facts)
        return self._answer(done, whole=True)

    def _answer(self, done: _Counts, *, whole: bool) -> Rewritten:
        return Rewritten(done.entities, done.written, done.superseded, done.shortened, done=whole)

    def _waiting(self) -> Iterator[tuple[str, str, str]]:
        """Yield project, scope and slug of each entity, beginning where the last pass stopped."""
        keys = [(str(a), str(b), str(c)) for a, b, c in self._store.tuples(table.EVERY_ENTITY)]
        left = get_meta(self._store, _CURSOR) or ""
        begin = next((n for n, key in enumerate(keys) if "\n".join(key) == left), 0) if left else 0
        yield from (*keys[begin:], *keys[:begin])

    def _entity(self, project: str, scope: str, slug: str, done: _Counts, before: str) -> None:
        with self._store.transaction():
            entities = Known.of(self._store, slug, project=project, scope=scope)
            slug = entities.canonical(slug)
            if (project, scope, slug) in done.seen:
                return
            done.seen.add((project, scope, slug))
            done.entities += 1
            done.superseded += self._sweep(entities.group(slug), project, scope)
            done.shortened += self._shorten(entities.group(slug), project, scope, before)
            done.written += self.write(slug, project=project, scope=scope, entities=entities)

    def _sweep(self, slugs: tuple[str, ...], project: str, scope: str) -> int:
        """Supersede the older of two active facts that have another value of the same kind."""
        active = observations.facts_about(self._store, *slugs, project=project, scope=scope, limit=_SWEPT)
        active = [fact for fact in active if has_anchor(fact.content, self._rules)]
        active.sort(key=lambda fact: (fact.updated_at, fact.sync_id))  # ids differ between machines
        gone: set[int] = set()
        for place, fact in enumerate(active):
            older = [earlier for earlier in active[:place] if earlier.id not in gone]
            for old, phrase in judged(fact.content, older, self._rules).replaced:
                reason = f'both say "{phrase}", and this one was said later'
                self._relations.compare(fact.id, old.id, "supersedes", confidence=1.0, reasoning=reason, by="upkeep")
                gone.add(old.id)
        return len(gone)

    def _shorten(self, slugs: tuple[str, ...], project: str, scope: str, before: str) -> int:
        """Cut long facts that were replaced half a year ago; the whole text stays as an earlier version."""
        past = observations.facts_about(self._store, *slugs, project=project, scope=scope, past=True)
        cut = 0
        for fact in past:
            if fact.lifecycle != "historical" or len(fact.content) <= SHORT_CHARS or fact.updated_at >= before:
                continue
            since = [relation.updated_at for relation in relations_table.replacing(self._store, fact.sync_id)]
            if since and min(since) < before:
                short = fact.content[: SHORT_CHARS - 1].rsplit(None, 1)[0] + "…"
                self._observations.update(fact.id, Change(content=short), by="upkeep")
                cut += 1
        return cut

    def write(
        self, slug: str, *, project: str, scope: str, entities: Known, kind: str | None = None, name: str | None = None
    ) -> bool:
        """Give an entity its own row, or bring its derived summary up to date; whether that changed anything.

        Call inside a transaction. ``kind`` and ``name`` are what somebody says of it.
        """
        row = entities.rows.get(slug)
        if len(slug) > SLUG_CHARS or (row is not None and row.lifecycle != "active"):
            return False
        mentioned = None if row else table.name_of(self._store, project, slug)
        spelt = str(mentioned["name"]) if mentioned else slug.replace("-", " ").title()
        named = name or (row.title if row else spelt)
        facts = observations.facts_about(
            self._store, *entities.group(slug), project=project, scope=scope, past=True, limit=_SWEPT
        )
        told = next((fact.entity_kind for fact in facts if fact.entity_kind), None)
        kind = kind or (row.entity_kind if row else None) or told or (mentioned["kind"] if mentioned else None)
        if row and row.origin != "derived":
            content = row.content
        else:
            ends = table.edges(self._store, entities.group(slug), project=project, scope=scope)
            edges = [Edge(a[7:], verb, b[7:], fact, text) for a, verb, b, fact, text in ends]
            by = relations_table.replacements(self._store, [fact.sync_id for fact in facts])
            content = summary_text(kind, facts, edges, by, self._now)
        if row and (row.title, row.content, row.entity_kind) == (named, content, kind):
            return False
        keep = partial(Draft, named, content, type=row.type if row else TYPE, scope=scope, topic_key=TOPIC + slug)
        origin = row.origin if row else "derived"
        self._observations.save(keep(origin=origin, entity_kind=kind), project=project)
        return True


def summary_text(
    kind: str | None, facts: list[Observation], edges: list[Edge], replaced_by: Mapping[str, int], now: datetime
) -> str:
    """Return the summary of an entity in at most 500 words: active facts, edges, those that nobody asked for in a
    while, and earlier values with what replaced them."""
    facts = sorted(facts, key=lambda fact: (fact.updated_at, fact.sync_id), reverse=True)
    active = [fact for fact in facts if fact.lifecycle == "active"]
    cold = [fact for fact in active if _is_cold(fact, now)]
    texts = {fact.id: fact.content for fact in facts}
    past = [
        (fact, _previously(fact, texts.get(replaced_by.get(fact.sync_id, 0))))
        for fact in facts
        if fact.lifecycle == "historical"
    ]
    lines = [f"**Kind:** {kind}"] if kind else []
    ends = sorted({f"- {edge.subject} {edge.predicate} {edge.object}" for edge in edges})
    was = _lines(past, _HISTORY_WORDS)
    left = MOST_WORDS - _words("\n".join(was)) - 10
    current = _lines([(fact, fact.content) for fact in active if fact not in cold], left)
    left -= _words("\n".join(current))
    lines += ["## Current", *(current or [UNKNOWN_YET if not cold else "- nothing of late"])]
    kept: list[str] = []
    for end in ends:
        left -= _words(end)
        if left < 10:
            break
        kept.append(end)
    lines += ["", "## Connected", *kept] if kept else []
    lines += ["", "## Earlier", *_lines([(fact, fact.content) for fact in cold], left)] if cold else []
    lines += ["", "## History", *was] if was else []
    return "\n".join(lines)


def _is_cold(fact: Observation, now: datetime) -> bool:
    touched = parse_time(max(fact.last_accessed_at or "", fact.last_seen_at or "", fact.updated_at))
    return not fact.pinned and tier(fact.access_count, touched, now) == "cold"


def _previously(fact: Observation, now: str | None) -> str:
    return f"previously {fact.content.rstrip('.')}, now {now}" if now else fact.content


def _lines(facts: Sequence[tuple[Observation, str]], words: int) -> list[str]:
    """Return a line for each fact and its text, cut where they are many."""
    lines: list[str] = []
    each = max(3, min(_LINE_WORDS, words // max(1, len(facts)) - 2))
    for number, (fact, said) in enumerate(facts):
        text = said.split()
        line = f"- {fact.updated_at[:_DAY]}: {' '.join(text[:each])}" + ("…" if len(text) > each else "")
        words -= _words(line)
        if words < 10:
            return [*lines, f"- and {len(facts) - number} more"]
        lines.append(line)
    return lines


def _words(text: str) -> int:
    return len(text.split())
