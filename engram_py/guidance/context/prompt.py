"""Decide what one prompt is given: the overrides, and at most one section more; silence is the usual answer.

A prompt that asks for something else than a subject says so by a phrase (``prompt_gate.py``). Every other is searched
for, and what is found is given where the evidence makes it likely that the work needs it, or named in a line where it
may well (``recall/score.py``).
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta

from engram_py.base.database.store import Store
from engram_py.base.files import lines_of
from engram_py.base.reasons import Sentence
from engram_py.base.times import to_text
from engram_py.guidance.context import table
from engram_py.guidance.context.prompt_gate import Phrase, asks_of, asks_something, phrase_in, plain_words
from engram_py.guidance.context.providers import ENTITY, MOST_ENTITIES, Found, Providers
from engram_py.guidance.context.session import table_rows
from engram_py.guidance.context.values import POINTED, Section
from engram_py.guidance.context.visibility import Build
from engram_py.memory.observations.values import TYPES, Observation
from engram_py.memory.sessions.values import SessionLine
from engram_py.recall.preview import with_opening
from engram_py.recall.query import parse_query

_LATEST, _MOST_OWNED, _MOST_GIVEN = 2, 3, 5


class QueryOrder:
    """Chooses at most one section for a prompt."""

    def __init__(self, providers: Providers) -> None:
        self._providers = providers

    def sections(self, build: Build, *, mode: str) -> tuple[tuple[Section, ...], str | None, str | None]:
        """Return the overrides and at most one section more, its name, and the words that led to it."""
        overrides = Section("overrides", tuple(self._providers.overrides(build)))
        if mode == "off":
            section = self._ungated(build)
            return (overrides, section), section.name, None
        phrase = phrase_in(build.ask.query, build.ask.today)
        if phrase is not None:
            section = self._asked(build, phrase)
            if section.items:
                return (overrides, section), section.name, phrase.said
        said = {row.id for row in overrides.items if isinstance(row, Observation)}
        found = [one for one in self._providers.evident(build) if one.row.id not in said][:_MOST_GIVEN]
        if found:
            return (overrides, self._memories(build, found)), "memories", ", ".join(found[0].words)
        pointed = tuple(row for row in self._providers.pointed(build) if row.id not in said)
        if pointed:
            return (overrides, Section(POINTED, pointed)), POINTED, None
        return (overrides,), None, phrase.said if phrase else None

    def _ungated(self, build: Build) -> Section:
        found = self._providers.lasting(build, build.ask.query)[: _most(build, 60, 3, 15)]
        if found:
            return self._memories(build, found)
        return _episodes(self._providers.last_sessions(build, limit=_LATEST))

    def _asked(self, build: Build, phrase: Phrase) -> Section:
        match phrase.kind:
            case "identity":
                return Section("identity", tuple(self._providers.identity(build, limit=_most(build, 60, 3, 15))))
            case "literal":
                limit = _most(build, 200, 2, 6)
                said = self._providers.transcript(build, phrase.rest, days=phrase.days, limit=limit)
                return Section("transcript", tuple(said))
            case "owned":
                return Section("memories", tuple(self._owned(build, phrase.rest)))
        limit = _most(build, 120, 2, 8)
        if phrase.days is not None:
            return self._of_days(build, phrase, limit)
        about = self._providers.sessions_about(build, phrase.rest, limit=limit) if asks_something(phrase.rest) else []
        if about:
            return _episodes(about)
        if phrase.kind == "resume" or not asks_something(phrase.rest):
            return _episodes(self._providers.last_sessions(build, limit=_LATEST))
        return self._memories(build, self._providers.lasting(build, phrase.rest)[:limit])

    def _of_days(self, build: Build, phrase: Phrase, limit: int) -> Section:
        """Return the sessions of those days, else what they saved, else, to a question about days alone, the latest."""
        assert phrase.days is not None
        sessions = self._providers.sessions_of(build, phrase.days, limit=limit)
        if sessions:
            summaries = build.findings.remarks.summaries
            shown = [summaries[line.id] for line in sessions if line.id in summaries]
            return _episodes(sessions, note=self._providers.more_of(build, phrase.days, shown))
        rows = self._providers.of_days(build, phrase.days, limit=limit)
        if rows or asks_of(phrase.rest) or not phrase.question:
            more = self._providers.more_of(build, phrase.days, [row.id for row in rows]) if rows else ""
            return Section("episodes", tuple(rows), note=more)
        latest = self._providers.last_sessions(build, limit=_LATEST)
        return _episodes(latest, note=f"nothing of “{phrase.days.words}”; the latest instead")

    def _owned(self, build: Build, thing: str) -> list[Observation]:
        """Return the memories about a thing of the person's, or of the type that the thing names."""
        kind = thing.removesuffix("s")
        if kind in TYPES:
            return self._providers.of_kind(build, kind, limit=_MOST_OWNED, anywhere=kind == "preference")
        found = self._providers.lasting(build, thing)
        return [one.row for one in found if one.row.scope == "personal" or one.row.type == "preference"][:_MOST_OWNED]

    def _memories(self, build: Build, found: Sequence[Found]) -> Section:
        told = {one.row.id: with_opening(one.row.content, one.excerpt) for one in found if one.excerpt}
        build.findings.remarks.excerpts.update(told)
        return Section("memories", tuple(one.row for one in found))


def _episodes(lines: Sequence[SessionLine], note: str | Sentence = "") -> Section:
    return Section("episodes", tuple(lines), note=note)


def _most(build: Build, tokens_each: int, low: int, high: int) -> int:
    """Return how many things of a size a budget is for (spec/seed-capabilities.md O28)."""
    return max(low, min(high, build.ask.tokens // tokens_each))


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
    by_path = sorted(providers.vetted(build, digests), key=lambda row: (row.topic_key or "", row.id))
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
