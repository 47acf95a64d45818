"""From scored rows to hits: what stands where in the answer, and what is said of each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from engram_py.anchors.anchors import Anchors
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.ledger import citations
from engram_py.observations import table
from engram_py.observations.lookup import relation_notes
from engram_py.observations.values import Observation, RelationNote
from engram_py.recall.preview import preview
from engram_py.recall.score.diversity import alike, shingles
from engram_py.recall.score.proximity import lens
from engram_py.recall.score.rank import Standing, factors
from engram_py.recall.score.relevance import Scored, Term
from engram_py.recall.values import Hit, Numbers
from engram_py.sessions.summary_steps import goal
from engram_py.sessions.values import SUMMARY_TITLE

# Texts that share this much of their words say the same; the second gives way to what is different.
SAME = 0.85
LOOKED_BEHIND = 20


@dataclass(slots=True)
class Placed:
    """A row on its place in the answer."""

    row: Observation
    scored: Scored
    score: float
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
        )


class Hits:
    """Orders what a search found and words what is known of each row."""

    def __init__(self, store: Store, journal: Journal, anchors: Anchors) -> None:
        self._store = store
        self._journal = journal
        self._anchors = anchors

    def exact(self, ids: Sequence[int]) -> list[Placed]:
        """What was named: in the order it was found, never ranked."""
        if not ids:
            return []
        rows = table.by_ids(self._store, ids)
        notes = relation_notes(self._store, [row.sync_id for row in rows.values()])
        return [
            Placed(rows[row_id], Scored(row_id, covered=1.0), 1.0, relations=notes.get(rows[row_id].sync_id, ()))
            for row_id in ids
            if row_id in rows
        ]

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
            by = factors(row, now, Standing(elsewhere, *told))
            place = Placed(row, one, one.relevance, by, notes.get(row.sync_id, ()))
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
        instead: Mapping[int, Observation],
        stale_only: bool = False,
    ) -> tuple[Hit, ...]:
        """The hits to show, each with the place of its text where the terms stand and the state of its files."""
        glass = lens(terms)
        states = self._anchors.states([place.row for place in placed])
        now = self._journal.moment()
        # Within one answer no score is above the one before: what was named counts 1, so does the first by its words.
        best = next((place.score for place in placed if place.scored.relevance), 1.0) or 1.0
        score = 1.0
        hits = []
        for place in placed:
            row = place.row
            anchors = states.get(row.id, ())
            state = row.state(now)
            if stale_only and state == "active" and not any(anchor.stale for anchor in anchors):
                continue
            shown = preview(row.content, terms, glass)
            if place.scored.relevance:
                score = min(score, place.score / best)
            hits.append(
                Hit(
                    id=row.id,
                    sync_id=row.sync_id,
                    title=row.title,
                    type=row.type,
                    project=row.project,
                    scope=row.scope,
                    topic_key=row.topic_key,
                    score=round(score, 4),
                    snippet=shown.text,
                    truncated=shown.cut,
                    pinned=row.pinned,
                    state=state,
                    review_after=row.review_after,
                    created_at=row.created_at,
                    updated_at=row.updated_at,
                    relations=place.relations,
                    lifecycle=row.lifecycle,
                    coverage=round(place.scored.covered, 3),
                    anchors=anchors,
                    branch=place.branch,
                    like=place.like,
                    place=shown.place,
                    goal=goal_of(row),
                    instead_of=RelationNote("replaced", old.id, old.title) if (old := instead.get(row.id)) else None,
                )
            )
        return tuple(hits)


def goal_of(row: Observation) -> str:
    """What a summary was for whose title says no more than the project."""
    if not row.title.startswith(SUMMARY_TITLE):
        return ""
    said = goal(row.content)
    return "" if said.startswith(row.title.removeprefix(SUMMARY_TITLE).rstrip(" .…")) else said


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
