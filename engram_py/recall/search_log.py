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
from engram_py.times import parse_time, to_text

logger = logger_of(__name__)

REMEMBERED = 20  # searches
OPENED_WITHIN = timedelta(minutes=10)
# A longer text was pasted.
QUESTION_LIMIT_CHARS = 500
LEARNED_MOST = 300
ANSWERS_MOST = 10
# A hit further down is opened for other reasons than its place.
BEST_HITS = 5
LEAST_WORDS = 2

LOGGED = "select id, question, projects, ids, searched_at from search_trail order by id desc limit :limit"

LEARN = """
insert into eval_questions (project, question, folded, origin, created_at, last_at)
values (:project, :question, :folded, 'learned', :now, :now)
on conflict (project, folded) do update set times = times + 1, last_at = :now
where origin = 'learned'
"""

LEARN_ANSWER = """
insert into eval_answers (question_id, sync_id, last_at)
select id, :sync_id, :now from eval_questions
where project = :project and folded = :folded and origin = 'learned'
on conflict (question_id, sync_id) do update set times = times + 1, last_at = :now
"""

# How often, divided by how long ago: a question learned once yesterday outlives one learned twice last month.
DROP_QUESTIONS = """
delete from eval_questions
where origin = 'learned' and id not in (
    select id from eval_questions
    where origin = 'learned'
    order by times / (1.0 + max(0.0, julianday(:now) - julianday(last_at))) desc, last_at desc, id desc
    limit :most
)
"""

DROP_ANSWERS = """
delete from eval_answers
where question_id = (
    select id from eval_questions where project = :project and folded = :folded and origin = 'learned'
)
  and sync_id not in (
    select eval_answers.sync_id
    from eval_answers
    join eval_questions on eval_questions.id = eval_answers.question_id
    where eval_questions.project = :project and eval_questions.folded = :folded
    order by eval_answers.times desc, eval_answers.last_at desc, eval_answers.sync_id
    limit :most
)
"""


@dataclass(slots=True)
class _Searched:
    """A search, and the ids it named, 0 for one that was opened. ``row`` is its id in the database, if it is there.

    An empty ``question`` is not learned, but logged: a hit that is opened after it is no answer to the search before.
    """

    question: str
    projects: tuple[str, ...] | None
    ids: list[int]
    at: datetime
    row: int | None = None


class SearchLog:
    """Remembers the last searches and learns from what is opened. It never fails a call and never waits.

    ``durable`` keeps the log in the database: a command is a process of its own, and ends before the hit is opened.
    Learned questions stay on this machine, and a query that holds a secret is not learned.
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
        """Log a search of ``projects`` (None: all of them) and the ``ids`` it named: the hits, or the nearest of none.

        A search that was ``narrowed`` (by type, scope or a filter) teaches nothing: without that, the question would
        have another answer.
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
        """Learn that ``observation`` answers the last search that showed it."""
        if not self._learn:
            return
        try:
            search, place = self._latest_showing(observation.id)
            if search is not None and place < BEST_HITS and _is_question(search.question, observation):
                self._remember(search, observation)
        except StoreError as exc:  # another process writes, the disk is full: the reader gets the text anyway
            logger.debug("not learned: %s", exc.message)

    def _keep(self, search: _Searched) -> None:
        # Loading the redaction costs more than the search, so only what is plain at a glance is kept.
        plain = surely_plain(search.question) and _is_text(search.question)
        values = {
            "question": search.question if plain else "",
            "projects": None if search.projects is None else json.dumps(search.projects),
            "ids": json.dumps(search.ids),
            "searched_at": to_text(search.at),
        }
        try:
            with at_once(self._store):
                row = self._store.insert("search_trail", values)
                self._store.execute("delete from search_trail where id <= :oldest", oldest=row - REMEMBERED)
        except StoreError as exc:
            logger.debug("the search is not logged: %s", exc.message)

    def _latest_showing(self, observation_id: int) -> tuple[_Searched | None, int]:
        """Return the newest search of the last ten minutes that named it, and its place there, and mark it opened."""
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
        for row in self._store.rows(LOGGED, limit=REMEMBERED):
            at = parse_time(row["searched_at"])
            projects = None if row["projects"] is None else tuple(json.loads(row["projects"]))
            if at is not None:
                yield _Searched(row["question"], projects, json.loads(row["ids"]), at, row["id"])

    def _remember(self, search: _Searched, observation: Observation) -> None:
        """Count the question and its answer; a question that the user wrote stays as it is."""
        store, now = self._store, self._journal.now()
        place = {"project": _asked_from(search, observation), "folded": fold(search.question)}
        with at_once(store):
            store.execute(LEARN, question=search.question, now=now, **place)
            store.execute(LEARN_ANSWER, sync_id=observation.sync_id, now=now, **place)
            store.execute(DROP_ANSWERS, most=ANSWERS_MOST, **place)
            store.execute(DROP_QUESTIONS, most=LEARNED_MOST, now=now)
            if search.row is not None:
                sql = "update search_trail set ids = :ids where id = :row"
                store.execute(sql, ids=json.dumps(search.ids), row=search.row)


def fold(question: str) -> str:
    """Return the question without case and spacing, by which it is recognised."""
    return " ".join(question.casefold().split())


def _asked_from(search: _Searched, observation: Observation) -> str:
    projects = search.projects or ("",)
    return observation.project if len(projects) > 1 and observation.project in projects else projects[0]


def _is_text(text: str) -> bool:
    """Return whether a database takes it and gives it back: no control character, no half of a surrogate pair."""
    return not any(unicodedata.category(letter) in ("Cc", "Cs") for letter in text)


def _is_question(text: str, observation: Observation) -> bool:
    """Return whether this asks for something in more than a word, and names no ``#id`` or topic key, and holds no
    secret."""
    from engram_py.recall.query.parse import parse_query
    from engram_py.text.normalize import normalize_topic_key

    if len(parse_query(text).words) < LEAST_WORDS or handles(text) or not _is_text(text):
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
