"""Take over a conversation that another program tells of: its turns, and the episode that is made of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING

from engram_py.capture.redact import redact
from engram_py.dataclass import dataclass
from engram_py.distill import table
from engram_py.errors import InvalidArgumentError
from engram_py.observations.validation import clean_session_id
from engram_py.privacy.retention import oldest_kept
from engram_py.projects.projects import ProjectOperations
from engram_py.sessions import table as session_table
from engram_py.sessions import turns_table
from engram_py.sessions.conversations import Conversation, conversation_of
from engram_py.sessions.transcripts import MOST_TURNS
from engram_py.text.derived_terms import derived_terms
from engram_py.times import parse_time, to_text

if TYPE_CHECKING:
    from engram_py.database.journal import Journal
    from engram_py.database.store import Store
    from engram_py.distill.distilling import Distilling
    from engram_py.privacy.switches import Switches
    from engram_py.projects.projects import Projects
    from engram_py.sessions.sessions import Sessions
    from engram_py.sessions.values import Session

PENDING, OFF, NO_TURNS, NO_RETENTION = "pending", "skipped:memory_disabled", "skipped:no_turns", "skipped:no_retention"
SKIPPED = "skipped:extraction"
AGENT_CHARS = 100
_DATE_CHARS = len("2026-01-02")
# How long a call waits for another thread or process that distills just now; asked to wait, it has the patience.
_SHORT_WAIT, _LONG_WAIT, _PAUSE = 0.2, 30.0, 0.05


@dataclass(frozen=True, slots=True)
class Ingested:
    """What became of a conversation. ``turns_ingested`` counts the given turns that are kept; ``distillation`` is what
    became of them: ``distilled``, ``pending``, ``no_signals``, ``skipped:<why>``, ``failed:<why>``,
    ``dead_letter:<n>``."""

    session_id: str
    project: str
    agent_id: str
    turns_ingested: int
    distillation: str
    episode_id: int | None = None
    warnings: tuple[str, ...] = ()


class Ingesting(ProjectOperations):
    """Keeps conversations that come as a whole. The same one again adds nothing; a longer one is continued, and one
    that differs takes the place of what was kept of it."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        projects: Projects,
        sessions: Sessions,
        switches: Switches,
        distilling: Callable[[], Distilling],
        *,
        days: int,
    ) -> None:
        super().__init__(store, journal, projects)
        self._sessions = sessions
        self._switches = switches
        self._distilling = distilling
        self._days = days

    def ingest(
        self,
        conversation_id: str,
        turns: Sequence[object],
        *,
        agent_id: str | None = None,
        session_date: str | None = None,
        skip_extraction: bool = False,
        flush: bool | None = None,
        project: str | None = None,
        directory: str | None = None,
    ) -> Ingested:
        """Keep the turns of a conversation, ``{user, assistant}`` or ``{role, content}`` each, and summarize it.

        ``flush``: True waits for the summary, False leaves it to the background; None waits where no program or
        endpoint writes it, which takes milliseconds. ``skip_extraction`` keeps the turns and makes nothing of them.
        ``session_date`` dates the turns and the summary. ``directory`` is where the work took place, if anywhere.

        Raises InvalidArgumentError, EmptyFieldError, TextTooLongError, AmbiguousProjectError.
        """
        agent = redact(" ".join((agent_id or self._sessions.agent).split())).text[:AGENT_CHARS]
        day = self._day(session_date)
        session_id = self._session_id(clean_session_id(conversation_id), agent)
        said = conversation_of(turns, said_at=day and to_text(day))
        terms = [derived_terms(turn.content) for turn in said.turns]
        with self._store.transaction():
            place = self._projects.for_write(project, session_id=session_id, directory=directory)
            notes = (*said.notes, *place.warnings)
            refused = self._refused(place.project, session_id, said)
            if refused:
                return Ingested(session_id, place.project, agent, 0, refused, warnings=notes)
            before = session_table.by_id(self._store, session_id)
            keys = [turn.key for turn in said.turns]
            kept = turns_table.keys_of(self._store, session_id) if before is not None else []
            known = len(kept) if kept == keys[: len(kept)] else 0
            if before is None or known < len(keys) or self._was_skipped(session_id) != skip_extraction:
                begun = min((turn.said_at for turn in said.turns if turn.said_at), default=None)
                before = self._sessions.ensure_conversation(
                    session_id, place, agent=agent, directory=directory or "", started_at=begun
                )
                notes += self._keep(before, said, terms, known, wait=not skip_extraction)
                self._end_if_past(before, said)
        found = self._distilled(session_id, flush=flush) if not skip_extraction else (SKIPPED, ())
        return self._answer(before, said, found[0], (*notes, *found[1]))

    # --- what is kept -----------------------------------------------------------------------------------

    def _session_id(self, conversation_id: str, agent: str) -> str:
        """The session of a conversation: of its own name, unless another agent has one of that name."""
        both = clean_session_id(f"{agent}/{conversation_id}") if agent else conversation_id
        if session_table.by_id(self._store, both) is not None:
            return both
        named = session_table.by_id(self._store, conversation_id)
        return conversation_id if named is None or named.agent == agent else both

    def _day(self, given: str | None) -> datetime | None:
        """When a conversation took place; of a day alone its noon, which is the same day nearly everywhere."""
        if given is None or not given.strip():
            return None
        moment = parse_time(given)
        if moment is None or moment > self._journal.moment() + timedelta(days=1):
            raise InvalidArgumentError("session_date", given, expected="a day that has come, such as 2025-05-04")
        return moment.replace(hour=12) if len(given.strip()) == _DATE_CHARS else moment

    def _refused(self, project: str, session_id: str, said: Conversation) -> str:
        if not self._switches.allowed(project, session_id).records:
            return OFF
        if not said.turns:
            return NO_TURNS
        return "" if self._days else NO_RETENTION

    def _was_skipped(self, session_id: str) -> bool:
        found = table.session(self._store, session_id)
        return found is not None and found.detail == SKIPPED

    def _keep(
        self, session: Session, said: Conversation, terms: Sequence[str], known: int, *, wait: bool
    ) -> tuple[str, ...]:
        """Keep the turns after the ``known`` ones, or all of them in the place of what was kept; what to know of it."""
        now = self._journal.now()
        if self._was_skipped(session.id) == wait:
            known = 0
        if not known:
            turns_table.forget(self._store, session.id)
        for turn, words in zip(said.turns[known:], terms[known:], strict=True):
            turns_table.add(
                self._store, turn, terms=words, session_id=session.id, project=session.project, now=now,
                distilled_at=None if wait else now,
            )  # fmt: skip
        turns_table.wait(self._store, session.id, now=now)
        if not wait:
            columns = {"distill_state": "skipped", "distill_detail": SKIPPED}
            self._store.update("sessions", {"id": session.id}, columns)
        else:
            self._store.update("sessions", {"id": session.id, "distill_detail": SKIPPED}, {"distill_detail": ""})
        turns_table.prune(self._store, before=oldest_kept(self._journal.moment, self._days))
        dropped = turns_table.shrink(self._store, most=MOST_TURNS)
        return (f"dropped the {dropped:,} oldest messages; {MOST_TURNS:,} are kept",) if dropped else ()

    def _end_if_past(self, session: Session, said: Conversation) -> None:
        """A conversation of an earlier day is over."""
        last = max((turn.said_at or "" for turn in said.turns), default="")
        if last and last < to_text(self._journal.moment() - timedelta(days=1)):
            self._sessions.end(session.id, at=last)

    # --- what becomes of it -----------------------------------------------------------------------------

    def _distilled(self, session_id: str, *, flush: bool | None) -> tuple[str, tuple[str, ...]]:
        """What became of a session's turns, as a token, and what to know of it."""
        session = table.session(self._store, session_id)
        if session is None or session.state not in ("pending", "dead"):
            return (session.detail if session is not None and session.detail else "no_signals"), ()
        if flush is False or (flush is None and not self._distilling().is_instant):
            return PENDING, ()
        until = time.monotonic() + (_LONG_WAIT if flush else _SHORT_WAIT)
        while (done := self._distilling().flush(session_id)).busy and time.monotonic() < until:
            time.sleep(_PAUSE)
        if done.busy or not done.sessions:
            return PENDING, ("another process distills just now; this follows in the background",)
        return done.sessions[0].result, ()

    def _answer(self, session: Session, said: Conversation, token: str, notes: tuple[str, ...]) -> Ingested:
        row = table.summary(self._store, session.id)
        episode = row["id"] if row is not None and not row["deleted_at"] and row["lifecycle"] == "active" else None
        return Ingested(session.id, session.project, session.agent, said.given, token, episode, notes)
