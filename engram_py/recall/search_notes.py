"""Notes on an answer: how the query was read, which words are not here, and what filters hide."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.doors import call
from engram_py.observations.visible import has_type
from engram_py.recall.hits import Ranked
from engram_py.recall.query.parse import MAX_QUERY_CHARS, MAX_WORDS, Query
from engram_py.recall.retrieval import Retrieved
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.terms import MOST_WORDS_ASKED
from engram_py.recall.values import LadderStep

_MOST_HIDDEN = 3
# So many rows are asked whether they have a type, before it is called unusual.
TYPES_READ = 10_000


def answer_notes(
    store: Store,
    text: str,
    query: Query,
    found: Retrieved,
    scope: ScopeFilter,
    shown: Sequence[Ranked],
    *,
    types: Sequence[str],
) -> list[str]:
    """Return what an answer says of how it was found; ``types`` are those that were asked for."""
    notes = [*_query_notes(text, query), *found.notes]
    notes += [
        f"#{old} has these words, but [#{new}] replaced it, which the filters leave out; is:superseded shows it"
        for old, new in list(found.hidden.items())[:_MOST_HIDDEN]
    ]
    if shown and len(found.terms) <= MOST_WORDS_ASKED:  # a pasted text is full of words that are nowhere
        notes += _word_notes(query, found, scope, shown)
    if found.days is not None:
        days = found.days
        span = f"until {days.last}" if days.open else f"{days.start}" + (f" to {days.last}" if days.is_span else "")
        empty = found.scored and not found.days_looked_up
        notes.append(f"{days.words}: {span}{', when nothing changed' if empty else ''}")
    return notes + ([] if shown else _unusual_types(store, scope, types))


def filters_ignored(scope: ScopeFilter) -> tuple[str, ...]:
    """Return the note that an id opens what it names, whatever the filters beside it say."""
    return (f"not asked of what an id names: {', '.join(scope.said)}",) if scope.said else ()


def evidence_step(found: Retrieved, least: float) -> LadderStep:
    one = found.evidence
    why = f"the best holds {one.passage:.0%} of what the words tell"
    why += f", its session {one.session:.0%}" if one.session > one.passage else ""
    why += f": it answers with a probability of {found.probability:.0%}, {least:.0%} is needed"
    return LadderStep("evidence", 0, why if one.passage else "no word of the question was found")


def _query_notes(text: str, query: Query) -> list[str]:
    notes = list(query.notes)
    if query.shortened:
        was_cut, many = len(text) > MAX_QUERY_CHARS, len(query.words) >= MAX_WORDS
        used = [f"its first {MAX_QUERY_CHARS:,} characters were read"] if was_cut else []
        used += ["its most telling words were used"] if many or not was_cut else []
        notes.append(f"the query was long; {', and '.join(used)}")
    if query.excluded:
        words = dict.fromkeys(expression.strip("()").replace('"', "") for expression in query.excluded)
        notes.append(f"left out: what has {', '.join(words)}")
    return notes


def _word_notes(query: Query, found: Retrieved, scope: ScopeFilter, shown: Sequence[Ranked]) -> list[str]:
    """Note each word that hits were found by in another form, and the words that only other projects know."""
    words = {word for one in shown for word in one.scored.words}
    notes = [
        f"no memory contains {term.text}; it was read as {' or '.join(term.read_as)}"
        for term in found.terms
        if term.read_as and term.text in words
    ]
    # A filter, a phrase or an exclusion hides rows of this project as well. Days and files have no stems.
    if scope.projects is not None and not (scope.filtered or query.phrases or query.excluded):
        elsewhere = ", ".join(term.text for term in found.terms if term.only_elsewhere and term.stems)
        notes += [f"only other projects know {elsewhere}; {call('everywhere')} searches them"] if elsewhere else []
    return notes


def _unusual_types(store: Store, scope: ScopeFilter, types: Sequence[str]) -> list[str]:
    """Return notes on a type that no memory has: how it is usually called."""
    if not types:
        return []
    from engram_py.observations.topic_keys import type_notes

    notes = type_notes(types)
    return [] if notes and has_type(store, scope.projects, types, cap=TYPES_READ) else list(notes)
