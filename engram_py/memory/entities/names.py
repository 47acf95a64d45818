"""The names of entities: find those in a text, tell which entity each means (by its slug, an alias, or what it was
merged into), and count which are mentioned.

Nothing here knows words of a language but its stop words: that a word is a name shows in how the memory writes it.
Mentions are counted in what was saved and said since the last pass, on this machine alone.
"""

from __future__ import annotations

import re
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cached_property, partial
from typing import Any

from engram_py.base.database.mutation_queue import get_meta, set_meta
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.files import lines_of
from engram_py.base.lazy import regex
from engram_py.base.text.normalize import dashed, folded
from engram_py.base.text.words import ENGLISH, read_words
from engram_py.memory.entities import table
from engram_py.memory.entities.values import ENOUGH_MENTIONS, SLUG_CHARS, TOPIC, Counted
from engram_py.memory.observations import table as observations
from engram_py.memory.observations.values import Observation
from engram_py.memory.relations import table as relations

# Kinds of things; who calls something theirs by another word ("my colleague Dana Reyes") means a person.
KINDS = ("person", "company", "team", "project", "service", "module", "library", "repository")
MOST_CHARS, LEAST_CHARS, MOST_WORDS = 60, 3, 4
# A text longer than this is a log or a file; its beginning says what it is about.
READ_CHARS = 20_000

_WORD = regex(r"[^\W_](?:[\w’'-]*[^\W_])?")
_SPAN = regex(r"`([^`\n]{2,60})`")
_IDENTIFIER = regex(r"[^\W\d_][\w-]*(?:\.[\w-]+)*")
_BEGINS = regex(r"[.!?:;\n#*>|]")
_INNER_CAPITAL = regex(r"[^\W\d_]*[a-z0-9][A-Z]")


def _forms(verb: str) -> set[str]:
    """Return the forms of a regular English verb, with a doubled last letter as well."""
    past = f"{verb[:-1]}ied" if verb[-1] == "y" and verb[-2] not in "aeiou" else f"{verb.removesuffix('e')}ed"
    third = f"{past[:-1]}s" if past.endswith("ied") or verb.endswith(("s", "x", "ch", "sh")) else f"{verb}s"
    stem = verb.removesuffix("e")
    return {verb, past, third, f"{stem}ing", f"{stem}{stem[-1]}ed", f"{stem}{stem[-1]}ing"}


# What notes and commits begin with: "Fixed Falcon" is about Falcon. A sentence's first word is no name where it is one.
_VERBS = frozenset(form for verb in read_words("sentence_verbs") for form in _forms(verb))


@dataclass(frozen=True, slots=True)
class Name:
    """A name as it is written. ``strong``: not only at the beginning of a sentence. ``claimed``: somebody's own."""

    text: str
    strong: bool
    kind: str | None = None
    claimed: bool = False


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    begins: bool  # a sentence, a line, a point of a list
    joined: bool  # to the one before, by a blank alone

    @property
    def is_name(self) -> bool:
        letters = self.text[0].isupper() and any(map(str.islower, self.text))
        word = self.text.lower()
        return letters and len(word) >= LEAST_CHARS and word not in ENGLISH and not (self.begins and word in _VERBS)


def words_of(text: str) -> list[str]:
    """Return the words of a text in small letters, as they are compared with names."""
    return [word.lower() for word in re.findall(r"[^\W_]+", text[:READ_CHARS])]


def runs(words: list[str]) -> Iterator[str]:
    """Yield every run of up to four words, as a slug."""
    for first in range(len(words)):
        for many in range(1, min(MOST_WORDS, len(words) - first) + 1):
            yield "-".join(words[first : first + many])


def names_in(text: str) -> list[Name]:
    """Return the names in a text, each as often as it stands there."""
    text = text[:READ_CHARS]
    names = [Name(span, True) for span in _SPAN.findall(text) if _is_identifier(span)]
    for line in lines_of(_SPAN.sub(" ` ", text)):
        names += _in_line(list(_tokens(line)))
    return [name for name in names if LEAST_CHARS <= len(name.text) <= MOST_CHARS]


def _is_identifier(span: str) -> bool:
    return len(span) >= LEAST_CHARS and _IDENTIFIER.fullmatch(span) is not None and span.lower() not in ENGLISH


def _tokens(line: str) -> Iterator[_Token]:
    end = 0
    for match in _WORD.finditer(line):
        between = line[end : match.start()]
        begins = end == 0 or _BEGINS.search(between) is not None
        word = re.sub(r"[’']s$", "", match[0])
        yield _Token(word, begins, between == " ")
        # What belongs to somebody begins another name: "Dana's Falcon".
        end = match.end()


def _in_line(tokens: list[_Token]) -> Iterator[Name]:
    long = [token for token in tokens if len(token.text) > LEAST_CHARS]
    titled = len(long) >= MOST_WORDS and 2 * sum(token.is_name for token in long) > len(long)
    place = 0
    while place < len(tokens):
        run = _tokens_of_name(tokens, place)
        if not run:
            place += 1
            continue
        theirs = _owner(tokens, place)
        name = " ".join(token.text for token in run[:MOST_WORDS])
        inner = _INNER_CAPITAL.match(name) is not None
        kind = None
        if theirs:
            kind = theirs if theirs in KINDS else "person" if len(run) > 1 else None
        yield Name(name, bool(theirs) or inner or not (run[0].begins or titled), kind, bool(theirs))
        place += len(run)


def _tokens_of_name(tokens: list[_Token], first: int) -> list[_Token]:
    run: list[_Token] = []
    for token in tokens[first:]:
        if not token.is_name or (run and not token.joined):
            break
        run.append(token)
    return run


def _owner(tokens: list[_Token], place: int) -> str:
    """Return the word behind "my" that a name stands after: ``colleague`` of "my colleague Dana Reyes"."""
    before = [token.text for token in tokens[max(0, place - 3) : place]]
    for many in (2, 3):
        words = before[-many:]
        if len(words) == many and words[0].lower() == "my" and all(map(str.islower, words[1:])):
            return words[-1]
    return ""


@dataclass(frozen=True)
class Known:
    """The own rows of the entities of one project and scope, by slug."""

    rows: dict[str, Observation]
    merged: dict[str, str]

    @classmethod
    def of(cls, store: Store, *slugs: str, project: str, scope: str) -> Known:
        """Return the rows of all entities; given ``slugs``, only those that tell which entities these are."""
        key = {"project": project, "scope": scope}
        if slugs:
            asked = set(map(folded, slugs))
            foreign = table.foreign_named(store, [project])
            slugs = (*slugs, *asked, *(slug for _, where, slug in foreign if where == scope and folded(slug) in asked))
        listed = table.rows_about(store, slugs, **key) if slugs else table.own_rows(store, **key)
        rows = {slug_in(row): row for row in listed}
        past = [row.sync_id for row in rows.values() if row.lifecycle == "historical"]
        by = relations.replacements(store, past) if past else {}
        kept = observations.by_ids(store, list(by.values())) if by else {}
        merged = {slug: slug_in(kept[by[row.sync_id]]) for slug, row in rows.items() if row.sync_id in by}
        rows |= {slug_in(row): row for row in kept.values() if is_own(row)}
        return cls(rows, {slug: to for slug, to in merged.items() if to in rows and to != slug})

    @cached_property
    def called(self) -> dict[str, str]:
        """The slug of each alias; an alias of two entities means neither."""
        by_name: dict[str, str] = {}
        for slug, row in self.rows.items():
            if slug not in self.merged:
                for name in slugs_of((row.title, *aliases_of(row))):
                    by_name[name] = slug if by_name.get(name, slug) == slug else ""
        return {name: slug for name, slug in by_name.items() if slug}

    def canonical(self, slug: str) -> str:
        """Return the slug that a name goes by now."""
        slug = self.merged.get(slug, slug)
        if slug in self.rows:
            return slug
        return self.called.get(slug) or self._written_otherwise.get(folded(slug), slug)

    @cached_property
    def _written_otherwise(self) -> dict[str, str]:
        """The slug of each name in folded letters, of two entities the first."""
        names = [*((slug, slug) for slug in self.rows if slug not in self.merged), *self.called.items()]
        return {folded(name): slug for name, slug in reversed(names)}

    def group(self, slug: str) -> tuple[str, ...]:
        """Return the slug, and those that mean it as well: of aliases, and of entities that were merged into it."""
        slug = self.canonical(slug)
        others = [other for other, to in (*self.merged.items(), *self.called.items()) if to == slug]
        return tuple(dict.fromkeys((slug, *others)))


def is_own(row: Observation) -> bool:
    return (row.topic_key or "").startswith(TOPIC)


def slug_in(row: Observation) -> str:
    return (row.topic_key or "").removeprefix(TOPIC)


def aliases_of(row: Observation) -> tuple[str, ...]:
    return tuple(filter(None, row.aliases.split("; ")))


def slugs_of(names: Iterable[str]) -> list[str]:
    """Return the slugs of names, without those that have neither letter nor digit."""
    return list(filter(None, map(dashed, names)))


def canonical(store: Store, slug: str, *, project: str, scope: str) -> str:
    """Return the slug of the entity that ``slug`` means in a project."""
    if not table.has_entities(store):
        return slug
    return Known.of(store, slug, project=project, scope=scope).canonical(slug)


def names_of(store: Store, slug: str, *, project: str, scope: str) -> tuple[str, ...]:
    """Return every slug by which facts about the same entity were kept."""
    if not table.has_entities(store):
        return (slug,)
    return Known.of(store, slug, project=project, scope=scope).group(slug)


_BATCH = 50
# So many mentions of a name are kept: more of them tell nothing.
MOST_MENTIONS = 100
_CURSOR = "entities.{}"


def is_promoted(name: Mapping[str, Any]) -> bool:
    """Return whether a mentioned name is an entity: somebody's own, or written as a name three times and more often
    than as a common word."""
    often = int(name["mentions"])
    return bool(name["claimed"]) or (often >= ENOUGH_MENTIONS and bool(name["strong"]) and often > int(name["plain"]))


@dataclass
class _Lexicon:
    """The names of one project, as a pass knows them."""

    names: dict[str, dict[str, Any]]
    entities: dict[str, str]  # slug of any name → slug of the entity
    parts: dict[str, str]  # a first or last word of an entity's name → its slug, where it is the only one
    promoted: int = 0
    dirty: set[str] = field(default_factory=set)
    canonical: frozenset[str] = frozenset()  # the slugs of entities

    def meant(self, slug: str) -> str:
        slug = self.entities.get(slug, slug)
        return slug if slug in self.names else self.parts.get(slug, slug)


def count_mentions(
    store: Store, *, authors: Callable[[], Mapping[str, list[str]]], until: float | None = None, rebuild: bool = False
) -> Counted:
    """Read the new texts, a batch in a transaction, until ``until`` (``time.monotonic``)."""
    projects: dict[str, _Lexicon] = {}
    if rebuild:
        _restart(store)
    with store.transaction():
        for project, people in authors().items():
            _learn_authors(_lexicon_of(store, projects, project), people)
            _write(store, project, projects[project], [])
    rows = mentions = 0
    for source in table.SOURCES:
        while until is None or time.monotonic() < until:
            store.give_way()
            with store.transaction():
                read, added = _batch(store, source, projects)
            rows, mentions = rows + read, mentions + added
            if read < _BATCH:
                break
        else:
            return Counted(rows, mentions, _promoted(store, projects), done=False)
    with store.transaction():
        for project in projects:
            table.forget(store, project)
    return Counted(rows, mentions, _promoted(store, projects), done=True)


def promoted_names(store: Store, project: str) -> dict[str, tuple[str, str | None]]:
    """Return by slug the name and the kind of what is an entity of a project because it is mentioned."""
    own = Known.of(store, project=project, scope="project")
    names = {slug: values for slug, values in table.names(store, project).items() if is_promoted(values)}
    return {slug: (one["name"], one["kind"]) for slug, one in names.items() if own.canonical(slug) == slug}


def forget_mentions(store: Store, observation_id: int) -> None:
    """Drop what an observation mentions: it left its project. Call inside a transaction."""
    store.execute("delete from entity_mentions where observation_id = :id", id=observation_id)


def _restart(store: Store) -> None:
    with store.transaction():
        store.execute("delete from entity_mentions")
        store.execute("delete from entity_names")
        for source in table.SOURCES:
            set_meta(store, _CURSOR.format(source), "0")


def _promoted(store: Store, projects: Mapping[str, _Lexicon]) -> int:
    """Return the number of names that became entities in this pass."""
    now = {name: sum(map(is_promoted, table.names(store, name).values())) for name in projects}
    return max(0, sum(now[name] - lexicon.promoted for name, lexicon in projects.items()))


def _lexicon_of(store: Store, projects: dict[str, _Lexicon], project: str) -> _Lexicon:
    if project not in projects:
        own = Known.of(store, project=project, scope="project")
        facts = table.facts(store, project=project, scope="project")
        entities = own.called | own.merged | {slug: own.canonical(slug) for slug in (*own.rows, *facts)}
        names = {slug: dict(values) for slug, values in table.names(store, project).items()}
        promoted = [slug for slug, values in names.items() if is_promoted(values)]
        parts = defaultdict(set)
        for slug in {*entities.values(), *promoted}:
            words = slug.split("-")
            for word in {words[0], words[-1]} if len(words) > 1 else ():
                parts[word].add(slug)
        only = {word: next(iter(slugs)) for word, slugs in parts.items() if len(slugs) == 1 and word not in entities}
        projects[project] = _Lexicon(names, entities, only, len(promoted), canonical=frozenset(entities.values()))
    return projects[project]


def _learn_authors(lexicon: _Lexicon, people: list[str]) -> None:
    """Learn the names of authors of commits; they count once something mentions them."""
    for name in people:
        for slug in slugs_of([name])[:1]:
            if slug not in lexicon.names and len(slug) <= SLUG_CHARS:
                lexicon.names[slug] = _new(name, "person")
                lexicon.dirty.add(slug)


def _new(name: str, kind: str | None) -> dict[str, Any]:
    return {"name": name, "kind": kind, "claimed": 0, "plain": 0, "mentions": 0, "seen_at": ""}


def _batch(store: Store, source: str, projects: dict[str, _Lexicon]) -> tuple[int, int]:
    cursor = _CURSOR.format(source)
    after = int(get_meta(store, cursor) or 0)
    rows = store.rows(table.SOURCES[source], after=after, limit=_BATCH)
    added: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        lexicon = _lexicon_of(store, projects, row["project"])
        added[row["project"]] += _mentions(lexicon, row, source)
    for project, mentions in added.items():
        _write(store, project, projects[project], mentions)
    if rows:
        set_meta(store, cursor, str(rows[-1]["id"]))
    return len(rows), sum(map(len, added.values()))


def _mentions(lexicon: _Lexicon, row: Row, source: str) -> list[dict[str, Any]]:
    saved = source == "observations"
    unit = f"observation:{row['id']}" if saved else f"session:{row['session_id']}"
    there = {
        "unit": unit,
        "observation_id": row["id"] if saved else None,
        "session_id": None if saved else row["session_id"],
    }
    trusted = source != "turns" or row["role"] == "user"
    mentioned: dict[str, bool] = {}
    for name in names_in(row["text"]):
        for slug in slugs_of([name.text])[:1]:
            meant = lexicon.meant(slug)
            if len(meant) <= SLUG_CHARS:
                mentioned[meant] = mentioned.get(meant, False) or name.strong
                _learn(lexicon, meant, name, row["at"], claimed=name.claimed and trusted)
    words = words_of(f"{row['text']} {row['paths'] or '' if saved else ''}")
    for slug in set(runs(words)) - mentioned.keys():
        meant = lexicon.meant(slug)
        if meant in mentioned:
            continue
        if meant in lexicon.canonical or "-" in slug:
            if meant in lexicon.names or meant in lexicon.canonical:
                mentioned[meant] = False
                _learn(lexicon, meant, None, row["at"])
        elif slug in lexicon.names and slug not in lexicon.parts:  # written as a common word
            lexicon.names[slug]["plain"] += 1
            lexicon.dirty.add(slug)
    return [{"slug": slug, "strong": int(strong), **there} for slug, strong in mentioned.items()]


def _learn(lexicon: _Lexicon, slug: str, name: Name | None, at: str, *, claimed: bool = False) -> None:
    values = lexicon.names.get(slug)
    if values is None:
        spelt = slug.replace("-", " ")
        text = spelt if name is None else name.text if dashed(name.text) == slug else spelt.title()
        values = lexicon.names[slug] = _new(text, name.kind if name is not None and claimed else None)
        lexicon.dirty.add(slug)
    if claimed and name is not None:
        values["claimed"] = 1
        values["kind"] = values["kind"] or name.kind
        lexicon.dirty.add(slug)
    if at > values["seen_at"]:
        values["seen_at"] = at
        lexicon.dirty.add(slug)


def _write(store: Store, project: str, lexicon: _Lexicon, mentions: list[dict[str, Any]]) -> None:
    for slug in lexicon.dirty:
        counted = lexicon.names[slug]
        values = {name: counted[name] for name in ("name", "kind", "claimed", "plain", "seen_at")}
        store.insert("entity_names", {"project": project, "slug": slug, **values}, replace=True)
    lexicon.dirty.clear()
    insert = partial(store.execute, INSERT)
    for mention in mentions:
        name = lexicon.names[mention["slug"]]
        if name["mentions"] < MOST_MENTIONS:
            name["mentions"] += insert(project=project, **mention).rowcount


INSERT = """
insert into entity_mentions (project, slug, unit, observation_id, session_id, strong)
values (:project, :slug, :unit, :observation_id, :session_id, :strong)
on conflict (project, slug, unit) do update set strong = 1 where excluded.strong > strong
"""


_WHEN = regex(
    r"(?i)(?:(?:today|yesterday|now|then|so|also|meanwhile|finally|recently|(?:on|last|this|in) \w+|the|our)[,:]?\s+)*"
)
# What follows a name that a sentence is about: a word, but none that only joins.
_TELLS = regex(r"\s(?!(?:and|or|of|with|from|to|in|on|at|for|by)\b)[a-z]")
_MOST_BESIDE = 3


class Naming:
    """Tells of which known entity a sentence speaks: its own name, an alias, or the part that no other name has."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._projects: dict[str, _Lexicon] = {}

    def about(self, sentence: str, project: str) -> tuple[str, tuple[str, ...]] | None:
        """Return the slug that a sentence begins with, and the other names in it; None where it begins otherwise."""
        lexicon = _lexicon_of(self._store, self._projects, project)
        known = lexicon.canonical | {slug for slug, name in lexicon.names.items() if is_promoted(name)}
        start = match.end() if (match := _WHEN.match(sentence)) else 0
        words = list(_WORD.finditer(sentence, start))[:MOST_WORDS]
        for many in range(len(words), 0, -1):
            end = words[many - 1].end()
            slug = lexicon.meant("-".join(words_of(sentence[start:end])))
            if slug in known and words[0].start() == start and _TELLS.match(sentence, end):
                named = [dashed(name.text) for name in names_in(sentence[end:]) if name.strong]
                named += [run for run in runs(words_of(sentence[end:])) if lexicon.meant(run) in known]
                others = dict.fromkeys(filter(None, map(lexicon.meant, named)))
                return slug, tuple(other for other in others if other != slug)[:_MOST_BESIDE]
        return None
