"""Search: exact topic or id, all words, any word, near spelling. The one function every door asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from engram_py.anchors.anchors import Anchors
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import EmptyQueryError, InvalidArgumentError, InvalidTopicKeyError
from engram_py.observations import table, visible
from engram_py.observations.arguments import clamp
from engram_py.observations.lookup import handles
from engram_py.observations.usage import Usage
from engram_py.projects.projects import Projects
from engram_py.recall.candidates import Found, retrieve
from engram_py.recall.file_names import of_file
from engram_py.recall.hits import Hits, Placed, in_order, of_ids, order_asked
from engram_py.recall.index import table as index
from engram_py.recall.no_results import explain_no_results, nameless
from engram_py.recall.plan import MOST_WORDS_ASKED, days_meant
from engram_py.recall.query.days import Days, may_name_days
from engram_py.recall.query.parse import Query, parse_query
from engram_py.recall.scope_filter import ScopeFilter, types_of, visible_from
from engram_py.recall.score.probability import bar
from engram_py.recall.search_log import SearchLog
from engram_py.recall.search_notes import (
    day_note_of,
    evidence_step,
    filters_not_asked,
    first_rung,
    is_looked_up,
    missed_notes,
    query_notes,
    unfamiliar_notes,
    unusual_types,
)
from engram_py.recall.settings import HALF_LIFE_DAYS
from engram_py.recall.values import DocumentHit, Explain, Hit, LadderStep, NoResults, Results
from engram_py.text.normalize import normalize_topic_key
from engram_py.vectors.vectors import Vectors

MOST = 20
MATCH_MODES = ("all", "any")
# Of rows that are about files, as many as this are compared with them to list those that changed.
STALE_READ = 200
_MOST_SAID = 80  # characters of a query in a note


# Answers a query from the documents of projects, as far as they are likelier to answer than so.
Documents = Callable[[Query, tuple[str, ...] | None, float, Sequence[str]], tuple[DocumentHit, ...]]


class Search:
    """Finds observations by words, a question, a topic key, or ``#id``."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        projects: Projects,
        *,
        anchors: Anchors,
        usage: Usage,
        trail: SearchLog,
        vectors: Vectors,
        half_life_days: int = HALF_LIFE_DAYS,
        documents: Documents | None = None,
    ) -> None:
        self._documents = documents
        self._store = store
        self._journal = journal
        self._projects = projects
        self.sight = partial(visible_from, projects, partial(of_file, store, anchors), journal)
        self._usage = usage
        self._trail = trail
        self._vectors = vectors
        self._hits = Hits(store, journal, anchors, half_life_days)

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
        """The best matches, at most ``limit`` (1..20, by default what ``.engram.json`` says, else 10), best first.

        Rows that hold every word in one passage come first, then those that hold any, so one word that is missing never
        empties the answer; ``match_mode="any"`` ranks them together. Where the best is less likely than ``floor``
        (0..1) to answer, ``silence`` says why there is nothing. Behind the fifth, what scores less than half of the
        best is left out. The answer holds about 600 tokens of passages, most of them from the best hits;
        ``snippet_chars`` asks for as many of each instead. A search that is not ``recorded`` is nobody's: it counts
        no use, teaches nothing and asks no documents. ``sort`` orders the same rows otherwise: ``recency`` the latest
        change first, ``salience`` what weighs most. The query may hold ``"phrases"``, ``-word`` and filters
        (``query/filters.py``). A personal search that names no project reads every project.

        Raises EmptyQueryError when the query is blank and neither type nor scope is given, InvalidArgumentError for an
        unknown argument.
        """
        started = time.perf_counter()
        if limit is None:
            limit = self._projects.preferences().search_limit
        limit, said = clamp("limit", limit, 1, MOST)
        if match_mode not in MATCH_MODES:
            raise InvalidArgumentError("match_mode", match_mode, expected=f"one of {', '.join(MATCH_MODES)}")
        sort = order_asked(sort)
        if not (query.strip() or (type or "").strip() or (scope or "").strip()):
            raise EmptyQueryError(query)
        parsed = parse_query(query, filters=True)
        floor = bar("shown") if floor is None else max(0.0, min(1.0, floor))
        sight, place_notes = self.sight(parsed, project, all_projects, type=type, scope=scope, session_id=session_id)
        found, placed = self._placed(parsed, sight, limit, floor, any_word=match_mode == "any")
        # Whether a file changed is known only of what was looked at.
        placed = placed if sight.stale else placed[:limit]
        shown = partial(self._hits.shown, limit=limit, stale_only=sight.stale, snippet_chars=snippet_chars)
        hits = in_order(shown(found.terms, placed, instead=found.instead), placed, sort)
        ids = [hit.id for hit in hits]
        days = self._days(parsed, found)
        silence = None if hits else explain_no_results(self._store, parsed, found, sight, floor, days=days)
        if recorded:
            self._record(parsed, sight, ids, silence, narrowed=bool(type or scope))
        notes = [*said, *sight.notes, *place_notes, *query_notes(query, parsed), *found.notes, *missed_notes(found)]
        notes += unfamiliar_notes(parsed, found, sight, placed[: len(hits)])
        notes += [day_note_of(days, found)] if days is not None else []
        notes += () if hits else unusual_types(self._store, sight, types_of(type, parsed.filters))
        return Results(
            query=parsed.text,
            results=hits,
            rung=first_rung(found) if hits else "none",
            projects=sight.projects,
            memories=visible.count_visible(self._store, sight.projects),
            warnings=tuple(notes),
            explain=self._explain(found, of_ids(ids, placed), floor, sight, started) if explain else None,
            silence=silence,
            unsure=bool(found.terms) and not found.strong and found.probability < bar("sure") and bool(hits),
            unknown=nameless(found.unknown, days) if hits and len(found.terms) <= MOST_WORDS_ASKED else (),
            sort=sort,
            documents=self._beside(parsed, found, sight, hits) if recorded else (),
        )

    def _beside(self, parsed: Query, found: Found, sight: ScopeFilter, hits: Sequence[Hit]) -> tuple[DocumentHit, ...]:
        """What documents say that no memory says; nothing where ids or filters say what is meant, or a memory has every
        word of it."""
        named = any(rung.name in ("exact", "named") and rung.found for rung in found.rungs)
        whole = bool(hits) and any(one.whole for one in found.scored)
        if self._documents is None or named or whole or sight.filtered or not parsed.asks:
            return ()
        rows = [found.rows[hit.id] for hit in hits if hit.id in found.rows]
        said = [f"{row.title} {row.content}" for row in rows]
        return self._documents(parsed, sight.projects, found.probability if hits else 0.0, said)

    def _days(self, parsed: Query, found: Found) -> Days | None:
        """The days that were asked for as such: where nothing anywhere changed in them their words were words, which
        they stay if some memory has these."""
        dated = not all(term.expression for term in found.terms)  # days are not looked up by an expression
        if len(found.terms) > MOST_WORDS_ASKED or not (dated or may_name_days(found.unknown)):
            return None
        days = days_meant(parsed.asked, self._journal.moment().date())
        if days is None or is_looked_up(days, found):
            return days
        naming = [term for term in found.terms if nameless([term.text], days) == ()]
        return days if naming and not any(term.rows for term in naming) else None

    def _placed(
        self, parsed: Query, sight: ScopeFilter, limit: int, floor: float, *, any_word: bool
    ) -> tuple[Found, list[Placed]]:
        """How the search went, and the hits in the order of the answer."""
        exact = self._exact(parsed, sight, limit)
        if exact and parsed.observation_id is not None:
            rungs = [LadderStep("exact", 1, "an id names one observation")]
            return Found(rungs=rungs, notes=filters_not_asked(sight)), self._hits.exact(exact)
        several, placed = self._named(parsed, sight, limit)
        if placed:
            return several, placed
        if not parsed.asks:
            if exact:
                return Found(rungs=[LadderStep("exact", len(exact), "a topic key")]), self._hits.exact(exact)
            return self._listed(parsed, sight, limit)
        found = self._retrieved(parsed, sight, limit, floor)
        if exact:
            found.rungs.insert(0, LadderStep("exact", len(exact), "a topic key; words follow"))
        if self._vectors.enabled:
            from engram_py.recall.vector_rows import add_meaning

            add_meaning(self._store, self._vectors, parsed, sight, found)
        found.rungs.append(evidence_step(found, floor))
        answers = [one for one in found.answers(floor) if one.id not in exact]
        whole_first = not any_word and not found.near
        wanted = STALE_READ if sight.stale else limit
        placed = self._hits.placed(answers, found.rows, whole_first=whole_first, limit=wanted)
        if len(found.terms) == 1 and self._days(parsed, found) is not None:  # what was done then, a summary says best
            placed.sort(key=lambda one: one.row.type != "session_summary")
        if placed:  # an empty answer says itself what is not there
            found.notes = (*several.notes, *found.notes)
        return found, [*self._hits.exact(exact), *placed]

    def _retrieved(self, parsed: Query, sight: ScopeFilter, limit: int, floor: float) -> Found:
        """A question that quotes what no answer says word for word is asked again without the quotes, and says so."""
        ask = partial(retrieve, self._store, limit=limit, least=floor, today=self._journal.moment().date())
        found = ask(parsed, sight)
        looser = None if found.scored and found.probability >= floor else parsed.unquoted()
        if looser is not None and (other := ask(looser, sight)).scored:
            other.rungs[:0] = found.rungs
            other.notes = (
                "nothing here has what is quoted word for word; its words were looked up without the quotes",
            )
            return other
        return found

    def _exact(self, query: Query, sight: ScopeFilter, limit: int) -> list[int]:
        """``#id``, then a topic key spelt out."""
        if query.observation_id is not None:
            row = table.by_id(self._store, query.observation_id)
            return [row.id] if row is not None and row.deleted_at is None else []
        try:
            topic_key = normalize_topic_key(query.text[:200])
        except InvalidTopicKeyError:
            return []
        return index.by_topic(self._store, topic_key, sight.values, limit=limit)

    def _named(self, parsed: Query, sight: ScopeFilter, limit: int) -> tuple[Found, list[Placed]]:
        """Several handles, as in `[#1] [#2]`: the observations they name, in that order."""
        ids = () if parsed.phrases or parsed.excluded or sight.stale else handles(parsed.asked)
        if not ids or parsed.observation_id is not None:
            return Found(), []
        rows = table.by_ids(self._store, ids[:limit])
        there = [one for one in ids[:limit] if one in rows and rows[one].deleted_at is None]
        gone = [f"#{one}" for one in ids[:limit] if one not in there]
        deleted = "it was" if len(gone) == 1 else "they were"
        notes = [f"there is no memory {', '.join(gone)}, or {deleted} deleted"] if gone else []
        notes += [f"{len(ids)} memories were named; the first {limit} were looked up"] if len(ids) > limit else []
        notes += filters_not_asked(sight) if there else ()
        rung = LadderStep("named", len(there), "ids name observations")
        return Found(rungs=[rung], notes=tuple(notes)), self._hits.exact(there)

    def _listed(self, parsed: Query, sight: ScopeFilter, limit: int) -> tuple[Found, list[Placed]]:
        """No word says what to look for: what the filters let through, latest change first; without any, nothing."""
        if not sight.filtered and not parsed.filters.projects:
            return Found(rungs=[LadderStep("words", 0, "none says what to look for")]), []
        unwanted = " OR ".join(parsed.excluded) or None
        most = STALE_READ if sight.stale else limit
        ids = index.latest(self._store, sight.values, unwanted=unwanted, limit=most)
        words = f'"{parsed.asked.strip()[:_MOST_SAID]}"'
        notes = (f"{words} does not say what to look for; the filters alone were asked",) if parsed.words else ()
        rung = LadderStep("filters", len(ids), "no word to rank by: latest change first")
        return Found(rungs=[rung], notes=notes), self._hits.exact(ids)

    def _record(
        self, parsed: Query, sight: ScopeFilter, ids: Sequence[int], silence: NoResults | None, *, narrowed: bool
    ) -> None:
        self._usage.surfaced(ids)
        named = [silence.nearest[0].id] if silence and silence.nearest else ids
        narrowed = narrowed or sight.filtered or not parsed.asks
        self._trail.searched(parsed.text, projects=sight.projects, ids=named, narrowed=narrowed)

    def _explain(self, found: Found, placed: list[Placed], floor: float, sight: ScopeFilter, started: float) -> Explain:
        below = len(found.scored) if found.probability < floor else 0
        return Explain(
            rungs=tuple(found.rungs),
            words=found.word_notes(),
            hits=tuple(one.numbers() for one in placed),
            evidence=found.evidence,
            probability=round(found.probability, 3),
            floor=floor,
            below_floor=below,
            filters=sight.said,
            seconds=round(time.perf_counter() - started, 6),
        )
