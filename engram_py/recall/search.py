"""Search: exact topic or id, all words, any word, near spelling. The one function every door asks."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial

from engram_py.anchors.anchors import Anchors
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.errors import EmptyQueryError, InvalidArgumentError, InvalidTopicKeyError
from engram_py.observations import table, usage
from engram_py.observations.arguments import clamp, clean_scope
from engram_py.observations.lookup import handles
from engram_py.observations.usage import Usage
from engram_py.projects.errors import InvalidProjectError
from engram_py.projects.projects import Projects
from engram_py.recall.candidates import Found, retrieve
from engram_py.recall.file_observations import NamedFiles
from engram_py.recall.hits import Hits, Placed
from engram_py.recall.index import table as index
from engram_py.recall.no_results import explain_no_results, nameless
from engram_py.recall.plan import MOST_WORDS_ASKED, day_note, days_meant
from engram_py.recall.query.days import Days, may_name_days
from engram_py.recall.query.parse import MAX_QUERY_CHARS, MAX_WORDS, Query, parse_query
from engram_py.recall.scope_filter import ScopeFilter, scope_filter_of, types_of
from engram_py.recall.score.probability import bar
from engram_py.recall.search_log import SearchLog
from engram_py.recall.unknown_words import unfamiliar_notes
from engram_py.recall.values import DocumentHit, Explain, Hit, LadderStep, NoResults, Results
from engram_py.text.normalize import check_text, normalize_topic_key
from engram_py.vectors.vectors import Vectors

MOST = 20
MATCH_MODES = ("all", "any")
# Of rows that are about files, as many as this are compared with them to list those that changed.
STALE_READ = 200
_MOST_MISSED = 3
_MOST_SAID = 80  # characters of a query in a note
# Of so many is asked whether they have a type, before it is called unusual.
TYPES_READ = 10_000


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
        documents: Documents | None = None,
    ) -> None:
        self._documents = documents
        self._store = store
        self._journal = journal
        self._projects = projects
        self._files = NamedFiles(store, anchors)
        self._usage = usage
        self._trail = trail
        self._vectors = vectors
        self._hits = Hits(store, journal, anchors)

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
    ) -> Results:
        """The best matches, at most ``limit`` (1..20, by default what ``.engram.json`` says, else 10), best first.

        Rows that hold every word in one passage come first, then those that hold any, so one word that is missing never
        empties the answer; ``match_mode="any"`` ranks them together. Where the best is less likely than ``floor``
        (0..1) to answer, ``silence`` says why there is nothing. Behind the fifth, what scores less than half of the
        best is left out. The answer holds about 600 tokens of passages, most of them from the best hits;
        ``snippet_chars`` asks for as many of each instead. A search that is not ``recorded`` is nobody's: it counts
        no use, teaches nothing and asks no documents. The query may hold ``"phrases"``, ``-word`` and filters
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
        if not (query.strip() or (type or "").strip() or (scope or "").strip()):
            raise EmptyQueryError(query)
        parsed = parse_query(query, filters=True)
        floor = bar("shown") if floor is None else max(0.0, min(1.0, floor))
        sight, place_notes = self._sight(parsed, project, all_projects, type, scope, session_id)
        found, placed = self._placed(parsed, sight, limit, floor, any_word=match_mode == "any")
        # Whether a file changed is known only of what was looked at.
        placed = placed if sight.stale else placed[:limit]
        shown = partial(self._hits.shown, limit=limit, stale_only=sight.stale, snippet_chars=snippet_chars)
        hits = shown(found.terms, placed, instead=found.instead)
        ids = [hit.id for hit in hits]
        days = self._days(parsed, found)
        silence = None if hits else explain_no_results(self._store, parsed, found, sight, floor, days=days)
        if recorded:
            self._record(parsed, sight, ids, silence, narrowed=bool(type or scope))
        notes = [*said, *sight.notes, *place_notes, *_notes(query, parsed), *found.notes, *_missed(found)]
        notes += unfamiliar_notes(parsed, found, sight, placed[: len(hits)])
        notes += [_day_note(days, found)] if days is not None else []
        notes += () if hits else self._types_of_nobody(sight, types_of(type, parsed.filters))
        return Results(
            query=parsed.text,
            results=hits,
            rung=_rung(found) if hits else "none",
            projects=sight.projects,
            memories=usage.count_visible(self._store, sight.projects),
            warnings=tuple(notes),
            explain=self._explain(found, [one for one in placed if one.row.id in ids], floor, sight, started)
            if explain
            else None,
            silence=silence,
            unsure=bool(found.terms) and not found.strong and found.probability < bar("sure") and bool(hits),
            unknown=nameless(found.unknown, days) if hits and len(found.terms) <= MOST_WORDS_ASKED else (),
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
        if days is None or _is_looked_up(days, found):
            return days
        naming = [term for term in found.terms if nameless([term.text], days) == ()]
        return days if naming and not any(term.rows for term in naming) else None

    def _sight(
        self,
        parsed: Query,
        project: str | None,
        all_projects: bool,
        type: str | None,
        scope: str | None,
        session_id: str | None,
    ) -> tuple[ScopeFilter, tuple[str, ...]]:
        check_text("type", type or "")
        scope = clean_scope(scope)
        named = project or next(iter(parsed.filters.projects), None)
        notes: tuple[str, ...] = ()
        if len(parsed.filters.projects) > 1 or (project and parsed.filters.projects):
            notes = (f"one project at a time: searched {named}",)
        personal = scope == "personal" or parsed.filters.scopes == ("personal",)
        everywhere = (
            (all_projects and not parsed.filters.projects)
            or (named or "").lower() in ("*", "all")
            or (personal and not named)
        )
        try:
            place = self._projects.for_read(
                None if everywhere else named, session_id=session_id, all_projects=everywhere, head=False
            )
        except InvalidProjectError as exc:
            if project:
                raise
            notes = (*notes, f"project: {exc.message}; the filter was left out")
            place = self._projects.for_read(None, session_id=session_id, head=False)
        sight = scope_filter_of(
            parsed.filters,
            projects=place.reads,
            type=type,
            scope=scope,
            files=self._files,
            journal=self._journal,
        )
        return sight, (*notes, *place.warnings)

    def _placed(
        self, parsed: Query, sight: ScopeFilter, limit: int, floor: float, *, any_word: bool
    ) -> tuple[Found, list[Placed]]:
        """How the search went, and the hits in the order of the answer."""
        exact = self._exact(parsed, sight, limit)
        if exact and parsed.observation_id is not None:
            rungs = [LadderStep("exact", 1, "an id names one observation")]
            return Found(rungs=rungs, notes=_unheld(sight)), self._hits.exact(exact)
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
        found.rungs.append(_evidence_step(found, floor))
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
        notes += _unheld(sight) if there else ()
        rung = LadderStep("named", len(there), "ids name observations")
        return Found(rungs=[rung], notes=tuple(notes)), self._hits.exact(there)

    def _types_of_nobody(self, sight: ScopeFilter, types: Sequence[str]) -> tuple[str, ...]:
        """For a search without an answer: what to call a type that no memory has."""
        if not types:
            return ()
        from engram_py.observations.topic_keys import type_notes

        notes = type_notes(types)
        return () if notes and table.has_type(self._store, sight.projects, types, cap=TYPES_READ) else notes

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


def _unheld(sight: ScopeFilter) -> tuple[str, ...]:
    """An id opens what it names, as `get` does, whatever the filters beside it say."""
    return (f"not asked of what an id names: {', '.join(sight.said)}",) if sight.said else ()


def _evidence_step(found: Found, floor: float) -> LadderStep:
    one = found.evidence
    why = f"the best holds {one.passage:.0%} of what the words tell"
    why += f", its session {one.session:.0%}" if one.session > one.passage else ""
    why += f": it answers with a probability of {found.probability:.0%}, {floor:.0%} is needed"
    return LadderStep("evidence", 0, why if one.passage else "no word of the question was found")


def _rung(found: Found) -> str:
    """The first step that found something."""
    return next((rung.name for rung in found.rungs if rung.found), "none")


def _day_note(days: Days, found: Found) -> str:
    said = f"{days.words}: until {days.last}" if days.open else day_note(days)
    return said + ("" if _is_looked_up(days, found) or not found.scored else ", when nothing changed")


def _is_looked_up(days: Days, found: Found) -> bool:
    return any(term.text == days.words and not term.expression for term in found.terms)


def _missed(found: Found) -> list[str]:
    return [
        f"#{old} has these words, but [#{new}] replaced it, which the filters leave out; is:superseded shows it"
        for old, new in list(found.missed.items())[:_MOST_MISSED]
    ]


def _notes(query: str, parsed: Query) -> list[str]:
    notes = list(parsed.notes)
    if parsed.shortened:
        cut = len(query) > MAX_QUERY_CHARS
        telling = len(parsed.words) >= MAX_WORDS
        begun = f"the query was long; its first {MAX_QUERY_CHARS:,} characters were read"
        used = "its most telling words were used"
        notes.append(f"{begun}, and {used}" if cut and telling else begun if cut else f"the query was long; {used}")
    if parsed.excluded:
        said = dict.fromkeys(expression.strip("()").replace('"', "") for expression in parsed.excluded)
        notes.append(f"left out: what has {', '.join(said)}")
    return notes
