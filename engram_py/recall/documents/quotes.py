"""The quote of a document: of the passage that has the words of the query or, where only the title has them, most
prose.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass
from engram_py.base.text.normalize import folded
from engram_py.recall.documents import table
from engram_py.recall.documents.values import Cut
from engram_py.recall.outline import path_line, plain, prose
from engram_py.recall.preview import preview
from engram_py.recall.proximity import TermFinder
from engram_py.recall.score import Term

SNIPPET_CHARS, PATH_CHARS = 300, 160
# A word that the title or the path has tells this much of one passage from another.
_TITLED = 0.25
# Prose counts as much as this part of the query's words; so many characters of it are enough.
_PROSE, _ENOUGH_PROSE = 0.3, 200
# What the search ranked first stays unless another tells this much more.
_FOUND = 0.2
_READ_CHARS = 500


@dataclass(frozen=True, slots=True)
class Quote:
    """The heading path of a passage, its text and what is quoted of it, the line of the match, and the lines of it."""

    title: str
    passage: str
    text: str
    line: int
    first_line: int
    last_line: int


def quote_of(store: Store, document: Row, passage: int, terms: Sequence[Term], finder: TermFinder | None) -> Quote:
    """Return what to quote of a document in which a search found a passage."""
    cuts, found = table.around(store, document["id"], passage)
    if not cuts:  # another process took the document out
        return Quote(document["title"], "", "", 1, 1, 1)
    at = _most_telling(cuts, found, document, terms, finder) if finder is not None else found
    cut = cuts[at]
    before = ""
    while at and (cuts[at - 1].title, cuts[at - 1].above) == (cut.title, cut.above):
        at -= 1
        before = f"{cuts[at].text}\n{before}"
    return Quote(
        title=path_line([plain(heading) for heading in (*cut.above, cut.title)], PATH_CHARS),
        passage=cut.text,
        text=preview(cut.text, terms, finder, limit=SNIPPET_CHARS, above=before).text,
        line=cut.first_line + _best_line(cut.text, terms, finder),
        first_line=cut.first_line,
        last_line=cut.last_line,
    )


def _most_telling(cuts: Sequence[Cut], found: int, document: Row, terms: Sequence[Term], finder: TermFinder) -> int:
    """Return the number of the passage that tells most: the one that was found unless another has more."""
    titled = _held(f"{document['title']}\n{document['path']}", finder)
    weights = [term.weight * (_TITLED if number in titled else 1.0) for number, term in enumerate(terms)]
    total = sum(term.weight for term in terms) or 1.0

    def told(cut: Cut) -> float:
        names = [heading for heading in (*cut.above, cut.title) if heading != document["title"]]
        held = _held("\n".join([*names, cut.text]), finder)
        return sum(weights[number] for number in held) / total + _PROSE * min(
            1.0, prose(cut.text[:_READ_CHARS]) / _ENOUGH_PROSE
        )

    most = told(cuts[found]) + _FOUND
    if most >= sum(weights) / total + _PROSE:
        return found
    for at, cut in enumerate(cuts):
        if at != found and (other := told(cut)) > most + 1e-9:
            found, most = at, other
    return found


def _held(text: str, finder: TermFinder) -> Set[int]:
    return {number for _, number in finder.found_in(folded(text))}


def _best_line(content: str, terms: Sequence[Term], finder: TermFinder | None) -> int:
    """Return the number, from 0, of the line that holds most of the query's weight, of equal ones the first; where none
    has a word of it the first with prose."""
    if finder is None:
        return 0

    lines = content.split("\n")
    told = [sum(terms[number].weight for number in _held(line, finder)) for line in lines]
    if not any(told):
        return next((number for number, line in enumerate(lines) if prose(line)), 0)
    return told.index(max(told))
