"""Two ways to read a memory on purpose: what is known about something, and all of it."""

from __future__ import annotations

from datetime import timedelta

from engram_py.context import table
from engram_py.context.prompt_kinds import phrase_in, plain_words
from engram_py.context.providers import ENTITY, MOST_ENTITIES, Providers
from engram_py.context.request import Build
from engram_py.context.session import table_rows
from engram_py.context.values import Section
from engram_py.database.store import Store
from engram_py.files import lines_of
from engram_py.observations.values import Observation
from engram_py.recall.query.parse import parse_query
from engram_py.times import to_text

# Martian's cascade (spec/seed-capabilities.md M22 to M25): the next stage only while there is too little.
ENOUGH = 3
ENTITIES, ENTITY_LINES, FACTS, NOTES, NOTE_DAYS = 5, 50, 10, 5, 7

# Few lines of a log are shorter than this.
_LOG_LINE_BYTES = 100


def cascade_sections(providers: Providers, build: Build) -> tuple[Section, ...]:
    """Return what is known of the person, the entities and their facts, then found facts, then last week's notes.

    Each stage is asked only while there are fewer than three results.
    """
    words = build.ask.query
    phrase = phrase_in(words, build.ask.today)
    person = providers.identity(build, limit=FACTS) if phrase is not None and phrase.kind == "identity" else []
    entities, facts = providers.entities(build, words, limit=ENTITIES)
    facts = facts[:FACTS]
    notes: list[Observation] = []
    if len(person) + len(entities) + len(facts) < ENOUGH:
        known = {row.id for row in (*person, *entities, *facts)}
        facts = [*facts, *_facts(providers, build, words, known)][:FACTS]
    if len(person) + len(entities) + len(facts) < ENOUGH:
        notes = _notes(providers, build, words)
    told = build.findings.remarks.instead_of  # what was replaced is named by its handle alone
    told.update({row: old.partition(" ")[0] for row, old in told.items()})
    return (
        Section("identity", tuple(person)),
        Section("entities", tuple(entities), lines=ENTITY_LINES),
        Section("facts", tuple(facts)),
        Section("notes", tuple(notes)),
    )


def full_sections(store: Store, providers: Providers, build: Build) -> tuple[Section, ...]:
    """Return the profile, then everything by day with the latest day first, then the summaries of entities."""
    profile = providers.profiles(build)
    overrides = providers.overrides(build)
    most = build.ask.max_bytes // _LOG_LINE_BYTES
    rows = providers.vetted(build, table_rows(store, build, limit=most))
    pinned = providers.vetted(build, table_rows(store, build, limit=most, pinned=True))
    digests = table.of_family(store, ENTITY, projects=build.ask.reads, limit=MOST_ENTITIES)
    apart = {row.id for row in (*profile, *overrides, *digests)}
    log = sorted({row.id: row for row in (*rows, *pinned) if row.id not in apart}.values(), key=_age, reverse=True)
    by_path = sorted(providers.vetted(build, digests), key=_path)
    return (
        Section("identity", (*overrides, *profile), lines=1_000),
        Section("observations", tuple(log)),
        Section("entities", tuple(by_path), lines=1_000),
    )


def _facts(providers: Providers, build: Build, words: str, without: set[int]) -> list[Observation]:
    found = [one for one in providers.lasting(build, words) if one.row.id not in without]
    build.findings.remarks.excerpts.update({one.row.id: one.excerpt for one in found if one.excerpt})
    return sorted((one.row for one in found), key=_age, reverse=True)[:FACTS]


def _notes(providers: Providers, build: Build, words: str) -> list[Observation]:
    """Return the notes of the last seven days that match, with the lines of theirs that do, five in all."""
    since = to_text(build.ask.now - timedelta(days=NOTE_DAYS))
    terms = [word.text for word in parse_query(plain_words(words)).content_words]
    found = sorted(providers.search(build, words, type="note"), key=lambda one: _age(one.row), reverse=True)
    kept: list[Observation] = []
    left = NOTES
    for one in (one for one in found if one.row.updated_at >= since):
        lines = (_matching_lines(one.row.content, terms) or [one.excerpt])[:left]
        if lines:
            build.findings.remarks.excerpts[one.row.id] = " / ".join(lines)
            kept.append(one.row)
            left -= len(lines)
    return kept


def _matching_lines(content: str, terms: list[str]) -> list[str]:
    lines = (line.strip() for line in lines_of(content))
    return [line for line in lines if line and not line.startswith("#") and any(term in line.lower() for term in terms)]


def _age(row: Observation) -> tuple[str, int]:
    return row.updated_at, row.id


def _path(row: Observation) -> tuple[str, int]:
    return row.topic_key or "", row.id
