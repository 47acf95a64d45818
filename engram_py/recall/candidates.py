"""From a query to the rows that answer it, scored: candidates, what lies beside them, and a look at their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import date

from engram_py.database.store import Store
from engram_py.observations import table
from engram_py.observations.values import Observation
from engram_py.recall.file_names import apart, weigh_files
from engram_py.recall.index import mentions
from engram_py.recall.plan import hold_to, weigh, weigh_dates
from engram_py.recall.query.parse import Query
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.passages import as_a_row
from engram_py.recall.score.proximity import Label, label, length, lens, read, shortness
from engram_py.recall.score.relevance import WHOLE, Neighbours, Scored, Term, lend, settle
from engram_py.recall.score.threshold import FLOOR, MOST_ELSEWHERE, Verdict, judge
from engram_py.recall.substitutes import called_otherwise, in_one, in_two, misspelt
from engram_py.recall.values import LadderStep, WordNote
from engram_py.recall.visible_rows import VisibleRows
from engram_py.recall.word_scores import MEASURED_ROWS, LookedUp, look_up
from engram_py.sessions.summary_steps import unframed
from engram_py.text.irregular_forms import stand_ins
from engram_py.text.spelling import slips_allowed

# The best by their own words, whose neighbours are looked at; and of all of these, whose text is read. Recall at 5 on
# LoCoMo turns: heads 50 .700, 60 .708, 120 .704; read 20 .699, 32 .710, 40 .709. Where half of the sessions are one
# text each, which BM25 has further down: read 30 .732, 40 .752.
HEADS = 60
ENOUGH_HEADS = 30
# Beside an answer, what covers less than this part of the floor is padding.
PADDING = 0.25
# A row that shares no word with the question is shown for its neighbours' sake only this near to the best.
WITHOUT_A_WORD = 0.7
READ = 40
# With 40 words to look for, a text takes 60 microseconds. Recall at 5 on the bodies of DPDK's messages: read 20 .222,
# 24 .229, 30 and 40 .231; of 150 logs made of three memories each among 100,000 one is first for .98 with 20 and 24,
# .97 with 40.
READ_OF_PASTED = 24
_FIRST_POOL = 400
_A_FEW = 30
_ASKED_ABOUT = 100
_ENOUGH_KNOWN = 20_000
_MOST_RESEMBLING = 4


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
    apart: frozenset[int] = frozenset()
    # Whose words were found, by what stands in its place; and by its id, what would, but was filtered away.
    instead: dict[int, Observation] = field(default_factory=dict)
    missed: dict[int, int] = field(default_factory=dict)
    verdict: Verdict = field(default_factory=lambda: Verdict(0.0, 0.0))
    notes: tuple[str, ...] = ()

    def answers(self, floor: float) -> list[Scored]:
        """What may be shown: nothing where words cover too little, but for what is near by meaning."""
        if not self.verdict.answers(floor):
            return [one for one in self.scored if one.id in self.strong]
        best = max((one.relevance for one in self.scored), default=0.0)
        return [one for one in self.scored if one.id in self.near or _belongs(one, floor, best)]

    @property
    def unknown(self) -> tuple[str, ...]:
        """The words that this memory has never seen, nor a word like them that may be shown."""
        return tuple(term.text for term in self.terms if (not term.in_sight if term.stands_for else not term.rows))

    def word_notes(self) -> tuple[WordNote, ...]:
        return tuple(WordNote(term.text, term.rows, round(term.idf, 3), _use(term)) for term in self.terms)


def _belongs(one: Scored, floor: float, best: float) -> bool:
    """Whether a row stands beside an answer for a reason: words of its own, or a neighbour that says nearly all."""
    if one.covered > 0:
        return one.covered_nearby >= floor * PADDING or one.share >= floor
    return one.relevance >= best * WITHOUT_A_WORD


def retrieve(
    store: Store, query: Query, sight: ScopeFilter, *, limit: int, floor: float = FLOOR, today: date | None = None
) -> Found:
    """Every rung that looks words up: all of them, any of them, and what resembles those that nobody ever saw.
    ``today`` is the day from which "last week" is told."""
    totals = mentions.totals(store)
    terms = weigh(store, query.content_words, size=totals.rows)
    terms = weigh_dates(store, terms, query.asked, size=totals.rows, projects=sight.projects, today=today)
    terms = weigh_files(store, terms, query.asked, size=totals.rows, projects=sight.projects)
    hold_to(store, query, terms)
    only_word = len(terms) == 1 and floor <= FLOOR
    found = Found(terms=terms, total=totals.rows, apart=frozenset() if only_word else apart(query, terms))
    in_sight = VisibleRows(store, sight)
    looked_up = look_up(store, query, found.terms, totals, best=_FIRST_POOL, within=in_sight.within(totals.rows))
    if not looked_up.terms:
        found.rungs.append(LadderStep("any word", 0, "no word of the query is known here"))
    found.scored = _scored(query, found, _heads(looked_up, in_sight, found), in_sight)
    best = max((scored.covered for scored in found.scored), default=0.0)
    first, why = len(found.scored), _why_any(found.terms)
    missing = [term for term in found.terms if not term.rows and (slips_allowed(term.text) or stand_ins(term.text))]
    if missing and best < WHOLE and len(missing) <= _MOST_RESEMBLING:
        looked_up = _resembling(store, query, in_sight, found, missing, looked_up)
    found.verdict = _judged(store, query, sight, found, floor)
    if not found.verdict.answers(floor) and (joined := in_one(store, query, found.terms, found.total)):
        _again(store, query, in_sight, found, looked_up, f"read {', '.join(joined)} in one word")
        found.verdict = _judged(store, query, sight, found, floor)
    if looked_up.terms:
        # Which words stand in one passage is known once the floor was asked.
        whole = sum(scored.whole for scored in found.scored) if best > WHOLE else 0
        enough = "enough" if whole >= limit else "fewer than asked for: any word follows"
        found.rungs[:0] = [LadderStep("all words", whole, enough), LadderStep("any word", first - whole, why)]
    return found


def _judged(store: Store, query: Query, sight: ScopeFilter, found: Found, floor: float) -> Verdict:
    """What the floor says, which is lower where much is known of other projects and less than half of the question is
    theirs."""
    sessions = {row: observation.session_id for row, observation in found.rows.items()}
    # Where a filter or a phrase hides rows, what is out of sight is not elsewhere.
    hidden = sight.filtered or sight.projects is None or bool(query.phrases or query.excluded)
    verdict = judge(found.terms, found.scored, sessions, found.total, hidden=hidden)
    if verdict.answers(floor) or hidden or floor > FLOOR or verdict.elsewhere > MOST_ELSEWHERE:
        return verdict
    return replace(verdict, others=_others_known(store, sight.projects or ()))


def _others_known(store: Store, projects: Sequence[str]) -> bool:
    """Whether other projects have at least a third of the memory, or ten thousand of its rows."""
    if not table.count_others(store, projects, cap=1):
        return False
    here = table.count_live(store, projects, cap=_ENOUGH_KNOWN)
    return here <= 2 * table.count_others(store, projects, cap=1 + here // 2) > 0


def _resembling(
    store: Store, query: Query, in_sight: VisibleRows, found: Found, missing: list[Term], looked_up: LookedUp
) -> LookedUp:
    """Look again with what others call the unknown words, what they are in two words, what begins like them, or is a
    slip away from them."""
    said = [f"{joined} in one word" for joined in in_one(store, query, found.terms, found.total, unknown=True)]
    for term in missing:
        if term.rows:
            continue
        if not (called_otherwise(store, term, found.total) or in_two(store, term, found.total)):
            misspelt(store, term, found.total)
    said += [f"{term.text} as {' or '.join(term.read_as)}" for term in missing if term.stands_for]
    if not said:
        found.rungs.append(LadderStep("prefix and near spelling", 0, "nothing resembles the unknown words"))
        return looked_up
    return _again(store, query, in_sight, found, looked_up, f"read {', '.join(said)}")


def _again(store: Store, query: Query, in_sight: VisibleRows, found: Found, looked_up: LookedUp, why: str) -> LookedUp:
    """Look the terms up that have no scores, and score all rows anew."""
    totals, within = looked_up.totals, looked_up.within
    looked_up = look_up(store, query, found.terms, totals, best=_FIRST_POOL, within=within, before=looked_up)
    before = {scored.id for scored in found.scored}
    found.scored = _scored(query, found, _heads(looked_up, in_sight, found), in_sight)
    found.rungs.append(LadderStep("prefix and near spelling", sum(s.id not in before for s in found.scored), why))
    return looked_up


def _heads(looked_up: LookedUp, in_sight: VisibleRows, found: Found) -> dict[int, Neighbours]:
    """The best by their own words among those in sight, best first, and what stands beside each; asks about more only
    where the best are out of sight."""
    pool = looked_up.first
    around: dict[int, Neighbours] = {}
    asked, more = 0, HEADS
    while len(around) < HEADS:
        pool = pool if asked + more <= len(pool) else looked_up.best
        if asked >= len(pool):
            break
        around |= in_sight.beside(pool[asked : asked + more])
        # Where one project has most of the memory few are missing; else all of the others are asked about.
        asked, more = asked + more, max(_A_FEW, 4 * (HEADS - len(around)))
    heads = [row for row in pool[:asked] if row in around]
    if len(heads) < ENOUGH_HEADS:
        looked_up.widen()
        own = looked_up.own
        if len(own) > len(pool):
            heads = sorted(in_sight.of(list(own)), key=lambda row: (-own[row], -row))
    heads = looked_up.measured(heads[:MEASURED_ROWS])
    if in_sight.sight.filtered and not heads and looked_up.own:
        found.filtered_away = len(in_sight.of(list(looked_up.own), filtered=False))
    _mark_sight(looked_up, heads, pool[HEADS:], in_sight)
    heads = heads[:HEADS]
    around |= in_sight.beside([row for row in heads if row not in around])
    return {row: around[row] for row in heads}


def _mark_sight(looked_up: LookedUp, heads: Sequence[int], behind: Sequence[int], in_sight: VisibleRows) -> None:
    """Tell words that stand in a row in sight from those that only other projects know. ``behind`` stand the good rows
    that nobody asked about."""
    for term in looked_up.terms:
        if any(row in term.scores for row in heads):
            term.in_sight = True  # after a near spelling the same words are looked up again
            continue
        rows = looked_up.rows_with(term)
        asked = [row for row in behind if row in term.scores] + sorted(rows, reverse=True)[:_ASKED_ABOUT]
        term.in_sight = bool(in_sight.of(asked))
        if not term.in_sight and len(rows) > _ASKED_ABOUT:
            term.in_sight = bool(in_sight.of(list(rows)))


def _scored(query: Query, found: Found, around: Mapping[int, Neighbours], in_sight: VisibleRows) -> list[Scored]:
    scored = lend(found.terms, around)
    if query.phrases or query.excluded:
        # A neighbour was never asked whether it has the phrase, or the word that nothing may have.
        scored = {row: one for row, one in scored.items() if row in around}
    ranked = sorted(scored.values(), key=lambda one: (-(one.bm25 + one.lent), -one.id))
    kept = _first_in_sight(ranked, in_sight, found, most=READ_OF_PASTED if query.pasted else READ)
    _look_at(found, list(kept.values()))
    settle(kept, {row: observation.session_id for row, observation in found.rows.items()})
    return current(found, sorted(kept.values(), key=lambda one: (-one.relevance, -one.id)), in_sight)


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


def _first_in_sight(ranked: list[Scored], in_sight: VisibleRows, found: Found, *, most: int) -> dict[int, Scored]:
    """The first that may be shown, and their rows: what was only lent to was never asked about."""
    rows: dict[int, Observation] = {}
    asked = 0
    while len(rows) < most and asked < len(ranked):
        part = ranked[asked : asked + max(_A_FEW, most - len(rows))]
        rows |= in_sight.rows([one.id for one in part])
        asked += len(part)
    first = [one for one in ranked[:asked] if one.id in rows][:most]
    found.rows = {one.id: rows[one.id] for one in first}
    return {one.id: one for one in first}


def _look_at(found: Found, scored: list[Scored]) -> None:
    """Read the texts: which words each holds, those not looked up included, and how close they stand. What a text has
    in the folders of paths alone ranks it, and covers nothing of the question."""
    glass = lens(found.terms)
    if glass is None:  # nothing but days and files
        for one in scored:
            one.passage = frozenset(number for number, term in enumerate(found.terms) if one.id in term.scores)
            one.words = tuple(found.terms[number].text for number in sorted(one.passage))
        return
    whole = sum(term.idf for term in found.terms) or 1.0
    usual = sum(len(row.content) for row in found.rows.values()) / max(1, len(found.rows))
    place_share = as_a_row(usual)
    texts = [term.text for term in found.terms]
    looked_up = [term.scores for term in found.terms]
    # What was not looked up, or not everywhere, counts where the text has it.
    ranks = {number: term.idf * term.worth for number, term in enumerate(found.terms) if _only_ranks(term)}
    somewhere: set[int] = set()
    for one in scored:
        row = found.rows.get(one.id)
        if row is None:
            continue
        besides, text = f"{row.topic_key or ''} {row.aliases}".strip(), row.content
        framed = row.type == "session_summary"
        if framed:
            besides, text = unframed(row.content)
        name = label(row.title, besides, row.content, glass, found.terms)
        frame = name.seen if framed else frozenset()
        if framed:  # its title was made of the project's name
            name = Label(frozenset(), 0.0, name.unasked + len(name.seen))
        body = read(text, glass, found.terms, besides=name.seen, apart=found.apart)
        one.closeness = name.closeness + body.closeness * shortness(row.content)
        one.place, one.length = body.place * place_share, length(row.content)
        one.unasked, one.titled = name.unasked, bool(name.seen)
        held = {number for number, rows in enumerate(looked_up) if one.id in rows}
        for number in (name.seen | body.seen) & ranks.keys() - held:
            one.bm25 += ranks[number]
            one.covered += ranks[number] / whole
            one.covered_nearby += ranks[number] / whole
        held |= name.seen | body.seen
        if frame := frame & held - body.seen:
            one.bm25 -= sum(found.terms[number].scores.get(one.id, 0.0) * found.terms[number].worth for number in frame)
            one.lose([found.terms[number] for number in frame], whole)
            held -= frame
        somewhere |= held
        if folders := body.folders:
            one.lose([found.terms[number] for number in folders & held], whole)
            held -= folders
        # What the index finds by parts of a word stands in no text; a passage has it too.
        one.passage = frozenset(held - (body.seen - body.passage - name.seen))
        one.words = tuple(texts[number] for number in sorted(held))
    for number in somewhere:
        found.terms[number].in_sight = True


def _only_ranks(term: Term) -> bool:
    return term.partly or term.meeting or not term.looked_up


def _use(term: Term) -> str:
    if term.stands_for:
        return f"near: {', '.join(term.read_as)}"
    if not term.rows:
        return "unknown"
    return "looked up" if term.looked_up else "too common: only ranks"


def _why_any(terms: list[Term]) -> str:
    common = [term.text for term in terms if term.rows and not term.looked_up]
    return f"too common to look up: {', '.join(common)}" if common else "every known word was looked up"
