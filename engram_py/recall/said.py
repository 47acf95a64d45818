"""Find the words of turns and prompts, word for word."""

from __future__ import annotations

import json
from collections.abc import Sequence

from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.privacy.provenance import OWN
from engram_py.recall.query.parse import Query, match_all, match_any
from engram_py.sessions.values import Said

# Behind the best, what has less than this share of its score has only the words that every text has.
_SHARE = 0.5
_PASSAGE_TOKENS = 48


@dataclass(frozen=True, slots=True)
class Source:
    """A table of texts, and how to read it."""

    name: str
    table: str
    index: str
    columns: str
    at: str
    only_user: str


TURNS = Source(
    "turns", "turns", "turns_fts", "role, agent", "coalesce(said_at, read_at)", "role = 'user' and agent = ''"
)
PROMPTS = Source("prompts", "user_prompts", "prompts_fts", f"'user', iif({OWN}, '', 'not checked')", "created_at", OWN)

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
    warnings: tuple[str, ...] = ()


def find(store: Store, source: Source, query: Query, window: Window, *, limit: int, whole: bool = False) -> list[Said]:
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


def latest(store: Store, source: Source, window: Window, *, limit: int) -> list[Said]:
    """Return the latest texts, newest first."""
    rows = store.tuples(_sql(_LATEST, source), limit=limit, **window.values())
    return [_said((*row, ""), whole=True) for row in rows]


def count(store: Store, source: Source, window: Window) -> int:
    """Return how many texts there are."""
    return int(store.value(_sql("select count(*) from {table} where {seen}", source), **window.values()))


def _sql(template: str, source: Source) -> str:
    parts = {name: getattr(source, name) for name in ("name", "table", "index", "columns", "at", "only_user")}
    return template.format(**parts, seen=_SEEN.format(**parts), tokens=_PASSAGE_TOKENS)


def _said(row: Sequence[str], *, whole: bool) -> Said:
    layer, row_id, session_id, project, role, agent, at, content, passage = row
    text = content if whole else " ".join(passage.split())
    cut = not whole and len(text) < len(" ".join(content.split()))
    return Said(layer, int(row_id), session_id, project, role, agent, at, text, cut)
