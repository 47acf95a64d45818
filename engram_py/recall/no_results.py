"""Why a search has no answer, from what it had read anyway: the words nobody knows, what is near, what to leave out."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from engram_py.database.store import Store
from engram_py.doors import call
from engram_py.observations import table
from engram_py.observations.lookup import handles
from engram_py.recall.candidates import Found, retrieve
from engram_py.recall.hits import goal_of
from engram_py.recall.index import table as index
from engram_py.recall.plan import MOST_WORDS_ASKED
from engram_py.recall.query.days import Days
from engram_py.recall.query.parse import Query, match_any
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import idf
from engram_py.recall.score.proximity import lens, read
from engram_py.recall.score.relevance import Scored, Term
from engram_py.recall.score.threshold import (
    BACKGROUND,
    DAMPING,
    FLOOR,
    is_elsewhere,
    is_ordinary,
    tells_elsewhere,
    weights,
)
from engram_py.recall.score.topics import shares_a_word
from engram_py.recall.unknown_words import said_earlier
from engram_py.recall.values import NO_WORD, NoResults
from engram_py.text.prompt_text import plain
from engram_py.text.segments import segments
from engram_py.text.stopwords import FOREIGN, is_foreign

# The nearest is named where it holds a third of what is known of the question, by idf, and reaches three fifths of the
# floor. It is offered where it holds half, and more of the question than nobody here knows: of "why did we leave
# MongoDB?" a row that has `leave` covers three quarters of the floor and is about something else.
NAMED, REACHED, OFFERED = 0.35, 0.6, 0.5
# It has two of the words that are known, or the only one: of the 56 empty answers of 160 questions in four projects 24
# named something else than was looked for, with that 12, and of the 10 that named the right one none is lost. What
# misses the floor by a twentieth is offered too, if it has two words.
LEAST_HELD, NEARLY = 2, 0.95
# Or where its title has two telling words of the question. Of 402 empty answers about other software, from 250 commits
# of this project as memories, 6 are offered one so, 4 without; of a user's 28 questions 8 were empty, and 2 of them are
# offered the right one so, none without.
OFFERED_TITLED = 2
# One weak word that only other projects know (`names`, `rules`) sends nobody there.
TELLING_ELSEWHERE = 0.4
_LOOKED_THROUGH, _MOST_TOPICS = 20, 5
# A word that more than this share of the memory holds makes no topic near. Measured with 250 commits of this project as
# memories: 20 empty answers to questions about other software named 76 topics, now 8; of 60 questions with one word of
# a title among foreign ones 59 were told a topic with that word, now 53.
_MUCH, _FEW_ROWS = 0.3, 5
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
    best = _nearest(found)
    holds = _holds(best, found) if best is not None else 0.0
    covered, needed = found.verdict.coverage, floor * found.verdict.ease
    # What no project answers is not said to be known to others.
    known = _known_at_all(found) >= needed and _answered_elsewhere(store, parsed, found, sight, floor)
    elsewhere = _elsewhere(parsed, found, sight) if known else ()
    unknown = nameless(found.unknown, days)
    earlier = said_earlier(store, unknown, sight.projects) if parsed.asks and not parsed.pasted else ()
    quiet = days is not None and not found.filtered_away and not found.scored
    if days is not None and quiet:  # every project has its days: this one's are no word that others know
        elsewhere = tuple(word for word in elsewhere if word != days.words)
    reached = found.verdict.coverage >= min(floor, FLOOR) * found.verdict.ease * REACHED
    near = holds >= NAMED and reached and not elsewhere and best is not None and _names(best, found)
    nearest = found.rows.get(best.id) if best is not None and near else None
    missed = best is not None and covered >= needed * NEARLY and len(best.words) >= LEAST_HELD
    enough = (holds >= OFFERED or missed) and covered >= _lacking(found)
    rows = [found.rows[one.id] for one in found.scored[:_LOOKED_THROUGH] if one.id in found.rows]
    # The key of a session's summary is made of its id: nobody chose it.
    keys = dict.fromkeys(row.topic_key for row in rows if row.topic_key and row.type != "session_summary")
    words = _telling(found)
    topics = [key for key in keys if shares_a_word(key, words, families=_families())]
    reason = _reason(parsed, found, sight, floor, elsewhere, known=known)
    reason = f"nothing changed here {_then(days)}" if days is not None and quiet and not elsewhere else reason
    short = reason is None
    return NoResults(
        unknown=tuple(word for word in unknown if word not in {one.word for one in earlier}),
        topics=tuple(topics)[:_MOST_TOPICS],
        filtered=found.filtered_away,
        filters=sight.said,
        nearest=nearest.id if nearest is not None else 0,
        nearest_title=". ".join(filter(None, (nearest.title, goal_of(nearest)))) if nearest is not None else "",
        foreign=is_foreign([word.text for word in parsed.words]) and not _is_foreign_here(store, parsed, sight),
        reason=reason or f"the nearest covers {covered:.1%} of the question; {needed:.1%} is needed",
        promising=nearest is not None and (enough or _titled(nearest.title, found) >= OFFERED_TITLED),
        elsewhere=elsewhere,
        covered=round(covered, 3) if short else 0.0,
        needed=round(needed, 3),
        short=short,
        marked=_is_marked(parsed, found),
        unworded=not parsed.asks,
        others=sight.projects is not None and table.count_others(store, sight.projects, cap=1) > 0,
        earlier=earlier,
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
    return NoResults((), (), 0, (), 0, f"there is no memory {named}, or {deleted} deleted", numbered=True, others=False)


def _is_marked(parsed: Query, found: Found) -> bool:
    """Whether phrases or exclusions may be what hides an answer: not where nobody knows any of the words."""
    known = not parsed.asks or any(term.rows and not term.stands_for for term in found.terms)
    return known and bool(parsed.phrases or parsed.excluded)


def _reason(
    parsed: Query, found: Found, sight: ScopeFilter, floor: float, elsewhere: tuple[str, ...], *, known: bool
) -> str | None:
    """Why, or None where what is nearest covers too little."""
    if not parsed.asks and (sight.filtered or parsed.filters.projects):
        return f"nothing passes the filters{' without the words left out' if parsed.excluded else ''}"
    if not parsed.words:
        return "there is no word in it to search for"
    if not parsed.asks:
        return "no word of it says what to look for, so nothing was looked up"
    if found.filtered_away:
        return "what has these words was filtered away"
    if sight.stale and found.verdict.answers(floor):
        return "what has these words is not stale"
    if found.scored:
        return None
    if _is_marked(parsed, found):
        asking = [*(["the quotes"] if parsed.phrases else []), *(["the minus"] if parsed.excluded else [])]
        return f"no memory here has its words as {' and '.join(asking)} ask{'s' if asking == ['the minus'] else ''}"
    if elsewhere:
        return "no memory seen from here has any of its words"
    if known and not sight.filtered and sight.projects is not None:
        return f"only other projects know its words; {call('everywhere')} searches them"
    return NO_WORD


def _elsewhere(parsed: Query, found: Found, sight: ScopeFilter) -> tuple[str, ...]:
    """The words that only other projects know, where these are a good part of the question; none where a filter that
    took something away, a phrase or an exclusion may be what hides them."""
    filters = sight.filtered and (found.filtered_away or found.scored)
    hidden = filters or sight.projects is None or parsed.phrases or parsed.excluded
    if hidden or (found.scored and found.verdict.elsewhere < TELLING_ELSEWHERE):
        return ()
    return tuple(term.text for term in found.terms if tells_elsewhere(term))


def _answered_elsewhere(store: Store, parsed: Query, found: Found, sight: ScopeFilter, floor: float) -> bool:
    """Whether a search of all projects finds an answer; asked only where other projects know a word of the question."""
    if sight.projects is None or len(found.terms) > MOST_WORDS_ASKED or not any(map(is_elsewhere, found.terms)):
        return True
    return retrieve(store, parsed, sight.everywhere(), limit=1, floor=floor).verdict.answers(floor)


def _is_foreign_here(store: Store, parsed: Query, sight: ScopeFilter) -> bool:
    """Whether a memory is in another language than English as well: of those with small words of the question, and of
    the latest."""
    small = [word for word in parsed.words if word.text in FOREIGN]
    projects = sight.unfiltered().values
    ids = [*index.newest(store, match_any(small), limit=_LISTENED), *index.latest(store, projects, limit=_LISTENED)]
    rows = index.seen(store, ids, projects).values()
    return any(is_foreign(segments(f"{row.title} {row.content[:_HEARD_CHARS]}")) for row in rows)


@cache
def _families() -> frozenset[str]:
    # With it comes what redacts, which a search that finds something has no use for.
    from engram_py.observations.topic_keys import FAMILY_OF_TYPE

    return frozenset({*FAMILY_OF_TYPE, *FAMILY_OF_TYPE.values(), "topic"})


def _telling(found: Found) -> list[str]:
    """The words of a question by which a topic is near."""
    return [word for term in found.terms if _tells(term, found) for word in (term.text, *term.read_as)]


def _tells(term: Term, found: Found) -> bool:
    """Not a word that much of the memory has, nor `name` or `list`."""
    return 0 < term.rows <= max(_FEW_ROWS, found.total * _MUCH) and not is_ordinary(term.text)


def _titled(title: str, found: Found) -> int:
    """How many telling words of the question a title has."""
    glass = lens(found.terms)
    seen = read(title, glass, found.terms).seen if glass is not None else ()
    return sum(_tells(found.terms[number], found) for number in seen)


def _is_lacking(term: Term) -> bool:
    return not term.rows or bool(term.stands_for) or is_elsewhere(term)


def _known_at_all(found: Found) -> float:
    """The share of the question that any project knows as it was written, each word weighed alike wherever it is."""
    known = found.total + BACKGROUND
    weighed = [(idf(0 if term.stands_for else term.rows, known) ** DAMPING, term) for term in found.terms]
    whole = sum(weight for weight, _ in weighed)
    return sum(weight for weight, term in weighed if term.rows and not term.stands_for) / whole if whole else 0.0


def _lacking(found: Found) -> float:
    """The share of the question that nobody here knows, weighed as the floor weighs it."""
    weighed = weights(found.terms, found.total)
    lacking = sum(weight for weight, term in zip(weighed, found.terms, strict=True) if _is_lacking(term))
    return lacking / (sum(weighed) or 1.0)


def _nearest(found: Found) -> Scored | None:
    """The best, or what has its words as well where that is a session's summary: it is about many things."""
    best = next(iter(found.scored), None)
    if best is None or not _is_summary(best, found):
        return best
    others = (one for one in found.scored[:_LOOKED_THROUGH] if not _is_summary(one, found))
    return next((one for one in others if set(best.words) <= set(one.words)), best)


def _is_summary(one: Scored, found: Found) -> bool:
    return one.id in found.rows and found.rows[one.id].type == "session_summary"


def _names(one: Scored, found: Found) -> bool:
    """Whether a row has two of the words that are known here, or the only one."""
    known = {term.text for term in found.terms if not _is_lacking(term)}
    return len(known) < LEAST_HELD or len(known.intersection(one.words)) >= LEAST_HELD


def _holds(one: Scored, found: Found) -> float:
    """How much of what is known here of the question a row holds, 0..1 by idf. A near spelling is a guess: it counts
    where nothing else is known."""
    known = {term.text: term.idf for term in found.terms if not _is_lacking(term)}
    known = known or {term.text: term.idf for term in found.terms if term.stands_for}
    return sum(known.get(word, 0.0) for word in one.words) / (sum(known.values()) or 1.0)
