"""What an answer says of words that are not here: read as others, known elsewhere, or in earlier texts alone."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.doors import call
from engram_py.observations.table import VISIBLE, projects_json
from engram_py.recall.candidates import Found
from engram_py.recall.hits import Placed
from engram_py.recall.plan import MOST_WORDS_ASKED
from engram_py.recall.query.parse import Query
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.bm25 import is_elsewhere
from engram_py.recall.values import Earlier
from engram_py.text.normalize import folded
from engram_py.text.segments import is_unspaced, segments

_MOST_WORDS = 4
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
    for row, text in store.tuples(_OLDER_TEXTS, projects=projects_json(projects), **bounds):
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
