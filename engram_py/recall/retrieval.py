"""From a query to the scored rows that answer it: terms, candidates, their neighbours, and a look at their text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence, Set
from itertools import chain
from typing import Generic, Protocol, TypeVar

from engram_py.base.capture.passive import goal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, field, replace
from engram_py.base.reasons import Reason, reason
from engram_py.base.times import Calendar
from engram_py.memory.entities.table import has_any
from engram_py.memory.observations.values import Observation
from engram_py.memory.sessions.values import SUMMARY_TITLE
from engram_py.recall.dates import Days, days_asked, is_day_term, names_days, with_dates
from engram_py.recall.index import Length, Totals, lengths, totals
from engram_py.recall.query import Query
from engram_py.recall.reading import Reader, term_finder
from engram_py.recall.scope_filter import ScopeFilter, VisibleRows
from engram_py.recall.score import ALL_WORDS, K1, Neighbours, Scored, Term, best_of, first_scores, score, set_relevance
from engram_py.recall.substitutes import (
    may_be_substituted,
    with_entities,
    with_files,
    with_joined_words,
    with_substitutes,
    with_words_around,
)
from engram_py.recall.terms import ProjectRows, look_up, word_terms
from engram_py.recall.values import LadderStep, Related, Text

# The best by their own words, whose neighbours are looked at; of all of these, whose text is read; and how many rows
# are asked about for the first. Recall at 5 of six sets: 60 and 40 .659, 100 and 40 .666.
BEST = 100
READ = 40
_POOL = 400
# A text seldom gains more than this by its best passage and its common words, so that rows whose index alone says less
# are not read once as many are better as a search may show.
GAIN, _MOST_SHOWN, _AT_ONCE = 1.5, 20, 12
# Where half of the question stands in no passage, its words may be written as one.
_HALF = 0.5
# Whether a row that may be shown has a word is asked of its newest rows, then of more, then of all.
_ASKED_ABOUT = (10, 200, None)
_MOST_SUBSTITUTED = 4
# The first hits, and as many lines of what came near to being given.
JUDGED = 5
# Of the first hits, one with less than a quarter of the best score is left out, behind them one with less than half.
# Words of neighbours and a share of the session alone reach half of a short best one, so that these need more.
HEAD, TAIL, LENT = 0.25, 0.5, 0.6
# A line of what came near is of 25 tokens, with its handle.
_LINE_CHARS = 90


T = TypeVar("T", bound=Text)


class Readable(Protocol[T]):
    """The texts that one search may show. ``share`` is the part of the usual number that is looked at."""

    share: float

    @property
    def filtered(self) -> bool:
        """Whether filters hide texts that are there."""

    def among(self, rows: Sequence[int], *, filtered: bool = True) -> set[int]:
        """Return those of ``rows`` that may be shown, or would be without filters."""

    def neighbours(self, rows: Sequence[int]) -> dict[int, Neighbours]:
        """Return the neighbours of those that may be shown."""

    def load(self, ids: Sequence[int]) -> dict[int, T]:
        """Return those that may be shown, whole."""

    def replacements(self, rows: Sequence[T]) -> dict[int, int]:
        """Return by id what replaced those that were replaced."""

    def project_rows(self, total: int) -> ProjectRows:
        """Return all of them, where they are few of ``total``."""


@dataclass(frozen=True)
class Retrieved(Generic[T]):
    """The rows that a query led to, best first, with their terms and scores.

    ``replaced`` are the rows whose words were found, by the id of what replaced them; ``hidden`` the ids of those whose
    replacement was filtered away, each with it. ``filtered_away`` counts rows with the words that no filter lets
    through. ``days`` are those that the question names, unless their words stayed words.
    """

    scored: Sequence[Scored] = ()
    rows: Mapping[int, T] = field(default_factory=dict)
    terms: Sequence[Term] = ()
    rungs: tuple[LadderStep, ...] = ()
    notes: tuple[Reason, ...] = ()
    filtered_away: int = 0
    replaced: Mapping[int, T] = field(default_factory=dict)
    hidden: Mapping[int, int] = field(default_factory=dict)
    days: Days | None = None

    def strength(self, score: float) -> float:
        """Return a score as a share (0..1) of the best that a text without neighbours could reach: the same scale for
        memories and documents."""
        most = (K1 + 1) * sum(term.weight for term in self.terms)
        return min(1.0, score / most) if most else 1.0

    @property
    def unknown(self) -> tuple[str, ...]:
        """The words that this memory has never seen, nor a visible substitute; no words of days."""
        return tuple(term.text for term in self.terms if term.unknown and not names_days(term.text, self.days))


def is_listed(place: int, share: float) -> bool:
    """Return whether a hit with this share of the best score is shown at a place, from 0."""
    return share >= (HEAD if place < JUDGED else TAIL)


def lines_of(found: Retrieved[Observation], rows: Sequence[Scored]) -> tuple[Related, ...]:
    """Return a line for each of the first five ``rows``; a session's summary with its goal."""
    from engram_py.recall.preview import preview  # a prompt hook shows no such line

    finder, lines = term_finder(found.terms), []
    for one in rows[:JUDGED]:
        row = found.rows[one.id]
        title = ". ".join(filter(None, (row.title, goal_of(row))))
        room = _LINE_CHARS - len(title)
        snippet = preview(row.content, found.terms, finder, limit=room).text if room > _LINE_CHARS // 3 else ""
        lines.append(Related(title, row.project, one.words, snippet, id=row.id, sync_id=row.sync_id))
    return tuple(lines)


def retrieve(
    store: Store,
    query: Query,
    scope: ScopeFilter,
    *,
    calendar: Calendar,
) -> Retrieved[Observation]:
    """Look up the words of a query, and what its dates, files and entities name.

    "Last week" is that of the ``calendar``.
    """
    index = totals(store)
    size, projects = index.rows, scope.projects
    terms = word_terms(store, query.content_words, size=size)
    days = days_asked(query.asked, terms, calendar.today)
    terms = with_dates(store, terms, query.asked, size=size, projects=projects, days=days, calendar=calendar)
    if has_any(store):
        terms = with_entities(store, terms, query.asked, size=size, projects=projects)
    terms = with_files(store, terms, query.asked, size=size, projects=projects)
    found = retrieve_terms(store, query, terms, VisibleRows(store, scope), index)
    naming = [term for term in found.terms if names_days(term.text, days)]
    is_known = any(is_day_term(term, days) for term in naming) or (naming and not any(term.rows for term in naming))
    return replace(found, days=days) if is_known else found


def retrieve_terms(store: Store, query: Query, terms: list[Term], visible: Readable[T], index: Totals) -> Retrieved[T]:
    """Look up ``terms`` among the ``visible`` rows, and substitutes for the words that nobody ever saw."""
    retrieval = _Retrieval(store, query, visible, index)
    found = retrieval.rank(terms)
    best = max((scored.coverage for scored in found.scored), default=0.0)
    first, common = len(found.scored), [term.text for term in found.terms if term.rows and not term.looked_up]
    missing = frozenset(number for number, term in enumerate(found.terms) if may_be_substituted(term))
    if missing and best < ALL_WORDS and len(missing) <= _MOST_SUBSTITUTED:
        found = retrieval.with_substitutes(found, missing)
    if max((one.passage_share for one in found.scored), default=0.0) < _HALF:
        terms, joined = with_joined_words(store, query, found.terms, index.rows)
        found = retrieval.again(found, terms, reason("read", joined=tuple(joined), forms=())) if joined else found
    if not any(term.rows for term in found.terms):
        found = retrieval.with_words_around(found)
    if not any(term.mentions for term in found.terms):
        nothing = LadderStep("any word", 0, reason("no_known_word"))
        return replace(found, rungs=(*found.rungs, nothing))
    whole = sum(scored.has_all_words for scored in found.scored) if best > ALL_WORDS else 0
    why = reason("too_common", words=tuple(common)) if common else reason("all_looked_up")
    words = LadderStep("all words", whole, reason("in_one_passage")), LadderStep("any word", first - whole, why)
    return replace(found, rungs=(*words, *found.rungs))


class _Retrieval(Generic[T]):
    """Ranks the visible rows by terms, once or again with other terms."""

    def __init__(self, store: Store, query: Query, visible: Readable[T], index: Totals) -> None:
        self._store = store
        self._query = query
        self._visible = visible
        self._index = index

    def with_substitutes(self, found: Retrieved[T], missing: frozenset[int]) -> Retrieved[T]:
        """Look again with substitutes for the ``missing`` terms, by their numbers."""
        total = self._index.rows
        terms, joined = with_joined_words(self._store, self._query, found.terms, total, only_unknown=True)
        for number in sorted(missing):
            if not terms[number].rows:
                terms[number] = with_substitutes(self._store, terms[number], total)
        forms = tuple((one.text, tuple(one.read_as)) for one in terms if one.substitutes)
        if joined or forms:
            return self.again(found, terms, reason("read", joined=tuple(joined), forms=forms))
        nothing = LadderStep("prefix and near spelling", 0, reason("nothing_alike"))
        return replace(found, rungs=(*found.rungs, nothing))

    def with_words_around(self, found: Retrieved[T]) -> Retrieved[T]:
        """Look again for what the words are parts of: reading all words of the memory is for a question none of whose
        words are known."""
        terms = [with_words_around(self._store, term, self._index.rows) for term in found.terms]
        forms = tuple((one.text, tuple(one.read_as)) for one in terms if one.substitutes)
        return self.again(found, terms, reason("read", joined=(), forms=forms)) if forms else found

    def again(self, found: Retrieved[T], terms: Sequence[Term], read: Reason) -> Retrieved[T]:
        """Rank anew by ``terms``, some of which are read in another way, as ``read`` says."""
        before = {scored.id for scored in found.scored}
        new = self.rank(terms)
        added = sum(scored.id not in before for scored in new.scored)
        step = LadderStep("prefix and near spelling", added, read)
        filtered_away = new.filtered_away or found.filtered_away
        return replace(new, rungs=(*found.rungs, step), filtered_away=filtered_away)

    def rank(self, terms: Sequence[Term]) -> Retrieved[T]:
        """Return the best visible rows with all their scores."""
        visible, query = self._visible, self._query
        terms = look_up(self._store, query, terms, within=visible.project_rows(self._index.rows))
        own = first_scores(terms)
        neighbours = self._best(own)
        filtered_away = 0
        if visible.filtered and not neighbours and own:
            filtered_away = len(visible.among(list(own), filtered=False))
        terms = self._with_visibility(terms, neighbours.keys())
        rows = {*neighbours, *(row for one in neighbours.values() for row, _ in one.parts())}
        sizes = lengths(self._store, {row for term in terms for row in term.mentions.keys() & rows})
        scored = score(terms, neighbours, sizes, self._index.average)
        if query.phrases or query.excluded:  # a neighbour may lack the phrase, or hold the excluded word
            scored = {row: one for row, one in scored.items() if row in neighbours}
        reader = Reader(terms, self._index.average)
        loaded = self._read(scored, sizes, reader)
        scored = {row: scored[row] for row in loaded}
        terms = [replace(term, visible=True) if number in reader.met else term for number, term in enumerate(terms)]
        sessions = {row: text.group for row, text in loaded.items()}
        set_relevance(scored, sessions)
        # Without a word of its own in any, the words stand in the frames of summaries.
        told = scored.values() if any(one.own > 0 for one in scored.values()) else ()
        ranked = sorted([one for one in told if one.relevance > 0], key=lambda one: (-one.relevance, -one.id))
        found = Retrieved(ranked, loaded, terms, filtered_away=filtered_away)
        return with_replacements(found, visible)

    def _read(self, scored: Mapping[int, Scored], sizes: Mapping[int, Length], reader: Reader) -> dict[int, T]:
        """Read the texts of ``scored``, best first, until no other is likely to be shown; return the rows."""
        most, left = round(READ * self._visible.share), list(scored.values())
        rows: dict[int, T] = {}
        read: list[float] = []
        while left and len(rows) < most:
            if len(read) >= _MOST_SHOWN:
                least = sorted(read, reverse=True)[_MOST_SHOWN - 1]
                if GAIN * (left[0].whole + left[0].lent) < least:
                    break
            part, left = left[:_AT_ONCE], left[_AT_ONCE:]
            loaded = self._visible.load([one.id for one in part])
            more = lengths(self._store, loaded.keys() - sizes.keys())
            for one in part:
                if one.id in loaded and len(rows) < most:
                    rows[one.id] = loaded[one.id]
                    reader.read(one, loaded[one.id], sizes.get(one.id) or more.get(one.id))
                    read.append(one.own + one.lent)
        return rows

    def _best(self, own: Mapping[int, float]) -> dict[int, Neighbours]:
        """Return the best visible rows by their own words, best first, with their neighbours."""
        visible, most = self._visible, round(BEST * self._visible.share)
        pool = best_of(own, _POOL)
        shown: dict[int, Neighbours] = {}
        at, end = 0, most
        while len(shown) < most and at < len(pool):  # of one project nearly all are visible
            shown |= visible.neighbours(pool[at:end])
            at, end = end, 2 * end
        if len(shown) < most // 2 and len(own) > len(pool):  # most of the best are of other projects
            pool = sorted(visible.among(list(own)), key=lambda row: (-own[row], -row))
            shown = visible.neighbours(pool[:most])
        return {row: shown[row] for row in [one for one in pool if one in shown][:most]}

    def _with_visibility(self, terms: Sequence[Term], best: Set[int]) -> list[Term]:
        """Return the terms, those that only other projects know marked: none of the ``best`` and no other row that may
        be shown has them."""
        known = [at for at, term in enumerate(terms) if term.rows and (term.looked_up or term.mentions)]
        unsure = [at for at in known if best.isdisjoint(terms[at].mentions)]
        for most in _ASKED_ABOUT:
            rows = {at: sorted(terms[at].mentions, reverse=True)[:most] for at in unsure}
            seen = self._visible.among(list({*chain.from_iterable(rows.values())})) if any(rows.values()) else set()
            unsure = [at for at in unsure if seen.isdisjoint(rows[at])]
        return [replace(term, visible=at not in unsure) if at in known else term for at, term in enumerate(terms)]


def with_replacements(found: Retrieved[T], visible: Readable[T]) -> Retrieved[T]:
    """Give the place of each row that was replaced to what replaced it."""
    by = visible.replacements([found.rows[one.id] for one in found.scored if one.id in found.rows])
    if not by:
        return found
    rows = {**found.rows, **visible.load([row for row in by.values() if row not in found.rows])}
    hidden = {row: new for row, new in by.items() if new not in rows}
    kept: dict[int, Scored] = {}
    replaced = dict(found.replaced)
    for one in found.scored:
        new = by.get(one.id, one.id)
        if new in kept or new in hidden.values():
            continue
        if new != one.id:
            replaced[new] = rows[one.id]
        kept[new] = replace(one, id=new)
    return replace(found, scored=list(kept.values()), rows=rows, replaced=replaced, hidden=hidden)


def goal_of(row: Observation) -> str:
    """Return what a summary was for whose title says no more than the project."""
    if not row.title.startswith(SUMMARY_TITLE):
        return ""
    said = goal(row.content)
    return "" if said.startswith(row.title.removeprefix(SUMMARY_TITLE).rstrip(" .…")) else said
