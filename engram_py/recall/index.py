"""SQL of the full-text search over observations, and the rows in which a term stands, with counts."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import partial
from typing import Any, cast

from engram_py.base.database.errors import IndexDamagedError
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass
from engram_py.memory.observations.table import COLUMNS, SHARED, VISIBLE, read
from engram_py.memory.observations.values import Observation
from engram_py.memory.observations.visible import live_ids
from engram_py.memory.privacy.provenance import GIVEN

# The weight of a mention in each column of the index, in their order; in a title it depends on the length of the title
# (``score.bm25``).
COLUMN_WEIGHTS = {"title": 1.0, "topic_key": 2.0, "aliases": 2.0, "content": 1.0, "terms": 0.5}

# Nearly all mentions are in texts, which count one each: those are counted as rows alone.
_TEXT, _TITLE = "content", "title"
_OTHERS = tuple(column for column in COLUMN_WEIGHTS if column not in (_TEXT, _TITLE))
_BITS = 3
_NUMBERS = " ".join(f"when '{column}' then {number}" for number, column in enumerate(_OTHERS))
# Three values, each mention a number: a row each costs three times as much.
MENTIONS = f"""
select
    json_group_array(doc) filter (where col = '{_TEXT}') as texts,
    json_group_array(doc) filter (where col = '{_TITLE}') as titles,
    json_group_array((doc << {_BITS}) + case col {_NUMBERS} end)
        filter (where col not in ('{_TEXT}', '{_TITLE}')) as others
from (select doc, col from observations_mentions where term = :term limit :most)
"""

ROWS = """
select json_group_array(rowid) from observations_fts
where observations_fts match :match and rowid between :first and :last
"""

LENGTHS = """
select id, sz from observations_fts_docsize where id in (select value from json_each(:ids))
"""

# The record of the index's totals: how many rows, and how many tokens each column has (sqlite/ext/fts5/fts5_index.c).
TOTALS = "select block from observations_fts_data where id = 1"


@dataclass(frozen=True, slots=True)
class Span:
    """The rows from one id to another, both included."""

    first: int
    last: int

    @classmethod
    def around(cls, rows: Collection[int]) -> Span:
        return cls(min(rows, default=0), max(rows, default=0))


EVERYWHERE = Span(0, (1 << 63) - 1)


@dataclass(frozen=True, slots=True)
class Totals:
    """The number of rows of the index, and of words that a row has on average."""

    rows: int
    average: float


@dataclass(frozen=True, slots=True)
class Length:
    """The number of words of a row and of its title; derived terms are not counted."""

    words: int
    title: int


def mentions(store: Store, term: str, *, at_most: int) -> tuple[Mapping[int, float], Mapping[int, float]] | None:
    """Return how often each row mentions a term of the index, by the weight of the columns, and how often its title
    does; None of more than ``at_most`` mentions. A row whose title alone has the term is in both, first with 0."""
    [row] = store.tuples(MENTIONS, term=term, most=at_most + 1)
    texts, titles, others = map(json.loads, row)
    if len(texts) + len(titles) + len(others) > at_most:
        return None
    weights = [COLUMN_WEIGHTS[column] for column in _OTHERS]
    titled = cast("dict[int, float]", Counter(titles))
    found = dict.fromkeys(titled, 0.0) | cast("dict[int, float]", Counter(texts))
    for mention in others:
        doc = mention >> _BITS
        found[doc] = found.get(doc, 0.0) + weights[mention & (1 << _BITS) - 1]
    return found, titled


def matching_rows(store: Store, match: str, *, span: Span = EVERYWHERE) -> list[int]:
    """Return the rows of ``span`` that match an expression, each once."""
    found: list[int] = json.loads(store.value(ROWS, match=match, first=span.first, last=span.last))
    return found


def lengths(store: Store, ids: Collection[int]) -> dict[int, Length]:
    """Return the length of each row."""
    if not ids:
        return {}
    found = {row: _varints(sizes) for row, sizes in store.tuples(LENGTHS, ids=json.dumps(list(ids)))}
    return {row: Length(sum(sizes[:-1]), sizes[0]) for row, sizes in found.items() if sizes}


def totals(store: Store) -> Totals:
    """Return the figures of the whole index that BM25 needs."""
    found = store.value(TOTALS)
    if found is None:
        raise IndexDamagedError(str(store.path), "it does not say how many rows it has")
    rows, *tokens = _varints(found) or [0]
    return Totals(rows, max(1, sum(tokens[:-1])) / max(1, rows))


def _varints(blob: bytes) -> list[int]:
    """Read SQLite's numbers of seven bits a byte, the highest first (sqlite.org/fileformat2.html, 1.6)."""
    if blob.isascii():  # a byte each
        return list(blob)
    numbers = []
    number = 0
    for byte in blob:
        number = number << 7 | byte & 0x7F
        if byte < 0x80:
            numbers.append(number)
            number = 0
    return numbers


_POOL = 20
_PART, _MOST_ROWS = 200, 10_000
_MOST_SEEN = 20_000  # at three microseconds each

# Without scoring: what everything is about is found by its newest mentions. As one value: rows cost twice as much.
NEWEST = """
select json_group_array(rowid) from (
    select rowid from observations_fts
    where observations_fts match :match and rowid between :first and :last
    order by rowid desc
    limit :limit
)
"""

_SEEN_OF = """
select id from observations
where id in ({ids}) and deleted_at is null and {visible}
order by id desc
limit :limit
"""
VISIBLE_OF = _SEEN_OF.format(ids="select value from json_each(:ids)", visible=VISIBLE)
NEWEST_SEEN = _SEEN_OF.format(
    ids=f"""
    select rowid from observations_fts where observations_fts match :match order by rowid desc limit {_MOST_SEEN}
    """,
    visible=VISIBLE,
)

# The filters of a query. Each is left out by binding null.
_PASSES = f"""
  deleted_at is null
  and (:types is null or type in (select value from json_each(:types)))
  and (:scopes is null or scope in (select value from json_each(:scopes)))
  and (:branches is null or git_branch in (select value from json_each(:branches)))
  and (:topics is null or exists (
      select 1 from json_each(:topics)
      where topic_key = value or substr(topic_key, 1, length(value) + 1) = value || '/'
  ))
  and (:files is null or id in (select value from json_each(:files)))
  and (:since is null or updated_at >= :since)
  and (:until is null or updated_at < :until)
  and (:pinned is null or pinned = 1)
  and (:stale is null or review_after <= :stale or expires_at <= :stale or lifecycle = 'archived'
      or id in (select observation_id from anchors))
  and (:superseded is null or lifecycle = 'historical')
  and iif(:archived is null, lifecycle <> 'archived' or :stale is not null, lifecycle = 'archived')
  and {VISIBLE}
"""

# What was replaced is looked up by its words alone: retrieval puts what replaced it in its place.
_CURRENT = "(lifecycle <> 'historical' or :superseded is not null)"

PASSING = f"""
select id from observations where id in (select value from json_each(:ids)) and {_PASSES}
"""

LOADED = f"""
select {COLUMNS} from observations where id in (select value from json_each(:ids)) and {_PASSES}
"""

LATEST = f"""
select id
from observations
where {_PASSES} and {_CURRENT}
  and (:unwanted is null or id not in (select rowid from observations_fts where observations_fts match :unwanted))
order by updated_at desc, id desc
limit :limit offset :offset
"""

# What was deleted and can be brought back, the latest deletion first.
LATEST_DELETED = f"""
select id
from observations
where {_PASSES.replace("deleted_at is null", "deleted_at is not null", 1)}
order by deleted_at desc, id desc
limit :limit offset :offset
"""

# Each is read in the order of an index, and no further than :limit.
_CHANGED = """
select updated_at, id from observations indexed by {index}
where {where} and updated_at >= :since and updated_at < :until and deleted_at is null
order by updated_at desc, id desc
limit :limit
"""
CHANGED_ANYWHERE = _CHANGED.format(index="observations_newest", where="true")
CHANGED_IN_PROJECT = _CHANGED.format(index="observations_recent", where="project = :project")
CHANGED_SHARED = _CHANGED.format(
    index="observations_shared",
    where=f"{SHARED} and project not in (select value from json_each(:projects))",
)

# What was made or written then and changed again since: a revised topic belongs to the days of all its texts.
WRITTEN_THEN = f"""
select max(at), id from (
    select observation_versions.created_at as at, observation_id as row
    from observation_versions indexed by observation_versions_made
    where observation_versions.created_at >= :since and observation_versions.created_at < :until
    union all
    select created_at, id from observations indexed by observations_made
    where created_at >= :since and created_at < :until and created_at <> updated_at and deleted_at is null
)
join observations on id = row
where deleted_at is null
  and {VISIBLE}
group by id
order by 1 desc, id desc
limit :limit
"""

TYPES = "select id, type from observations where id in (select value from json_each(:ids))"

NEIGHBOURS = f"""
select
    id,
    (select max(other.id) from observations as other
     where other.session_id = observations.session_id and other.id < observations.id and other.deleted_at is null),
    (select min(other.id) from observations as other
     where other.session_id = observations.session_id and other.id > observations.id and other.deleted_at is null),
    (select other.id from observations as other
     where other.session_id = observations.session_id and other.id > observations.id and other.deleted_at is null
     order by other.id limit 1 offset 1)
from observations
where id in (select value from json_each(:ids)) and {_PASSES}
"""

# Pins, projects and soft-deleted rows are judged after this: it only bounds what a word costs.
FREQUENCY = "select count(*) from (select 1 from observations_fts where observations_fts match :match limit :cap)"

TOPIC = f"""
select id
from observations
where topic_key = :topic_key and {_PASSES} and {_CURRENT}
order by +updated_at desc, +id desc
limit :limit
"""

LEAD_CHARS = 200  # the beginning of a text tells its subject: 30 words
CANDIDATES = f"""
select id, sync_id, title, type, topic_key, substr(content, 1, {LEAD_CHARS}) as lead
from (select key as place, value as wanted from json_each(:ids)) cross join observations on id = wanted
where project = :project and scope = :scope and id <> :id
  and deleted_at is null and lifecycle = 'active' and {GIVEN}
order by place
"""


def newest(store: Store, match: str, *, limit: int, span: Span = EVERYWHERE) -> list[int]:
    """Return the ids of the newest rows that match, newest first, at a tenth of the cost of scoring them."""
    return list(json.loads(store.value(NEWEST, match=match, limit=limit, first=span.first, last=span.last)))


def newest_seen(store: Store, match: str, *, projects: Sequence[str] | None, limit: int) -> list[int]:
    """Return those that the projects see; of the newest 20,000, where most of the first are of others."""
    found = newest(store, match, limit=limit)
    if projects is None or len(found) < limit:
        return found
    visible = {"projects": projects, "limit": limit}
    own = [row for [row] in store.tuples(VISIBLE_OF, ids=json.dumps(found), **visible)]
    if 2 * len(own) >= limit:
        return own
    return [row for [row] in store.tuples(NEWEST_SEEN, match=match, **visible)]


def passing(store: Store, ids: Sequence[int], filters: Mapping[str, object]) -> set[int]:
    """Return the rows that the filters let through."""
    return {row[0] for row in store.rows(PASSING, ids=json.dumps(list(ids)), **filters)}


def load(store: Store, ids: Sequence[int], filters: Mapping[str, object]) -> dict[int, Observation]:
    """Return the rows that the filters let through, whole, by their ids."""
    rows = read(store, LOADED, ids=json.dumps(list(ids)), **filters)
    return {row.id: row for row in rows}


def changed_between(store: Store, since: str, until: str, *, projects: Sequence[str] | None, limit: int) -> list[int]:
    """Return the ids of the rows the projects see that were made or changed in a span of time, latest first."""
    values = {"since": since, "until": until, "limit": limit}
    found = store.tuples(WRITTEN_THEN, projects=projects, **values)
    if projects is None:
        found += store.tuples(CHANGED_ANYWHERE, **values)
    else:
        found += store.tuples(CHANGED_SHARED, projects=projects, **values)
        for name in projects:
            found += store.tuples(CHANGED_IN_PROJECT, project=name, **values)
    return list(dict.fromkeys(row for _, row in sorted(found, reverse=True)))[:limit]


def types(store: Store, ids: Iterable[int]) -> dict[int, str]:
    """Return the type of each row."""
    return dict(store.tuples(TYPES, ids=json.dumps(list(ids))))


def latest(
    store: Store, filters: Mapping[str, object], *, unwanted: str | None = None, limit: int, offset: int = 0
) -> list[int]:
    """Return the ids that the filters let through and ``unwanted`` does not match, latest change first."""
    return [row[0] for row in store.rows(LATEST, unwanted=unwanted, limit=limit, offset=offset, **filters)]


def latest_deleted(store: Store, filters: Mapping[str, object], *, limit: int, offset: int = 0) -> list[int]:
    """Return the ids of deleted rows that the filters would let through, the latest deletion first."""
    return [row[0] for row in store.rows(LATEST_DELETED, limit=limit, offset=offset, **filters)]


def count_latest(store: Store, filters: Mapping[str, object], *, deleted: bool = False) -> int:
    """Return how many rows ``latest``, or ``latest_deleted``, has in all."""
    sql = f"select count(*) from ({LATEST_DELETED if deleted else LATEST})"
    return int(store.value(sql, unwanted=None, limit=-1, offset=0, **filters))


def neighbours(store: Store, ids: Sequence[int], filters: Mapping[str, object]) -> list[tuple[Any, ...]]:
    """Return the ids of each row that the filters let through, of the one before it in its session and two after."""
    return store.tuples(NEIGHBOURS, ids=json.dumps(list(ids)), **filters)


def frequency(store: Store, match: str, *, cap: int) -> int:
    """Return how many rows match, counted no further than ``cap``."""
    return int(store.value(FREQUENCY, match=match, cap=cap))


def by_topic(store: Store, topic_key: str, filters: Mapping[str, object], *, limit: int) -> list[int]:
    return [row[0] for row in store.rows(TOPIC, topic_key=topic_key, limit=limit, **filters)]


def with_title(store: Store, *, title: str, match: str, project: str, scope: str) -> list[Row]:
    """Return the newest observations of exactly this title, as ``title_matches`` does; ``match`` are its words."""
    rows = title_matches(store, match=match, project=project, scope=scope, without=0, limit=_POOL)
    return [row for row in rows if row["title"] == title]


def title_matches(store: Store, *, match: str, project: str, scope: str, without: int, limit: int) -> list[Row]:
    """Return id, sync id, title, type, topic key and the beginning of the newest observations that match.

    Of a title that thousands have, the newest of all projects are looked at: 10,000, in a project of so many rows 400.
    """
    look = partial(titled, store, project=project, scope=scope, without=without, limit=limit)
    matching = newest(store, match, limit=2 * _PART)
    found = look(matching)
    if len(found) >= limit or len(matching) < 2 * _PART:
        return found
    few = live_ids(store, [project], cap=_MOST_ROWS)
    if few is not None:
        found += look([row for row in newest(store, match, limit=_MOST_ROWS)[2 * _PART :] if row in few][:_PART])
    return found[:limit]


def titled(store: Store, ids: Sequence[int], *, project: str, scope: str, without: int, limit: int) -> list[Row]:
    """Return the same of those of the rows, in their order, that are of the project and the scope."""
    found: list[Row] = []
    for start in range(0, len(ids), 4 * limit):
        part = json.dumps(ids[start : start + 4 * limit])
        found += store.rows(CANDIDATES, ids=part, project=project, scope=scope, id=without)
        if len(found) >= limit:
            break
    return found[:limit]
