"""Make one session's turns its summary: have a digest written, and decide whether that takes the place of what is
there; and keep what the session taught about entities and the person, and what the person said for good.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import timedelta
from itertools import islice
from typing import TYPE_CHECKING, Any

from engram_py.base.capture.orders import reads_like_an_order
from engram_py.base.capture.redact import PRIVATE
from engram_py.base.capture.said import Kind, Said, own_sentences, said
from engram_py.base.database import runs
from engram_py.base.database.mutation_queue import Journal, set_meta
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, replace
from engram_py.base.errors import EngramError, InvalidInputError, StoreError
from engram_py.base.lazy import logger_of, regex
from engram_py.base.text.normalize import content_hash
from engram_py.base.text.words import jaccard
from engram_py.base.times import parse_time
from engram_py.memory.entities.names import Naming
from engram_py.memory.identity.identity import LONGEST_SENTENCE_CHARS, MOST_STATEMENTS, statements
from engram_py.memory.observations import table as observation_table
from engram_py.memory.observations.arguments import live_observation
from engram_py.memory.observations.values import DISTILLER, Draft, Scope
from engram_py.upkeep.distill import table
from engram_py.upkeep.distill.heuristic import Heuristic, facts_of
from engram_py.upkeep.distill.table import DueSession
from engram_py.upkeep.distill.values import (
    STRENGTHS,
    Digest,
    Distilled,
    Distiller,
    DistillerFailed,
    FactCandidate,
    SessionFacts,
    Source,
)

if TYPE_CHECKING:
    from engram_py.memory.identity.identity import Identity
    from engram_py.memory.privacy.switches import Switches
    from engram_py.memory.sessions.sessions import Sessions
    from engram_py.memory.writing.entities import Entities
    from engram_py.memory.writing.facts import Facts
    from engram_py.memory.writing.observations import Observations
    from engram_py.memory.writing.prompts import Episodes


MOST_SENTENCES = 3
_SENTENCE = regex(r".+?(?:[.!?](?=\s|$)|[。！？]|$)", re.DOTALL)
_SECTIONS = (("Done", "done"), ("Decisions", "decisions"), ("Next Steps", "next_steps"), ("Topics", "topics"))


def text_of(digest: Digest) -> str:
    """Return the summary in at most three sentences, then a list below each heading that has any, as
    ``base/capture/passive.py`` reads them."""
    parts = [three_sentences(digest.summary)]
    if digest.goal:
        parts.append(f"## Goal\n{_line(digest.goal)}")
    for heading, name in _SECTIONS:
        items = [_line(item) for item in getattr(digest, name)]
        if items:
            parts.append(f"## {heading}\n" + "\n".join(f"- {item}" for item in items))
    return "\n\n".join(part for part in parts if part)


def three_sentences(text: str) -> str:
    """Return the first three sentences on one line."""
    found = [" ".join(one.split()) for one in _SENTENCE.findall(" ".join(text.split()))]
    return " ".join([one for one in found if one][:MOST_SENTENCES])


def _line(text: str) -> str:
    """Return an item on one line that opens no section of its own."""
    return " ".join(text.split()).lstrip("#").strip()


logger = logger_of(__name__)

# Fewer characters of new turns say nothing.
LEAST_CHARS = 80
MOST_ATTEMPTS = 3
GIT_SECONDS = 5.0


@dataclass(frozen=True, slots=True)
class WrittenSummary:
    """A distiller's summary, None where nothing is notable; ``dead``: the model failed for good."""

    digest: Digest | None
    source: Source
    dead: bool = False


class Summarizing:
    """Writes the summaries. ``model`` is the distiller that the user set, if any; the heuristic needs none."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        episodes: Callable[[], Episodes],
        learning: Callable[[], Learning],
        switches: Switches,
        model: Distiller | None,
        daily_tokens: int,
    ) -> None:
        self._store = store
        self._journal = journal
        self._episodes = episodes
        self._learning = learning
        self._switches = switches
        self._model = model
        self._daily_tokens = daily_tokens
        self._heuristic = Heuristic()

    def summarize(self, session: DueSession, *, again: bool = False, until: float | None = None) -> Distilled:
        """Return what becomes of a session. What goes wrong with one keeps no other from being distilled.

        ``again``: also one that was given up, whose turns are marked already. ``until`` (``time.monotonic``) is when
        git's answers come too late, and the session is left for another time. Raises StoreError.
        """
        try:
            return self._summarized(session, again=again, until=until)
        except StoreError:
            raise
        except EngramError as exc:
            logger.info("session %s was not distilled: %s", session.id, exc.message)
            return self._tried(session, f"failed:{exc.code}")
        except Exception:
            logger.exception("session %s was not distilled", session.id)
            return self._tried(session, "failed:internal_error")

    def _summarized(self, session: DueSession, *, again: bool, until: float | None) -> Distilled:
        turn_ids, chars = table.pending(self._store, session.id)
        if not turn_ids and not (again and session.state == "dead"):
            return self._settled(session, (), "no_signals")
        if not self._records(session):
            return Distilled(session.id, session.project, "skipped:recording_off")
        if refused := self._refused(session, self._model.source if self._model else "heuristic"):
            return self._settled(session, turn_ids, refused)
        seconds = GIT_SECONDS if until is None else min(GIT_SECONDS, until - time.monotonic())
        facts = facts_of(self._store, session, self._journal.moment(), seconds=seconds)
        if until is not None and time.monotonic() >= until:
            return Distilled(session.id, session.project, "skipped:no_time")
        if turn_ids and chars < LEAST_CHARS and not (facts.work and facts.work.commits):
            return self._settled(session, turn_ids, f"skipped:low_novelty:{chars}chars")
        try:
            written = self._written(session, facts)
        except DistillerFailed as failed:
            return self._tried(session, f"failed:{failed.reason}" if failed.counts else f"skipped:{failed.reason}")
        return self._keep(session, turn_ids, facts, written)

    # --- who writes ---------------------------------------------------------------------------------------

    def _written(self, session: DueSession, facts: SessionFacts) -> WrittenSummary:
        """Return what the model writes, what the heuristic does where there is none, or where it failed for good.

        Raises DistillerFailed: it failed, and is to be tried again.
        """
        if self._model is None:
            return WrittenSummary(self._heuristic.distill(facts), "heuristic")
        if self._daily_tokens:
            calendar = self._journal.calendar
            spent = runs.spent_since(self._store, calendar.midnight(calendar.today))[1]
            if spent >= self._daily_tokens:
                raise DistillerFailed("daily_tokens_spent", counts=False)
        if session.attempts < MOST_ATTEMPTS:
            try:
                return WrittenSummary(self._model.distill(facts), self._model.source)
            except DistillerFailed as failed:
                if not failed.counts or session.attempts + 1 < MOST_ATTEMPTS:
                    raise
                logger.info("the distiller failed for good on session %s: %s", session.id, failed.reason)
        return WrittenSummary(self._heuristic.distill(facts), "heuristic", dead=True)

    def _refused(self, session: DueSession, source: Source) -> str:
        """Return why a text of this source is not kept, else "": somebody stronger wrote one, or it was deleted."""
        if session.summary:
            return "skipped:agent_summary"
        row = table.summary(self._store, session.id)
        if row is None:
            return ""
        if row["deleted_at"] or row["lifecycle"] == "archived":
            return "skipped:summary_deleted"
        if row["origin"] != "derived":
            return "skipped:agent_summary"
        known = (row["tool_name"] or "").removeprefix(DISTILLER)
        is_weaker = known in STRENGTHS and STRENGTHS.index(source) < STRENGTHS.index(known)
        return f"skipped:{known}_summary" if is_weaker else ""

    def _records(self, session: DueSession) -> bool:
        return self._switches.allowed(session.project, session.id).records

    # --- what is kept -------------------------------------------------------------------------------------

    def _keep(
        self, session: DueSession, turn_ids: Sequence[int], facts: SessionFacts, written: WrittenSummary
    ) -> Distilled:
        """Store the summary and mark the turns it was made of, in one transaction.

        The distiller may have taken minutes: what was said or saved meanwhile counts.
        """
        text = text_of(written.digest) if written.digest is not None else ""
        with self._store.transaction():
            current = table.session(self._store, session.id)
            if current is None:
                return Distilled(session.id, session.project, "skipped:session_deleted", len(turn_ids))
            if not self._records(current):
                return Distilled(session.id, session.project, "skipped:recording_off", len(turn_ids))
            # The agent's own may have come meanwhile.
            refused = "" if text else "skipped:nothing_notable"
            refused = refused or self._refused(current, written.source)
            if refused and not written.dead:
                return self._settled(current, turn_ids, refused)
            row_id = None
            if not refused and written.digest is not None:
                saved = self._episodes().derive(text, session_id=session.id, tool_name=DISTILLER + written.source)
                row_id = saved.id
                row = live_observation(self._store, row_id)
                at = min(facts.ended_at, row.created_at)  # it is about then, whenever it is written
                table.date(self._store, row, at, written.digest.salience)
                taught = {"session_id": session.id, "tool_name": DISTILLER + written.source}
                self._learning().keep_facts(written.digest.facts, session_id=session.id, at=at)
                self._keep_identity(current, turn_ids)  # their own words before those of a model
                self._learning().keep_statements(written.digest.identity, **taught)
            state = "dead" if written.dead else "done"
            attempts = MOST_ATTEMPTS if written.dead else 0
            result = f"dead_letter:{attempts}" if written.dead else "distilled"
            self._settle(current, turn_ids, state, result, attempts)
        done = Distilled(session.id, session.project, result, len(turn_ids), row_id, written.source)
        digest = written.digest
        return done if digest is None else replace(done, tokens=digest.tokens, cost=digest.cost)

    def _settled(self, session: DueSession, turn_ids: Sequence[int], result: str) -> Distilled:
        """Mark the turns as seen to, without a text."""
        with self._store.transaction():
            state = "skipped" if result.startswith("skipped") else "done"
            self._settle(session, turn_ids, state, result, session.attempts)
        return Distilled(session.id, session.project, result, len(turn_ids))

    def _settle(self, session: DueSession, turn_ids: Sequence[int], state: str, result: str, attempts: int) -> None:
        self._keep_identity(session, turn_ids)
        columns = {"distill_state": state, "distill_detail": result, "distill_attempts": attempts}
        table.settle(self._store, session.id, turn_ids, self._journal.now(), **columns, distill_tried_at=None)

    def _keep_identity(self, session: DueSession, turn_ids: Sequence[int]) -> None:
        """Keep what the person said about themselves in these turns, once, and for good. Call inside a transaction."""
        told = table.asked_in(self._store, session.id, turn_ids)
        said = [one for text, _ in told for one in statements(text)]
        self._learning().keep_statements(said, session_id=session.id, tool_name=DISTILLER + "heuristic")
        for text, at in told:
            self._learning().keep_said(text, at=at, session_id=session.id)

    def _tried(self, session: DueSession, result: str) -> Distilled:
        """Leave the turns for another try; one that failed counts."""
        with self._store.transaction():
            attempts = session.attempts + result.startswith("failed")
            # What fails without a model, or even after it was given up, is not tried forever.
            state = "dead" if attempts > MOST_ATTEMPTS else session.state
            columns = {"distill_state": state, "distill_detail": result, "distill_attempts": attempts}
            columns["distill_tried_at"] = self._journal.now()
            self._store.update("sessions", {"id": session.id}, columns)
        return Distilled(session.id, session.project, result)


MOST_FACTS = 10
MOST_SAID = 20  # of one text
SAID_SALIENCE, NOTE_SALIENCE = 0.6, 0.5
_BATCH = 50
# What a statement of each kind becomes: the type, and where it holds.
_BECOMES: dict[Kind, tuple[str, Scope]] = {
    "preference": ("preference", "personal"),
    "identity": ("fact", "personal"),
    "decision": ("decision", "project"),
    "rule": ("policy", "project"),
    "convention": ("policy", "project"),
    "fact": ("fact", "project"),
}
# The same words of one session so soon, or of two at one moment, are one saying that was told twice.
_ONE_SAYING, _ONE_SESSION = timedelta(minutes=1), timedelta(hours=12)
_SHARED_WORDS, _SHARED = 2, 1 / 3


class Learning:
    """Keeps facts and statements that were derived. What is refused, known or was deleted is left out: nobody waits
    for an answer."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        sessions: Sessions,
        observations: Callable[[], Observations],
        facts: Callable[[], Facts],
        identity: Callable[[], Identity],
        entities: Callable[[], Entities],
    ) -> None:
        self._store = store
        self._journal = journal
        self._sessions = sessions
        self._observations = observations
        self._facts = facts
        self._identity = identity
        self._entities = entities

    def read_new(self, *, prompts: bool, until: float | None = None) -> dict[str, float]:
        """Read the notes, and the ``prompts``, that came since the last time, until then (``time.monotonic``).

        What is said for good is kept, and of a note each sentence about an entity as a fact of it.
        """
        counts: dict[str, float] = {"read": 0, "said": 0, "facts": 0}
        naming = Naming(self._store)
        for name, sql in (("notes", table.NEW_NOTES), *((("prompts", table.NEW_PROMPTS),) if prompts else ())):
            while until is None or time.monotonic() < until:
                self._store.give_way()
                with self._store.transaction():
                    rows = self._store.rows(sql, after=table.read_up_to(self._store, name), limit=_BATCH)
                    for row in rows:
                        try:
                            self._read(row, name == "notes", naming, counts)
                        except StoreError:
                            raise
                        except EngramError as exc:  # one text keeps no other from being read
                            logger.info("#%s of the %s was not read: %s", row["id"], name, exc.code)
                    if rows:
                        set_meta(self._store, f"learned:{name}", str(rows[-1]["id"]))
                if len(rows) < _BATCH:
                    break
        return counts

    def _read(self, row: Row, is_note: bool, naming: Naming, counts: dict[str, float]) -> None:
        by_agent = row["origin"] == "agent"
        told = {"at": row["at"], "session_id": row["session_id"]}
        counts["read"] += 1
        counts["said"] += self.keep_said(row["content"], **told, by_agent=by_agent, note=is_note and not by_agent)
        for _, sentence in own_sentences(row["content"]) if is_note else ():
            line = " ".join(sentence.split()).rstrip(" .!")
            about = naming.about(line, row["project"]) if len(line) <= LONGEST_SENTENCE_CHARS else None
            if about is not None and not line.endswith("?"):
                counts["facts"] += self._keep_about(line, *about, project=row["project"], **told)

    def _keep_about(
        self, line: str, slug: str, beside: Sequence[str], *, project: str, at: str, session_id: str
    ) -> bool:
        """Keep a sentence as a fact about an entity, linked to the others that it names."""
        same = {"content_hash": content_hash(line), "project": project}
        known = table.same_text(self._store, **same, kind="fact")
        for old in known[:1]:  # said again, it waits no longer
            if (old["origin"], old["lifecycle"]) == ("derived", "active") and old["session_id"] != session_id:
                self._observations().accept(old["id"])
        if known or reads_like_an_order(line):
            return False
        if observation_table.hash_was_deleted(self._store, **same, personal=True):
            return False
        where: dict[str, Any] = {"project": project, "session_id": session_id}
        try:
            with self._sessions.reopened_for_a_save(session_id):
                saved = self._facts().add(slug, line, origin="derived", **where)
                for other in beside if saved.outcome in ("added", "superseded") else ():
                    self._entities().link(slug, "mentioned_with", other, fact=line, origin="derived", **where)
        except InvalidInputError as exc:
            logger.info("a sentence was not kept: %s", exc.code)
            return False
        row = live_observation(self._store, saved.id)
        if saved.outcome in ("added", "superseded"):
            table.date(self._store, row, min(at, row.created_at), NOTE_SALIENCE)
        return saved.outcome in ("added", "superseded")

    def keep_said(self, text: str, *, at: str, session_id: str, by_agent: bool = False, note: bool = False) -> int:
        """Keep what a person says for good in a text of theirs, dated ``at``, as candidates that wait for somebody to
        confirm them; return how many are new. Said again another time, or in another ``note``, one is confirmed.

        In a text that an agent wrote down "I" is the agent. Call inside a transaction.
        """
        kept = 0
        for one in islice(said(text), MOST_SAID):
            if by_agent and one.kind in ("preference", "identity"):
                continue
            try:
                kept += self._keep_statement(one, at, session_id, note)
            except InvalidInputError as exc:
                logger.info("a statement was not kept: %s", exc.code)
        return kept

    def _keep_statement(self, one: Said, at: str, session_id: str, note: bool) -> bool:
        project = self._sessions.get(session_id).project
        same = {"content_hash": content_hash(one.text), "project": project}
        if PRIVATE[:-1] in one.text:
            return False
        for row in table.same_text(self._store, **same):
            if not _said_again(row, at, session_id, note=note):
                return False
            if row["lifecycle"] == "active":
                if row["origin"] == "derived":
                    self._observations().accept(row["id"])
                return False
        if observation_table.hash_was_deleted(self._store, **same, personal=True):
            return False
        if any(_is_told(one.text, title) for title in table.saved_since(self._store, session_id, at)):
            return False
        kind, scope = _BECOMES[one.kind]
        draft = Draft(one.text, one.text, kind, scope, origin="derived", tool_name=DISTILLER + "heuristic")
        with self._sessions.reopened_for_a_save(session_id):
            saved = self._observations().save(draft, session_id=session_id)
        new = live_observation(self._store, saved.id)
        table.date(self._store, new, min(at, new.created_at), SAID_SALIENCE)
        if scope == "personal":
            self._identity().settle(saved.id)
        return True

    def keep_facts(self, candidates: Sequence[FactCandidate], *, session_id: str, at: str) -> int:
        """Add the facts of a digest, dated ``at``; how many were new. Call inside a transaction."""
        project = self._sessions.get(session_id).project
        kept = 0
        for one in candidates[:MOST_FACTS]:
            known: dict[str, Any] = {"content_hash": content_hash(one.text), "project": project}
            if reads_like_an_order(one.entity, one.text) or observation_table.hash_was_deleted(self._store, **known):
                continue
            try:
                with self._sessions.reopened_for_a_save(session_id):
                    saved = self._facts().add(one.entity, one.text, session_id=session_id, origin="derived")
            except InvalidInputError as exc:
                logger.info("a fact was not kept: %s", exc.code)
                continue
            if saved.outcome in ("added", "superseded"):
                row = live_observation(self._store, saved.id)
                table.date(self._store, row, min(at, row.created_at), one.salience)
                kept += 1
        return kept

    def keep_statements(self, statements: Iterable[str], *, session_id: str, tool_name: str) -> int:
        """Add what the person said about themselves; how many were new. Call inside a transaction."""
        kept, (_, last) = 0, table.span(self._store, session_id)
        at = min(last or self._journal.now(), self._journal.now())
        for statement in list(dict.fromkeys(statements))[:MOST_STATEMENTS]:
            if reads_like_an_order(statement):
                continue
            try:
                saved = self._identity().learn(statement, session_id=session_id, tool_name=tool_name, at=at)
            except InvalidInputError as exc:
                logger.info("a statement was not kept: %s", exc.code)
                continue
            kept += saved is not None and saved.outcome in ("added", "superseded")
        return kept


def _is_told(statement: str, title: str) -> bool:
    """Return whether a memory that was saved after ``statement`` says the same: they share two words, or all of the
    title, and a third of all their words."""
    from engram_py.recall.contradictions import words_of

    words, titled = (frozenset(words_of(text)) for text in (statement, title))
    return len(words & titled) >= min(_SHARED_WORDS, len(titled)) and jaccard(words, titled) >= _SHARED


def _said_again(row: Row, at: str, session_id: str, *, note: bool) -> bool:
    """Return whether a row's words were said another time at ``at``."""
    then, now = parse_time(row["created_at"]), parse_time(at)
    if then is None or now is None:
        return False
    apart = abs(now - then)
    return bool(apart) if note else apart >= _ONE_SAYING and (row["session_id"] != session_id or apart >= _ONE_SESSION)
