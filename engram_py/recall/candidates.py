"""From a query to the rows that answer it, scored: candidates, what lies beside them, and a look at their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date

from engram_py.database.store import Store
from engram_py.dataclass import dataclass, field, replace
from engram_py.entities.table import has_any
from engram_py.observations.values import Observation
from engram_py.recall.file_names import weigh_files
from engram_py.recall.index import mentions
from engram_py.recall.plan import weigh, weigh_dates
from engram_py.recall.postings import look_up
from engram_py.recall.query.parse import Query
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import (
    WHOLE,
    Scored,
    Term,
    best_of,
    first_scores,
    norm,
    saturated,
    score,
    settle,
)
from engram_py.recall.score.probability import NONE, Evidence, bar, weigh_evidence
from engram_py.recall.score.proximity import lens, read
from engram_py.recall.substitutes import called_otherwise, in_one, in_two, misspelt
from engram_py.recall.values import LadderStep, Near, WordNote
from engram_py.recall.visible_rows import VisibleRows
from engram_py.sessions.summary_steps import goal_of, unframed
from engram_py.text.spelling import may_resemble
from engram_py.text.word_forms import stand_ins

# The best by their own words, whose neighbours are looked at; of all of these, whose text is read; and how many rows
# are asked about for the first. Recall at 5 on LoCoMo turns: heads 50 .700, 60 .708, 120 .704; read 20 .699, 40 .709.
HEADS = 60
READ = 40
_POOL = 400
# With 40 words to look for, a text takes 60 microseconds: of a pasted log fewer are read.
READ_OF_PASTED = 24
# Beside an answer, what holds less than this part of what its passage tells is padding.
PADDING = 0.25
# A row that neighbours lend its words is shown for their sake this near to the best.
NEARLY = 0.5
_ASKED_ABOUT = 100
_MOST_RESEMBLING = 4
_MOST_NEAR = 2


@dataclass(slots=True)
class Found:
    """The rows that a query led to, best first, with their scores; and how the search went."""

    scored: list[Scored] = field(default_factory=list)
    rows: dict[int, Observation] = field(default_factory=dict)
    terms: list[Term] = field(default_factory=list)
    rungs: list[LadderStep] = field(default_factory=list)
    filtered_away: int = 0
    total: int = 0
    near: frozenset[int] = frozenset()
    strong: frozenset[int] = frozenset()
    # Whose words were found, by what stands in its place; and by its id, what would, but was filtered away.
    instead: dict[int, Observation] = field(default_factory=dict)
    missed: dict[int, int] = field(default_factory=dict)
    evidence: Evidence = NONE
    notes: tuple[str, ...] = ()

    @property
    def probability(self) -> float:
        """That the best of what the words found answers, 0..1."""
        return self.evidence.probability()

    def answers(self, least: float) -> list[Scored]:
        """What may be shown: nothing where an answer is less likely, but for what is near by meaning."""
        if self.probability < least:
            return [one for one in self.scored if one.id in self.strong]
        best = max((one.relevance for one in self.scored), default=0.0)
        told = max((one.share for one in self.scored), default=0.0)
        return [one for one in self.scored if one.id in self.near or _belongs(one, best, told)]

    def judged(self, model: str = "asked") -> list[tuple[float, Scored]]:
        """How likely each row is to answer by its own words, the likeliest first."""
        own = [one for one in self.scored if one.words and one.id in self.rows]
        return sorted(((one.evidence.probability(model), one) for one in own), key=lambda pair: -pair[0])

    def nearest(self, model: str = "asked") -> tuple[Near, ...]:
        """What comes nearest to answering, best first; a session's summary with what it was for."""
        best = [(probability, one, self.rows[one.id]) for probability, one in self.judged(model)[:_MOST_NEAR]]
        return tuple(
            Near(one.id, ". ".join(filter(None, (row.title, goal_of(row)))), round(probability, 3), one.words)
            for probability, one, row in best
        )

    @property
    def unknown(self) -> tuple[str, ...]:
        """The words that this memory has never seen, nor a word like them that may be shown."""
        return tuple(term.text for term in self.terms if (not term.in_sight if term.stands_for else not term.rows))

    def word_notes(self) -> tuple[WordNote, ...]:
        return tuple(WordNote(term.text, term.rows, round(term.idf, 3), term.use) for term in self.terms)


def _belongs(one: Scored, best: float, told: float) -> bool:
    """Whether a row stands beside an answer for a reason: a good part of what it tells, or nearly its score."""
    return one.share >= PADDING * told or one.relevance >= best * NEARLY


def retrieve(
    store: Store, query: Query, sight: ScopeFilter, *, limit: int, least: float | None = None, today: date | None = None
) -> Found:
    """Every rung that looks words up: all of them, any of them, and what resembles those that nobody ever saw.
    ``today`` is the day from which "last week" is told; what is ``least`` likely to answer needs no other reading."""
    totals = mentions.totals(store)
    terms = weigh(store, query.content_words, size=totals.rows)
    terms = weigh_dates(store, terms, query.asked, size=totals.rows, projects=sight.projects, today=today)
    if has_any(store):
        from engram_py.recall.entity_names import weigh_entities

        terms = weigh_entities(store, terms, query.asked, size=totals.rows, projects=sight.projects)
    terms = weigh_files(store, terms, query.asked, size=totals.rows, projects=sight.projects)
    return retrieve_terms(store, query, terms, VisibleRows(store, sight), totals, limit=limit, least=least)


def retrieve_terms(
    store: Store,
    query: Query,
    terms: list[Term],
    in_sight: VisibleRows,
    totals: mentions.Totals,
    *,
    limit: int,
    least: float | None = None,
) -> Found:
    """The same for ``terms`` that were weighed, over the rows that are ``in_sight``."""
    least = bar("shown") if least is None else least
    found = Found(terms=terms, total=totals.rows)
    _rank(store, query, in_sight, found, totals)
    best = max((scored.covered for scored in found.scored), default=0.0)
    first, why = len(found.scored), _why_any(found.terms)
    missing = [term for term in found.terms if not term.rows and (may_resemble(term.text) or stand_ins(term.text))]
    if missing and best < WHOLE and len(missing) <= _MOST_RESEMBLING:
        _resembling(store, query, in_sight, found, missing, totals)
    if found.probability < least and (joined := in_one(store, query, found.terms, found.total)):
        _again(store, query, in_sight, found, totals, f"read {', '.join(joined)} in one word")
    if not any(term.mentions for term in found.terms):
        found.rungs.append(LadderStep("any word", 0, "no word of the query is known here"))
        return found
    whole = sum(scored.whole for scored in found.scored) if best > WHOLE else 0
    enough = "enough" if whole >= limit else "fewer than asked for: any word follows"
    found.rungs[:0] = [LadderStep("all words", whole, enough), LadderStep("any word", first - whole, why)]
    return found


def _resembling(
    store: Store, query: Query, in_sight: VisibleRows, found: Found, missing: list[Term], totals: mentions.Totals
) -> None:
    """Look again with what others call the unknown words, what they are in two words, what begins like them, or is a
    slip away from them."""
    said = [f"{joined} in one word" for joined in in_one(store, query, found.terms, found.total, unknown=True)]
    for term in missing:
        if term.rows:
            continue
        if not (called_otherwise(store, term, found.total) or in_two(store, term, found.total)):
            misspelt(store, term, found.total)
    said += [f"{term.text} as {' or '.join(term.read_as)}" for term in missing if term.stands_for]
    if said:
        _again(store, query, in_sight, found, totals, f"read {', '.join(said)}")
    else:
        found.rungs.append(LadderStep("prefix and near spelling", 0, "nothing resembles the unknown words"))


def _again(store: Store, query: Query, in_sight: VisibleRows, found: Found, totals: mentions.Totals, why: str) -> None:
    """Look up the terms that are found by other words now, and score all rows anew."""
    before = {scored.id for scored in found.scored}
    _rank(store, query, in_sight, found, totals)
    found.rungs.append(LadderStep("prefix and near spelling", sum(s.id not in before for s in found.scored), why))


def _rank(store: Store, query: Query, in_sight: VisibleRows, found: Found, totals: mentions.Totals) -> None:
    """The best rows in sight, with all their numbers, into ``found``."""
    look_up(store, query, found.terms, within=in_sight.within(totals.rows))
    own = first_scores(found.terms)
    heads, asked = _heads(own, in_sight, round(HEADS * in_sight.share))
    if in_sight.sight.filtered and not heads and own:
        found.filtered_away = len(in_sight.of(list(own), filtered=False))
    _mark_sight(found.terms, heads, asked, in_sight)
    around = in_sight.beside(heads)
    beside = {row for one in around.values() for row, _ in one.parts()}
    lengths = mentions.lengths(store, {*around, *beside})
    scored = score(found.terms, around, lengths, totals.average)
    if query.phrases or query.excluded:
        # A neighbour was never asked whether it has the phrase, or the word that nothing may have.
        scored = {row: one for row, one in scored.items() if row in around}
    best = sorted(scored.values(), key=lambda one: (-(one.bm25 + one.lent), -one.id))
    most = round((READ_OF_PASTED if query.pasted else READ) * in_sight.share)
    found.rows = in_sight.first([one.id for one in best], most=most)
    kept = {row: scored[row] for row in found.rows}
    _look_at(found, kept, lengths, totals.average)
    sessions = {row: observation.session_id for row, observation in found.rows.items()}
    settle(kept, sessions)
    best = sorted(kept.values(), key=lambda one: (-one.relevance, -one.id))
    weigh_evidence(found.terms, best, sessions, found.total, asks=query.is_question, foreign=query.is_foreign)
    found.evidence = best[0].evidence if best else NONE
    found.scored = current(found, best, in_sight)


def _heads(own: Mapping[int, float], in_sight: VisibleRows, most: int) -> tuple[list[int], list[int]]:
    """The best rows by their own words that may be shown, best first, and all that were asked about."""
    pool = best_of(own, _POOL)
    seen = in_sight.of(pool[: 2 * most])
    if len(seen) < most and len(pool) > 2 * most:
        seen |= in_sight.of(pool[2 * most :])
    if len(seen) < most // 2 and len(own) > len(pool):  # most of the best are of other projects
        seen = in_sight.of(list(own))
        pool = sorted(seen, key=lambda row: (-own[row], -row))
    return [row for row in pool if row in seen][:most], pool


def _mark_sight(terms: Sequence[Term], heads: Sequence[int], good: Sequence[int], in_sight: VisibleRows) -> None:
    """Tell words that stand in a row in sight from those that only other projects know. ``good`` rows are asked about
    first."""
    for term in terms:
        if not term.rows or not (term.looked_up or term.mentions):
            continue
        if any(row in term.mentions for row in heads):
            term.in_sight = True
            continue
        asked = [row for row in good if row in term.mentions] + sorted(term.mentions, reverse=True)[:_ASKED_ABOUT]
        term.in_sight = bool(in_sight.of(asked))
        if not term.in_sight and len(term.mentions) > _ASKED_ABOUT:
            term.in_sight = bool(in_sight.of(list(term.mentions)))


def current(found: Found, scored: Sequence[Scored], in_sight: VisibleRows) -> list[Scored]:
    """The same, best first, what was replaced giving its place to what replaced it."""
    known = [found.rows[one.id] for one in scored if one.id in found.rows]
    by = in_sight.replacements(known)
    if not by:
        return list(scored)
    found.rows |= in_sight.rows([row for row in by.values() if row not in found.rows])
    found.missed = {row: new for row, new in by.items() if new not in found.rows}
    kept: dict[int, Scored] = {}
    for one in scored:
        new = by.get(one.id, one.id)
        if new in kept or new in found.missed.values():
            continue
        if new != one.id:
            found.instead[new] = found.rows[one.id]
        kept[new] = replace(one, id=new)
    found.near = frozenset(by.get(row, row) for row in found.near)
    found.strong = frozenset(by.get(row, row) for row in found.strong)
    return list(kept.values())


def _look_at(found: Found, kept: Mapping[int, Scored], lengths: Mapping[int, mentions.Length], average: float) -> None:
    """Read the texts: which words each holds, those not looked up included, and how close they stand."""
    terms = found.terms
    glass = lens(terms)
    whole = sum(term.idf for term in terms) or 1.0
    for one in kept.values():
        row, by = found.rows[one.id], norm(lengths.get(one.id), average)
        held = {number for number, term in enumerate(terms) if one.id in term.mentions}
        if glass is None:  # nothing but days and files
            one.passage = frozenset(held)
        else:
            framed = row.type == "session_summary"
            # The title of a summary was made of the project's name, and its headings of a template.
            names, text = ("", unframed(row.content)[1]) if framed else (row.title, row.content)
            title = read(names, glass, terms)
            beside = read("" if framed else f"{row.topic_key or ''} {row.aliases}", glass, terms)
            named = title.seen.keys() | beside.seen.keys()
            body = read(text, glass, terms, besides=named)
            one.closeness = title.closeness + body.closeness
            one.titled = frozenset(named)
            length = lengths.get(one.id)
            one.named = min(1.0, len(title.seen) / max(1, length.title)) if length else 0.0
            seen = named | body.seen.keys()
            if framed:
                one.bm25 = one.covered = 0.0
                held = {number for number in held if not terms[number].indexed}
            for number in seen - held:
                if framed or not terms[number].looked_up:
                    often = sum(reading.seen.get(number, 0) for reading in (title, beside, body))
                    one.bm25 += terms[number].weight * saturated(often, by)
                    one.covered += terms[number].weight / whole
            held |= seen
            # What the index finds by parts of a word stands in no text; a passage has it too.
            one.passage = frozenset(held - (body.seen.keys() - body.passage - named))
            for number in seen:
                terms[number].in_sight = True
        one.words = tuple(terms[number].text for number in sorted(held))


def _why_any(terms: list[Term]) -> str:
    common = [term.text for term in terms if term.rows and not term.looked_up]
    return f"too common to look up: {', '.join(common)}" if common else "every known word was looked up"
