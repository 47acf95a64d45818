"""Why a search has no answer, from what it had read anyway: the words nobody knows, what is near, what to leave out."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.observations import visible
from engram_py.observations.lookup import handles
from engram_py.recall.candidates import Found, retrieve
from engram_py.recall.index import table as index
from engram_py.recall.plan import MOST_WORDS_ASKED
from engram_py.recall.query.days import Days
from engram_py.recall.query.parse import Query, match_any
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import is_elsewhere
from engram_py.recall.search_notes import said_earlier
from engram_py.recall.values import NO_WORD, NoResults
from engram_py.text.prompt_text import plain
from engram_py.text.segments import segments
from engram_py.text.stopwords import FOREIGN, is_foreign

# Memories that are read for their language, and how much of each.
_LISTENED, _HEARD_CHARS = 60, 1_000
_MOST_NUMBERS = 8


def explain_no_results(
    store: Store, parsed: Query, found: Found, sight: ScopeFilter, floor: float, *, days: Days | None = None
) -> NoResults:
    """Why nothing that was ``found`` answers, in words and as far as a reader can act on it. ``days`` were asked."""
    numbers = (parsed.observation_id,) if parsed.observation_id is not None else handles(parsed.asked)
    if numbers:
        return _of_numbers(numbers)
    unknown = nameless(found.unknown, days)
    elsewhere = nameless(_elsewhere(store, parsed, found, sight, floor), days)
    earlier = said_earlier(store, unknown, sight.projects) if parsed.asks and not parsed.pasted else ()
    quiet = days is not None and not found.filtered_away and not found.scored
    return NoResults(
        reason=f"nothing changed here {_then(days)}"
        if days and quiet and not elsewhere
        else _reason(parsed, found, sight, floor, elsewhere),
        nearest=() if sight.stale else found.nearest(),
        unknown=tuple(word for word in unknown if word not in {one.word for one in earlier}),
        elsewhere=elsewhere,
        earlier=earlier,
        filtered=found.filtered_away,
        filters=sight.said,
        foreign=is_foreign([word.text for word in parsed.words]) and not _is_foreign_here(store, parsed, sight),
        marked=_is_marked(parsed, found),
        unworded=not parsed.asks,
        others=sight.projects is not None and visible.count_others(store, sight.projects, cap=1) > 0,
    )


def nameless(words: Sequence[str], days: Days | None) -> tuple[str, ...]:
    """The words without those that name ``days``."""
    named = {days.words, *days.words.split()} if days is not None else ()
    return tuple(word for word in words if plain(word) not in named)


def _then(days: Days) -> str:
    if days.open:
        return f"until {days.last}"
    return f"on {days.start}" if days.last == days.start else f"from {days.start} to {days.last}"


def _of_numbers(numbers: Sequence[int]) -> NoResults:
    """What ids name is opened whatever the filters say, and from every project: nothing of these is to blame."""
    named = ", ".join(f"#{one}" for one in numbers[:_MOST_NUMBERS]) + (", …" if len(numbers) > _MOST_NUMBERS else "")
    deleted = "it was" if len(numbers) == 1 else "they were"
    return NoResults(f"there is no memory {named}, or {deleted} deleted", numbered=True, others=False)


def _is_marked(parsed: Query, found: Found) -> bool:
    """Whether phrases or exclusions may be what hides an answer: not where nobody knows any of the words."""
    known = not parsed.asks or any(term.rows and not term.stands_for for term in found.terms)
    return known and bool(parsed.phrases or parsed.excluded)


def _reason(parsed: Query, found: Found, sight: ScopeFilter, floor: float, elsewhere: tuple[str, ...]) -> str:
    if not parsed.asks and (sight.filtered or parsed.filters.projects):
        return f"nothing passes the filters{' without the words left out' if parsed.excluded else ''}"
    if not parsed.words:
        return "there is no word in it to search for"
    if not parsed.asks:
        return "no word of it says what to look for, so nothing was looked up"
    if found.filtered_away:
        return "what has these words was filtered away"
    if sight.stale and found.probability >= floor:
        return "what has these words is not stale"
    if found.scored:
        return "what has words of it is about other things"
    if _is_marked(parsed, found):
        asking = [*(["the quotes"] if parsed.phrases else []), *(["the minus"] if parsed.excluded else [])]
        return f"no memory here has its words as {' and '.join(asking)} ask{'s' if asking == ['the minus'] else ''}"
    if elsewhere:
        return "no memory seen from here has any of its words"
    return NO_WORD


def _elsewhere(store: Store, parsed: Query, found: Found, sight: ScopeFilter, floor: float) -> tuple[str, ...]:
    """The words that only other projects know, where a search of all projects finds an answer; none where a filter that
    took something away, a phrase or an exclusion may be what hides them."""
    words = tuple(term.text for term in found.terms if is_elsewhere(term))
    filters = sight.filtered and (found.filtered_away or found.scored)
    hidden = filters or sight.projects is None or parsed.phrases or parsed.excluded
    if not words or hidden or len(found.terms) > MOST_WORDS_ASKED:
        return ()
    everywhere = retrieve(store, parsed, sight.everywhere(), limit=1, least=floor)
    return words if everywhere.probability >= floor else ()


def _is_foreign_here(store: Store, parsed: Query, sight: ScopeFilter) -> bool:
    """Whether a memory is in another language than English as well: of those with small words of the question, and of
    the latest."""
    small = [word for word in parsed.words if word.text in FOREIGN]
    projects = sight.unfiltered().values
    ids = [*index.newest(store, match_any(small), limit=_LISTENED), *index.latest(store, projects, limit=_LISTENED)]
    rows = index.seen(store, ids, projects).values()
    return any(is_foreign(segments(f"{row.title} {row.content[:_HEARD_CHARS]}")) for row in rows)
