"""Older observations that may say the same as a new one, or the opposite, or hold its topic."""

from __future__ import annotations

import math
import re
import sqlite3
from collections import Counter
from collections.abc import Mapping, Sequence
from itertools import accumulate, chain, takewhile

from engram_py.base.database.connection import of_any_driver
from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.store import Row, Store
from engram_py.base.errors import InvalidArgumentError, StoreError
from engram_py.base.lazy import logger_of, regex
from engram_py.base.text.words import STOP_WORDS, read_words
from engram_py.memory.observations import browse, table
from engram_py.memory.observations.arguments import MAX_ID, clamp
from engram_py.memory.observations.listing import Suggestion
from engram_py.memory.observations.topics import FAILURE, near_topic, suggest_topic_key
from engram_py.memory.observations.values import Candidate, Observation
from engram_py.memory.projects.projects import Projects
from engram_py.memory.relations import table as relations
from engram_py.memory.relations.relations import moment_of
from engram_py.memory.relations.values import Scanned, pair_id
from engram_py.recall import index, terms
from engram_py.recall.query import match_all, parse_query, quote
from engram_py.recall.vectors.vectors import Vectors

logger = logger_of(__name__)

LIMIT = 3
_LOOKED_AT = 20
_MOST_COUNTED, _MOST_WORDS = 40, 4
# Rows that the words of a title may add up to, and how far those of one are counted. A save must stay fast in a large
# memory, and words more common than this tell nothing about a conflict anyway.
_ROW_BUDGET, _COUNTED_TO = 400, 200
# What stands in no more titles than this, the new one's included, is the name of something.
_NAMED_BY = 5
_SERIES = 2
_SILENT_TYPES = frozenset({"session_summary", "passive", "entity"})
_COMMON = read_words("title_verbs")
# `+` and `#` belong to names such as C++ and C#.
_WORD = regex(r"[^\W_]+[+#]*")
# `locks` and `locked` are `lock` to the index as well, where candidates are looked for.
_ENDING = regex(r"(?<=[^\W\d_]{3})(?:ing|ed|es|s|e)\Z")
SHARED_WORDS_NEEDED, ENOUGH = 2, 0.4
_BACKGROUND = 50  # titles that a small memory would have besides: three of four say little yet
_ALL_RARE: Mapping[str, float] = {}
_NUMBER = regex(r"[0-9]+(?:\.[0-9]+)*")
# The nearest text by meaning speaks of the same thing where it is so many times as near as the nearest of as many by
# chance, and by so much nearer than the second. Of 23 memories that contradicted one of a project's twenty 21 did, of
# 23 others three. Among fewer than 20 how near is usual is not known.
CLEAR, APART, FEW = 1.5, 0.6, 20
_BY_MEANING = "the nearest in meaning by far"
# A title that says so names in one word what it takes the place of: "Replaced Unleash with a config table".
_REPLACES = regex(
    r"\b(?:replac(?:e[sd]?|ing)|switch(?:ed|es|ing)?|migrat(?:e[sd]?|ing)|swap(?:ped|s|ping)?|drop(?:ped|s|ping)?"
    r"|retir(?:e[sd]?|ing)|abandon(?:ed|s|ing)?|deprecat(?:e[sd]?|ing)|instead of|no longer|ersetz\w*|umgestellt"
    r"|remplac\w*|reemplaz\w*|sustitu\w*|substitu\w*|замен\w*)\b",
    re.IGNORECASE,
)


def _is_silent(kind: str, topic_key: str | None) -> bool:
    """Return whether an observation contradicts nothing: a summary, what was captured, the fix of an error."""
    return kind in _SILENT_TYPES or (topic_key or "").startswith(FAILURE)


class Candidates:
    """Finds relations worth a verdict and keeps each as ``pending``; the pair is asked about once."""

    def __init__(self, store: Store, journal: Journal) -> None:
        self._store = store
        self._journal = journal

    def find(self, observation: Observation, *, clock: str) -> tuple[Candidate, ...]:
        """Return at most three, most similar first, and keep them as pending verdicts. Never fails the save."""
        if _is_silent(observation.type, observation.topic_key):
            return ()
        try:
            with self._store.transaction():
                return self._find(observation, clock)
        except of_any_driver(StoreError, sqlite3.Error):
            if not self._store.in_transaction:  # the save itself is gone: a full disk, say
                raise
            logger.exception("looking for related observations failed")
            return ()

    def _find(self, observation: Observation, clock: str) -> tuple[Candidate, ...]:
        found: list[Candidate] = []
        for score, row in self.similar(observation):
            # What was saved a moment ago cannot have been asked about.
            if observation.revision_count == 1 or self.is_unasked(observation, row["sync_id"]):
                judgment = self.ask(observation, row["sync_id"], clock)
                names = ("id", "sync_id", "title", "type", "topic_key")
                facts = {name: row[name] for name in names}
                found.append(Candidate(**facts, score=round(score, 3), judgment_id=judgment))
            if len(found) == LIMIT:
                break
        return tuple(found)

    def similar(self, observation: Observation) -> list[tuple[float, Row]]:
        """Return older observations of the same project and scope with similar titles, most alike first.

        Before them stand those that the title names as replaced.
        """
        wanted = title_words(observation.title)
        enough = SHARED_WORDS_NEEDED if len(wanted) > SHARED_WORDS_NEEDED else 1
        words, size = written_words(observation.title), index.totals(self._store).rows
        counts, found = self._counted(words, size)
        rare = {stem(word): rarity(counts.get(_titled(word), 0), size) for word in words}
        matches = _out_of_series(
            observation.title, self._sharing(observation, self._rarest(counts, found, enough), enough)
        )
        alike = {row["id"]: row for row in matches if may_contradict(wanted, title_words(row["title"]), rare)}
        named: dict[int, Row] = {}
        if old := replaced_by(observation.title):
            names = {one: found[one] for one in map(_titled, old) if 1 < len(found.get(one, ())) <= _NAMED_BY}
            named = {row["id"]: row for row in self._sharing(observation, names, 1)}
        scored = [
            (overlap(wanted, title_words(row["title"]), rare), row)
            for row in (alike | named).values()
            if not _is_silent(row["type"], row["topic_key"])
        ]
        return sorted(scored, key=lambda pair: (pair[1]["id"] not in named, -pair[0], -pair[1]["id"]))

    def _sharing(self, observation: Observation, chosen: Mapping[str, Sequence[int]], enough: int) -> list[Row]:
        """Return the newest whose titles have any ``enough`` of the chosen words."""
        store, project, scope, me = self._store, observation.project, observation.scope, observation.id
        if any(len(rows) >= _COUNTED_TO for rows in chosen.values()):  # there are more of them
            match = _any_two(list(chosen)) if enough > 1 else " OR ".join(chosen)
            return index.title_matches(store, match=match, project=project, scope=scope, without=me, limit=_LOOKED_AT)
        times = Counter(chain.from_iterable(chosen.values()))
        together = sorted((row for row, words in times.items() if words >= enough), reverse=True)
        return index.titled(store, together, project=project, scope=scope, without=me, limit=_LOOKED_AT)

    def _counted(self, words: Sequence[str], size: int) -> tuple[dict[str, int], dict[str, list[int]]]:
        """Return how many titles have each of the words, by its expression, and the rows that were read."""
        titled = [_titled(word) for word in words[:_MOST_COUNTED]]
        return terms.matching(self._store, titled, cap=_COUNTED_TO, size=size)

    def _rarest(self, counts: Mapping[str, int], found: Mapping[str, list[int]], enough: int) -> dict[str, list[int]]:
        """Return the rarest words that other titles have, each with its newest rows; few rows allow more than
        ``enough``."""
        known = sorted((rows, one) for one, rows in counts.items() if rows > 1)
        within = sum(rows <= _ROW_BUDGET for rows in accumulate(rows for rows, _ in known))
        chosen = [one for _, one in known[: min(_MOST_WORDS, max(enough, within))]]
        if len(chosen) < enough:
            return {}
        read = terms.newest_matching(self._store, [one for one in chosen if one not in found], cap=_COUNTED_TO)
        return {one: found[one] if one in found else read[one] for one in chosen}

    def is_unasked(self, observation: Observation, other_sync_id: str) -> bool:
        """Return whether nobody was asked about this pair yet."""
        return relations.between(self._store, observation.sync_id, other_sync_id) is None

    def ask(self, new: Observation, old_sync_id: str, clock: str, *, evidence: str | None = None) -> str:
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
                "clock": clock,
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


def _titled(word: str) -> str:
    return f"title : {quote(word)}"


def _out_of_series(title: str, rows: Sequence[Row]) -> list[Row]:
    """Return the rows that are not the next or previous one of a series, nor told from ``title`` by nothing.

    A title that two others have as well ("Weekly notes") is the name of a kind.
    """
    name, numbers = frame(title)
    framed = [(row, frame(row["title"])) for row in rows]
    same = {one[1] if one[1] else row["id"] for row, one in framed if one[0] == name}
    return [
        row
        for row, (other, its) in framed
        if other != name or (len(same) < _SERIES and not (numbers and is_next(numbers, its)))
    ]


def _any_two(words: Sequence[str]) -> str:
    """Return an expression for titles that have any two of the words, each named as rarely as possible."""
    # Each time that a word is named the index looks it up: with each pair by itself, four are named twelve times.
    return " OR ".join(f"({one} AND ({' OR '.join(words[at:])}))" for at, one in enumerate(words[:-1], start=1))


def written_words(title: str) -> list[str]:
    """Return the words of a title that tell it from others, lower case, each once."""
    words = dict.fromkeys(word.lower() for word in _WORD.findall(title))
    return [word for word in words if word not in STOP_WORDS and word not in _COMMON]


def title_words(title: str) -> frozenset[str]:
    """Return the same without the commonest English endings, to compare two titles by."""
    return frozenset(stem(word) for word in written_words(title))


def stem(word: str) -> str:
    """Return a word without the commonest English endings."""
    return _ENDING.sub("", word)


def replaced_by(title: str) -> list[str]:
    """Return the words that name what a title says is replaced: those right behind the verb, else all before it."""
    verb = _REPLACES.search(title)
    if verb is None:
        return []
    words = [word.lower() for word in _WORD.findall(title[verb.end() :])]
    telling = [word not in STOP_WORDS and word not in _COMMON for word in words]
    behind = words[telling.index(True) :] if True in telling else []
    named = list(takewhile(lambda word: word not in STOP_WORDS, behind))
    return named or written_words(title[: verb.start()])


def may_contradict(new: frozenset[str], old: frozenset[str], rarity: Mapping[str, float] = _ALL_RARE) -> bool:
    """Return whether the words of two titles share enough: two, and two fifths of them all; or one that only these two
    have, where neither has more than two.

    Engram asks for two shared words, or for the only one (spec/engram-behaviour.md 7.1). That misses the plainest
    contradiction, "Use RS256 for tokens" and "Use HS256 for tokens", and asks about whatever has the same subject.
    Measured: bench/README.md.
    """
    shared = new & old
    short = max(len(new), len(old)) <= SHARED_WORDS_NEEDED
    if short and any(rarity.get(word, 1.0) >= 1 for word in shared):
        return True
    return len(shared) >= SHARED_WORDS_NEEDED and overlap(new, old, rarity) >= ENOUGH


def overlap(new: frozenset[str], old: frozenset[str], rarity: Mapping[str, float] = _ALL_RARE) -> float:
    """Return the Jaccard similarity of the words of two titles; a shared one counts by its ``rarity``."""
    shared = sum(rarity.get(word, 1.0) for word in new & old)
    apart = len(new ^ old)
    return shared / (shared + apart) if shared else 0.0


def rarity(rows: int, total: int) -> float:
    """Return the weight of a shared word that so many of all titles have: 1 where only two have it."""
    return min(1.0, math.log1p((total + _BACKGROUND) / max(rows, 1)) / math.log1p((total + _BACKGROUND) / 2))


def frame(title: str) -> tuple[str, tuple[str, ...]]:
    """Return a title without its numbers, and these: "Release 1.2" and "Release 1.3" are of one series."""
    return _NUMBER.sub("#", title.lower()).strip(), tuple(_NUMBER.findall(title.lower()))


def is_next(one: Sequence[str], other: Sequence[str]) -> bool:
    """Return whether the numbers of two titles differ in one of them, and there by one step: 7 and 8, 1.9 and 1.10 or
    2.0."""
    differing = [pair for pair in zip(one, other, strict=False) if pair[0] != pair[1]]
    if len(one) != len(other) or len(differing) != 1:
        return False
    first, last = sorted([int(part) for part in number.split(".")] for number in differing[0])
    at = next((place for place, pair in enumerate(zip(first, last, strict=False)) if pair[0] != pair[1]), 0)
    rest = last[at + 1 :]
    return first[:at] == last[:at] and last[at] - first[at] == 1 and not any(rest)


SCANNED, INSERTED = 100, 100


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
        meant = (
            {row.id: nearest_by_meaning(self._store, self._vectors, row) for row in page}
            if self._vectors.enabled
            else {}
        )  # before others have to wait
        with self._store.transaction():
            clock = self._journal.stamp() if apply and rows else ""
            seen: set[tuple[str, ...]] = set()
            for observation in page:
                near = meant.get(observation.id)
                for other in self._pairs(observation, near, seen):
                    found += 1
                    if not self._candidates.is_unasked(observation, other):
                        known += 1
                    elif apply and inserted >= max_insert:
                        capped = True
                    elif apply:
                        evidence = _BY_MEANING if near is not None and near.sync_id == other else None
                        self._candidates.ask(observation, other, clock, evidence=evidence)
                        inserted += 1
        more = rows[-1]["id"] if len(rows) == limit and not capped else None
        return Scanned(len(rows), found, known, inserted, capped, not apply, more)

    def _pairs(self, observation: Observation, meant: Observation | None, seen: set[tuple[str, ...]]) -> list[str]:
        """Return the sync ids of what looks like this observation; each pair once, whichever end comes first."""
        found = [row["sync_id"] for _, row in self._candidates.similar(observation)[:LIMIT]]
        pairs = {
            tuple(sorted((other, observation.sync_id))): other
            for other in (*found, *([meant.sync_id] if meant else ()))
        }
        fresh = [other for pair, other in pairs.items() if pair not in seen]
        seen.update(pairs)
        return fresh


def nearest_by_meaning(store: Store, vectors: Vectors, observation: Observation) -> Observation | None:
    """Return what speaks of the same thing in other words: clearly the nearest by meaning, of project and scope."""
    if _is_silent(observation.type, observation.topic_key):
        return None
    nearest = vectors.nearest(observation.title, within=(observation.project,), limit=_LOOKED_AT)
    others = [(z / nearest.chance, row) for row, z in nearest.deviations().items() if row != observation.id]
    (near, row), (second, _) = sorted([*others, (0.0, 0), (0.0, 0)], reverse=True)[:2]
    if nearest.population < FEW or near < CLEAR or near - second < APART:
        return None
    other = table.by_ids(store, [row]).get(row)
    if other is None or other.lifecycle != "active" or _is_silent(other.type, other.topic_key):
        return None
    return other if (other.project, other.scope) == (observation.project, observation.scope) else None


def ask_by_meaning(store: Store, journal: Journal, vectors: Vectors, ids: Sequence[int]) -> tuple[tuple[int, int], ...]:
    """Keep as pending each pair of a new observation and what speaks of the same thing; return the ids of the pairs.

    No save waits for this: it is asked when the vectors of what was saved were computed.
    """
    candidates = Candidates(store, journal)
    rows = [row for row in table.by_ids(store, ids).values() if row.deleted_at is None and row.lifecycle == "active"]
    # Others are asked before anybody has to wait.
    pairs = [(row, other) for row in rows if (other := nearest_by_meaning(store, vectors, row)) is not None]
    asked: dict[frozenset[int], tuple[int, int]] = {}
    if pairs:
        with store.transaction():
            clock = journal.stamp()
            for row, other in pairs:
                if candidates.is_unasked(row, other.sync_id):
                    candidates.ask(row, other.sync_id, clock, evidence=_BY_MEANING)
                    asked[frozenset((row.id, other.id))] = (row.id, other.id)
    return tuple(asked.values())
