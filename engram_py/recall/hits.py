"""From scored rows to hits: what stands where in the answer, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from engram_py.anchors.anchors import Anchors
from engram_py.anchors.values import AnchorState
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import dataclass, field, replace
from engram_py.errors import InvalidArgumentError
from engram_py.ledger import citations
from engram_py.observations import table
from engram_py.observations.lookup import relation_notes
from engram_py.observations.values import Observation, RelationNote
from engram_py.recall.preview import Preview, preview, shares
from engram_py.recall.score.bm25 import Scored, Term
from engram_py.recall.score.proximity import lens
from engram_py.recall.score.rank import Standing, factors, recency
from engram_py.recall.settings import HALF_LIFE_DAYS
from engram_py.recall.values import Hit, Numbers
from engram_py.sessions.summary_steps import goal_of
from engram_py.text.similarity import alike, shingles

# Texts that share this much of their words say the same; the second gives way to what is different.
SAME = 0.85
LOOKED_BEHIND = 20
# The whole answer: 600 tokens of four characters, of which a hit takes so many besides its titles and its passage.
ANSWER_CHARS, HEAD_CHARS, LINE_CHARS = 2_400, 70, 24
# Behind the first hits, what is half as good as the best is no answer.
FIRST, TAIL = 5, 0.5


@dataclass(slots=True)
class Placed:
    """A row on its place in the answer."""

    row: Observation
    scored: Scored
    score: float
    recency: float = 1.0
    factors: Mapping[str, float] = field(default_factory=dict)
    relations: tuple[RelationNote, ...] = ()
    branch: str = ""
    like: int | None = None

    def numbers(self) -> Numbers:
        one = self.scored
        return Numbers(
            id=one.id,
            bm25=round(one.bm25, 3),
            lent=round(one.lent, 3),
            closeness=round(one.closeness, 3),
            session=round(one.session, 3),
            coverage=round(one.covered, 3),
            passage=round(one.share, 3),
            evidence=one.evidence,
            probability=round(one.evidence.probability(), 3),
            relevance=round(one.relevance, 3),
            factors=dict(self.factors),
            score=round(self.score, 3),
            words=one.words,
            recency=round(self.recency, 3),
        )


class Hits:
    """Orders what a search found and words what is known of each row."""

    def __init__(self, store: Store, journal: Journal, anchors: Anchors, half_life_days: int = HALF_LIFE_DAYS) -> None:
        self._half_life = half_life_days
        self._store = store
        self._journal = journal
        self._anchors = anchors

    def exact(self, ids: Sequence[int]) -> list[Placed]:
        """What was named: in the order it was found, never ranked."""
        if not ids:
            return []
        rows = table.by_ids(self._store, ids)
        notes = relation_notes(self._store, [row.sync_id for row in rows.values()])
        found = [rows[row_id] for row_id in ids if row_id in rows]
        return [
            Placed(row, Scored(row.id, covered=1.0), 1.0, self._recency(row), relations=notes.get(row.sync_id, ()))
            for row in found
        ]

    def _recency(self, row: Observation) -> float:
        return recency(row, self._journal.moment(), self._half_life)

    def placed(
        self, scored: Sequence[Scored], rows: Mapping[int, Observation], *, whole_first: bool, limit: int
    ) -> list[Placed]:
        """The rows in the order of the answer. With ``whole_first`` those that hold every word come before others.

        Only the first ``limit`` are sure to differ from each other.
        """
        now = self._journal.moment()
        # What stands this far behind by its words, no factor brings to the front.
        known = [one for one in scored if one.id in rows][: limit + LOOKED_BEHIND]
        notes = relation_notes(self._store, [rows[one.id].sync_id for one in known])
        visible = self._anchors.visibility([rows[one.id] for one in known])
        tallies = citations.tallies(self._store, [one.id for one in known])
        placed = []
        for one in known:
            row = rows[one.id]
            seen = visible.get(row.id)
            elsewhere = seen is not None and seen.elsewhere
            tally = tallies.get(row.id)
            told = (tally.injected, tally.cited) if tally else (0, 0)
            by = factors(row, now, Standing(elsewhere, *told), self._half_life)
            place = Placed(row, one, one.relevance, self._recency(row), by, notes.get(row.sync_id, ()))
            for factor in by.values():
                place.score *= factor
            if seen is not None and seen.elsewhere:
                place.branch = seen.label
            placed.append(place)
        placed.sort(key=lambda place: (not (whole_first and place.scored.whole), -place.score, -place.row.id))
        return _different_first(placed, limit)

    def shown(
        self,
        terms: Sequence[Term],
        placed: Sequence[Placed],
        *,
        limit: int,
        instead: Mapping[int, Observation],
        stale_only: bool = False,
        snippet_chars: int | None = None,
    ) -> tuple[Hit, ...]:
        """The first ``limit`` hits without the tail, each with the state of its files and the passage that answers.

        The passages share what the answer has room for; ``snippet_chars`` gives each of them so many characters.
        """
        glass = lens(terms)
        states = self._anchors.states([place.row for place in placed])
        now = self._journal.moment()
        if stale_only:
            placed = [
                place
                for place in placed
                if place.row.state(now) != "active" or any(anchor.stale for anchor in states.get(place.row.id, ()))
            ]
        scores = _shown_scores(placed[:limit])
        lines = sum(_line_chars(place, states.get(place.row.id, ())) for place, _ in zip(placed, scores, strict=False))
        room = max(ANSWER_CHARS // 4, ANSWER_CHARS - HEAD_CHARS - lines)
        # What says the same as a better hit is not shown twice.
        ids = {place.row.id for place in placed}
        lengths = [0 if place.like in ids else len(place.row.content) for place in placed]
        parts = shares(scores, lengths, room) if snippet_chars is None else [snippet_chars] * len(scores)
        hits = []
        for place, score, part in zip(placed, scores, parts, strict=False):
            passage = preview(place.row.content, terms, glass, limit=part)
            told = _hit(place, score, passage, place.row.state(now))
            replaced = instead.get(told.id)
            note = RelationNote("replaced", replaced.id, replaced.title) if replaced else None
            hits.append(replace(told, anchors=states.get(told.id, ()), instead_of=note))
        return tuple(hits)


def _hit(place: Placed, score: float, passage: Preview, state: str) -> Hit:
    row = place.row
    return Hit(
        id=row.id,
        sync_id=row.sync_id,
        title=row.title,
        type=row.type,
        project=row.project,
        scope=row.scope,
        topic_key=row.topic_key,
        score=round(score, 4),
        snippet=passage.text,
        truncated=passage.cut,
        pinned=row.pinned,
        state=state,
        review_after=row.review_after,
        created_at=row.created_at,
        updated_at=row.updated_at,
        relations=place.relations,
        lifecycle=row.lifecycle,
        coverage=round(place.scored.covered, 3),
        branch=place.branch,
        like=place.like,
        goal=goal_of(row),
    )


def _shown_scores(placed: Sequence[Placed]) -> list[float]:
    """The scores to show of the hits before the tail: within one answer none is above the one before, and what was
    named counts 1, as does the first by its words."""
    best = next((place.score for place in placed if place.scored.relevance), 1.0) or 1.0
    scores: list[float] = []
    for place in placed:
        before = scores[-1] if scores else 1.0
        scores.append(min(before, place.score / best) if place.scored.relevance else before)
    return [score for at, score in enumerate(scores) if at < FIRST or score >= TAIL]


def _line_chars(place: Placed, anchors: Sequence[AnchorState]) -> int:
    """About what a hit takes of an answer besides its passage."""
    row = place.row
    texts = [row.title, *(note.title for note in place.relations), *(one.path for one in anchors if one.stale)]
    texts += [f"says the same as [#{place.like}]"] if place.like is not None else []
    return len(row.type) + len(place.branch) + sum(LINE_CHARS + len(text) for text in texts)


def _different_first(placed: list[Placed], limit: int) -> list[Placed]:
    """The same hits, each that says what one before it says moved behind those that say something else; looked for
    until ``limit`` different ones were found."""
    texts: list[tuple[int, frozenset[str]]] = []
    different: list[Placed] = []
    repeated: list[Placed] = []
    for number, place in enumerate(placed):
        if len(different) >= limit:
            return [*different, *placed[number:], *repeated]
        words = shingles(f"{place.row.title} {place.row.content}")
        place.like = next((other for other, seen in texts if alike(words, seen, SAME)), None)
        if place.like is None:
            texts.append((place.row.id, words))
        (different if place.like is None else repeated).append(place)
    return different + repeated


SORTS = ("relevance", "recency", "salience")


def order_asked(given: str | None) -> str | None:
    """The order that was asked for, None for the best first. Raises InvalidArgumentError."""
    wanted = (given or "").strip().lower() or SORTS[0]
    if wanted not in SORTS:
        raise InvalidArgumentError("sort", given, expected=f"one of {', '.join(SORTS)}")
    return None if wanted == SORTS[0] else wanted


def in_order(hits: tuple[Hit, ...], placed: Sequence[Placed], sort: str | None) -> tuple[Hit, ...]:
    """The same hits in another order; those that are equal in it stay best first."""
    if sort == "recency":
        return tuple(sorted(hits, key=lambda hit: (hit.updated_at, hit.id), reverse=True))
    if sort == "salience":
        weights = {one.row.id: one.row.salience for one in placed}
        return tuple(sorted(hits, key=lambda hit: weights[hit.id], reverse=True))
    return hits


def of_ids(ids: Sequence[int], placed: Sequence[Placed]) -> list[Placed]:
    """Those of the ids, in their order."""
    by_id = {one.row.id: one for one in placed}
    return [by_id[row_id] for row_id in ids]
