"""The one search that every door asks: parse, find the rows, rank them, and answer with hits or with reasons."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import EmptyQueryError, InvalidArgumentError, InvalidTopicKeyError
from engram_py.base.reasons import reason
from engram_py.base.text.normalize import normalize_topic_key
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.observations import table, visible
from engram_py.memory.observations.arguments import clamp, handles
from engram_py.memory.observations.usage import Usage
from engram_py.memory.observations.values import Observation
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions import table as session_table
from engram_py.memory.sessions.values import PROMPTS_MOST, Prompt
from engram_py.recall import index
from engram_py.recall.hits import Hits, RankedRow, clean_sort, sorted_by
from engram_py.recall.notes import answer_notes, evidence_step, explain_no_results, filters_ignored
from engram_py.recall.query import Query, match_all, parse_query
from engram_py.recall.retrieval import (
    JUDGED,
    READ,
    Readable,
    Retrieved,
    T,
    likeliest,
    related_lines,
    retrieve,
    with_replacements,
)
from engram_py.recall.scope_filter import ScopeFilter, VisibleRows, resolve_scope, types_of
from engram_py.recall.score import NONE, Scored, threshold
from engram_py.recall.substitutes import rows_of_file
from engram_py.recall.terms import MOST_WORDS_ASKED
from engram_py.recall.values import DocumentHit, Explain, Hit, LadderStep, Related, Results, WordNote
from engram_py.recall.vectors.values import SENTENCE_WEIGHT, Nearest
from engram_py.recall.vectors.vectors import NearMeaning, Vectors

# Of questions asked in other words than their answer's, the answer is at 1.4 to 5.5 standard deviations.
RELATED = 1.4


def with_vectors(
    vectors: NearMeaning,
    query: Query,
    found: Retrieved[T],
    visible: Readable[T],
    *,
    within: Sequence[object] | None,
    documents: bool = False,
    weighted: bool = False,
) -> Retrieved[T]:
    """Rank ``found`` anew by words and vectors together, ``weighted`` by a fixed sum; a note says when vectors had to
    be left out.

    ``within`` are the projects of memories, or the collections of ``documents``.
    """
    by_words = {one.id: one for one in found.scored}
    nearest = vectors.nearest(
        query.text,
        within=within,
        sees=lambda ids: visible.among(list(ids)),
        limit=round(READ * visible.share),
        also=list(by_words),
        documents=documents,
    )
    if not nearest.hits:
        return replace(found, notes=(*found.notes, nearest.note)) if nearest.note else found
    lexical = [(one.id, one.relevance) for one in found.scored]
    nats = found.scored[0].coverage * sum(term.idf for term in found.terms) if found.scored else 0.0
    fused = weighted_sum(lexical, nearest) if weighted else fuse(lexical, nearest, nats=nats)
    if query.phrases or query.excluded:  # vectors cannot tell whether a text has the phrase or the excluded word
        fused = [(row, score) for row, score in fused if row in by_words]
    fused = fused[:READ]
    rows = {**found.rows, **visible.load([row for row, _ in fused if row not in found.rows])}
    top = lexical[0][1] if lexical else 1.0
    unread = replace(NONE, words=math.log(1 + len(found.terms)))
    scored = [
        replace(by_words.get(row) or Scored(row, evidence=unread), relevance=score * top)
        for row, score in fused
        if row in rows
    ]
    meanings = nearest.deviations()
    near = frozenset(row for row, _ in nearest.hits if row in rows)
    meant = frozenset(row for row, z in meanings.items() if z >= RELATED and row in rows)
    for one in scored:
        if one.id in meanings and nearest.weight >= SENTENCE_WEIGHT:  # a table of words tells what words tell
            one.evidence = replace(one.evidence, meaning=meanings[one.id] / nearest.chance)
    merged = replace(found, scored=scored, rows=rows, near=near, meant=meant, evidence=likeliest(scored))
    merged = with_replacements(merged, visible)
    added = sum(one.id not in by_words for one in merged.scored)
    why = reason("weighted_sum", vectors=OF_VECTORS, words=OF_WORDS)
    step = LadderStep("vectors", added, why if weighted else reason("weighed", weight=nearest.weight))
    return replace(merged, rungs=(*found.rungs, step))


def fuse(lexical: Sequence[tuple[int, float]], nearest: Nearest, *, nats: float) -> list[tuple[int, float]]:
    """Return the (id, score) of everything either side found, best first; a score is 0..1, 1 being best on both sides.

    ``lexical`` is (id, score) with scores above zero on any scale; ``nats`` the idf, in natural logarithms, of the
    query's words that its best hit holds. An observation without a vector is taken to be as near as its words let
    expect. Equal scores keep the order of the word search, then the newer first.
    """
    top = max((score for _, score in lexical), default=0.0)
    words = {key: max(score, 0.0) / top * nats for key, score in lexical} if top > 0 else {}
    meanings = vector_nats(nearest)
    best_word, best_meaning = max(words.values(), default=0.0), max(0.0, *meanings.values(), 0.0)
    ideal = best_word**2 + best_meaning**2
    if not meanings or ideal <= 0:
        return _ordered(words or meanings, words)
    slope = _slope(words, meanings)
    scores = {
        key: (words.get(key, 0.0) * best_word + meanings.get(key, words.get(key, 0.0) * slope) * best_meaning) / ideal
        for key in {**words, **meanings}
    }
    return _ordered(scores, words)


# The weighted hybrid of OpenClaw and QMD (spec/seed-capabilities.md, 2.3), for those who know it: the sum of a cosine
# and of score / (1 + score).
OF_VECTORS, OF_WORDS = 0.7, 0.3


def weighted_sum(lexical: Sequence[tuple[int, float]], nearest: Nearest) -> list[tuple[int, float]]:
    """Return the (id, score) of everything either side found, best first, by a fixed sum; a score is 0..1."""
    words = {key: abs(score) / (1 + abs(score)) for key, score in lexical}
    cosines = {key: max(0.0, cosine) for key, cosine in nearest.hits}
    scores = {key: OF_VECTORS * cosines.get(key, 0.0) + OF_WORDS * words.get(key, 0.0) for key in {**words, **cosines}}
    return _ordered(scores, words)


def vector_nats(nearest: Nearest) -> dict[int, float]:
    """Return the nats of each cosine, ``weight * z² / 2``; they are negative below the mean."""
    return {key: nearest.weight * z * abs(z) / 2 for key, z in nearest.deviations().items()}


def _slope(words: Mapping[int, float], meanings: Mapping[int, float]) -> float:
    """Return the nats of vectors for each nat of words: regression through the origin, never below zero."""
    both = [(words[key], meanings[key]) for key in words if key in meanings]
    square = sum(word * word for word, _ in both)
    return max(0.0, sum(word * meaning for word, meaning in both) / square) if square > 0 else 0.0


def _ordered(scores: Mapping[int, float], words: Mapping[int, float]) -> list[tuple[int, float]]:
    place = {key: number for number, key in enumerate(words)}
    last = len(place)
    ranked = sorted(scores, key=lambda key: (-scores[key], place.get(key, last), -key))
    best = max(scores.values(), default=0.0)
    scale = best if best > 1 else 1.0
    return [(key, max(0.0, scores[key] / scale)) for key in ranked]


MOST = 20
MATCH_MODES = ("all", "any")
# Of rows that are about files, as many as this are compared with them to list those that changed.
STALE_READ = 200
_MOST_SAID = 80  # characters of a query in a note
_OF_DOCUMENTS = 2  # of the five lines of what may be related, whatever memories there are

# Answers a query from the documents of projects, as far as they are likelier to answer than so and say something new.
Documents = Callable[[Query, tuple[str, ...] | None, float, Sequence[str]], tuple[DocumentHit, ...]]


@dataclass(frozen=True, slots=True)
class _Request:
    """A search whose arguments are checked. ``least`` is the probability from which something answers."""

    query: Query
    scope: ScopeFilter
    limit: int
    least: float
    any_word: bool

    @property
    def wanted(self) -> int:
        """Return how many rows to rank: whether a file changed is only known of rows that were looked at."""
        return STALE_READ if self.scope.stale else self.limit


class Search:
    """Finds observations by words, a question, a topic key, or ``#id``."""

    def __init__(
        self,
        core: Core,
        *,
        anchors: Anchors,
        usage: Usage,
        vectors: Vectors,
        documents: Documents | None = None,
    ) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._documents = documents
        self.resolve_scope = partial(
            resolve_scope, core.projects, partial(rows_of_file, core.store, anchors), core.journal
        )
        self._anchors = anchors
        self._usage = usage
        self._vectors = vectors
        self._fusion = core.settings.fusion
        self._hits = Hits(core.store, core.journal, anchors, core.settings.recency_half_life_days)

    def search(
        self,
        query: str,
        *,
        project: str | None = None,
        all_projects: bool = False,
        type: str | None = None,
        scope: str | None = None,
        match_mode: str = "all",
        limit: int | None = None,
        session_id: str | None = None,
        floor: float | None = None,
        explain: bool = False,
        snippet_chars: int | None = None,
        recorded: bool = True,
        sort: str | None = None,
    ) -> Results:
        """Return the best matches, at most ``limit`` (1..20, by default that of ``.engram.json``, else 10), best first.

        Rows that hold every word in one passage come first, then those that hold any; ``match_mode="any"`` ranks them
        together. Where the best is less likely than ``floor`` (0..1) to answer, ``silence`` says why there is nothing.
        Behind the fifth, rows that score less than half of the best are left out. The answer holds about 600 tokens of
        passages, most of them from the best hits; ``snippet_chars`` asks for as many of each instead. A search that is
        not ``recorded`` counts no use and asks no documents. ``sort`` orders the same rows by
        ``recency`` or ``salience``. The query may hold ``"phrases"``, ``-word`` and filters (``query.py``). A
        personal search that names no project reads every project.

        Raises EmptyQueryError when query, type and scope are blank, InvalidArgumentError for an unknown argument.
        """
        started = time.perf_counter()
        if limit is None:
            limit = self._projects.preferences().search_limit
        limit, clamped = clamp("limit", limit, 1, MOST)
        if match_mode not in MATCH_MODES:
            raise InvalidArgumentError("match_mode", match_mode, expected=f"one of {', '.join(MATCH_MODES)}")
        sort = clean_sort(sort)
        if not (query.strip() or (type or "").strip() or (scope or "").strip()):
            raise EmptyQueryError(query)
        parsed = parse_query(query, filters=True)
        scope_filter, scope_notes = self.resolve_scope(
            parsed, project, all_projects, type=type, scope=scope, session_id=session_id
        )
        least = threshold("shown") if floor is None else max(0.0, min(1.0, floor))
        request = _Request(parsed, scope_filter, limit, least, match_mode == "any")
        found, ranked = self._found(request)
        stale_only = scope_filter.stale
        ranked = ranked if stale_only else ranked[:limit]
        hits = self._hits.hits(found, ranked, limit=limit, stale_only=stale_only, snippet_chars=snippet_chars)
        hits = sorted_by(hits, ranked, sort)
        silence = None if hits else explain_no_results(self._store, parsed, found, scope_filter, least)
        if silence is not None and recorded and self._has_archived(request, found):
            silence = replace(silence, reason=reason("only_archived"), unknown=(), elsewhere=())
        if recorded:
            self._usage.surfaced([hit.id for hit in hits])
        documents, near = self._from_documents(request, found, hits) if recorded else ([], [])
        related = () if hits or scope_filter.stale else self._related(request, found)
        related = (*related[: max(JUDGED - len(near), JUDGED - _OF_DOCUMENTS)], *near)[:JUDGED]
        types = types_of(type, parsed.filters)
        notes = answer_notes(self._store, query, parsed, found, scope_filter, ranked[: len(hits)], types=types)
        return Results(
            query=parsed.text,
            results=hits,
            rung=next((rung.name for rung in found.rungs if rung.found), "none") if hits else "none",
            projects=scope_filter.projects,
            memories=visible.count_visible(self._store, scope_filter.projects),
            warnings=(*clamped, *scope_filter.notes, *scope_notes, *notes),
            explain=_explain(request, found, hits, ranked, started) if explain else None,
            silence=silence,
            related=related,
            unknown=found.unknown if hits and len(found.terms) <= MOST_WORDS_ASKED else (),
            sort=sort,
            documents=tuple(documents),
        )

    def prompts(
        self, query: str, *, project: str | None = None, all_projects: bool = False, limit: int = 20, offset: int = 0
    ) -> tuple[Prompt, ...]:
        """Return the prompts that hold every word of ``query``, best first; of a blank one the latest.

        Raises EmptyQueryError.
        """
        limit, _ = clamp("limit", limit, 1, PROMPTS_MOST)
        reads = self._projects.for_read(project, all_projects=all_projects).reads
        if not query.strip():
            return tuple(session_table.recent_prompts(self._store, projects=reads, limit=limit + offset)[offset:])
        words = parse_query(query).content_words
        if not words:
            raise EmptyQueryError(query)
        match = match_all(words)
        found = session_table.search_prompts(self._store, match=match, projects=reads, limit=limit + offset)
        return tuple(found[offset:])

    def _found(self, request: _Request) -> tuple[Retrieved[Observation], list[RankedRow]]:
        """Return how the search went, and the rows in the order of the answer."""
        query, scope = request.query, request.scope
        exact = self._exact(request)
        if exact and query.observation_id is not None:
            rungs = (LadderStep("exact", 1, reason("one_id")),)
            return Retrieved(rungs=rungs, notes=filters_ignored(scope)), self._hits.in_order(exact)
        named, ranked = self._named(request)
        if ranked:
            return named, ranked
        if not query.asks:
            if not exact:
                return self._listed(request)
            return Retrieved(rungs=(LadderStep("exact", len(exact), reason("topic_key")),)), self._hits.in_order(exact)
        found = self._retrieved(request)
        if exact:
            step = LadderStep("exact", len(exact), reason("topic_key_first"))
            found = replace(found, rungs=(step, *found.rungs))
        if self._vectors.enabled:
            rows = VisibleRows(self._store, scope)
            found = with_vectors(
                self._vectors, query, found, rows, within=scope.projects, weighted=self._fusion == "weighted"
            )
        found = replace(found, rungs=(*found.rungs, evidence_step(found, request.least)))
        answers = [one for one in found.answers(request.least) if one.id not in exact]
        ranked = self._ranked(request, found, answers, limit=request.wanted)
        if len(found.terms) == 1 and found.days:  # what was done on a day, a summary says best
            ranked.sort(key=lambda one: one.row.type != "session_summary")
        if ranked:  # an empty answer says itself which memories are not there
            found = replace(found, notes=(*named.notes, *found.notes))
        return found, [*self._hits.in_order(exact), *ranked]

    def _ranked(
        self, request: _Request, found: Retrieved[Observation], rows: Sequence[Scored], *, limit: int
    ) -> list[RankedRow]:
        all_words_first = not request.any_word and not found.near
        return self._hits.ranked(rows, found.rows, all_words_first=all_words_first, limit=limit)

    def _related(self, request: _Request, found: Retrieved[Observation]) -> tuple[Related, ...]:
        rows = found.relating()
        ranked = self._ranked(request, found, rows, limit=JUDGED)[:JUDGED] if rows else []
        lines = related_lines(found, [one.scored for one in ranked])
        states = self._anchors.states([one.row for one in ranked])
        changed = (tuple(state for state in states.get(one.id or 0, ()) if state.stale) for one in lines)
        return tuple(replace(one, anchors=stale) if stale else one for one, stale in zip(lines, changed, strict=True))

    def _has_archived(self, request: _Request, found: Retrieved[Observation]) -> bool:
        """Return whether what was archived answers where nothing else that was ``found`` does."""
        query, scope = request.query, request.scope
        if not query.asks or scope.values["archived"] or scope.stale or query.observation_id is not None:
            return False
        scope = replace(scope, values=scope.values | {"archived": 1})
        if not VisibleRows(self._store, scope).among(list({row for term in found.terms for row in term.mentions})):
            return False
        calendar = self._journal.calendar
        found = retrieve(self._store, query, scope, limit=1, least=request.least, calendar=calendar)
        return found.probability >= request.least

    def _retrieved(self, request: _Request) -> Retrieved[Observation]:
        """Look up the words; where no row with a quoted phrase is likely, without the quotes if that is likelier."""
        least, calendar = request.least, self._journal.calendar
        ask = partial(retrieve, self._store, scope=request.scope, limit=request.limit, least=least, calendar=calendar)
        found = ask(request.query)
        unquoted = None if found.scored and found.probability >= least else request.query.unquoted()
        if unquoted is None or (other := ask(unquoted)).probability <= found.probability:
            return found
        return replace(other, rungs=(*found.rungs, *other.rungs), notes=(reason("unquoted"),))

    def _exact(self, request: _Request) -> list[int]:
        """Return the row of ``#id``, or the rows of a topic key that is the whole query."""
        query = request.query
        if query.observation_id is not None:
            row = table.by_id(self._store, query.observation_id)
            return [row.id] if row is not None and row.deleted_at is None else []
        try:
            topic_key = normalize_topic_key(query.text[:200])
        except InvalidTopicKeyError:
            return []
        return index.by_topic(self._store, topic_key, request.scope.values, limit=request.limit)

    def _named(self, request: _Request) -> tuple[Retrieved[Observation], list[RankedRow]]:
        """Return the observations that several handles name, as in `[#1] [#2]`, in that order."""
        query, scope, limit = request.query, request.scope, request.limit
        ids = () if query.phrases or query.excluded or scope.stale else handles(query.asked)
        if not ids or query.observation_id is not None:
            return Retrieved(), []
        rows = table.by_ids(self._store, ids[:limit])
        there = [one for one in ids[:limit] if one in rows and rows[one].deleted_at is None]
        missing = [one for one in ids[:limit] if one not in there]
        notes = [reason("gone", ids=tuple(missing))] if missing else []
        notes += [reason("many_named", named=len(ids), limit=limit)] if len(ids) > limit else []
        notes += filters_ignored(scope) if there else ()
        rung = LadderStep("named", len(there), reason("ids"))
        return Retrieved(rungs=(rung,), notes=tuple(notes)), self._hits.in_order(there)

    def _listed(self, request: _Request) -> tuple[Retrieved[Observation], list[RankedRow]]:
        """Return all that the filters let through, latest change first; nothing without filters."""
        query, scope = request.query, request.scope
        if not scope.filtered and not query.filters.projects:
            return Retrieved(rungs=(LadderStep("words", 0, reason("no_telling_word")),)), []
        unwanted = " OR ".join(query.excluded) or None
        ids = index.latest(self._store, scope.values, unwanted=unwanted, limit=request.wanted)
        notes = (reason("filters_alone", query=query.asked.strip()[:_MOST_SAID]),) if query.words else ()
        rung = LadderStep("filters", len(ids), reason("latest_first"))
        return Retrieved(rungs=(rung,), notes=notes), self._hits.in_order(ids)

    def _from_documents(
        self, request: _Request, found: Retrieved[Observation], hits: Sequence[Hit]
    ) -> tuple[list[DocumentHit], list[Related]]:
        """Return what documents say and no memory does, and what may have to do with the question; nothing where ids or
        filters say what is meant, or a memory has every word of it."""
        query, scope = request.query, request.scope
        is_named = any(rung.name in ("exact", "named") and rung.found for rung in found.rungs)
        is_answered = bool(hits) and any(one.has_all_words for one in found.scored)
        if self._documents is None or is_named or is_answered or scope.filtered or not query.asks:
            return [], []
        rows = [found.rows[hit.id] for hit in hits if hit.id in found.rows]
        said = [f"{row.title} {row.content}" for row in rows]
        passages = self._documents(query, scope.projects, found.probability if hits else 0.0, said)
        answers = [one for one in passages if one.probability >= request.least]
        near = [Related(one.title, one.project, one.probability, source=one.source) for one in passages]
        return answers, [] if answers else near


def _explain(
    request: _Request, found: Retrieved[Observation], hits: Sequence[Hit], ranked: Sequence[RankedRow], started: float
) -> Explain:
    by_id = {one.row.id: one for one in ranked}
    return Explain(
        rungs=found.rungs,
        words=tuple(WordNote(term.text, term.rows, round(term.idf, 3), term.use) for term in found.terms),
        hits=tuple(by_id[hit.id].numbers() for hit in hits),
        evidence=found.evidence,
        probability=round(found.probability, 3),
        floor=request.least,
        below_floor=len(found.scored) if found.probability < request.least else 0,
        filters=request.scope.said,
        seconds=round(time.perf_counter() - started, 6),
    )
