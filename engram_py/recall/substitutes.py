"""Replace words of a query by what they name: files, entities and facts about them, near spellings, compounds."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import PurePosixPath
from typing import TYPE_CHECKING

from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import folded
from engram_py.base.text.words import (
    MOST_MEANT,
    PREFIX_LONGER_BY,
    STEM_FROM,
    is_unspaced,
    may_be,
    may_resemble,
    meant,
    nearest_spelling,
    segments,
    slips_allowed,
    synonyms,
)
from engram_py.memory.anchors import table as anchors
from engram_py.memory.entities import table as entities
from engram_py.recall import index
from engram_py.recall import terms as vocabulary
from engram_py.recall.query import Query, phrase, quote
from engram_py.recall.score import Term, idf, ordinary_rate
from engram_py.recall.terms import NEWEST_ROWS, ROW_BUDGET

if TYPE_CHECKING:
    from engram_py.memory.anchors.anchors import Anchors
    from engram_py.memory.entities.names import Known


# A row counts as so many mentions if it is anchored to the file, names it, or has the words of its name.
_ANCHORED, _NAMED, _HAS_WORDS = 6.0, 1.5, 0.4

_MOST_FILES = 4
_MOST_PATH_CHARS = 300
_AROUND = "\"'`()[]<>,;:!?"
_LINE = regex(r":[0-9]+(?:[-:][0-9]+)?$")
_FILE_NAME = regex(r"[^/]\.[A-Za-z][\w+-]{0,9}$")
_NO_PATH = regex(r"://|[*?{}$]|//|/$|^$")


def with_files(store: Store, terms: list[Term], text: str, *, size: int, projects: Sequence[str] | None) -> list[Term]:
    """Return the terms, with one for each file of ``text`` that an anchor in ``projects`` knows, in the place of its
    words. A name that no anchor knows is words, and costs one look-up."""
    for path, typed in file_words(text).items():
        anchored = anchors.newest_of_file(store, path, projects=projects, limit=NEWEST_ROWS)
        if anchored:
            replaced = _words(typed) - _words(text.replace(typed, " "))
            others = [term for term in terms if term.text not in replaced]
            terms = [_file_term(store, terms, path, anchored, size=size, projects=projects), *others]
    return terms


def _file_term(
    store: Store,
    terms: Sequence[Term],
    path: str,
    anchored: Sequence[int],
    *,
    size: int,
    projects: Sequence[str] | None,
) -> Term:
    named = index.newest_seen(store, f"{{title content}} : {phrase(path)}", projects=projects, limit=NEWEST_ROWS)
    count = len({*anchored, *named})
    rows = dict.fromkeys(_with_words_of(store, terms, path), _HAS_WORDS)
    rows |= dict.fromkeys(named, _NAMED) | dict.fromkeys(anchored, _ANCHORED)
    return Term(path, "", idf(count, size), count, mentions=rows, looked_up=True)


def _words(text: str) -> set[str]:
    return {word.lower() for word in segments(text)}


def _with_words_of(store: Store, terms: Sequence[Term], path: str) -> list[int]:
    """Return the newest rows that have all words of the file's name, without what it ends in."""
    known = {term.text: term.expression for term in terms if term.rows and term.expression}
    words = [known.get(word.lower(), "") for word in segments(PurePosixPath(path).stem)]
    return index.newest(store, " AND ".join(words), limit=NEWEST_ROWS) if words and all(words) else []


def file_words(text: str) -> dict[str, str]:
    """Return at most four paths with slashes, each with the word it was typed as; ``node.js`` may be a file."""
    found: dict[str, str] = {}
    for word in text.split() if "." in text or "/" in text or "\\" in text else ():
        path = _LINE.sub("", word.strip(_AROUND)).rstrip(".").replace("\\", "/").removeprefix("./")
        named = "/" in path or _FILE_NAME.search(path)
        if named and len(path) <= _MOST_PATH_CHARS and not _NO_PATH.search(path) and len(found) < _MOST_FILES:
            found.setdefault(path, word)
    return found


def rows_of_file(
    store: Store, anchored: Anchors, path: str, *, limit: int = 100, projects: Sequence[str] | None = None
) -> list[int]:
    """Return the ids of the live observations anchored to ``path`` (``Anchors.of_file``; a name without a dot may be a
    folder's), then of the newest that name it: a file that was not there at the save has no anchor."""
    found = anchored.of_file(path, limit=limit, projects=projects)
    if "." not in path and not path.endswith("/"):
        found += anchored.of_file(f"{path}/", limit=limit, projects=projects)
    words = phrase(path.replace("\\", "/"))
    if words and ("." in path or "/" in path.strip("/")):
        found += index.newest_seen(store, f"{{title content}} : {words}", projects=projects, limit=limit)
    return list(dict.fromkeys(found))


# The weight of a substitute beside the word itself.
DISCOUNT = 0.6
_LARGE = 20_000
_LOOKED_AT = 8
# Letters of each half of a compound; a longer word is a name with parts of its own.
_LEAST_CHARS, _MOST_CHARS = 3, 30
_COUNTED_TO = 200
_LEAST_PART = 4  # letters of a part of a word


def may_be_substituted(term: Term) -> bool:
    """Return whether the term is unknown, and another word may be meant."""
    return not term.rows and (may_resemble(term.text) or bool(synonyms(term.text)))


def with_substitutes(store: Store, term: Term, total: int) -> Term:
    """Return an unknown term with what others call it, what it is in two words, or words of a near spelling; the same
    term where nothing is known."""
    return _synonym(store, term, total) or _two_words(store, term, total) or _near_spelling(store, term, total) or term


def _synonym(store: Store, term: Term, total: int) -> Term | None:
    names = synonyms(term.text)
    stems = vocabulary.stems_of(store, names)
    rows = vocabulary.rows_with(store, [stem for name in names for stem in stems[name]], {}, size=total)
    known = [(stem, rows[stem], name) for name in names for stem in stems[name] if len(stems[name]) == 1 and rows[stem]]
    return _substituted(term, known, total) if known else None


def _two_words(store: Store, term: Term, total: int) -> Term | None:
    """Return the term with the two words it is made of, where this memory has them side by side."""
    word = term.text
    splits = range(_LEAST_CHARS, len(word) - _LEAST_CHARS + 1) if _is_plain(word) else ()
    halves = {quote(written): written for at in splits for written in [f"{word[:at]} {word[at:]}"]}
    found = vocabulary.newest_matching(store, list(halves), cap=_COUNTED_TO)
    best = max(halves, key=lambda one: len(found[one]), default=None)
    if best is None or not found[best]:
        return None
    rows, read_as = len(found[best]), (halves[best],)
    return replace(
        term, substitutes=read_as, read_as=read_as, indexed=(), expression=best, rows=rows, idf=idf(rows, total)
    )


def _near_spelling(store: Store, term: Term, total: int) -> Term | None:
    """Return the term with the words that begin like it, or are a slip away from it."""
    if not may_resemble(term.text) or ordinary_rate(term.stems):  # `handle` is no slip of `handler`
        return None
    is_stemmed = bool(term.stems) and not term.expression.endswith("*")
    stem = term.stems[0] if is_stemmed else term.text
    if stem.endswith("i") and term.text.endswith("y"):  # as Porter writes it, and no longer word has it
        stem = stem[:-1]
    # What begins with two letters is many words in a large memory, and each is counted by walking its rows (36 ms
    # among 100,000 rows; three letters: 4).
    prefix = stem[: 2 if total < _LARGE else 3]
    shortest, longest = min(STEM_FROM, len(stem) - slips_allowed(stem)), len(stem) + PREFIX_LONGER_BY
    known = vocabulary.resembling(store, prefix, shortest=shortest, longest=longest)
    typed = folded(term.text)
    near = [other for other in meant(stem, known, most=_LOOKED_AT) if may_be(typed, stem, other)][:MOST_MEANT]
    if not near:
        return None
    words, rows = vocabulary.unstemmed(store, near), dict(known)
    found = _substituted(term, [(other, rows[other], words[other]) for other in near], total)
    return replace(found, read_as=tuple(nearest_spelling(typed, other) for other in near))


def with_words_around(store: Store, term: Term, total: int) -> Term:
    """Return a term with the words that it is a part of (`framework` of `ramewor`), the same where there is none."""
    is_part = len(term.text) >= _LEAST_PART and term.text.isalpha()  # another number is another thing
    around = vocabulary.holding(store, term.text, limit=MOST_MEANT) if is_part else []
    if not around:
        return term
    words = vocabulary.unstemmed(store, [other for other, _ in around])
    return _substituted(term, [(other, rows, words[other]) for other, rows in around], total)


def _substituted(term: Term, others: Sequence[tuple[str, int, str]], total: int) -> Term:
    """``others`` are index terms, how many rows hold each, and a word that the index writes so."""
    stems = tuple(dict.fromkeys(stem for stem, _, _ in others))
    return replace(
        term,
        substitutes=stems,
        indexed=stems,
        read_as=tuple(dict.fromkeys(word for _, _, word in others)),
        discount=DISCOUNT,
        expression="(" + " OR ".join(quote(word) for _, _, word in others) + ")",
        rows=sum({stem: rows for stem, rows, _ in others}.values()),
        idf=idf(0, total),
    )


def with_joined_words(
    store: Store, query: Query, terms: Sequence[Term], total: int, *, only_unknown: bool = False
) -> tuple[list[Term], list[str]]:
    """Return the terms, each two that stand side by side in the query found in one word as well, and these words.

    With ``only_unknown`` only where this memory never saw one of the two.
    """
    by_text = {term.text: term for term in terms}
    pairs = {
        one.text + other.text: (one.text, other.text)
        for one, other in pairwise(query.words)
        if one.text in by_text and other.text in by_text and _is_half(one.text) and _is_half(other.text)
        if not (only_unknown and by_text[one.text].rows and by_text[other.text].rows)
    }
    stems = {joined: found for joined, found in vocabulary.stems_of(store, list(pairs)).items() if len(found) == 1}
    rows = vocabulary.rows_with(store, [stem for [stem] in stems.values()], {}, size=total)
    known = {one: stem for one, [stem] in stems.items() if rows[stem] and stem not in by_text[pairs[one][0]].stems}
    for joined, stem in known.items():
        for text in pairs[joined]:
            term = by_text[text]
            count = min(total, term.rows + rows[stem])
            by_text[text] = replace(
                term,
                expression=f"({term.expression} OR {quote(joined)})",
                stems=(*term.stems, stem),
                indexed=(),
                rows=count,
                idf=idf(count, total),
                mentions={},
                titled={},
                looked_up=False,
            )
    return [by_text[term.text] for term in terms], list(known)


def _is_plain(word: str) -> bool:
    return len(word) <= _MOST_CHARS and word.isalpha() and not is_unspaced(word)


def _is_half(word: str) -> bool:
    return len(word) >= _LEAST_CHARS and _is_plain(word)


# A fact about the entity counts as so many mentions of its name, a fact about a connected entity as this many.
_ABOUT, _CONNECTED = 1.5, 0.3
_MOST_FACTS, _MOST_CONNECTED_FACTS, _MOST_NEIGHBOURS = 200, 10, 8
_MOST_WORDS, _MOST_ASKED = 4, 40


@dataclass(frozen=True, slots=True)
class _NamedEntity:
    """An entity that the words of a question name."""

    words: tuple[str, ...]
    project: str
    scope: str
    slug: str


def with_entities(
    store: Store, terms: list[Term], text: str, *, size: int, projects: Sequence[str] | None
) -> list[Term]:
    """Return the terms, with one for each entity that ``text`` names in the place of the words that name it.

    The rows of the term are the facts about the entity, and those that have one of its names.
    """
    for named in _named(store, text, projects):
        naming = [term for term in terms if term.text in named.words]
        if naming and (term := _term(store, named, naming, size=size)) is not None:
            terms = [term, *(one for one in terms if one not in naming)]
    return terms


def _named(store: Store, text: str, projects: Sequence[str] | None) -> list[_NamedEntity]:
    """Return the entities that a question names, those with the longest names first, each word naming one."""
    from engram_py.memory.entities.names import slugs_of  # few memories have entities
    from engram_py.memory.entities.values import TOPIC

    words = [word.lower() for word in segments(text)][:_MOST_ASKED]
    runs: dict[str, tuple[str, ...]] = {}
    for size in range(_MOST_WORDS, 0, -1):
        for first in range(len(words) - size + 1):
            run = tuple(words[first : first + size])
            runs.setdefault(folded("-".join(run)), run)
    typed = {"-".join(run) for run in runs.values()}
    known = entities.named_in(store, [*{*runs, *typed}], projects)
    known |= {one for one in entities.foreign_named(store, projects) if folded(one[2]) in runs}
    for project, scope, topic, title, aliases, lifecycle in entities.with_aliases(store, projects):
        if lifecycle == "active":
            slugs = {*slugs_of((title, *aliases.split("; "))), topic.removeprefix(TOPIC)}
            known |= {(project, scope, slug) for slug in slugs if folded(slug) in runs}
    found: list[_NamedEntity] = []
    used: set[str] = set()
    for project, scope, slug in sorted(known, key=lambda one: (-len(runs[folded(one[2])]), one)):
        named = runs[folded(slug)]
        if used.isdisjoint(named):
            found.append(_NamedEntity(named, project, scope, slug))
            used |= set(named)
    return found


def _term(store: Store, named: _NamedEntity, naming: Sequence[Term], *, size: int) -> Term | None:
    """Return the term of an entity; None where its words say as much, or too many rows have them."""
    from engram_py.memory.entities.names import Known, aliases_of

    key = {"project": named.project, "scope": named.scope}
    known = Known.of(store, named.slug, **key)
    slugs = known.group(named.slug)
    row = known.rows.get(slugs[0])
    if row is not None and row.lifecycle == "archived":
        return None
    facts = entities.fact_ids(store, slugs, **key, limit=_MOST_FACTS)
    neighbours = _neighbours(store, known, slugs, key)
    if not facts and not neighbours and (row is None or not row.aliases):
        return None
    names = {" ".join(named.words), *((row.title, *aliases_of(row)) if row else ())}
    expression = " OR ".join(filter(None, map(phrase, sorted(names))))
    if index.frequency(store, expression, cap=ROW_BUDGET + 1) > ROW_BUDGET:
        return None
    texts, titled = (index.matching_rows(store, one) for one in (expression, f"title : ({expression})"))
    rows: dict[int, float] = {}
    for other in neighbours[:_MOST_NEIGHBOURS]:
        connected = entities.fact_ids(store, known.group(other), **key, limit=_MOST_CONNECTED_FACTS)
        rows |= dict.fromkeys(connected, _CONNECTED)
    rows |= dict.fromkeys(texts, 1.0) | dict.fromkeys(facts, _ABOUT)
    if not rows:
        return None
    text = " ".join(term.text for term in naming)
    weight = max(idf(len(rows), size), *(term.idf for term in naming if term.rows), 0.0)
    return Term(
        text, "", weight, len(rows), mentions=rows, titled=dict.fromkeys(titled, 1.0), looked_up=True, names_entity=True
    )


def _neighbours(store: Store, known: Known, slugs: Sequence[str], key: dict[str, str]) -> list[str]:
    """Return the entities that edges connect with these, by name."""
    ends = [end for edge in entities.edges(store, slugs, **key) for end in (edge[0], edge[2])]
    return sorted({known.canonical(end.removeprefix("entity:")) for end in ends} - {slugs[0]})
