"""Notes on an answer, and the reasons for none."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.base.database.store import Store
from engram_py.base.reasons import Reason, Told, reason
from engram_py.memory.observations import visible
from engram_py.memory.observations.arguments import handles
from engram_py.memory.observations.values import Observation
from engram_py.memory.observations.visible import has_type
from engram_py.recall.dates import Days, is_day_term, names_days
from engram_py.recall.hits import RankedRow
from engram_py.recall.query import MAX_QUERY_CHARS, MAX_WORDS, Query
from engram_py.recall.retrieval import Retrieved
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.terms import MOST_WORDS_ASKED
from engram_py.recall.values import NoResults

_MOST_HIDDEN = 3
# So many rows are asked whether they have a type, before it is called unusual.
TYPES_READ = 10_000


def explain_no_results(store: Store, query: Query, found: Retrieved[Observation], scope: ScopeFilter) -> NoResults:
    """Return why nothing that was ``found`` answers, as far as a reader can act on it."""
    numbers = (query.observation_id,) if query.observation_id is not None else handles(query.asked)
    if numbers:  # an id opens what it names from every project, whatever the filters say
        return NoResults(reason("gone", ids=numbers), numbered=True, others=False)
    elsewhere = _only_elsewhere(query, found, scope)
    return NoResults(
        reason=_reason(query, found, scope, elsewhere),
        unknown=found.unknown,
        elsewhere=elsewhere,
        filtered=found.filtered_away,
        filters=scope.said,
        marked=_is_marked(query, found),
        unworded=not query.asks,
        others=scope.projects is not None and visible.count_others(store, scope.projects, cap=1) > 0,
    )


def _reason(query: Query, found: Retrieved[Observation], scope: ScopeFilter, elsewhere: Sequence[str]) -> Reason:
    if found.days is not None and not (found.filtered_away or found.scored or elsewhere):
        return reason("no_change", **_span(found.days))
    if not query.asks and (scope.filtered or query.filters.projects):
        return reason("nothing_passes", without_words=bool(query.excluded))
    if not query.words:
        return reason("no_word")
    if not query.asks:
        return reason("no_content_word")
    if found.filtered_away:
        return reason("filtered")
    if found.scored:
        return reason("not_stale")
    if _is_marked(query, found):
        return reason("not_as_marked", quotes=bool(query.phrases), minus=bool(query.excluded))
    return reason("only_elsewhere" if elsewhere else "unknown_words")


def _span(days: Days) -> dict[str, object]:
    return {"start": str(days.start), "last": str(days.last), "open": days.open}


def _is_marked(query: Query, found: Retrieved[Observation]) -> bool:
    """Return whether phrases or exclusions may be what hides an answer: not where nobody knows any of the words."""
    known = not query.asks or any(term.rows and not term.substitutes for term in found.terms)
    return known and bool(query.phrases or query.excluded)


def _only_elsewhere(query: Query, found: Retrieved[Observation], scope: ScopeFilter) -> tuple[str, ...]:
    """Return the words that only other projects know; none where a filter, a phrase or an exclusion may hide them."""
    filters = scope.filtered and (found.filtered_away or found.scored)
    hidden = filters or scope.projects is None or query.phrases or query.excluded
    if hidden or len(found.terms) > MOST_WORDS_ASKED:
        return ()
    return tuple(t.text for t in found.terms if t.only_elsewhere and not names_days(t.text, found.days))


def answer_notes(
    store: Store,
    text: str,
    query: Query,
    found: Retrieved[Observation],
    scope: ScopeFilter,
    shown: Sequence[RankedRow],
    *,
    types: Sequence[str],
) -> list[Told]:
    """Return what an answer says of how it was found; ``types`` are those that were asked for."""
    notes = [*_query_notes(text, query), *found.notes]
    notes += [reason("replaced", old=old, new=new) for old, new in list(found.hidden.items())[:_MOST_HIDDEN]]
    if shown and len(found.terms) <= MOST_WORDS_ASKED:  # a pasted text is full of words that are nowhere
        notes += _word_notes(query, found, scope, shown)
    if found.days is not None:
        days = found.days
        unchanged = bool(found.scored) and not any(is_day_term(term, days) for term in found.terms)
        notes.append(reason("dated", words=days.words, **_span(days), unchanged=unchanged))
    return notes + ([] if shown else _unusual_types(store, scope, types))


def filters_ignored(scope: ScopeFilter) -> tuple[Reason, ...]:
    """Return the note that an id opens what it names, whatever the filters beside it say."""
    return (reason("idle_filters", words=scope.said),) if scope.said else ()


def _query_notes(text: str, query: Query) -> list[Told]:
    notes: list[Told] = [*query.notes]
    if query.shortened:
        cut, many = len(text) > MAX_QUERY_CHARS, len(query.words) >= MAX_WORDS
        notes.append(reason("shortened", characters=MAX_QUERY_CHARS if cut else 0, words=many or not cut))
    if query.excluded:
        words = dict.fromkeys(expression.strip("()").replace('"', "") for expression in query.excluded)
        notes.append(reason("left_out", words=tuple(words)))
    return notes


def _word_notes(
    query: Query, found: Retrieved[Observation], scope: ScopeFilter, shown: Sequence[RankedRow]
) -> list[Reason]:
    """Note each word that hits were found by in another form, and the words that only other projects know."""
    words = {word for one in shown for word in one.scored.words}
    notes = [
        reason("read_as", word=term.text, forms=tuple(term.read_as))
        for term in found.terms
        if term.read_as and term.text in words
    ]
    # A filter, a phrase or an exclusion hides rows of this project as well. Days and files have no stems.
    if scope.projects is not None and not (scope.filtered or query.phrases or query.excluded):
        elsewhere = tuple(term.text for term in found.terms if term.only_elsewhere and term.stems)
        notes += [reason("known_elsewhere", words=elsewhere)] if elsewhere else []
    return notes


def _unusual_types(store: Store, scope: ScopeFilter, types: Sequence[str]) -> list[Reason]:
    """Return notes on a type that no memory has: how it is usually called."""
    if not types:
        return []
    from engram_py.memory.observations.topics import type_notes

    notes = type_notes(types)
    return [] if notes and has_type(store, scope.projects, types, cap=TYPES_READ) else list(notes)
