"""Older observations of the same subject that a new one may contradict or revise, or that hold its topic."""

from __future__ import annotations

import math
import sqlite3
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache, lru_cache
from itertools import accumulate

from engram_py.base.database.driver import of_any_driver
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import InvalidArgumentError, StoreError
from engram_py.base.lazy import logger_of, regex
from engram_py.base.text.words import STOP_WORDS, holds_unspaced, is_unspaced, pairs
from engram_py.memory.anchors.table import of_observations
from engram_py.memory.observations import browse, table
from engram_py.memory.observations.arguments import MAX_ID, clamp
from engram_py.memory.observations.listing import Suggestion
from engram_py.memory.observations.topics import FAILURE, FAMILY_OF_TYPE, near_topic, suggest_topic_key
from engram_py.memory.observations.values import Candidate, Observation
from engram_py.memory.projects.projects import Projects
from engram_py.memory.relations import table as relations
from engram_py.memory.relations.relations import moment_of
from engram_py.memory.relations.values import Scanned, pair_id
from engram_py.recall import index, terms
from engram_py.recall.index import LEAD_CHARS
from engram_py.recall.query import match_all, parse_query, quote
from engram_py.recall.score import BACKGROUND, ordinary
from engram_py.recall.vectors.vectors import Vectors

logger = logger_of(__name__)

_SILENT_TYPES = frozenset({"session_summary", "passive", "entity"})
_REPORTS = frozenset({"bug", "discovery", "learning"})  # families of types that tell what happened, not what holds
# Rows that the words of a save may add up to, how far those of one are counted, how many words are counted, and how
# many rows are compared. A save must stay fast in a large memory, and words that are more common tell no subject.
_ROW_BUDGET, _COUNTED_TO, _MOST_COUNTED, _LOOKED_AT = 400, 200, 12, 10
_RAREST = 1_200  # texts; a word that one of so many has weighs 1
# Fitted by logistic regression to half of the pairs of ``bench/contradictions.json`` and to the memories of
# ``bench/prompts``, then divided by the weight of an untold word.
COSINE, REPORT, MEANING, ENOUGH = 12.0, 2.0, 0.8, 1.0
FEW = 20  # texts among which it is not known how near is usual
_BY_MEANING = "near in meaning"
_SERIES = 2
# `+` and `#` belong to names such as C++ and C#.
_WORD = regex(r"[^\W_]+[+#]*")
# `locks` and `locked` are `lock` to the index as well, where candidates are looked for.
_ENDING = regex(r"(?<=[^\W\d_]{2})(?:ing|ed|es|s|e)\Z")
_NUMBER = regex(r"[0-9]+")
_NOWHERE: Mapping[int, float] = {}


def _is_silent(kind: str, topic_key: str | None) -> bool:
    """Return whether an observation contradicts nothing: a summary, what was captured, the fix of an error."""
    return kind in _SILENT_TYPES or (topic_key or "").startswith(FAILURE)


@dataclass(frozen=True, slots=True)
class Subject:
    """What an observation is about: the words of its ``title``, and those of title, topic and the beginning of its text
    (``words``), by their stems; and its files. ``reports`` tells a finding from a rule."""

    title: Mapping[str, str]
    words: Mapping[str, str]
    files: frozenset[str]
    reports: bool

    @classmethod
    def of(cls, title: str, text: str, topic_key: str | None, kind: str, files: frozenset[str]) -> Subject:
        titled = words_of(title)
        words = titled | words_of(topic_key or "") | words_of(text[:LEAD_CHARS])
        return cls(titled, words, files, FAMILY_OF_TYPE.get(kind) in _REPORTS)


def words_of(text: str) -> dict[str, str]:
    """Return the words of a text that are no stop words, by their stems."""
    words: Iterable[str] = _WORD.findall(text.lower())
    if holds_unspaced(text):
        words = (word for run in words for word in (pairs(run) if is_unspaced(run) else (run,)))
    return {stem(word): word for word in words if len(word) > 1 and word not in STOP_WORDS}


@lru_cache(8_192)
def stem(word: str) -> str:
    """Return a word without the commonest English endings."""
    cut = _ENDING.sub("", word)
    return f"{cut[:-1]}i" if cut.endswith("y") else cut


@cache
def _rates() -> Mapping[str, float]:
    """Return the share of ordinary texts that have a stem."""
    return {stem(word): rate for word, rate in sorted(ordinary().items(), key=lambda pair: pair[1])}


class Rarities(dict[str, float]):
    """The weight (0..1) of each stem: by how many of ``total`` rows have it (``rows``; 1 where nobody counted), or by
    ordinary texts where more of these have it."""

    def __init__(self, rows: Mapping[str, int], total: int) -> None:
        self._rows, self._total, self._rates = rows, total + BACKGROUND, _rates()
        self._unknown = self._weight(1, 0.0)

    def __missing__(self, stem: str) -> float:
        rows, rate = self._rows.get(stem), self._rates.get(stem)
        self[stem] = weight = self._weight(rows or 1, rate or 0.0) if rows or rate else self._unknown
        return weight

    def _weight(self, rows: int, rate: float) -> float:
        here = (rows + BACKGROUND * rate) / self._total
        return -math.log(min(1.0, max(rate, here, 1 / _RAREST))) / math.log(_RAREST)

    def of(self, words: Iterable[str]) -> float:
        return sum(map(self.__getitem__, words))


def likeness(new: Subject, old: Subject, rarities: Rarities) -> float:
    """Return how much speaks for it that the new observation takes the place of the old one.

    It is the cosine of their words and files, by rarity, less the words of the old title that the new text does not
    have, less a constant where a finding stands beside a rule.
    """
    shared = rarities.of(new.words.keys() & old.words.keys()) + len(new.files & old.files)
    both = (rarities.of(new.words) + len(new.files)) * (rarities.of(old.words) + len(old.files))
    untold = rarities.of(old.title.keys() - new.words.keys())
    return (COSINE * shared / math.sqrt(both) if both else 0.0) - untold - REPORT * (new.reports > old.reports)


class Candidates:
    """Finds relations worth a verdict and keeps each as ``pending``; the pair is asked about once."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def find(self, observation: Observation) -> Candidate | None:
        """Return what the observation most likely contradicts or revises, and keep the pair as a pending verdict. Never
        fails the save."""
        try:
            with self._store.transaction():
                for score, row in self.similar(observation):
                    # What was saved a moment ago cannot have been asked about.
                    if observation.revision_count == 1 or self.is_unasked(observation, row["sync_id"]):
                        facts = {name: row[name] for name in ("id", "sync_id", "title", "type", "topic_key")}
                        judgment = self.ask(observation, row["sync_id"])
                        return Candidate(**facts, score=round(score, 3), judgment_id=judgment)
        except of_any_driver(StoreError, sqlite3.Error):
            if not self._store.in_transaction:  # the save itself is gone: a full disk, say
                raise
            logger.exception("looking for related observations failed")
        return None

    def similar(self, observation: Observation, meant: Mapping[int, float] = _NOWHERE) -> list[tuple[float, Row]]:
        """Return older observations of the same project, scope and subject, most alike first; ``meant`` are rows that
        are near in meaning, with how near."""
        if _is_silent(observation.type, observation.topic_key):
            return []
        size, texts = index.totals(self._store).rows, (observation.title, observation.content, observation.topic_key)
        new = Subject.of(*texts, observation.type, frozenset())
        rarest = sorted(new.words, key=lambda stem: _rates().get(stem, 0.0))[:_MOST_COUNTED]
        quoted = {stem: quote(new.words[stem]) for stem in rarest}
        counts, read = terms.matching(self._store, list(quoted.values()), cap=_COUNTED_TO, size=size)
        rows = {row["id"]: row for row in self._sharing(observation, counts, read)}
        rows |= {row["id"]: row for row in self._rows(observation, [row for row in meant if row not in rows])}
        anchors = of_observations(self._store, [observation.id, *rows])
        files = {row: frozenset(anchor.path for anchor in anchors.get(row, ())) for row in (observation.id, *rows)}
        new = replace(new, files=files[observation.id])
        rarities = Rarities({stem: counts[expression] for stem, expression in quoted.items()}, size)
        alike = []
        for row in _out_of_series(observation.title, list(rows.values())):
            old = Subject.of(row["title"], row["lead"], row["topic_key"], row["type"], files[row["id"]])
            score = likeness(new, old, rarities)
            score += MEANING * (meant.get(row["id"], 0.0) - 1) if meant else 0.0
            if score >= ENOUGH and not _is_silent(row["type"], row["topic_key"]):
                alike.append((score, row))
        return sorted(alike, key=lambda pair: (-pair[0], -pair[1]["id"]))

    def _sharing(self, observation: Observation, counts: Mapping[str, int], read: dict[str, list[int]]) -> list[Row]:
        """Return the rows that have most of the rarest words; ``read`` are the rows of some of them."""
        known = sorted((rows, one) for one, rows in counts.items() if rows > 1)
        within = sum(rows <= _ROW_BUDGET for rows in accumulate(rows for rows, _ in known))
        chosen = [one for _, one in known[: max(2, within)]]
        read |= terms.newest_matching(self._store, [one for one in chosen if one not in read], cap=_COUNTED_TO)
        times = Counter(row for one in chosen for row in sorted(read[one], reverse=True))
        found = self._rows(observation, [row for row, _ in times.most_common()])
        if any(len(read[one]) >= _COUNTED_TO for one in chosen[:2]):  # there are more of them
            match, where = " AND ".join(chosen[:2]), {"project": observation.project, "scope": observation.scope}
            found += index.title_matches(self._store, match=match, without=observation.id, limit=_LOOKED_AT, **where)
        return found

    def _rows(self, observation: Observation, ids: Sequence[int]) -> list[Row]:
        where = {"project": observation.project, "scope": observation.scope}
        return index.titled(self._store, ids, without=observation.id, limit=_LOOKED_AT, **where) if ids else []

    def is_unasked(self, observation: Observation, other_sync_id: str) -> bool:
        """Return whether nobody was asked about this pair yet."""
        return relations.between(self._store, observation.sync_id, other_sync_id) is None

    def ask(self, new: Observation, old_sync_id: str, *, evidence: str | None = None) -> str:
        """Keep the pair as a pending verdict and return its judgment id. Call inside a transaction.

        A question with ``evidence`` is told wherever one of the pair is shown.
        """
        now, judgment_id = self._journal.now(), pair_id(new.sync_id, old_sync_id)
        self._store.insert(
            "memory_relations",
            {
                "sync_id": judgment_id,
                "source_id": new.sync_id,
                "target_id": old_sync_id,
                "session_id": new.session_id,
                "project": new.project,
                "evidence": evidence,
                "created_at": now,
                "updated_at": now,
                "clock": self._journal.stamp(),
            },
        )
        # A question is this machine's own; other machines hear of the verdict (Relations.judge).
        return judgment_id


class Topics:
    """Suggests topic keys."""

    def __init__(self, store: Store, projects: Projects) -> None:
        self._store = store
        self._projects = projects

    def suggest(self, *, type: str = "", title: str = "", content: str = "") -> Suggestion:
        """Return a topic key for a text to come, and what holds that key, or a near one, in the current project."""
        place = self._projects.for_read()
        made = Suggestion(suggest_topic_key(type=type, title=title, content=content), None, None)
        for project in place.reads or ():
            where = {"project": project, "scope": place.default_scope}
            words = parse_query(title).words
            match = f"title : ({match_all(words)})"
            for row in index.with_title(self._store, title=title, match=match, **where) if words else ():
                if row["topic_key"]:
                    return Suggestion(row["topic_key"], row["id"], row["title"])
            found = near_topic(self._store, made.topic_key, **where)
            if found is not None:
                return found
        return made


def _out_of_series(title: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that are not the next or previous one of a series, nor told from ``title`` by nothing.

    A title that two others have as well ("Weekly notes") is the name of a kind.
    """
    name, numbers = frame(title)
    framed = [(row, *frame(row["title"])) for row in rows]
    is_kind = sum(other == name for _, other, _ in framed) >= _SERIES
    return [row for row, other, its in framed if other != name or not (is_kind or is_next(numbers, its))]


def frame(title: str) -> tuple[str, tuple[int, ...]]:
    """Return a title without its numbers, and these: "Release 1.2" and "Release 1.3" are of one series."""
    return _NUMBER.sub("#", title.lower()).strip(), tuple(int(number[-9:]) for number in _NUMBER.findall(title))


def is_next(one: Sequence[int], other: Sequence[int]) -> bool:
    """Return whether the numbers of two titles of one frame differ in one of them, and there by one: 1.9 and 1.10."""
    return sum(abs(first - last) for first, last in zip(one, other, strict=True)) == 1


SCANNED, INSERTED = 100, 100
MOST_SCANNED = 3  # pairs of one observation


class Conflicts:
    """Finds pairs that may need a verdict: by the candidates that a save would name, and by meaning where there are
    vectors."""

    def __init__(self, store: Store, journal: Journal, projects: Projects, vectors: Vectors) -> None:
        self._store = store
        self._journal = journal
        self._projects = projects
        self._vectors = vectors
        self._candidates = Candidates(store, journal)

    def scan(
        self,
        project: str | None = None,
        *,
        all_projects: bool = False,
        since: str | None = None,
        apply: bool = False,
        limit: int = SCANNED,
        cursor: int = 0,
        max_insert: int = INSERTED,
    ) -> Scanned:
        """Compare a page of observations with older ones of like titles or meaning; ``apply`` keeps each new pair as
        pending."""
        if not 1 <= limit <= SCANNED:
            raise InvalidArgumentError("limit", limit, expected=f"between 1 and {SCANNED}")
        if not 0 <= cursor <= MAX_ID:
            raise InvalidArgumentError("cursor", cursor, expected="zero or more")
        max_insert, _ = clamp("max_insert", max_insert if max_insert > 0 else INSERTED, 1, INSERTED)
        reads, moment = self._projects.for_read(project, all_projects=all_projects).reads, moment_of(since)
        found = known = inserted = 0
        capped = False
        rows = browse.page(self._store, projects=reads, since=moment, cursor=cursor, limit=limit)
        page = [Observation.from_row(row) for row in rows]
        meant = {row.id: meant_by(self._vectors, row) for row in page}  # before others have to wait
        with self._store.transaction():
            seen: set[frozenset[str]] = set()
            for observation in page:
                for other in self._pairs(observation, meant[observation.id], seen):
                    found += 1
                    if not self._candidates.is_unasked(observation, other):
                        known += 1
                    elif apply and inserted >= max_insert:
                        capped = True
                    elif apply:
                        evidence = _BY_MEANING if meant[observation.id] else None
                        self._candidates.ask(observation, other, evidence=evidence)
                        inserted += 1
        more = rows[-1]["id"] if len(rows) == limit and not capped else None
        return Scanned(len(rows), found, known, inserted, capped, not apply, more)

    def _pairs(self, observation: Observation, meant: Mapping[int, float], seen: set[frozenset[str]]) -> list[str]:
        """Return the sync ids of what looks like this observation; each pair once, whichever end comes first."""
        found = [row["sync_id"] for _, row in self._candidates.similar(observation, meant)[:MOST_SCANNED]]
        fresh = [other for other in found if frozenset((other, observation.sync_id)) not in seen]
        seen.update(frozenset((other, observation.sync_id)) for other in fresh)
        return fresh


def meant_by(vectors: Vectors, observation: Observation) -> dict[int, float]:
    """Return the rows of the project that are nearest in meaning, each with how near it is beside the nearest of as
    many by chance; nothing where too few have vectors."""
    if not vectors.enabled or _is_silent(observation.type, observation.topic_key):
        return {}
    text = f"{observation.title}\n{observation.content[:LEAD_CHARS]}"
    nearest = vectors.nearest(text, within=(observation.project,), limit=_LOOKED_AT)
    if nearest.population < FEW:
        return {}
    return {row: z / nearest.chance for row, z in nearest.deviations().items() if row != observation.id}


def ask_by_meaning(store: Store, journal: Journal, vectors: Vectors, ids: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Keep as pending each pair of a new observation and what it most likely takes the place of, by words and meaning;
    return the ids of the pairs.

    No save waits for this: it is asked when the vectors of what was saved were computed.
    """
    candidates = Candidates(store, journal)
    rows = [row for row in table.by_ids(store, ids).values() if row.deleted_at is None and row.lifecycle == "active"]
    meant = [(row, near) for row in rows if (near := meant_by(vectors, row))]  # before anybody has to wait
    if not meant:
        return ()
    asked = []
    with store.transaction():
        for row, near in meant:
            for _, other in candidates.similar(row, near)[:1]:
                if candidates.is_unasked(row, other["sync_id"]):
                    candidates.ask(row, other["sync_id"], evidence=_BY_MEANING)
                    asked.append((row.id, other["id"]))
    return tuple(asked)
