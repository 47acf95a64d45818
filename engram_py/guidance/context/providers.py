"""Providers, of which a context is assembled: each gives things of one kind, vetted, the most useful first."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, TypeVar

from engram_py.base.capture.orders import reads_like_an_order
from engram_py.base.capture.passive import gist, open_steps
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import EmptyQueryError
from engram_py.base.reasons import Sentence, operation, sentence
from engram_py.base.text.words import jaccard, shingles
from engram_py.base.times import to_text
from engram_py.guidance.context import table
from engram_py.guidance.context.named_entities import named_in
from engram_py.guidance.context.prompt_gate import LookedUp, asks_something, covers, look_up, plain_words
from engram_py.guidance.context.visibility import Build, VisibilityFilter, handle
from engram_py.memory.identity import table as identity_table
from engram_py.memory.observations import table as observation_table
from engram_py.memory.observations.values import Observation
from engram_py.memory.privacy.provenance import NOT_TOLD
from engram_py.memory.sessions import table as session_table
from engram_py.memory.sessions.values import Said, SessionLine
from engram_py.recall.dates import Days
from engram_py.recall.preview import PREVIEW_CHARS, preview
from engram_py.recall.query import parse_query
from engram_py.recall.reading import term_finder

if TYPE_CHECKING:
    from engram_py.recall.retrieval import Retrieved
    from engram_py.recall.search import Search


T = TypeVar("T")
LAMBDA = 0.85
# Two texts that share this much of their words say the same: the bar at which a fact counts as a repetition of
# another (spec/seed-capabilities.md M14).
NEAR = 0.70


def mmr(
    items: Sequence[tuple[T, float]],
    similarity: Callable[[T, T], float],
    *,
    lam: float = LAMBDA,
    limit: int | None = None,
    near: float = NEAR,
) -> list[T]:
    """At most ``limit`` of the items, each given with its relevance: the relevant first, the same thing again last.

    Chosen one by one for the largest ``lam * relevance - (1 - lam) * (most similar to one chosen before)``, with
    relevance scaled to 0..1 over the items (Carbonell and Goldstein 1998, "The use of MMR"; 0.85 is Osaurus' value,
    spec/seed-capabilities.md O42). That alone lets six copies of the best line fill a section when the rest is far
    behind, so an item at least ``near`` to a chosen one waits until nothing different is left. Equal marks keep the
    order of the items. ``similarity`` is asked about ``len(items) * limit`` times.
    """
    limit = len(items) if limit is None else limit
    marks = _scaled([relevance for _, relevance in items])
    closest = [0.0] * len(items)
    remaining = list(range(len(items)))
    chosen: list[T] = []
    while remaining and len(chosen) < limit:
        best = max(remaining, key=lambda at: (closest[at] < near, lam * marks[at] - (1 - lam) * closest[at], -at))
        remaining.remove(best)
        chosen.append(items[best][0])
        for at in remaining:
            closest[at] = max(closest[at], similarity(items[at][0], items[best][0]))
    return chosen


def _scaled(values: Sequence[float]) -> list[float]:
    low, high = min(values, default=0.0), max(values, default=0.0)
    return [(value - low) / (high - low) if high > low else 1.0 for value in values]


MOST_OVERRIDES = 50
SUMMARY = "session_summary"
ENTITY = "entity"
MOST_ENTITIES = 500
TRANSCRIPT_DAYS = 365
# A type that is rare is looked for in this many of a project's latest observations.
LOOKED_THROUGH = 200
_SEARCHED = 20
_HALF = 0.5
# Days that begin so are those of UTC, as the filters of a search read them.
_MIDNIGHT = "T00:00:00.000Z"
# Most sessions of an agent save nothing; of those that left no summary, so many titles are told.
_SESSIONS_READ, _TITLES = 50, 3
# Which share of the words that are left of a question an earlier prompt has to have.
_SAID = 0.6
_COMPARED_CHARS = 250
NOT_LASTING = frozenset({SUMMARY, "note"})


@dataclass(frozen=True, slots=True)
class Found:
    """An observation a search found: its score, the piece of its text that shows why, the words it was found by, and
    the share of the question's weight that it holds (1 of what was named)."""

    row: Observation
    score: float
    excerpt: str
    words: tuple[str, ...] = ()
    coverage: float = 1.0

    @property
    def answers(self) -> bool:
        """Whether it holds half of what was asked, by the weight of the words."""
        return self.coverage >= _HALF


class Providers:
    """Gives what a context is made of. Nothing here is counted as shown: who asked may still leave it out."""

    def __init__(self, store: Store, searches: Callable[[], Search], vetting: VisibilityFilter) -> None:
        self._store = store
        self._searches = searches
        self._vetting = vetting

    # --- the user --------------------------------------------------------------------------------------

    def overrides(self, build: Build) -> list[Observation]:
        """Return what the user wants to hold always: everywhere, then in the project."""
        rows = identity_table.overrides(self._store, build.ask.reads, limit=MOST_OVERRIDES)
        return self.vetted(build, rows, unasked=True)

    def identity(self, build: Build, *, limit: int) -> list[Observation]:
        """Return the profiles, and what else is known of the user, of whatever project."""
        rows = [*self.profiles(build), *identity_table.personal(self._store, limit=limit)]
        rows += self.of_kind(build, "preference", limit=limit, anywhere=True)
        own = {row.id: row for row in rows if row.author is None}
        return self.vetted(build, list(own.values()))[:limit]

    def profiles(self, build: Build) -> list[Observation]:
        """Return who the user is, then how to work with them in the project."""
        place = build.ask.place
        found = [identity_table.profile(self._store, scope="personal", project=None)]
        if place.project:
            found.append(identity_table.profile(self._store, scope="project", project=place.project))
        return self.vetted(build, [row for row in found if row is not None])

    def unchecked(self, build: Build, *, limit: int) -> list[Observation]:
        """Return the latest that came from elsewhere and that nobody trusted, of the project alone."""
        project, scope = build.ask.place.project, build.ask.scope
        if not project or scope not in (None, "project"):
            return []
        rows = observation_table.unchecked_in(self._store, [project], without=NOT_TOLD, limit=2 * limit)
        self.vetted(build, rows)
        return build.findings.told_apart(limit)

    # --- sessions --------------------------------------------------------------------------------------

    def last_sessions(self, build: Build, *, limit: int) -> list[SessionLine]:
        """Return the last sessions that left anything, and the latest with a summary if none of them has."""
        read = session_table.recent(
            self._store, projects=build.ask.reads, limit=_SESSIONS_READ, made_up=False, told=True
        )
        told = self.told(build, read)
        told.sort(key=lambda line: (line.last_activity_at, bool(line.summary)), reverse=True)
        self._remark_what_was_saved(build, [line for line in told[: 2 * limit] if not line.summary])
        if build.ask.mode == "query":  # of so few, a session of which nothing may be said takes no place
            told = [line for line in told if line.summary or line.id in build.findings.remarks.saved]
        latest = told[:limit]
        if not any(line.summary for line in latest):
            latest += [line for line in told[limit:] if line.summary][:1]
        return latest

    def _remark_what_was_saved(self, build: Build, lines: Sequence[SessionLine]) -> None:
        """For sessions that left no summary: the titles of their newest observations say what they were about."""
        found = {line.id: table.saved_last(self._store, line, limit=2 * _TITLES) for line in lines}
        shown = self.vetted(build, [row for rows in found.values() for row in rows], unasked=True)
        kept = {row.id for row in shown if build.ask.scope in (None, row.scope)}
        yesterday = build.ask.today - timedelta(days=1)
        since, _ = build.ask.moments(Days(yesterday, build.ask.today, ""))

        def below(row: Observation) -> bool:  # the start of a session shows these notes themselves
            return build.ask.mode == "session" and row.type == "note" and row.created_at >= since

        for session, rows in found.items():
            titles = tuple(row for row in rows if row.id in kept and not below(row))[:_TITLES]
            if titles:
                build.findings.remarks.saved[session] = titles

    def sessions_of(self, build: Build, days: Days, *, limit: int) -> list[SessionLine]:
        """Return the sessions of ``days`` that left a summary, latest first."""
        start, end = build.ask.moments(days)
        found = table.told_sessions(self._store, projects=build.ask.reads, start=start, end=end, limit=limit)
        return self.told(build, found)

    def sessions_about(self, build: Build, words: str, *, limit: int) -> list[SessionLine]:
        """Return the sessions whose summary is about ``words``, best first."""
        found = self.search(build, words, type=SUMMARY)
        ids = list(dict.fromkeys(one.row.session_id for one in found if one.answers))[:limit]
        lines = table.sessions_by_id(self._store, ids)
        return self.told(build, [lines[session] for session in ids if session in lines])

    def told(self, build: Build, lines: Sequence[SessionLine]) -> list[SessionLine]:
        """Return the lines that may be shown, with the handle of each summary and the steps it leaves open remarked."""
        kept = [line for line in lines if not (line.summary and reads_like_an_order(line.summary))]
        remarks = build.findings.remarks
        remarks.summaries.update(table.summary_ids(self._store, [line.id for line in kept]))
        remarks.gists.update({line.id: gist(line.summary) for line in kept if line.summary})
        steps = {line.id: open_steps(line.summary or "") for line in kept}
        remarks.next_steps.update({session: found for session, found in steps.items() if found})
        return kept

    def transcript(self, build: Build, words: str, *, days: Days | None, limit: int) -> list[Said]:
        """Return what the person said in the last year: about ``words``, or last."""
        from engram_py.recall import layers  # few prompts ask for words that were said

        start, end = build.ask.moments(days)
        start = max(start, to_text(build.ask.now - timedelta(days=TRANSCRIPT_DAYS)))
        window = layers.Window(build.ask.reads, start, end, only_user=True)
        query = parse_query(plain_words(words)) if asks_something(words) else None
        found: list[tuple[int, Said]] = []
        for source in (layers.PROMPTS, layers.TURNS):
            if query is None:
                found += enumerate(layers.latest(self._store, source, window, limit=_SEARCHED))
            else:
                found += enumerate(layers.find(self._store, source, query, window, limit=_SEARCHED, whole=True))
        texts = [word.text for word in query.content_words] if query else []
        once: dict[tuple[str, str], Said] = {}  # a prompt is in the transcript as well
        for _, one in sorted(found, key=lambda pair: pair[0]):
            once.setdefault((one.session_id, " ".join(one.content[:_COMPARED_CHARS].split())), one)
        fitting = [one for one in once.values() if covers(one.content, texts, _SAID)]
        return [one for one in fitting if not reads_like_an_order(one.content)][:limit]

    # --- observations ----------------------------------------------------------------------------------

    def lasting(self, build: Build, words: str) -> list[Found]:
        """Return the observations about ``words`` that are neither notes nor digests, best first, without repeats."""
        found = self.search(build, words)
        return different([one for one in found if one.row.type not in NOT_LASTING and one.answers])

    def evident(self, build: Build) -> list[Found]:
        """Return what a prompt that did not ask the memory most likely needs, best first, the same thing once."""
        looked_up = self._looked_up(build)
        found, likely = looked_up.found, {one.id: one for one in looked_up.likely()}
        if found is None or not likely:
            return []
        rows = self._rows(build, found, likely)
        replaced = {row.id: found.replaced[row.id] for row in rows if row.id in found.replaced}
        build.findings.remarks.instead_of.update({new: handle(old.id, old.title) for new, old in replaced.items()})
        finder = term_finder(found.terms)
        return different(
            [
                Found(
                    row, likely[row.id].relevance, preview(row.content, found.terms, finder).text, likely[row.id].words
                )
                for row in rows
            ]
        )

    def pointed(self, build: Build) -> list[Observation]:
        """Return what such a prompt may well need, best first, to be named and not quoted."""
        looked_up = self._looked_up(build)
        pointed = looked_up.pointed()
        return self._rows(build, looked_up.found, [one.id for one in pointed]) if looked_up.found and pointed else []

    def _looked_up(self, build: Build) -> LookedUp:
        ask = build.ask
        return ask.looked_up or look_up(self._store, ask.query, ask.reads, ask.calendar)

    def _rows(self, build: Build, found: Retrieved[Observation], ids: Iterable[int]) -> list[Observation]:
        rows = [found.rows[one] for one in ids]
        return self.vetted(build, [row for row in rows if build.ask.scope in (None, row.scope)])

    def of_days(self, build: Build, days: Days, *, limit: int) -> list[Observation]:
        """Return what was saved or revised on ``days``, latest first; decisions before the rest."""
        start, end = build.ask.moments(days)
        rows = table.between(self._store, projects=build.ask.reads, start=start, end=end, limit=limit * 4)
        rows = self.vetted(build, [row for row in rows if row.type not in NOT_LASTING])
        rows.sort(key=lambda row: row.type != "decision")
        return in_order(rows, limit=limit)

    def more_of(self, build: Build, days: Days, shown: Sequence[int]) -> str | Sentence:
        """Return how many more were saved on ``days`` than are shown, and the search that lists them; "" for none."""
        start, end = build.ask.moments(days)
        rows = table.between(self._store, projects=build.ask.reads, start=start, end=end, limit=LOOKED_THROUGH)
        more = sum(row.id not in shown for row in rows)
        if not more:
            return ""
        whole = start.endswith(_MIDNIGHT) and end.endswith(_MIDNIGHT)
        span = f"since:{days.start} until:{days.last}" if whole else f"since:{start} until:{end}"
        count = f"{more} or more" if len(rows) == LOOKED_THROUGH else f"{more}"
        return sentence(f"{count} more saved then: ", operation("search for", query=span))

    def of_kind(self, build: Build, kind: str, *, limit: int, anywhere: bool = False) -> list[Observation]:
        """Return the latest of one type among those that changed last, in the project or ``anywhere``."""
        reads, scope = None if anywhere and build.ask.reads != () else build.ask.reads, build.ask.scope
        pool = LOOKED_THROUGH * (5 if anywhere else 1)
        rows = table.of_types(self._store, [kind], projects=reads, scope=scope, pool=pool, limit=limit)
        return self.vetted(build, rows)

    def entities(self, build: Build, words: str, *, limit: int) -> tuple[list[Observation], list[Observation]]:
        """Return the summaries of the entities that ``words`` name, and the facts about them, latest change first."""
        reads, scope = build.ask.reads, build.ask.scope
        rows = table.of_family(self._store, ENTITY, projects=reads, limit=MOST_ENTITIES)
        found = named_in(words, [row for row in rows if scope in (None, row.scope)])
        slugs = sorted(found.slugs)
        facts = table.facts_of(self._store, slugs, projects=reads, scope=scope, limit=2 * limit)
        return self.vetted(build, [*found.named, *found.near])[:limit], self.vetted(build, facts)

    def search(self, build: Build, words: str, *, type: str | None = None) -> list[Found]:
        """Return what a search for ``words`` finds and may be shown. ``words`` are never read as a query language."""
        ask = build.ask
        if ask.reads == ():  # no project is here, and a search would look into all
            return []
        try:
            results = self._searches().search(
                plain_words(words),
                project=ask.project,
                session_id=ask.session_id,
                scope=ask.scope,
                type=type,
                limit=_SEARCHED,
                explain=True,
                snippet_chars=PREVIEW_CHARS,
                recorded=False,
            )
        except EmptyQueryError:
            return []
        assert results.explain is not None
        numbers = {one.id: one for one in results.explain.hits if one.relevance}
        hits = {hit.id: hit for hit in results.results}
        rows = observation_table.by_ids(self._store, [*hits])
        kept = self._vetting.vetted(
            [rows[row_id] for row_id in hits if row_id in rows],
            build.findings,
            unasked=build.unasked,
            unmerged=build.unmerged,
            hits=hits,
        )
        found = []
        for row in kept:
            told = numbers.get(row.id)
            words_of, coverage = (told.words, told.coverage) if told else ((), 1.0)
            found.append(Found(row, hits[row.id].score, hits[row.id].snippet, words_of, coverage))
        return found

    def vetted(self, build: Build, rows: Sequence[Observation], *, unasked: bool | None = None) -> list[Observation]:
        unasked = build.unasked if unasked is None else unasked
        return self._vetting.vetted(rows, build.findings, unasked=unasked, unmerged=build.unmerged)


def different(found: Sequence[Found]) -> list[Found]:
    """Return what is different first, without what repeats another text in the same numbers; facts stay."""
    items = [((one, _shown_words(one.row)), one.score) for one in found]
    kept: list[tuple[Found, frozenset[str]]] = []
    for one, words in mmr(items, lambda one, other: jaccard(one[1], other[1])):
        if one.row.about is not None or not any(
            jaccard(words, other) >= NEAR and _numbers(words) == _numbers(other) for _, other in kept
        ):
            kept.append((one, words))
    return [one for one, _ in kept]


def in_order(rows: Sequence[Observation], *, limit: int) -> list[Observation]:
    """Return the first of the rows as they come, except that what one of them says already waits until the end."""
    items = [((row, _shown_words(row)), -float(place)) for place, row in enumerate(rows)]
    return [row for row, _ in mmr(items, lambda one, other: jaccard(one[1], other[1]), lam=1.0, limit=limit)]


def _numbers(words: frozenset[str]) -> frozenset[str]:
    return frozenset(word for word in words if not word.isalpha())


def _shown_words(row: Observation) -> frozenset[str]:
    return shingles(f"{row.title} {row.content[:_COMPARED_CHARS]}")
