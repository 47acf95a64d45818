"""Count what answers cost: in memory first, written later, never blocking another writer."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Collection
from typing import TYPE_CHECKING, Any, TypeVar

from engram_py.database.connection import of_any_driver
from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.dataclass import asdict, dataclass
from engram_py.errors import EngramError
from engram_py.ledger import table
from engram_py.observations.usage import Alarm, Deferred, timer
from engram_py.times import to_text

if TYPE_CHECKING:
    from engram_py.ledger.costs import Door

MOST_WAITING = 200  # answers
LONGEST_WAIT_SECONDS = 5.0
# When the file cannot be written for a long time, new keys are dropped from here on; known ones go on adding up.
MOST_KEPT = 5_000
MOST_ROWS = 20_000

K = TypeVar("K")

# Returns the session and the project of a caller. Called later, after the answer was sent.
Caller = Callable[[], tuple[str, str]]

_DAY = len("2026-01-02")

_Key = tuple[str, str, str, str, str]  # session, project, day, door, name


# Door, name, bytes, when, the session that was named, who the caller is, and the observations that were shown.
_Answer = tuple[str, str, int, str, str | None, Caller, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class _Sum:
    """A sum of answers: their number, their bytes, and the time of the last."""

    times: int
    bytes: int
    at: str


class Ledger(Deferred):
    """Counts the bytes that sessions are given, by day and by tool, event of a hook or route.

    Answers are only noted at first; a thread adds them up and writes them seconds or 200 answers later, in a
    transaction that does not wait. A killed process loses what it did not write. The counters stay on this machine and
    hold ids and numbers only.
    """

    def __init__(
        self, store: Store, journal: Journal, *, later: Callable[[float, Callable[[], object]], Alarm] = timer
    ) -> None:
        super().__init__(store, journal, later=later)
        self._answers: list[_Answer] = []
        self._sums: dict[_Key, _Sum] = {}
        self._recalls: dict[tuple[str, int], _Sum] = {}

    def answered(
        self,
        door: Door,
        name: str,
        size: int,
        *,
        caller: Caller,
        session_id: str | None = None,
        shown: Collection[int] = (),
    ) -> None:
        """Note an answer of ``size`` bytes that showed some observations. Never fails or waits.

        ``session_id`` is the session that the caller named, if it did.
        """
        now = to_text(self._journal.moment())
        with self._lock:
            if len(self._answers) < MOST_KEPT:
                self._answers.append((door, name, size, now, session_id, caller, tuple(shown)))
            self._set_alarm()

    def injected(self, session_id: str, event: str, size: int) -> None:
        """Count what a hook shows its agent unasked. Call inside a transaction, after the session's row is there.

        Raises InvalidInputError: ``session_id`` is not valid.
        """
        from engram_py.observations.validation import clean_session_id

        session_id = clean_session_id(session_id)
        key = (session_id, "", self._journal.now()[:_DAY], "hook", event)
        table.count_one(self._store, _row(key, 1, size), most=MOST_ROWS)

    def settle(self) -> None:
        """Resolve the session and project of the noted answers: before a session ends, and before writing."""
        with self._lock:
            answers, self._answers = self._answers, []
        callers = {(session_id, caller) for *_, session_id, caller, _ in answers}
        owners = {caller: _owner(*caller) for caller in callers}
        with self._lock:
            for door, name, size, at, session_id, caller, shown in answers:
                owner, project = owners[session_id, caller]
                _add(self._sums, (owner, project, at[:_DAY], door, name), _Sum(1, size, at))
                for row_id in shown:
                    # An answer is shared evenly between what it shows: the parts are never more than the whole.
                    _add(self._recalls, (owner, row_id), _Sum(1, size // len(shown), at))

    def flush(self) -> bool:
        self.settle()
        with self._lock:
            sums, self._sums = self._sums, {}
            recalls, self._recalls = self._recalls, {}
            self._clear_alarm()
        if not sums:
            return True
        rows = [_row(key, one.times, one.bytes) for key, one in sums.items()]
        shown = [
            {"session_id": session_id, "id": row_id, **asdict(one)} for (session_id, row_id), one in recalls.items()
        ]
        try:
            counted = table.count(self._store, rows, shown, most=MOST_ROWS)
        except of_any_driver(sqlite3.Error, EngramError):
            counted = False
        with self._lock:
            self._refused = not counted
            if not counted:
                for key, one in sums.items():
                    _add(self._sums, key, one)
                for shown_key, one in recalls.items():
                    _add(self._recalls, shown_key, one)
            self._set_alarm()
        return counted

    def _set_alarm(self) -> None:
        """See that what waits is written down: at once where there is much of it, else in some seconds."""
        if len(self._answers) >= MOST_WAITING and not self._refused:
            self._schedule(0.0, self.flush, urgent=True)
        elif self._answers or self._sums:
            self._schedule(LONGEST_WAIT_SECONDS, self.flush, urgent=False)


def _add(sums: dict[K, _Sum], key: K, more: _Sum) -> None:
    if old := sums.get(key):
        more = _Sum(old.times + more.times, old.bytes + more.bytes, max(old.at, more.at))
    if old or len(sums) < MOST_KEPT:
        sums[key] = more


def _row(key: _Key, calls: int, size: int) -> dict[str, Any]:
    session_id, project, day, door, name = key
    values = {"session_id": session_id, "project": project, "day": day, "door": door, "name": name}
    return values | {"calls": calls, "bytes": size}


def _owner(session_id: str | None, caller: Caller) -> tuple[str, str]:
    """Return the session and the project of an answer; empty where they cannot be told any more."""
    try:
        own, project = caller()
    except of_any_driver(EngramError, OSError, sqlite3.Error):
        own, project = "", ""
    if not session_id or not session_id.strip():
        return own, project
    from engram_py.observations.validation import clean_session_id  # redaction is not loaded for nothing

    try:
        return clean_session_id(session_id), project
    except EngramError:
        return own, project
