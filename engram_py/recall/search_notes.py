"""What an answer says of how it was found: steps, days and filters, and words that are not here."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.doors import call
from engram_py.observations.table import VISIBLE
from engram_py.observations.visible import has_type
from engram_py.recall.candidates import Found
from engram_py.recall.hits import Placed
from engram_py.recall.plan import MOST_WORDS_ASKED, day_note
from engram_py.recall.query.days import Days
from engram_py.recall.query.parse import MAX_QUERY_CHARS, MAX_WORDS, Query
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import is_elsewhere
from engram_py.recall.values import Earlier, LadderStep
from engram_py.text.normalize import folded
from engram_py.text.segments import is_unspaced, segments

_MOST_WORDS = 4
_MOST_MISSED = 3
# Of so many is asked whether they have a type, before it is called unusual.
TYPES_READ = 10_000
# 500 texts of 2,000 characters took 15 ms to fetch, fold and read, and a search that is silent is not the usual one.
_WALKED, _MOST_READ, _READ_CHARS = 3_000, 500, 2_000

# What observations said before, which no index has: of the newest :walked versions the newest :most that may be seen,
# and the beginning of each.
_OLDER_TEXTS = f"""
select observation_id, substr(title || ' ' || content, 1, :chars)
from observation_versions
where id in (
    select walked.id
    from (select id, observation_id from observation_versions order by id desc limit :walked) as walked
    join observations on observations.id = walked.observation_id
    where deleted_at is null and {VISIBLE}
    order by walked.id desc
    limit :most
)
order by id desc
"""


def said_earlier(store: Store, words: Sequence[str], projects: Sequence[str] | None) -> tuple[Earlier, ...]:
    """The first four of ``words`` that an earlier text of a live observation has, whole, each with the newest such."""
    wanted = {folded(word): word for word in words[:_MOST_WORDS]}
    if not wanted:
        return ()
    found: dict[str, int] = {}
    bounds = {"walked": _WALKED, "most": _MOST_READ, "chars": _READ_CHARS}
    for row, text in store.tuples(_OLDER_TEXTS, projects=projects, **bounds):
        plain = folded(text)
        here = [word for word in wanted if word not in found and word in plain]
        if here:
            whole = set(segments(plain))
            found |= {word: row for word in here if is_unspaced(word) or word in whole}
    return tuple(Earlier(spelt, found[word]) for word, spelt in wanted.items() if word in found)


def unfamiliar_notes(query: Query, found: Found, sight: ScopeFilter, shown: Sequence[Placed]) -> list[str]:
    """A note for each word that hits were found by although nobody saved it so, and one for what only other projects
    know. Of a pasted text nobody is told: it is full of words that are nowhere."""
    if not shown or len(found.terms) > MOST_WORDS_ASKED:
        return []
    words = {word for one in shown for word in one.scored.words}
    notes = [
        f"no memory contains {term.text}; it was read as {' or '.join(term.read_as)}"
        for term in found.terms
        if term.read_as and term.text in words
    ]
    # A filter, a phrase or an exclusion hides rows of this project as well.
    if sight.projects is not None and not (sight.filtered or query.phrases or query.excluded):
        words = {term.text for term in found.terms if term.stems}  # no days, which every project has, and no files
        elsewhere = [term.text for term in found.terms if is_elsewhere(term) and term.text in words]
        said = f"only other projects know {', '.join(elsewhere)}; {call('everywhere')} searches them"
        notes += [said] if elsewhere else []
    return notes


def unusual_types(store: Store, sight: ScopeFilter, types: Sequence[str]) -> tuple[str, ...]:
    """For a search without an answer: what to call a type that no memory has."""
    if not types:
        return ()
    from engram_py.observations.topic_keys import type_notes

    notes = type_notes(types)
    return () if notes and has_type(store, sight.projects, types, cap=TYPES_READ) else notes


def filters_not_asked(sight: ScopeFilter) -> tuple[str, ...]:
    """An id opens what it names, as `get` does, whatever the filters beside it say."""
    return (f"not asked of what an id names: {', '.join(sight.said)}",) if sight.said else ()


def evidence_step(found: Found, floor: float) -> LadderStep:
    one = found.evidence
    why = f"the best holds {one.passage:.0%} of what the words tell"
    why += f", its session {one.session:.0%}" if one.session > one.passage else ""
    why += f": it answers with a probability of {found.probability:.0%}, {floor:.0%} is needed"
    return LadderStep("evidence", 0, why if one.passage else "no word of the question was found")


def first_rung(found: Found) -> str:
    """The first step that found something."""
    return next((rung.name for rung in found.rungs if rung.found), "none")


def day_note_of(days: Days, found: Found) -> str:
    said = f"{days.words}: until {days.last}" if days.open else day_note(days)
    return said + ("" if is_looked_up(days, found) or not found.scored else ", when nothing changed")


def is_looked_up(days: Days, found: Found) -> bool:
    return any(term.text == days.words and not term.expression for term in found.terms)


def missed_notes(found: Found) -> list[str]:
    return [
        f"#{old} has these words, but [#{new}] replaced it, which the filters leave out; is:superseded shows it"
        for old, new in list(found.missed.items())[:_MOST_MISSED]
    ]


def query_notes(query: str, parsed: Query) -> list[str]:
    notes = list(parsed.notes)
    if parsed.shortened:
        cut = len(query) > MAX_QUERY_CHARS
        telling = len(parsed.words) >= MAX_WORDS
        begun = f"the query was long; its first {MAX_QUERY_CHARS:,} characters were read"
        used = "its most telling words were used"
        notes.append(f"{begun}, and {used}" if cut and telling else begun if cut else f"the query was long; {used}")
    if parsed.excluded:
        said = dict.fromkeys(expression.strip("()").replace('"', "") for expression in parsed.excluded)
        notes.append(f"left out: what has {', '.join(said)}")
    return notes
