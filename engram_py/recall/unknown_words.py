"""What an answer says of the words that are not here: read as others, or known to other projects alone."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.doors import call
from engram_py.recall.candidates import Found
from engram_py.recall.hits import Placed
from engram_py.recall.plan import MOST_WORDS_ASKED
from engram_py.recall.query.parse import Query
from engram_py.recall.scope_filter import ScopeFilter
from engram_py.recall.score.threshold import tells_elsewhere


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
        elsewhere = [term.text for term in found.terms if tells_elsewhere(term) and term.text in words]
        said = f"only other projects know {', '.join(elsewhere)}; {call('everywhere')} searches them"
        notes += [said] if elsewhere else []
    return notes
