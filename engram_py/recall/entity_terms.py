"""Entities that a question names: the facts about them are found by any of their names, those of neighbours after."""

from __future__ import annotations

from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.entities import table as entities
from engram_py.entities.names import Known, aliases_of, slugs_of
from engram_py.entities.values import TOPIC
from engram_py.recall import index
from engram_py.recall.query import phrase
from engram_py.recall.score import Term, idf
from engram_py.recall.terms import ROW_BUDGET
from engram_py.text.words import segments

# A fact about the entity counts as so many mentions of its name, a fact about a connected entity as this many.
_ABOUT, _CONNECTED = 1.5, 0.3
_MOST_FACTS, _MOST_CONNECTED_FACTS, _MOST_NEIGHBOURS = 200, 10, 8
_MOST_WORDS, _MOST_ASKED = 4, 40


@dataclass(frozen=True, slots=True)
class _Named:
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


def _named(store: Store, text: str, projects: Sequence[str] | None) -> list[_Named]:
    """Return the entities that a question names, those with the longest names first, each word naming one."""
    words = [word.lower() for word in segments(text)][:_MOST_ASKED]
    runs: dict[str, tuple[str, ...]] = {}
    for size in range(_MOST_WORDS, 0, -1):
        for first in range(len(words) - size + 1):
            run = tuple(words[first : first + size])
            runs.setdefault("-".join(run), run)
    known = entities.named_in(store, list(runs), projects)
    for project, scope, topic, title, aliases, lifecycle in entities.with_aliases(store, projects):
        if lifecycle == "active":
            slugs = {*slugs_of((title, *aliases.split("; "))), topic.removeprefix(TOPIC)}
            known |= {(project, scope, slug) for slug in slugs if slug in runs}
    found: list[_Named] = []
    used: set[str] = set()
    for project, scope, slug in sorted(known, key=lambda one: (-len(runs.get(one[2], ())), one)):
        if used.isdisjoint(runs[slug]):
            found.append(_Named(runs[slug], project, scope, slug))
            used |= set(runs[slug])
    return found


def _term(store: Store, named: _Named, naming: Sequence[Term], *, size: int) -> Term | None:
    """Return the term of an entity; None where its words say as much, or too many rows have them."""
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
    return Term(text, "", weight, len(rows), mentions=rows, titled=dict.fromkeys(titled, 1.0), looked_up=True)


def _neighbours(store: Store, known: Known, slugs: Sequence[str], key: dict[str, str]) -> list[str]:
    """Return the entities that edges connect with these, by name."""
    ends = [end for edge in entities.edges(store, slugs, **key) for end in (edge[0], edge[2])]
    return sorted({known.canonical(end.removeprefix("entity:")) for end in ends} - {slugs[0]})
