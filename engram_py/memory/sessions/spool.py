"""Stores what hooks could not store in time, as soon as no other process writes."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from engram_py.base.capture.passive import parse_learnings
from engram_py.base.database.keys import unseal
from engram_py.base.database.store import at_once
from engram_py.base.errors import EngramError, StoreError
from engram_py.base.files import read_bounded
from engram_py.base.times import parse_time, to_text
from engram_py.memory.privacy.switches import Switches
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions import table as session_table
from engram_py.memory.sessions.prompts import Episodes, Prompts
from engram_py.memory.sessions.sessions import Sessions
from engram_py.memory.sessions.spool_files import waiting_files
from engram_py.memory.sessions.transcripts import Transcripts
from engram_py.memory.sessions.values import Session

MOST_BYTES = 2_000_000
AT_ONCE = 50
_UNREADABLE = ".unreadable"


class Spool:
    """Stores spooled prompts, learnings and ends of sessions, exactly once."""

    def __init__(
        self,
        core: Core,
        sessions: Sessions,
        prompts: Prompts,
        episodes: Callable[[], Episodes],
        transcripts: Callable[[], Transcripts],
        switches: Switches,
    ) -> None:
        self._store, self._journal = core.store, core.journal
        self._projects = core.projects.without_override()
        self._sessions = sessions
        self._prompts = prompts
        self._episodes = episodes
        self._transcripts = transcripts
        self._switches = switches
        self._unread: dict[Path, Callable[[float | None], bool]] = {}  # each returns whether more waits
        self._active: dict[str, str] = {}

    def drain(self, *, until: float | None = None, read: bool = True) -> int:
        """Store what waits, oldest first and some at a time, if the lock can be had; how many it were.

        A file goes when its transaction is committed, the end of a session when its transcript is read as well: until
        ``until`` (``time.monotonic``), or by ``read_rest``. A process that dies in between leaves it, and storing it
        again changes nothing: a prompt, a learning and an end are each known by what they say. What cannot be read is
        set aside.
        """
        files = waiting_files(self._store.path.parent)[:AT_ONCE]
        if not files:
            return 0
        self._unread.clear()
        self._active.clear()
        try:
            with at_once(self._store):
                done = [file for file in files if self._stored(file)]
        except StoreError:
            self._unread.clear()
            return 0
        for file in done:
            if file not in self._unread:
                _remove(file)
        if read:
            self.read_rest(until)
        return len(done)

    def read_rest(self, until: float | None = None) -> None:
        """Read the transcripts of the sessions that the last drain ended.

        Not inside a transaction: nobody should wait while a file is read. What there is no time for is left to the
        next drain.
        """
        unread, self._unread = self._unread, {}
        for file, owed in unread.items():
            try:
                more = owed(until)
            except StoreError:
                break
            except EngramError:  # the transcript or the session is gone
                more = False
            if not more:
                _remove(file)

    @property
    def has_unread(self) -> bool:
        """Whether the last drain left something to ``read_rest``."""
        return bool(self._unread)

    def _read(self, session_id: str, transcript: str, until: float | None) -> bool:
        """Read the transcript of a session that was not ended in time; return whether more waits."""
        project = self._sessions.get(session_id).project
        if not self._switches.allowed(project, session_id).records:
            return False

        def learn(text: str) -> None:
            if not parse_learnings(text):
                return
            try:
                self._teach(session_id, text, "session-end", project, at="", until=None)
            except StoreError:
                raise
            except EngramError:  # a text that cannot be kept; the rest can
                return

        found = self._transcripts().read(transcript, session_id=session_id, project=project, until=until, learn=learn)
        return found.more

    def _stored(self, file: Path) -> bool:
        """Return whether this process stored the file: False when another did, or when it is set aside."""
        try:
            record = json.loads(unseal(self._store.path.parent, read_bounded(file, MOST_BYTES), self._store.key))
        except FileNotFoundError:
            return False
        except (OSError, ValueError, RecursionError):
            record = None
        try:
            with self._store.transaction():  # a savepoint: one record that fails takes none with it
                self._apply(record, file)
        except StoreError:
            raise
        except (EngramError, TypeError, KeyError, AttributeError, ValueError):
            with contextlib.suppress(OSError):
                file.rename(file.with_suffix(_UNREADABLE))
            return False
        return True

    def _apply(self, record: Any, file: Path) -> None:
        kind, session_id, text = record["kind"], str(record["session_id"]), str(record["content"])
        before = session_table.by_id(self._store, session_id)
        at = to_text(moment) if (moment := parse_time(str(record["at"]))) else ""
        # As it was before anything of this drain: what a record stores says nothing about the session going on.
        active = self._active.setdefault(session_id, session_table.last_active(self._store, session_id))
        if kind == "end":
            if before is not None and before.ended_at is None and (not at or active <= at):
                self._sessions.end(session_id, at=max(at, before.started_at) if at else None)
            if before is not None and record.get("transcript"):
                self._unread[file] = partial(self._read, session_id, str(record["transcript"]))
            return
        self._sessions.agent, kept = str(record["agent"]), self._sessions.agent
        try:
            self._keep(kind, session_id, text, record, before, at, file)
        finally:
            self._sessions.agent = kept

    def _keep(
        self, kind: str, session_id: str, text: str, record: Any, before: Session | None, at: str, file: Path
    ) -> None:
        told = None if before else record.get("project")
        directory = None if before or told else str(record["directory"])
        place = self._projects.for_write(str(told) if told else None, session_id=session_id, directory=directory)
        if not self._switches.allowed(place.project, session_id).records:
            return  # switched off since: it is dropped
        if kind == "prompt":
            saved = self._prompts.save(text, project=place.project, session_id=session_id)
            if saved.outcome == "added" and at:
                self._store.update("user_prompts", {"id": saved.id}, {"created_at": at})
        elif kind == "learnings":
            self._unread[file] = partial(self._teach, session_id, text, str(record["source"]), place.project, at)
            return
        else:
            raise ValueError(kind)
        self._end_again(before, at)

    def _teach(self, session_id: str, text: str, source: str, project: str, at: str, until: float | None) -> bool:
        """Keep what was learned ``at`` a moment; return whether more waits. A long list has its share of the time."""
        before = session_table.by_id(self._store, session_id)
        try:
            done = self._episodes().capture(text, session_id=session_id, source=source, project=project, until=until)
        finally:
            self._end_again(before, at)
        return done.unfinished

    def _end_again(self, before: Session | None, at: str) -> None:
        """End a session again that was over by then, before a late record reopened it."""
        if before is not None and before.ended_at is not None and at <= before.ended_at:
            self._sessions.end(before.id, at=before.ended_at)


def _remove(file: Path) -> None:
    with contextlib.suppress(OSError):
        file.unlink()
