"""Distill the turns of sessions into their summaries: when it is due, and whose text stays."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING

from engram_py.base.database import runs
from engram_py.base.database.runs import NamedLease
from engram_py.base.dataclass import replace
from engram_py.base.errors import EngramError, StoreError
from engram_py.base.lazy import logger_of
from engram_py.base.settings import Settings
from engram_py.base.times import passed
from engram_py.memory.projects.projects import Core
from engram_py.upkeep.distill import table
from engram_py.upkeep.distill.table import DueSession
from engram_py.upkeep.distill.values import Distilled, Flushed

if TYPE_CHECKING:
    from engram_py.memory.privacy.switches import Switches
    from engram_py.memory.sessions.prompts import Episodes
    from engram_py.memory.sessions.spool import Spool
    from engram_py.upkeep.distill.summarizing import Learning, Summarizing
    from engram_py.upkeep.distill.values import Distiller


logger = logger_of(__name__)

_PASS = "distill"  # noqa: S105 (no password)
RETRY_SECONDS = 300.0
_LEASE_SECONDS = 900.0  # longer than any distiller may take


def model_of(settings: Settings) -> Distiller | None:
    """Return the distiller that the user set: a command, else an endpoint; None without either."""
    if settings.distill_command:
        from engram_py.upkeep.distill.model import CommandDistiller

        return CommandDistiller(settings.distill_command, seconds=settings.distill_timeout)
    if settings.distill_url:
        from engram_py.upkeep.distill.model import HttpDistiller

        return HttpDistiller(
            settings.distill_url,
            settings.distill_model,
            key=settings.distill_key,
            seconds=settings.distill_timeout,
        )
    return None


class Distilling:
    """Keeps a summary of each session that left none, from its turns, on this machine's own time.

    Nothing here runs on an agent's way: ``run`` is for threads, the end of processes and commands.
    """

    def __init__(
        self,
        core: Core,
        episodes: Callable[[], Episodes],
        spool: Callable[[], Spool],
        learning: Callable[[], Learning],
        switches: Switches,
        *,
        model: Distiller | None = None,
    ) -> None:
        self._store, self._journal, self._settings = core.store, core.journal, core.settings
        self._episodes = episodes
        self._spool = spool
        self._learning = learning
        self._switches = switches
        self._model = model or model_of(core.settings)
        self._at_work = threading.Lock()  # the lease tells processes apart, not threads
        self._lease = NamedLease(core.store, core.journal, _PASS, seconds=_LEASE_SECONDS)

    @cached_property
    def _summarizing(self) -> Summarizing:
        from engram_py.upkeep.distill.summarizing import Summarizing  # most processes have nothing to distill

        limit = self._settings.distill_daily_tokens
        kept = (self._episodes, self._learning, self._switches)
        return Summarizing(self._store, self._journal, *kept, self._model, limit)

    @property
    def is_instant(self) -> bool:
        """Whether a summary takes no program, no endpoint and no word of the user: milliseconds."""
        return self._model is None and self._settings.distill == "auto"

    # --- now --------------------------------------------------------------------------------------------

    def run(self, *, project: str | None = None, until: float | None = None, models: bool = True) -> Flushed:
        """Distill what is due: sessions that ended, that another one followed, or in which nothing was said lately.

        ``until`` (``time.monotonic``) is when to begin no more. Without ``models`` what a model would summarize is left
        to a process that has the time.
        """
        if self._settings.distill != "auto" or (self._model is not None and not models):
            return Flushed(())
        now = self._journal.moment()
        due = [one for one in table.waiting(self._store, project=project) if self._is_due(one, now)]
        return self._distilled(due, until=until) if due else Flushed(())

    def flush(self, session_id: str | None = None) -> Flushed:
        """Distill now, whatever is due: every session that has turns, or one, which is tried again where it failed.

        Raises SessionNotFoundError.
        """
        with suppress(EngramError):
            self._spool().drain()  # the end of a session, and the rest of its transcript
        if session_id is None:
            return self._distilled(table.waiting(self._store))
        from engram_py.memory.observations.validation import clean_session_id
        from engram_py.memory.sessions.values import SessionNotFoundError

        found = table.session(self._store, clean_session_id(session_id))
        if found is None:
            raise SessionNotFoundError(session_id)
        return self._distilled([replace(found, attempts=0, tried_at=None)], again=True)

    # --- which ------------------------------------------------------------------------------------------

    def _is_due(self, session: DueSession, now: datetime) -> bool:
        if not self._switches.allowed(session.project, session.id).records:
            return False
        if session.tried_at and not passed(session.tried_at, now, seconds=RETRY_SECONDS * max(1, session.attempts)):
            return False
        over = session.ended_at is not None or session.followed
        return bool(over) or passed(session.last_turn_at, now, seconds=self._settings.distill_idle_seconds)

    def _distilled(self, sessions: Iterable[DueSession], *, until: float | None = None, again: bool = False) -> Flushed:
        """Return what becomes of each, as one run, unless another thread or process is at it."""
        if not self._at_work.acquire(blocking=False):
            return Flushed((), busy=True)
        try:
            return self._distilled_alone(sessions, until=until, again=again)
        finally:
            self._at_work.release()

    def _distilled_alone(self, sessions: Iterable[DueSession], *, until: float | None, again: bool) -> Flushed:
        begun = time.monotonic()
        done: list[Distilled] = []
        tokens, cost = 0, 0.0
        with self._lease.holding() as held:
            if held is None:
                return Flushed((), busy=True)
            for session in sessions:
                if until is not None and time.monotonic() >= until:
                    break
                if not held():
                    break
                fresh = session if again else table.session(self._store, session.id)
                if fresh is not None and (again or fresh.state == "pending"):
                    result = self._summarizing.summarize(fresh, again=again, until=until)
                    done.append(result)
                    tokens, cost = tokens + result.tokens, cost + result.cost
        if done:
            self._record(done, tokens, cost, ms=round((time.monotonic() - begun) * 1000))
        return Flushed(tuple(done))

    def _record(self, done: list[Distilled], tokens: int, cost: float, *, ms: int) -> None:
        counts: dict[str, float] = {}
        for one in done:
            name = one.result.partition(":")[0]
            counts[name] = counts.get(name, 0) + 1
        if cost:
            counts["cost_usd"] = round(cost, 6)
        status: runs.Status = "done" if "distilled" in counts else "failed" if "failed" in counts else "skipped"
        detail = ", ".join(dict.fromkeys(one.result for one in done))[:500]
        with suppress(StoreError), self._store.transaction():
            runs.record(self._store, self._journal, _PASS, status, detail=detail, counts=counts, ms=ms, tokens=tokens)
