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
from engram_py.recall.preview import one_line, preview
from engram_py.recall.reading import TermFinder
from engram_py.recall.score import Term

SNIPPET_CHARS, PATH_CHARS = 300, 160
# A short passage goes on with the next where there is room for so many characters of it.
_LEAST_CHARS = 60
# A word that the title or the path has tells this much of one passage from another.
_TITLED = 0.1
# Prose counts as much as this part of the query's words; so many of the first characters are enough of it.
_PROSE, _ENOUGH_PROSE, _READ_CHARS = 0.3, 200, 500
# What the search found stays unless another tells this much more: without that records asked by their titles show more
# of the context, which stands first, and .24 of their deciding words instead of .29.
_FOUND = 0.2


@dataclass(frozen=True, slots=True)
class Quote:
    """The heading path of a passage, what is quoted of it, its whole text, the line of the match, and its lines."""

    title: str
    text: str
    passage: str
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
    text = preview(cut.text, terms, finder, limit=SNIPPET_CHARS, above=_section_above(cuts, at)).text
    return Quote(
        title=path_line([plain(heading) for heading in (*cut.above, cut.title)], PATH_CHARS),
        text=_continued(text, cuts, at),
        passage=cut.text,
        line=cut.first_line + _best_line(cut.text, terms, finder),
        first_line=cut.first_line,
        last_line=cut.last_line,
    )


def _section_above(cuts: Sequence[Cut], at: int) -> str:
    """Return the text above a passage in its section: plain text has its headings there."""
    first = at
    while first and (cuts[first - 1].title, cuts[first - 1].above) == (cuts[at].title, cuts[at].above):
        first -= 1
    return "".join(f"{cut.text}\n" for cut in cuts[first:at])


def _continued(text: str, cuts: Sequence[Cut], at: int) -> str:
    """Return the quote of a short passage with the sections that follow it below the same heading, as far as there is
    room."""
    for other in cuts[at + 1 :]:
        same_parent = other.above == cuts[at].above and other.title != cuts[at].title
        if not same_parent or len(text) > SNIPPET_CHARS - _LEAST_CHARS:
            break
        text = one_line(f"{text} ## {other.title} {other.text}", SNIPPET_CHARS)
    return text


def _most_telling(cuts: Sequence[Cut], found: int, document: Row, terms: Sequence[Term], finder: TermFinder) -> int:
    """Return the number of the passage that tells most: the one that was found, if its prose has a word that the title
    has not or no other has more."""
    titled = _held(f"{document['title']}\n{document['path']}", finder)
    if prose(cuts[found].text) and _held(cuts[found].text, finder) - titled:
        return found
    weights = [term.weight * (_TITLED if number in titled else 1.0) for number, term in enumerate(terms)]
    total = sum(term.weight for term in terms) or 1.0
    prosaic = [min(_ENOUGH_PROSE, prose(cut.text[:_READ_CHARS])) for cut in cuts]
    enough = max(prosaic) or 1

    def told(at: int) -> float:
        names = [heading for heading in (*cuts[at].above, cuts[at].title) if heading != document["title"]]
        held = _held("\n".join([*names, cuts[at].text]), finder)
        return sum(weights[number] for number in held) / total + _PROSE * prosaic[at] / enough

    best = max(range(len(cuts)), key=told)
    return best if told(best) > told(found) + _FOUND else found


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
