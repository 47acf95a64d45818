"""Search one layer of the memory, or all: memories, episodes, turns, prompts, documents, entities; or the memory as it
was known on a day, over a copy in memory.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import datetime
from pathlib import Path
from sqlite3 import Connection
from typing import TYPE_CHECKING, Any

from engram_py.base.database import migrations
from engram_py.base.database.connection import Generation, connect
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import EmptyQueryError, InvalidArgumentError
from engram_py.base.reasons import Told, reason
from engram_py.base.text.words import derived_terms
from engram_py.base.times import to_text
from engram_py.memory.anchors.anchors import Anchors
from engram_py.memory.observations import table
from engram_py.memory.observations.arguments import clamp, end_of
from engram_py.memory.observations.usage import Usage
from engram_py.memory.privacy.provenance import own
from engram_py.memory.projects.projects import Core
from engram_py.memory.relations import table as relations
from engram_py.memory.sessions.values import Said
from engram_py.recall import index
from engram_py.recall.query import Query, cut_filters, match_all, match_any, parse_query
from engram_py.recall.values import DocumentResults, Results
from engram_py.recall.vectors.vectors import Vectors

if TYPE_CHECKING:
    from engram_py.recall.search import Search


# Behind the best, what has less than this share of its score has only the words that every text has.
_SHARE = 0.5
_PASSAGE_TOKENS = 48


@dataclass(frozen=True, slots=True)
class TextTable:
    """A table of texts, and how to read it."""

    name: str
    table: str
    index: str
    columns: str
    at: str
    only_user: str


TURNS = TextTable(
    "turns", "turns", "turns_fts", "role, agent", "coalesce(said_at, read_at)", "role = 'user' and agent = ''"
)
_OWN = own("user_prompts")
PROMPTS = TextTable(
    "prompts", "user_prompts", "prompts_fts", f"'user', iif({_OWN}, '', 'not checked')", "created_at", _OWN
)

_SEEN = """
(:projects is null or project in (select value from json_each(:projects)))
  and (:since is null or {at} >= :since) and (:until is null or {at} < :until)
  and (not :only_user or {only_user})
"""
_FIND = """
select {table}.id, bm25({index}) as rank from {index} join {table} on {table}.id = {index}.rowid
where {index} match :match and {seen}
order by rank, {table}.id desc limit :limit
"""
# The passage of each row is made once it is chosen.
_SHOW = """
select
    '{name}', {table}.id, session_id, project, {columns}, {at}, {table}.content,
    snippet({index}, 0, '', '', '…', {tokens})
from {index} join {table} on {table}.id = {index}.rowid
where {index} match :match and {index}.rowid in (select value from json_each(:ids))
"""
_LATEST = """
select '{name}', id, session_id, project, {columns}, {at}, content from {table}
where {seen} order by id desc limit :limit
"""


@dataclass(frozen=True, slots=True)
class Window:
    """The texts of these projects (None: all), from ``since`` until before ``until``."""

    projects: Sequence[str] | None
    since: str | None = None
    until: str | None = None
    only_user: bool = False

    def values(self) -> dict[str, object]:
        kept = {"projects": self.projects, "since": self.since, "until": self.until}
        return kept | {"only_user": self.only_user}


@dataclass(frozen=True, slots=True)
class SaidResults:
    """The texts that have the words, best first. ``layer`` is ``turns`` or ``prompts``; ``kept`` is how many there are,
    counted where nothing was found."""

    query: str
    layer: str
    results: tuple[Said, ...]
    projects: tuple[str, ...] | None
    kept: int | None = None
    warnings: tuple[Told, ...] = ()


def find(
    store: Store, source: TextTable, query: Query, window: Window, *, limit: int, whole: bool = False
) -> list[Said]:
    """Return the texts with every word, else the best of those with some; each with its passage, or ``whole``."""
    words = query.content_words
    wanted = [match_all(words), match_any(words)] if words else [""] if query.phrases else []
    for expression in dict.fromkeys(wanted):
        match = query.restricted(expression) if expression else " AND ".join(query.phrases)
        rows = store.tuples(_sql(_FIND, source), match=match, limit=limit, **window.values())
        if rows:
            ids = [row[0] for row in rows if row[1] <= _SHARE * rows[0][1]]  # the rank of the best is the lowest
            shown = store.tuples(_sql(_SHOW, source), match=match, ids=json.dumps(ids))
            found = {row[1]: _said(row, whole=whole) for row in shown}
            return [found[one] for one in ids]
    return []


def latest(store: Store, source: TextTable, window: Window, *, limit: int) -> list[Said]:
    """Return the latest texts, newest first."""
    rows = store.tuples(_sql(_LATEST, source), limit=limit, **window.values())
    return [_said((*row, ""), whole=True) for row in rows]


def count(store: Store, source: TextTable, window: Window) -> int:
    """Return how many texts there are."""
    return int(store.value(_sql("select count(*) from {table} where {seen}", source), **window.values()))


def _sql(template: str, source: TextTable) -> str:
    parts = {name: getattr(source, name) for name in ("name", "table", "index", "columns", "at", "only_user")}
    return template.format(**parts, seen=_SEEN.format(**parts), tokens=_PASSAGE_TOKENS)


def _said(row: Sequence[str], *, whole: bool) -> Said:
    layer, row_id, session_id, project, role, agent, at, content, passage = row
    text = content if whole else " ".join(passage.split())
    cut = not whole and len(text) < len(" ".join(content.split()))
    return Said(layer, int(row_id), session_id, project, role, agent, at, text, cut)


MOST = 20
ALL = "all"
EPISODE, ENTITY = "session_summary", "entity"
_LIMIT = 10
_DATES = ("since:", "until:")


@dataclass(frozen=True, slots=True)
class Layered:
    """The results of each layer, by its name."""

    query: str
    layers: dict[str, Results | SaidResults | DocumentResults]
    warnings: tuple[Told, ...] = ()


LayerResults = Results | SaidResults | DocumentResults


class Layers:
    """Searches the layers: memories by ``app.search``, documents by the function that ``documents`` gives."""

    def __init__(
        self,
        store: Store,
        searches: Callable[[], Search],
        memories: Callable[..., Results],
        documents: Callable[[], Callable[..., DocumentResults]],
    ) -> None:
        self._documents = documents
        self._store = store
        self._searches = searches
        self._memories = memories

    def search(self, query: str, layer: str | None = None, **wanted: Any) -> LayerResults | Layered:
        """Return what a layer has about ``query``, best first. ``wanted`` are the arguments of ``app.search``.

        Arguments that do not apply to a layer are left out, with a note. Raises InvalidArgumentError: there is no such
        layer; and what ``app.search`` raises. A ``collection`` is searched alone, whichever the layer.
        """
        name = layer_named(layer)
        filters, rest, notes = cut_filters(query)
        if wanted.get("collection") or filters.collections:
            names = wanted.pop("collection", None) or ",".join(filters.collections)
            found = self._layer("documents", rest, wanted | {"collection": names})
            return replace(found, warnings=(*found.warnings, *notes))
        wanted.pop("collection", None)
        if name != ALL:
            return self._layer(name, query, wanted)
        return Layered(query[:200], {one: self._layer(one, query, wanted) for one in LAYERS})

    def _layer(self, name: str, query: str, wanted: dict[str, Any]) -> LayerResults:
        if name == "documents":
            asked = {name: wanted.get(name) for name in ("project", "session_id", "collection")}
            limit, everywhere = wanted.get("limit") or _LIMIT, bool(wanted.get("all_projects"))
            return self._documents()(query, limit=limit, all_projects=everywhere, **asked)
        if name in _SOURCES:
            return self._said(_SOURCES[name], query, wanted)
        return self._memories(query, **wanted | _TYPES.get(name, {}))

    def _said(self, source: TextTable, query: str, wanted: dict[str, Any]) -> SaidResults:
        parsed = parse_query(query, filters=True)
        if not (parsed.words or parsed.phrases):
            raise EmptyQueryError(query)
        limit, clamped = clamp("limit", wanted.get("limit") or _LIMIT, 1, MOST)
        scope, scope_notes = self._searches().resolve_scope(
            parsed, wanted.get("project"), bool(wanted.get("all_projects")), session_id=wanted.get("session_id")
        )
        since, until = (None if scope.values[name] is None else str(scope.values[name]) for name in ("since", "until"))
        window = Window(scope.projects, since, until)
        names = ("type", "scope", "explain", "as_of")
        idle = [name for name in names if wanted.get(name)] + [one for one in scope.said if not one.startswith(_DATES)]
        notes = (reason("idle_arguments", arguments=tuple(idle), layer=source.name),) if idle else ()
        found = find(self._store, source, parsed, window, limit=limit)
        kept = None if found else count(self._store, source, Window(scope.projects))
        warnings = (*clamped, *notes, *scope.notes, *scope_notes)
        return SaidResults(parsed.text[:200], source.name, tuple(found), scope.projects, kept, warnings)


LAYERS = ("memories", "episodes", "turns", "prompts", "documents", "entities")
_TYPES = {"episodes": {"type": EPISODE}, "entities": {"type": ENTITY}}
_SOURCES = {"turns": TURNS, "prompts": PROMPTS}
# The names Osaurus has for them.
ALIASES = {"pinned": "memories", "transcript": "turns"}


def layer_named(layer: str | None) -> str:
    """Return the layer a name means; memories where none is given. Raises InvalidArgumentError."""
    given = (layer or "").strip().lower()
    name = ALIASES.get(given, given) or "memories"
    if name != ALL and name not in LAYERS:
        raise InvalidArgumentError("in", layer, expected=f"one of {', '.join([*LAYERS, ALL])}")
    return name


# Of a larger memory only the newest that have a word of the query now, or had another text then: one of 20,000 rows
# takes two seconds to put together.
_MOST_COPIED = 20_000


class _Nowhere(Generation):
    """A file that nobody can replace."""

    moved = False

    def closed(self, *, again: bool = False) -> None:
        """Do nothing: there is no file."""


class _Copy(Store):
    """A store in memory."""

    def _connect(self) -> Connection:
        self._generation = _Nowhere(self.path)
        connection = connect(self.path)
        migrations.migrate(connection, self.path)
        connection.execute("pragma foreign_keys = off")  # sessions are not needed
        return connection


def search_as_of(core: Core, anchors: Anchors, as_of: str, query: str, **wanted: Any) -> Results:
    """Search the rows that were there at the end of that day, in the text and with the verdicts they had then.

    Rows that were deleted since stay hidden. Raises InvalidArgumentError for what is no date, and what a search raises.
    """
    today = core.journal.moment()
    moment = datetime.fromisoformat(end_of("as_of", as_of, core.journal.calendar, never=False) or "")
    with closing(_Copy(Path(":memory:"))) as store:
        clock = Journal(store, lambda: min(moment, today), core.journal.zone)
        with store.transaction():
            _fill(core.store, store, to_text(moment), query)
        from engram_py.recall.search import Search

        then = Search(
            replace(core, store=store, journal=clock),
            anchors=anchors,
            usage=Usage(store, clock),
            vectors=Vectors(store, clock.moment),
        )
        return then.search(query, **wanted)


def _fill(now: Store, then: Store, at: str, query: str) -> None:
    ids = table.known_at(now, at, limit=_MOST_COPIED)
    if len(ids) == _MOST_COPIED:
        words = parse_query(query, filters=True).words
        matching = index.newest(now, match_any(words), limit=_MOST_COPIED) if words else ids
        ids = [*{*matching, *table.rewritten_since(now, at, limit=_MOST_COPIED)}]
    texts = table.texts_at(now, ids, at)
    for row in table.whole(now, ids, at):
        values = dict(row) | {"lifecycle": "archived" if row["lifecycle"] == "archived" else "active"}
        if row["id"] in texts:
            values |= texts[row["id"]]
            text = (values["title"], row["topic_key"] or "", row["aliases"], values["content"])
            values |= {"terms": derived_terms(*text)}
        values["updated_at"] = min(values["updated_at"], at)
        then.insert("observations", values)
    for row in table.verdicts_at(now, at):
        gone = row["superseded_at"] and row["superseded_at"] >= at
        then.insert("memory_relations", dict(row) | ({"superseded_at": None} if gone else {}))
    relations.settle_all(then)
