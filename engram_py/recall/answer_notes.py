"""Notes on an answer, and the reasons for none, as values: unknown words, what comes near, what filters hide."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.observations import visible
from engram_py.observations.lookup import handles
from engram_py.observations.table import VISIBLE
from engram_py.observations.visible import has_type
from engram_py.reasons import Reason, Told, reason
from engram_py.recall import index
from engram_py.recall.dates import Days, is_day_term, names_days
from engram_py.recall.hits import Ranked
from engram_py.recall.query import MAX_QUERY_CHARS, MAX_WORDS, Query, match_any
from engram_py.recall.retrieval import Retrieved, retrieve
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.terms import MOST_WORDS_ASKED
from engram_py.recall.values import Earlier, LadderStep, NoResults
from engram_py.text.normalize import folded
from engram_py.text.words import FOREIGN, is_foreign, is_unspaced, segments

_MOST_HIDDEN = 3
# So many rows are asked whether they have a type, before it is called unusual.
TYPES_READ = 10_000
# Memories that are read for their language, and how much of each.
_MOST_READ_FOREIGN, _FOREIGN_CHARS = 60, 1_000
_MOST_WORDS = 4
# 500 texts of 2,000 characters took 15 ms to fetch, fold and read, and a search without an answer is rare.
_WALKED, _MOST_READ, _READ_CHARS = 3_000, 500, 2_000

# Earlier texts of observations, which no index has: of the newest :walked versions the newest :most that may be seen,
# and the beginning of each.
_OLDER_TEXTS = f"""
select observation_id, substr(title || ' ' || content, 1, :chars)
from observation_versions
where id in (
    select walked.id
    from (select id, observation_id from observation_versions order by id desc limit :walked) as walked
    join observations on observations.id = walked.observation_id
    where deleted_at is null and {VISIBLE}
    order by walked.id desc
    limit :most
)
order by id desc
"""


def explain_no_results(store: Store, query: Query, found: Retrieved, scope: ScopeFilter, least: float) -> NoResults:
    """Return why nothing that was ``found`` answers, as far as a reader can act on it."""
    numbers = (query.observation_id,) if query.observation_id is not None else handles(query.asked)
    if numbers:  # an id opens what it names from every project, whatever the filters say
        return NoResults(reason("gone", ids=numbers), numbered=True, others=False)
    elsewhere = _only_elsewhere(store, query, found, scope, least)
    earlier = _said_earlier(store, found.unknown, scope.projects) if query.asks and not query.pasted else ()
    return NoResults(
        reason=_reason(query, found, scope, least, elsewhere),
        nearest=() if scope.stale else found.nearest(),
        unknown=tuple(word for word in found.unknown if word not in {one.word for one in earlier}),
        elsewhere=elsewhere,
        earlier=earlier,
        filtered=found.filtered_away,
        filters=scope.said,
        foreign=is_foreign([word.text for word in query.words]) and not _has_foreign_rows(store, query, scope),
        marked=_is_marked(query, found),
        unworded=not query.asks,
        others=scope.projects is not None and visible.count_others(store, scope.projects, cap=1) > 0,
    )


def _reason(query: Query, found: Retrieved, scope: ScopeFilter, least: float, elsewhere: Sequence[str]) -> Reason:
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
    if scope.stale and found.probability >= least:
        return reason("not_stale")
    if found.scored:
        return reason("other_things")
    if _is_marked(query, found):
        return reason("not_as_marked", quotes=bool(query.phrases), minus=bool(query.excluded))
    return reason("only_elsewhere" if elsewhere else "unknown_words")


def _span(days: Days) -> dict[str, object]:
    return {"start": str(days.start), "last": str(days.last), "open": days.open}


def _is_marked(query: Query, found: Retrieved) -> bool:
    """Return whether phrases or exclusions may be what hides an answer: not where nobody knows any of the words."""
    known = not query.asks or any(term.rows and not term.substitutes for term in found.terms)
    return known and bool(query.phrases or query.excluded)


def _only_elsewhere(store: Store, query: Query, found: Retrieved, scope: ScopeFilter, least: float) -> tuple[str, ...]:
    """Return the words that only other projects know, where a search of all projects finds an answer; none where a
    filter, a phrase or an exclusion may be what hides them."""
    words = [term.text for term in found.terms if term.only_elsewhere]
    filters = scope.filtered and (found.filtered_away or found.scored)
    hidden = filters or scope.projects is None or query.phrases or query.excluded
    if not words or hidden or len(found.terms) > MOST_WORDS_ASKED:
        return ()
    everywhere = retrieve(store, query, ScopeFilter.of_projects(None), limit=1, least=least)
    return tuple(word for word in words if not names_days(word, found.days)) if everywhere.probability >= least else ()


def _said_earlier(store: Store, words: Sequence[str], projects: Sequence[str] | None) -> tuple[Earlier, ...]:
    """Return the first four of ``words`` that an earlier text of a live observation has, each with the newest such."""
    wanted = {folded(word): word for word in words[:_MOST_WORDS]}
    if not wanted:
        return ()
    found: dict[str, int] = {}
    bounds = {"walked": _WALKED, "most": _MOST_READ, "chars": _READ_CHARS}
    for row, text in store.tuples(_OLDER_TEXTS, projects=projects, **bounds):
        plain = folded(text)
        here = [word for word in wanted if word not in found and word in plain]
        if here:
            whole = set(segments(plain))
            found |= {word: row for word in here if is_unspaced(word) or word in whole}
    return tuple(Earlier(word, found[key]) for key, word in wanted.items() if key in found)


def _has_foreign_rows(store: Store, query: Query, scope: ScopeFilter) -> bool:
    """Return whether a memory is in another language than English: of those with small words of the question, and of
    the latest."""
    small = match_any([word for word in query.words if word.text in FOREIGN])
    values = scope.unfiltered().values
    ids = index.newest(store, small, limit=_MOST_READ_FOREIGN) + index.latest(store, values, limit=_MOST_READ_FOREIGN)
    rows = index.load(store, ids, values).values()
    return any(is_foreign(segments(f"{row.title} {row.content[:_FOREIGN_CHARS]}")) for row in rows)


def answer_notes(
    store: Store,
    text: str,
    query: Query,
    found: Retrieved,
    scope: ScopeFilter,
    shown: Sequence[Ranked],
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


def evidence_step(found: Retrieved, least: float) -> LadderStep:
    one = found.evidence
    if not one.passage:
        return LadderStep("evidence", 0, reason("no_word_found"))
    shares = {"passage": one.passage, "session": one.session}
    return LadderStep("evidence", 0, reason("evidence", **shares, probability=found.probability, least=least))


def _query_notes(text: str, query: Query) -> list[Told]:
    notes: list[Told] = [*query.notes]
    if query.shortened:
        cut, many = len(text) > MAX_QUERY_CHARS, len(query.words) >= MAX_WORDS
        notes.append(reason("shortened", characters=MAX_QUERY_CHARS if cut else 0, words=many or not cut))
    if query.excluded:
        words = dict.fromkeys(expression.strip("()").replace('"', "") for expression in query.excluded)
        notes.append(reason("left_out", words=tuple(words)))
    return notes


def _word_notes(query: Query, found: Retrieved, scope: ScopeFilter, shown: Sequence[Ranked]) -> list[Reason]:
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
    from engram_py.observations.topics import type_notes

    notes = type_notes(types)
    return [] if notes and has_type(store, scope.projects, types, cap=TYPES_READ) else list(notes)
