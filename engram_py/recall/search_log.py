"""The log of the last searches: a search that led to opening one of its hits is learned as question and answer."""

from __future__ import annotations

import json
import threading
import unicodedata
from collections import deque
from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta

from engram_py.capture.plain import surely_plain
from engram_py.database.journal import Journal
from engram_py.database.lock_timeout import at_once
from engram_py.database.store import Store
from engram_py.dataclass import dataclass
from engram_py.errors import InvalidTopicKeyError, StoreError
from engram_py.log import logger_of
from engram_py.observations.lookup import handles
from engram_py.observations.values import Observation
from engram_py.recall import evaluation_table as table
from engram_py.times import parse_time, to_text

logger = logger_of(__name__)

REMEMBERED = 20  # searches
OPENED_WITHIN = timedelta(minutes=10)
# A pasted log is no question.
QUESTION_LIMIT_CHARS = 500
LEARNED_MOST = 300
ANSWERS_MOST = 10
# Who opens a hit further down was led there by something else.
BEST_HITS = 5
LEAST_WORDS = 2


@dataclass(slots=True)
class _Searched:
    """A search, and the ids it named, 0 for one that was opened. ``row`` is where it is kept, when it is.

    An empty ``question`` is one that is not learned. It is kept all the same: what is opened after it is no answer to
    the search before.
    """

    question: str
    projects: tuple[str, ...] | None
    ids: list[int]
    at: datetime
    row: int | None = None


class SearchLog:
    """Remembers the last searches and learns from what is opened. It never fails a call and never waits.

    ``durable`` keeps the log in the database: of commands, which are one process each, the search ends before
    the hit is opened. What is learned stays on this machine, and a query that holds a secret is not learned.
    """

    def __init__(self, store: Store, journal: Journal, *, learn: bool = True, durable: bool = False) -> None:
        self._store = store
        self._journal = journal
        self._learn = learn
        self._durable = durable
        self._searches: deque[_Searched] = deque(maxlen=REMEMBERED)
        self._lock = threading.Lock()

    def searched(
        self, question: str, *, projects: tuple[str, ...] | None, ids: Sequence[int], narrowed: bool = False
    ) -> None:
        """Somebody searched ``projects`` (None: all of them) and was named ``ids``: the hits, or the nearest of none.

        A search that was ``narrowed`` (by type, scope or a filter) teaches nothing: asked again without that, the
        question would have another answer.
        """
        if not self._learn or not ids:
            return
        learnable = not narrowed and len(question) <= QUESTION_LIMIT_CHARS
        asked = " ".join(question.split()) if learnable else ""
        search = _Searched(asked, projects, list(ids), self._journal.moment())
        if self._durable:
            self._keep(search)
        else:
            with self._lock:
                self._searches.appendleft(search)

    def opened(self, observation: Observation) -> None:
        """Somebody reads ``observation`` whole: when one of the last searches showed it, that is learned."""
        if not self._learn:
            return
        try:
            search, place = self._latest_showing(observation.id)
            if search is not None and place < BEST_HITS and _is_question(search.question, observation):
                self._remember(search, observation)
        except StoreError as exc:  # another process writes, the disk is full: the reader gets the text anyway
            logger.debug("not learned: %s", exc.message)

    def _keep(self, search: _Searched) -> None:
        # Loading the redaction costs more than the search, so what is not plain at a glance is not kept.
        plain = surely_plain(search.question) and _is_text(search.question)
        question = search.question if plain else ""
        projects = None if search.projects is None else json.dumps(search.projects)
        values = {"question": question, "projects": projects, "ids": json.dumps(search.ids)}
        try:
            with at_once(self._store):
                table.log_search(self._store, values | {"searched_at": to_text(search.at)}, most=REMEMBERED)
        except StoreError as exc:
            logger.debug("the search is not logged: %s", exc.message)

    def _latest_showing(self, observation_id: int) -> tuple[_Searched | None, int]:
        """The newest search of the last ten minutes that named it, and at which place; from now on it names it no
        more."""
        now = self._journal.moment()
        with self._lock:
            for search in self._kept() if self._durable else self._searches:
                # A clock that was set back makes a search of the future: as long ago as it is ahead.
                if observation_id in search.ids and abs(now - search.at) <= OPENED_WITHIN:
                    place = search.ids.index(observation_id)
                    search.ids[place] = 0
                    return search, place
        return None, 0

    def _kept(self) -> Iterator[_Searched]:
        for row in table.logged_searches(self._store, limit=REMEMBERED):
            at = parse_time(row["searched_at"])
            projects = None if row["projects"] is None else tuple(json.loads(row["projects"]))
            if at is not None:
                yield _Searched(row["question"], projects, json.loads(row["ids"]), at, row["id"])

    def _remember(self, search: _Searched, observation: Observation) -> None:
        key = {
            "project": _asked_from(search, observation),
            "question": search.question,
            "folded": fold(search.question),
            "now": self._journal.now(),
        }
        with at_once(self._store):
            table.learn(
                self._store,
                key=key,
                sync_id=observation.sync_id,
                most_questions=LEARNED_MOST,
                most_answers=ANSWERS_MOST,
            )
            if search.row is not None:
                table.mark_opened(self._store, search.row, json.dumps(search.ids))


def fold(question: str) -> str:
    """The question without case and spacing, by which it is known again."""
    return " ".join(question.casefold().split())


def _asked_from(search: _Searched, observation: Observation) -> str:
    if search.projects is None:
        return ""
    if len(search.projects) > 1 and observation.project in search.projects:
        return observation.project
    return search.projects[0]


def _is_text(text: str) -> bool:
    """Whether a database takes it and gives it back: no control character, no half of a surrogate pair."""
    return not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text)


def _is_question(text: str, observation: Observation) -> bool:
    """Whether this asks for something, in more than a word, rather than naming it by ``#id`` or topic key; and holds no
    secret."""
    from engram_py.recall.query.parse import parse_query
    from engram_py.text.normalize import normalize_topic_key

    query = parse_query(text)
    if len(query.words) < LEAST_WORDS or handles(text) or not _is_text(text):
        return False
    if " " not in text and "/" in text:
        return False
    try:
        if normalize_topic_key(text[:200]) == observation.topic_key:
            return False
    except InvalidTopicKeyError:
        return False
    if surely_plain(text):
        return True
    from engram_py.capture.redact import redact

    return not redact(text).count
