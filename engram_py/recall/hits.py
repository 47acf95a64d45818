"""Rank scored rows and make hits of them: their order in the answer, and the facts shown with each; the notes on an
answer, and the reasons why there is none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from itertools import accumulate

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.lazy import regex
from engram_py.base.settings import DEFAULTS
from engram_py.base.text.words import alike, shingles
from engram_py.base.times import parse_time
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.observations import table
from engram_py.memory.observations.values import AnchorState, Observation, RelationNote
from engram_py.memory.relations.table import relation_notes, unanswered
from engram_py.memory.sessions import citations
from engram_py.memory.sessions.citations import citation_factor
from engram_py.recall.preview import Preview, preview, shares
from engram_py.recall.reading import term_finder
from engram_py.recall.retrieval import LENT, TAIL, Retrieved, goal_of, is_listed
from engram_py.recall.score import Scored
from engram_py.recall.values import DocumentHit, Hit, Numbers

# Each factor is small beside a word more or less, so that they settle near ties. Engram's own are of this size
# (.10 pinned, .06 recency, .04 repetition: spec/engram-behaviour.md 1.12).
RECENCY = 0.06
PINNED = 0.10
SALIENCE = 0.06
USE = 0.04
_USED_OFTEN = 4.0
_MIDDLE = 0.5
OVERDUE, EXPIRED = 0.9, 0.7
ELSEWHERE = 0.8


@dataclass(frozen=True, slots=True)
class Signals:
    """Whether a row is on another branch, and in how many sessions it was shown unasked and cited."""

    elsewhere: bool = False
    injected: int = 0
    cited: int = 0


def recency(row: Observation, now: datetime, half_life_days: int = DEFAULTS["recency_half_life_days"]) -> float:
    """Return ``0.5 ** (age / half-life)`` since the last change; 1 of a pinned row and of times to come."""
    changed = parse_time(row.updated_at)
    if row.pinned or changed is None:
        return 1.0
    days = max(0.0, (now - changed) / timedelta(days=1))
    return float(0.5 ** (days / half_life_days))


def factors(row: Observation, now: datetime, signals: Signals, fresh: float) -> Mapping[str, float]:
    """Return the factors of the relevance of a row by name, without those that change nothing; ``fresh`` is its
    ``recency``.

    ``recency``: 1 + .06 r; ``pinned``: 1.10; ``salience``: 1 + .06 (2 s - 1), s in 0..1 with .5 in the middle;
    ``use``: 1 + .04 n / (n + 4) after n times shown; ``cited``: see memory/sessions/citations.py.
    ``expired`` .7, ``overdue`` .9, ``branch`` .8.
    """
    found = {"recency": 1 + RECENCY * fresh}
    if row.pinned:
        found["pinned"] = 1 + PINNED
    if row.salience != _MIDDLE:
        found["salience"] = 1 + SALIENCE * (2 * min(1.0, max(0.0, row.salience)) - 1)
    if row.access_count:
        found["use"] = 1 + USE * row.access_count / (row.access_count + _USED_OFTEN)
    if signals.injected or signals.cited:
        found["cited"] = citation_factor(signals.injected, signals.cited)
    if _past(row.expires_at, now):
        found["expired"] = EXPIRED
    if _past(row.review_after, now):
        found["overdue"] = OVERDUE
    if signals.elsewhere:
        found["branch"] = ELSEWHERE
    return {name: rounded for name, value in found.items() if (rounded := round(value, 4)) != 1}


def _past(text: str | None, now: datetime) -> bool:
    moment = parse_time(text)
    return moment is not None and moment <= now


# Texts that share this much of their words say nearly the same; the second gives way to different ones.
SAME = 0.85
_NUMBERS = regex(r"[0-9]+")
LOOKED_BEHIND = 20
# The whole answer: 600 tokens of four characters. A hit takes about so many for its head, and for each line beside its
# passage.
ANSWER_CHARS, HEAD_CHARS, LINE_CHARS = 2_400, 70, 24
SORTS = ("relevance", "recency", "salience")


@dataclass(frozen=True, slots=True)
class RankedRow:
    """A row in the order of the answer, with the facts that decided its place."""

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
            passage=round(one.passage, 3),
            whole=round(one.whole, 3),
            lent=round(one.lent, 3),
            session=round(one.session, 3),
            coverage=round(one.coverage, 3),
            meaning=round(one.meaning, 3) if one.meaning is not None else None,
            relevance=round(one.relevance, 3),
            factors=dict(self.factors),
            score=round(self.score, 3),
            words=one.words,
            recency=round(self.recency, 3),
        )


class Hits:
    """Ranks rows and makes hits of them."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        anchors: Anchors,
        half_life_days: int = DEFAULTS["recency_half_life_days"],
    ) -> None:
        self._half_life = half_life_days
        self._store = store
        self._journal = journal
        self._anchors = anchors

    def in_order(self, ids: Sequence[int]) -> list[RankedRow]:
        """Return rows that were named or listed, in the order of their ids."""
        if not ids:
            return []
        rows = table.by_ids(self._store, ids)
        notes = relation_notes(self._store, [row.sync_id for row in rows.values()])
        found, now = [rows[row_id] for row_id in ids if row_id in rows], self._journal.moment()
        return [
            RankedRow(
                row,
                Scored(row.id, coverage=1.0),
                1.0,
                recency(row, now, self._half_life),
                relations=notes.get(row.sync_id, ()),
            )
            for row in found
        ]

    def ranked(
        self, scored: Sequence[Scored], rows: Mapping[int, Observation], *, all_words_first: bool, limit: int
    ) -> list[RankedRow]:
        """Return the rows in the order of the answer. Only the first ``limit`` are sure to differ from each other."""
        # A row that stands this far behind by its words is brought to the front by no factor.
        known = [one for one in scored if one.id in rows][: limit + LOOKED_BEHIND]
        notes = relation_notes(self._store, [rows[one.id].sync_id for one in known])
        visibility = self._anchors.visibility([rows[one.id] for one in known])
        tallies = citations.tallies(self._store, [one.id for one in known])
        now = self._journal.moment()
        found = []
        for one in known:
            row, seen, tally = rows[one.id], visibility.get(one.id), tallies.get(one.id)
            branch = seen.label if seen is not None and seen.elsewhere else ""
            signals = Signals(bool(seen and seen.elsewhere), *((tally.injected, tally.cited) if tally else ()))
            fresh = recency(row, now, self._half_life)
            by = factors(row, now, signals, fresh)
            score = one.relevance
            for factor in by.values():
                score *= factor
            found.append(RankedRow(row, one, score, fresh, by, notes.get(row.sync_id, ()), branch))
        found.sort(key=lambda one: (not (all_words_first and one.scored.has_all_words), -one.score, -one.row.id))
        return _different_first(_newer_first(found, unanswered(self._store, [one.row.id for one in found])), limit)

    def hits(
        self,
        found: Retrieved[Observation],
        ranked: Sequence[RankedRow],
        *,
        limit: int,
        stale_only: bool = False,
        snippet_chars: int | None = None,
        taken: int = 0,
    ) -> tuple[Hit, ...]:
        """Return the first ``limit`` hits without the tail, each with the state of its files and its passage.

        The passages share the room of the answer, of which so many characters are ``taken``; ``snippet_chars`` gives
        each of them so many characters instead.
        """
        states = self._anchors.states([one.row for one in ranked])
        now = self._journal.moment()
        if stale_only:
            stale = {row for row, anchors in states.items() if any(anchor.stale for anchor in anchors)}
            ranked = [one for one in ranked if one.row.state(now) != "active" or one.row.id in stale]
        shown = _shown(ranked[:limit])
        ranked, scores = [one for one, _ in shown], [score for _, score in shown]
        chars = [snippet_chars or 0] * len(scores)
        if snippet_chars is None:
            chars = _passage_chars(ranked, scores, states, taken)
        finder = term_finder(found.terms)
        hits = []
        for one, score, part in zip(ranked, scores, chars, strict=True):
            passage = preview(one.row.content, found.terms, finder, limit=part)
            hit = _hit(one, score, passage, one.row.state(now))
            old = found.replaced.get(hit.id)
            note = RelationNote("replaced", old.id, old.title) if old else None
            hits.append(replace(hit, anchors=states.get(hit.id, ()), instead_of=note))
        return tuple(hits)


def _hit(one: RankedRow, score: float, passage: Preview, state: str) -> Hit:
    row = one.row
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
        relations=one.relations,
        lifecycle=row.lifecycle,
        coverage=round(one.scored.coverage, 3),
        branch=one.branch,
        like=one.like,
        goal=goal_of(row),
        unchecked=row.unchecked,
        author=row.author,
    )


def _shown(ranked: Sequence[RankedRow]) -> list[tuple[RankedRow, float]]:
    """Return the hits before the tail with the scores to show: none is above the one before, and named rows and the
    first by its words have 1. What has nothing but the words of its neighbours needs three fifths of the best score."""
    best = next((one.score for one in ranked if one.scored.relevance), 1.0) or 1.0
    shown: list[tuple[RankedRow, float]] = []
    for one in ranked:
        before = shown[-1][1] if shown else 1.0
        score = min(before, one.score / best) if one.scored.relevance else before
        is_told = bool(one.scored.words) or one.scored.meaning is not None or not one.scored.relevance
        if is_listed(len(shown), score) if is_told else score >= LENT:
            shown.append((one, score))
    return shown


def _passage_chars(
    ranked: Sequence[RankedRow], scores: Sequence[float], states: Mapping[int, Sequence[AnchorState]], taken: int
) -> list[int]:
    """Return how many characters each passage gets; a text that says the same as a better hit is not shown twice."""
    lines = sum(_line_chars(one, states.get(one.row.id, ())) for one in ranked)
    room = max(ANSWER_CHARS // 4, ANSWER_CHARS - HEAD_CHARS - taken - lines)
    ids = {one.row.id for one in ranked}
    return shares(scores, [0 if one.like in ids else len(one.row.content) for one in ranked], room)


def _line_chars(one: RankedRow, anchors: Sequence[AnchorState]) -> int:
    """Return about how many characters a hit takes of an answer besides its passage."""
    texts = [
        one.row.title,
        *(note.title for note in one.relations),
        *(anchor.path for anchor in anchors if anchor.stale),
    ]
    texts += [f"nearly the same as [#{one.like}]"] if one.like is not None else []
    return len(one.row.type) + len(one.branch) + sum(LINE_CHARS + len(text) for text in texts)


def _newer_first(ranked: list[RankedRow], newer: Mapping[int, int]) -> list[RankedRow]:
    """Return the rows with the ``newer`` of two that may contradict each other, by the id of the older, before it and
    with a note; where it holds as much of the question, and has half of its score."""
    found = list(ranked)
    for older, new in newer.items():
        places = {one.row.id: at for at, one in enumerate(found)}
        if new not in places:
            continue
        row, old = found[places[new]], found[places[older]]
        if row.scored.coverage >= old.scored.coverage and row.score >= TAIL * old.score:
            found.remove(row)
            note = RelationNote("contested", older, old.row.title)
            known = any(one.id == older for one in row.relations)
            row = row if known else replace(row, relations=(*row.relations, note))
            found.insert(min(places[new], places[older]), row)
    return found


def _different_first(ranked: list[RankedRow], limit: int) -> list[RankedRow]:
    """Return the same rows, those that say the same as one before them moved behind the others, and those that differ
    in numbers alone behind the others that hold as much of the question; looked for until ``limit`` different ones were
    found."""
    of_words = Counter(one.scored.words for one in ranked)  # what holds other words of the question says another thing
    texts: dict[tuple[str, ...], list[tuple[int, frozenset[str], frozenset[str]]]] = {}
    different: list[RankedRow] = []
    numbered: list[RankedRow] = []
    repeated: list[RankedRow] = []
    for number, one in enumerate(ranked):
        if len(different) >= limit:
            return [*_merged(different, numbered), *ranked[number:], *repeated]
        if of_words[one.scored.words] == 1:
            different.append(one)
            continue
        text, others = f"{one.row.title} {one.row.content}", texts.setdefault(one.scored.words, [])
        words, without = shingles(text), shingles(_NUMBERS.sub("0", text))
        same = next((other for other, seen, _ in others if alike(words, seen, SAME)), None)
        like = same or next((other for other, _, seen in others if alike(without, seen, SAME)), None)
        if like is None:
            others.append((one.row.id, words, without))
            different.append(one)
        else:
            (repeated if same else numbered).append(replace(one, like=like))
    return [*_merged(different, numbered), *repeated]


def _merged(different: Sequence[RankedRow], numbered: Sequence[RankedRow]) -> list[RankedRow]:
    """Return ``different``, and each of ``numbered`` behind the last that holds as much of the question."""
    most_behind = list(accumulate((one.scored.coverage for one in reversed(different)), max))[::-1]
    merged: list[RankedRow] = []
    left = list(numbered)
    for one, most in zip(different, most_behind, strict=True):
        merged += [other for other in left if other.scored.coverage > most]
        left = [other for other in left if other.scored.coverage <= most]
        merged.append(one)
    return [*merged, *left]


def on_one_scale(
    hits: tuple[Hit, ...], strength: float, documents: tuple[DocumentHit, ...]
) -> tuple[tuple[Hit, ...], tuple[DocumentHit, ...]]:
    """Return both with the best of all at 1; ``strength`` is that of the best memory, a document's score is its own."""
    best = max([strength, *(one.score for one in documents)])
    if not documents or best <= 0:
        return hits, documents
    hits = tuple(replace(hit, score=round(hit.score * strength / best, 4)) for hit in hits)
    return hits, tuple(replace(one, score=round(one.score / best, 4)) for one in documents)


def clean_sort(given: str | None) -> str | None:
    """Return the order that was asked for, None for the best first. Raises InvalidArgumentError."""
    wanted = (given or "").strip().lower() or SORTS[0]
    if wanted not in SORTS:
        raise InvalidArgumentError("sort", given, expected=f"one of {', '.join(SORTS)}")
    return None if wanted == SORTS[0] else wanted


def sorted_by(hits: tuple[Hit, ...], ranked: Sequence[RankedRow], sort: str | None) -> tuple[Hit, ...]:
    """Return the same hits in another order; equal ones stay best first."""
    if sort is None:
        return hits
    if sort == "recency":
        return tuple(sorted(hits, key=lambda hit: (hit.updated_at, hit.id), reverse=True))
    salience = {one.row.id: one.row.salience for one in ranked}
    return tuple(sorted(hits, key=lambda hit: salience[hit.id], reverse=True))
