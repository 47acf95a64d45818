"""Take over a conversation that another program tells of: read its turns, keep them, and make an episode of them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

from engram_py.base.capture.host_formats import typed, without_memory_blocks
from engram_py.base.capture.redact import redact
from engram_py.base.capture.session_id import clean_session_id
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidArgumentError
from engram_py.base.reasons import Reason, Told, reason
from engram_py.base.text.normalize import check_text
from engram_py.base.text.words import derived_terms
from engram_py.base.times import parse_time, to_text
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions import table as session_table
from engram_py.memory.sessions.retention import oldest_kept
from engram_py.memory.sessions.table import TOLD
from engram_py.memory.sessions.transcript_formats import TURN_LIMIT_CHARS, digest, role_of, text_of
from engram_py.memory.sessions.transcripts import MOST_TURNS, kept_text
from engram_py.memory.sessions.values import Role, Turn
from engram_py.upkeep.distill import table

if TYPE_CHECKING:
    from engram_py.memory.privacy.switches import Switches
    from engram_py.memory.projects.values import Place
    from engram_py.memory.sessions.sessions import Sessions
    from engram_py.memory.sessions.values import Session
    from engram_py.upkeep.distill.distilling import Distilling

PENDING, OFF, NO_TURNS, NO_RETENTION = "pending", "skipped:memory_disabled", "skipped:no_turns", "skipped:no_retention"
SKIPPED = "skipped:extraction"
AGENT_CHARS = 100
_DATE_CHARS = len("2026-01-02")
# How long a call waits for another thread or process that distills just now; asked to wait, it has the patience.
_SHORT_WAIT, _LONG_WAIT, _PAUSE = 0.2, 30.0, 0.05


@dataclass(frozen=True, slots=True)
class Ingested:
    """The outcome of ingesting a conversation. ``turns_ingested`` counts the given turns that are kept;
    ``distillation`` is what
    became of them: ``distilled``, ``pending``, ``no_signals``, ``skipped:<why>``, ``failed:<why>``,
    ``dead_letter:<n>``."""

    session_id: str
    project: str
    agent_id: str
    turns_ingested: int
    distillation: str
    episode_id: int | None = None
    warnings: tuple[Told, ...] = ()


class Ingesting:
    """Keeps conversations that come as a whole. The same one again adds nothing; a longer one is continued, and one
    that differs takes the place of what was kept of it."""

    def __init__(
        self, core: Core, sessions: Sessions, switches: Switches, distilling: Callable[[], Distilling]
    ) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._sessions = sessions
        self._switches = switches
        self._distilling = distilling
        self._days = core.settings.turn_retention_days

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
        agent = _agent(agent_id or self._sessions.agent)
        day = self._day(session_date)
        conversation_id = clean_session_id(conversation_id)
        said = conversation_of(turns, said_at=to_text(day) if day else None)
        terms = [derived_terms(turn.content) for turn in said.turns]
        try:
            with self._store.transaction():
                session_id = self._session_id(conversation_id, agent)
                place = self._projects.for_write(project, session_id=session_id, directory=directory)
                if refused := self._refused(place.project, session_id, said):
                    raise _NothingKept(session_id, place.project, refused)
                session, notes = self._kept(session_id, place, said, terms, agent, directory or "", not skip_extraction)
        except _NothingKept as nothing:
            return Ingested(nothing.session_id, nothing.project, agent, 0, nothing.token, warnings=said.notes)
        token, more = (SKIPPED, ()) if skip_extraction else self._distilled(session_id, flush=flush)
        warnings = (*said.notes, *place.warnings, *notes, *more)
        row = table.summary(self._store, session_id)
        episode = row["id"] if row is not None and not row["deleted_at"] and row["lifecycle"] == "active" else None
        return Ingested(session_id, session.project, session.agent, said.given, token, episode, warnings)

    # --- what is kept -----------------------------------------------------------------------------------

    def _session_id(self, conversation_id: str, agent: str) -> str:
        """Return the session of a conversation: of its own name, unless another agent has one of that name."""
        both = clean_session_id(f"{agent}/{conversation_id}") if agent else conversation_id
        if session_table.by_id(self._store, both) is not None:
            return both
        named = session_table.by_id(self._store, conversation_id)
        return conversation_id if named is None or named.agent == agent else both

    def _day(self, given: str | None) -> datetime | None:
        """Return when a conversation took place; of a day alone its noon, which is the same day nearly everywhere."""
        if given is None or not given.strip():
            return None
        moment = parse_time(given)
        if moment is None or moment > self._journal.moment() + timedelta(days=1):
            raise InvalidArgumentError("session_date", given, expected="a day up to today, such as 2025-05-04")
        return moment.replace(hour=12) if len(given.strip()) == _DATE_CHARS else moment

    def _refused(self, project: str, session_id: str, said: Conversation) -> str:
        if not self._switches.allowed(project, session_id).records:
            return OFF
        if not said.turns:
            return NO_TURNS
        return "" if self._days else NO_RETENTION

    def _kept(
        self,
        session_id: str,
        place: Place,
        said: Conversation,
        terms: Sequence[str],
        agent: str,
        directory: str,
        wait: bool,
    ) -> tuple[Session, tuple[str, ...]]:
        """Return the session with these turns, and notes on it. Turns that it already has stay; where it has others,
        the new ones replace them. Call inside a transaction."""
        before = session_table.by_id(self._store, session_id)
        keys = [turn.key for turn in said.turns]
        kept = session_table.told_keys(self._store, session_id)
        state = table.session(self._store, session_id)
        same = kept == keys[: len(kept)] and (state is not None and state.detail == SKIPPED) != wait
        if before is not None and same and len(kept) == len(keys):
            return before, ()
        known = len(kept) if same else 0
        begun = min((turn.said_at for turn in said.turns if turn.said_at), default=None)
        session = self._sessions.ensure_conversation(
            session_id, place, agent=agent, directory=directory, started_at=begun
        )
        if not known:
            session_table.forget_told(self._store, session.id)
        notes = self._add(session, said.turns[known:], terms[known:], wait=wait)
        self._end_if_past(session, said)
        return session, notes

    def _add(self, session: Session, turns: Sequence[Turn], terms: Sequence[str], *, wait: bool) -> tuple[str, ...]:
        now = self._journal.now()
        done = None if wait else now
        for turn, words in zip(turns, terms, strict=True):
            session_table.add(
                self._store, turn, terms=words, session_id=session.id, project=session.project, now=now,
                distilled_at=done,
            )  # fmt: skip
        session_table.wait(self._store, session.id, now=now)
        columns = {"distill_detail": ""} if wait else {"distill_state": "skipped", "distill_detail": SKIPPED}
        self._store.update("sessions", {"id": session.id}, columns)
        session_table.prune(self._store, before=oldest_kept(self._journal.moment, self._days))
        dropped = session_table.shrink(self._store, most=MOST_TURNS)
        return (f"dropped the {dropped:,} oldest messages; {MOST_TURNS:,} are kept",) if dropped else ()

    def _end_if_past(self, session: Session, said: Conversation) -> None:
        """A conversation of an earlier day is over."""
        last = max((turn.said_at or "" for turn in said.turns), default="")
        if last and last < to_text(self._journal.moment() - timedelta(days=1)):
            self._sessions.end(session.id, at=last)

    # --- what becomes of it -----------------------------------------------------------------------------

    def _distilled(self, session_id: str, *, flush: bool | None) -> tuple[str, tuple[str, ...]]:
        """Return what became of a session's turns, as a token, and what to know of it."""
        session = table.session(self._store, session_id)
        if session is None or session.state not in ("pending", "dead"):
            return (session.detail if session is not None and session.detail else "no_signals"), ()
        if flush is False or (flush is None and not self._distilling().is_instant):
            return PENDING, ()
        until = time.monotonic() + (_LONG_WAIT if flush else _SHORT_WAIT)
        while (done := self._distilling().flush(session_id)).busy and time.monotonic() < until:
            time.sleep(_PAUSE)
        if done.busy or not done.sessions:
            return PENDING, ("another process writes summaries now; this one follows in the background",)
        return done.sessions[0].result, ()


class _NothingKept(Exception):
    """Takes back what a transaction began to write of a conversation that is not kept."""

    def __init__(self, session_id: str, project: str, token: str) -> None:
        super().__init__(token)
        self.session_id, self.project, self.token = session_id, project, token


def _agent(name: str) -> str:
    check_text("agent_id", name)
    return redact(" ".join(name.split())).text[:AGENT_CHARS]


_SHAPES = "an object with user and assistant, or with role and content"
_MOST_NAMED = 5
_ROLE_CHARS = 40


@dataclass(frozen=True, slots=True)
class Conversation:
    """Turns that are redacted and cut, and from how many given ones they come; ``notes`` say what is missing."""

    turns: tuple[Turn, ...]
    given: int
    notes: tuple[Told, ...] = ()


def conversation_of(given: Sequence[object], *, said_at: str | None) -> Conversation:
    """Return the turns of ``[{user, assistant} or {role, content}, …]``; each may have a ``timestamp`` of its own.

    What a system or a tool said, and what nobody said, is left out. Raises InvalidArgumentError.
    """
    if not given:
        raise InvalidArgumentError("turns", [], expected=f"a list of at least one: {_SHAPES}")
    if len(given) > MOST_TURNS:
        raise InvalidArgumentError("turns", f"{len(given):,} turns", expected=f"at most {MOST_TURNS:,} turns")
    turns: list[Turn] = []
    strangers: Counter[str] = Counter()
    whole = cut = redacted = 0
    for number, entry in enumerate(given):
        before = len(turns)
        at = _time(entry, f"turns.{number}") or said_at
        for role, text in _spoken(entry, f"turns.{number}", strangers):
            own = typed(text) if role == "user" else without_memory_blocks(text).strip()
            if not own:
                continue
            kept, hidden = kept_text(own)
            redacted, cut = redacted + hidden, cut + (len(own) > TURN_LIMIT_CHARS)
            position = len(turns)
            key = TOLD + digest(str(position), role, at or "", kept)
            turns.append(Turn(role, kept, key, position, said_at=at))
        whole += len(turns) > before
    if len(turns) > MOST_TURNS:
        raise InvalidArgumentError("turns", f"{len(turns):,} messages", expected=f"at most {MOST_TURNS:,} messages")
    return Conversation(tuple(turns), whole, tuple(_notes(strangers, cut, redacted)))


def _spoken(entry: object, name: str, strangers: Counter[str]) -> Iterator[tuple[Role, str]]:
    """Yield the role and the text of each part of a turn. An unknown role is counted."""
    if not isinstance(entry, Mapping) or not entry.keys() & {"role", "user", "assistant"}:
        raise InvalidArgumentError(name, entry, expected=_SHAPES)
    if "role" not in entry:
        yield "user", _text(entry.get("user"), f"{name}.user")
        yield "assistant", _text(entry.get("assistant"), f"{name}.assistant")
        return
    given = entry["role"]
    if not isinstance(given, str):
        raise InvalidArgumentError(f"{name}.role", given, expected="user or assistant")
    role, text = role_of(given), _text(entry.get("content"), f"{name}.content")
    if role is None:
        strangers[" ".join(given.split())[:_ROLE_CHARS]] += 1
    else:
        yield role, text


def _text(content: object, name: str) -> str:
    if content is not None and not isinstance(content, str | list):
        raise InvalidArgumentError(name, content, expected="text, or a list of parts with text")
    return text_of(content)


def _time(entry: object, name: str) -> str | None:
    given: Any = entry.get("timestamp") if isinstance(entry, Mapping) else None
    if given is None:
        return None
    moment = parse_time(given) if isinstance(given, str) else None
    if moment is None:
        raise InvalidArgumentError(f"{name}.timestamp", given, expected="a time such as 2026-03-14T09:30:00Z")
    return to_text(moment)


def _notes(strangers: Counter[str], cut: int, redacted: int) -> Iterator[Reason]:
    if strangers:
        roles = tuple(name for name, _ in strangers.most_common(_MOST_NAMED))
        yield reason("strange_roles", count=strangers.total(), roles=roles)
    if cut:
        yield reason("messages_cut", count=cut, limit=TURN_LIMIT_CHARS)
    if redacted:
        yield reason("not_stored", count=redacted)
