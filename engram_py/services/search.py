"""Search: exact topic, then all words, then any word. The one function every door asks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from engram_py.capture.normalize import check_text, normalize_topic_key
from engram_py.errors import EmptyQueryError, InvalidArgumentError, InvalidTopicKeyError
from engram_py.models.observation import Hit, Observation, Results
from engram_py.recall.preview import preview
from engram_py.recall.query import Query, match_all, match_any, parse_query
from engram_py.services.journal import Journal
from engram_py.services.limits import clamp, clean_scope
from engram_py.services.lookup import relation_notes
from engram_py.services.planner import floor, rarest
from engram_py.services.projects import Projects
from engram_py.store import observations as table
from engram_py.store import search as index
from engram_py.store.database import Store

MOST = 20
MATCH_MODES = ("all", "any")
# Rows that one rung may score, about a microsecond each. On the development sets 5,000 find what 20,000 find
# (LoCoMo, XQuAD and CoSQA recall at 5 unchanged to the third digit).
ROW_BUDGET = 5_000


@dataclass(frozen=True, slots=True)
class _Scope:
    """What a search may see."""

    projects: tuple[str, ...] | None
    type: str | None
    scope: str | None


class Search:
    """Finds observations by words, a question, a topic key, or ``#id``."""

    def __init__(self, store: Store, journal: Journal, projects: Projects) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects

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
    ) -> Results:
        """The best matches, at most ``limit`` (1..20, by default what ``.engram.json`` says, else 10), best first.

        Every word is tried first; when that finds fewer than ``limit``, any word follows, so one word that is
        missing never empties the answer. ``match_mode="any"`` starts there. A personal search that names no
        project reads every project.

        Raises EmptyQueryError when the query holds no word at all, InvalidArgumentError for an unknown filter.
        """
        if limit is None:
            limit = self._projects.settings_here().settings.search_limit
        limit, said = clamp("limit", limit, 1, MOST)
        if match_mode not in MATCH_MODES:
            raise InvalidArgumentError("match_mode", match_mode, expected=f"one of {', '.join(MATCH_MODES)}")
        parsed = parse_query(query)
        check_text("type", type or "")
        scope = clean_scope(scope)
        if not parsed.words:
            raise EmptyQueryError(parsed.text)
        everywhere = all_projects or (scope == "personal" and not project)
        place = self._projects.for_read(project, session_id=session_id, all_projects=everywhere)
        sight = _Scope(place.reads, type.strip().lower() if type and type.strip() else None, scope)
        ranked, rung = self._ranked(parsed, sight, limit, any_word=match_mode == "any")
        hits = self._hits(parsed, ranked)
        if parsed.shortened:
            said = (*said, "the query was long; its first words were used")
        memories = len(hits) or table.count_live(self._store, place.reads)
        return Results(parsed.text, hits, rung if hits else "none", place.reads, memories, (*said, *place.warnings))

    def _ranked(
        self, query: Query, sight: _Scope, limit: int, *, any_word: bool
    ) -> tuple[list[tuple[int, float]], str]:
        """(id, score) best first, and the rung that found the first of them."""
        exact = self._exact(query, sight, limit)
        found = dict.fromkeys(exact, 1.0)
        rung = "exact" if exact else "none"
        if len(found) < limit and not any_word:
            rung = self._merge(found, match_all(query.content_words), sight, limit, rung, "all words")
        if len(found) < limit:
            words = rarest(self._store, query.content_words, row_budget=ROW_BUDGET)
            if words:
                rung = self._merge(found, match_any(words), sight, limit, rung, "any word")
        return list(found.items())[:limit], rung

    def _merge(self, found: dict[int, float], match: str, sight: _Scope, limit: int, rung: str, this_rung: str) -> str:
        rows = index.matching(
            self._store,
            match=match,
            floor=floor(self._store, match, row_budget=ROW_BUDGET),
            projects=sight.projects,
            type=sight.type,
            scope=sight.scope,
            limit=limit,
        )
        fresh = [(row_id, -rank) for row_id, rank in rows if row_id not in found]
        best = max((rank for _, rank in fresh), default=0.0)
        # A later rung never outranks an earlier one: its best stays below the worst found so far.
        ceiling = min(found.values(), default=1.0)
        for row_id, rank in fresh:
            found[row_id] = round(ceiling * 0.99 * (rank / best if best > 0 else 1.0), 4)
        return this_rung if rung == "none" and fresh else rung

    def _exact(self, query: Query, sight: _Scope, limit: int) -> list[int]:
        """``#id``, then a topic key spelt out."""
        if query.observation_id is not None:
            row = table.by_id(self._store, query.observation_id)
            return [row.id] if row is not None and row.deleted_at is None else []
        try:
            topic_key = normalize_topic_key(query.text[:200])
        except InvalidTopicKeyError:
            return []
        return index.by_topic(
            self._store, topic_key, projects=sight.projects, type=sight.type, scope=sight.scope, limit=limit
        )

    def _hits(self, query: Query, ranked: Sequence[tuple[int, float]]) -> tuple[Hit, ...]:
        rows = table.by_ids(self._store, [row_id for row_id, _ in ranked])
        notes = relation_notes(self._store, [row.sync_id for row in rows.values()])
        words = [word.text for word in query.content_words]
        hits = (self._hit(rows[row_id], score, words) for row_id, score in ranked if row_id in rows)
        return tuple(replace(hit, relations=notes.get(hit.sync_id, ())) for hit in hits)

    def _hit(self, row: Observation, score: float, words: list[str]) -> Hit:
        snippet, truncated = preview(row.content, words)
        return Hit(
            id=row.id,
            sync_id=row.sync_id,
            title=row.title,
            type=row.type,
            project=row.project,
            scope=row.scope,
            topic_key=row.topic_key,
            score=score,
            snippet=snippet,
            truncated=truncated,
            pinned=row.pinned,
            state=row.state(self._journal.moment()),
            review_after=row.review_after,
            created_at=row.created_at,
            updated_at=row.updated_at,
        )
