"""The one search that every door asks: parse, find the rows, rank them, and answer with hits or with reasons."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
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
from engram_py.recall.fusion import with_vectors
from engram_py.recall.hits import Hits, RankedRow, clean_sort, on_one_scale, sorted_by
from engram_py.recall.notes import answer_notes, explain_no_results, filters_ignored
from engram_py.recall.query import Query, match_all, parse_query
from engram_py.recall.retrieval import Retrieved, retrieve
from engram_py.recall.scope_filter import ScopeFilter, VisibleRows, resolve_scope, types_of
from engram_py.recall.substitutes import rows_of_file
from engram_py.recall.terms import MOST_WORDS_ASKED
from engram_py.recall.values import DocumentHit, Explain, Hit, LadderStep, Results, WordNote
from engram_py.recall.vectors.vectors import Vectors

MOST = 20
MATCH_MODES = ("all", "any")
# Of rows that are about files, as many as this are compared with them to list those that changed.
STALE_READ = 200
_MOST_SAID = 80  # characters of a query in a note

# Answers a query from the documents of projects, as far as they are as strong as so and say something new.
Documents = Callable[[Query, tuple[str, ...] | None, float, Sequence[str]], tuple[DocumentHit, ...]]


@dataclass(frozen=True, slots=True)
class _Request:
    """A search whose arguments are checked."""

    query: Query
    scope: ScopeFilter
    limit: int
    all_words_first: bool

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
        match_mode: str = "any",
        limit: int | None = None,
        session_id: str | None = None,
        explain: bool = False,
        snippet_chars: int | None = None,
        recorded: bool = True,
        documents: bool | None = None,
        sort: str | None = None,
    ) -> Results:
        """Return the best matches, at most ``limit`` (1..20, by default that of ``.engram.json``, else 10), best first.

        ``match_mode="all"`` puts rows that hold every word in one passage before the others. Where no row has a word of
        the query or lies near it in meaning, ``silence`` says why there is nothing. Of the first five rows, those that
        score less than a quarter of the best are left out, behind them those with less than half, and with less than
        three fifths those that have nothing but words of their neighbours. The answer holds about 600 tokens of
        passages, most of them from the best hits; ``snippet_chars`` asks for as many of each instead. A search that is
        not ``recorded`` counts no use, and asks no ``documents`` unless told to. ``sort`` orders the same rows by
        ``recency`` or ``salience``. The query may hold ``"phrases"``, ``-word`` and filters (``query.py``). A personal
        search that names no project reads every project.

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
        request = _Request(parsed, scope_filter, limit, match_mode == "all")
        found, ranked = self._found(request)
        stale_only = scope_filter.stale
        ranked = ranked if stale_only else ranked[:limit]
        asks_documents = recorded if documents is None else documents
        passages = self._from_documents(request, found, ranked) if asks_documents else ()
        taken = sum(len(one.snippet) for one in passages)
        hits = self._hits.hits(
            found, ranked, limit=limit, stale_only=stale_only, snippet_chars=snippet_chars, taken=taken
        )
        hits, passages = on_one_scale(hits, found.strength(ranked[0].score) if ranked else 0.0, passages)
        hits = sorted_by(hits, ranked, sort)
        silence = None if hits or passages else explain_no_results(self._store, parsed, found, scope_filter)
        if silence is not None and recorded and self._has_archived(request, found):
            silence = replace(silence, reason=reason("only_archived"), unknown=(), elsewhere=())
        if recorded:
            self._usage.surfaced([hit.id for hit in hits])
        types = types_of(type, parsed.filters)
        shown = {hit.id for hit in hits}
        by_rank = [one for one in ranked if one.row.id in shown]
        notes = answer_notes(self._store, query, parsed, found, scope_filter, by_rank, types=types)
        return Results(
            query=parsed.text,
            results=hits,
            rung=next((rung.name for rung in found.rungs if rung.found), "none") if hits else "none",
            projects=scope_filter.projects,
            memories=visible.count_visible(self._store, scope_filter.projects),
            warnings=(*clamped, *scope_filter.notes, *scope_notes, *notes),
            explain=_explain(request, found, hits, ranked, started) if explain else None,
            silence=silence,
            unknown=found.unknown if (hits or passages) and len(found.terms) <= MOST_WORDS_ASKED else (),
            sort=sort,
            documents=passages,
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
        others = [one for one in found.scored if one.id not in exact]
        first = request.all_words_first
        ranked = self._hits.ranked(others, found.rows, all_words_first=first, limit=request.wanted)
        if len(found.terms) == 1 and found.days:  # what was done on a day, a summary says best
            ranked.sort(key=lambda one: one.row.type != "session_summary")
        if ranked:  # an empty answer says itself which memories are not there
            found = replace(found, notes=(*named.notes, *found.notes))
        return found, [*self._hits.in_order(exact), *ranked]

    def _has_archived(self, request: _Request, found: Retrieved[Observation]) -> bool:
        """Return whether what was archived has words of the query, where nothing else was ``found``."""
        query, scope = request.query, request.scope
        if not query.asks or scope.values["archived"] or scope.stale or query.observation_id is not None:
            return False
        scope = replace(scope, values=scope.values | {"archived": 1})
        return bool(VisibleRows(self._store, scope).among(list({row for term in found.terms for row in term.mentions})))

    def _retrieved(self, request: _Request) -> Retrieved[Observation]:
        """Look up the words; where no row has the quoted phrases, without the quotes."""
        ask = partial(retrieve, self._store, scope=request.scope, calendar=self._journal.calendar)
        found = ask(request.query)
        unquoted = None if found.scored else request.query.unquoted()
        if unquoted is None or not (other := ask(unquoted)).scored:
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
        self, request: _Request, found: Retrieved[Observation], ranked: Sequence[RankedRow]
    ) -> tuple[DocumentHit, ...]:
        """Return what documents say and no memory does; nothing where ids or filters say what is meant."""
        query, scope = request.query, request.scope
        is_named = any(rung.name in ("exact", "named") and rung.found for rung in found.rungs)
        if self._documents is None or is_named or scope.filtered or not query.asks:
            return ()
        said = [f"{one.row.title} {one.row.content}" for one in ranked[: request.limit]]
        return self._documents(query, scope.projects, found.strength(ranked[0].score) if ranked else 0.0, said)


def _explain(
    request: _Request, found: Retrieved[Observation], hits: Sequence[Hit], ranked: Sequence[RankedRow], started: float
) -> Explain:
    by_id = {one.row.id: one for one in ranked}
    return Explain(
        rungs=found.rungs,
        words=tuple(WordNote(term.text, term.rows, round(term.idf, 3), term.use) for term in found.terms),
        hits=tuple(by_id[hit.id].numbers() for hit in hits),
        filters=request.scope.said,
        seconds=round(time.perf_counter() - started, 6),
    )
