"""Start, continue, end, list and delete sessions; find that of an agent's process. A save never needs an open one."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Literal

from engram_py.base.capture.redact import redact
from engram_py.base.capture.session_id import clean_session_id
from engram_py.base.database.store import Store
from engram_py.base.dataclass import replace
from engram_py.base.errors import ConflictError, InvalidArgumentError
from engram_py.base.files import expanded, native, readable_path, real_path
from engram_py.base.reasons import Told, amount
from engram_py.base.times import to_text
from engram_py.memory.observations.arguments import clamp
from engram_py.memory.observations.validation import clean_content, intake_notes
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import Place
from engram_py.memory.sessions import table
from engram_py.memory.sessions.values import SESSION_COLUMNS, Session, SessionLine, SessionNotFoundError, SessionState

_MOST_ANCESTORS = 6
# How many programs may stand between an agent and its hook and its server together: a shell, `uv run`.
_MOST_BETWEEN = 2
# An agent that died leaves its session open; later ones are not in it.
_MOST_OPEN = timedelta(days=1)


def ancestors() -> tuple[str, ...]:
    """Return the processes above this one, the parent first, each as its id and, on Linux, when it started.

    Elsewhere only the parent is known.
    """
    found, pid = list[str](), os.getppid()
    while pid > 0 and len(found) < _MOST_ANCESTORS:
        try:
            stat = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
            fields = stat[stat.rindex(")") + 2 :].split()
            parent, started = int(fields[1]), fields[19]  # proc(5): fields 4 and 22
        except (OSError, ValueError, IndexError):
            return (*found, str(pid))
        found.append(f"{pid}:{started}")
        pid = parent
    return tuple(found)


def hosted(store: Store, project: str, hosts: Sequence[str]) -> str | None:
    """Return the live session of ``project`` whose hook ran below the same agent as a process below ``hosts``."""
    best: tuple[int, str] | None = None
    for known in table.hosted(store, project):  # the latest first
        above = known.processes
        between = [above.index(host) + place for place, host in enumerate(hosts) if host in above]
        if between and min(between) <= _MOST_BETWEEN and (best is None or min(between) < best[0]):
            best = (min(between), known.session_id)
    return best[1] if best else None


def registered(store: Store, project: str, directory: Path, *, since: str) -> str | None:
    """Return the latest live session of ``project`` that a plugin started over HTTP in a directory after ``since``.

    Its process is not known; one that a server has joined is that server's.
    """
    free = (host for host in table.hosted(store, project) if not host.processes and host.started_at >= since)
    own = (host for host in free if host.directory and real_path(Path(host.directory)) == real_path(directory))
    return next((host.session_id for host in own), None)


SESSIONS_MOST = 200
OWNERSHIP_MODES = ("shared", "project_owned")

SessionMode = Literal["process", "manual"]


OWN_PREFIX = "mcp-"  # sessions that a server process opened by itself
MANUAL_PREFIX = "manual-save-"  # and of a command line, each with its project's name


class Sessions:
    """Starts, continues, ends and lists sessions.

    A call that names no session belongs to the one this process started. A server (``process``) joins the session
    that a hook of the same agent started, which ``hosts``, the processes above it, tell; without one it makes a
    session of its own for each project on its first write. A command line files under ``manual-save-<project>``.
    """

    def __init__(self, core: Core, *, mode: SessionMode = "manual", agent: str = "", hosts: Sequence[str] = ()) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._mode = mode
        self.agent = agent
        self._hosts = hosts
        self._started: dict[str, str] = {}  # project → the session this process is in
        self._entered: str | None = None  # the session that decides the project of calls which name none

    def start(
        self,
        session_id: str,
        *,
        directory: str | None = None,
        project: str | None = None,
        ownership_mode: str = "shared",
        isolated: bool = False,
    ) -> SessionState:
        """Begin ``session_id``, or continue it: an ended one is opened again. Later saves of this process join it.

        ``ownership_mode`` is ``shared`` or ``project_owned``, and is kept as the session's first start said. An
        ``isolated`` one has no directory.
        """
        if ownership_mode not in OWNERSHIP_MODES:
            raise InvalidArgumentError(
                "ownership_mode", ownership_mode, expected=f"one of {', '.join(OWNERSHIP_MODES)}"
            )
        session_id = clean_session_id(session_id)
        with self._store.transaction():
            place = self._projects.for_write(project, directory=directory)
            state = self._ensure_row(session_id, place, "" if isolated else directory or place.path, ownership_mode)
            if state.event == "continued":  # a hook that was late does not end what goes on
                self._store.update("sessions", {"id": session_id}, {"updated_at": self._journal.now()})
        before = self._started.get(place.project)
        if before is not None and before != session_id and before.startswith(OWN_PREFIX):
            self._end_if_there(before)
        self._started[place.project] = self._entered = session_id
        self._projects.enter(place.project)
        return replace(state, warnings=place.warnings)

    def keep_hosts(self, session_id: str, hosts: Sequence[str]) -> None:
        """Remember the processes above a session's hook; the agent's server runs below one of them.

        None are known of a plugin that starts a session over HTTP: the agent's server joins it with its first write.
        """
        with self._store.transaction():
            table.keep_hosts(self._store, session_id, hosts, self._journal.now())

    def end(self, session_id: str, *, summary: str | None = None, at: str | None = None) -> SessionState:
        """Close a session, keeping ``summary`` when there is one; ``at`` is when it was over, unless just now.

        Raises SessionNotFoundError: nothing was ever saved or started under this id.
        """
        clean, warnings = _clean_summary(summary)
        with self._store.transaction():
            session = self.get(session_id)
            session_id = session.id
            ended = replace(session, ended_at=at or self._journal.now(), summary=_both(session.summary, clean))
            self._write(ended)
        self._started = {project: known for project, known in self._started.items() if known != session_id}
        if self._entered == session_id:
            self._entered = None
            self._projects.enter(None)
        return SessionState(ended, "ended", warnings)

    def end_unused(self, before: str, *, project: str | None = None, dry_run: bool = False) -> tuple[str, ...]:
        """End the open sessions that were last used before that time, and return their ids; of one project or all."""
        from engram_py.base.database.health import STALE_OPEN_SESSIONS

        wanted = self._projects.for_read(project).project if project else None
        with self._store.transaction():
            rows = self._store.rows(STALE_OPEN_SESSIONS, before=before)
            found = tuple(row["id"] for row in rows if wanted in (None, row["project"]))
            for session_id in () if dry_run else found:
                self.end(session_id)
        return found

    def ensure(self, session_id: str | None, place: Place) -> Session:
        """Return the session a write belongs to, created or reopened as needed. Call inside the write's transaction."""
        # Hosts send blanks for what they leave out.
        given = clean_session_id(session_id) if session_id and session_id.strip() else None
        session = self._ensure_row(given or self.current_id(place.project), place, place.path).session
        if not given and self._hosts:
            table.join(self._store, session.id, self._hosts)
        return session

    def ensure_conversation(
        self, session_id: str, place: Place, *, agent: str, directory: str, started_at: str | None = None
    ) -> Session:
        """Return the session of another program's conversation, which begins no later than ``started_at``.

        Call inside a transaction.
        """
        session = self._ensure_row(session_id, place, directory, agent=agent).session
        if started_at is not None and started_at < session.started_at:
            session = replace(session, started_at=started_at)
            self._write(session)
        return session

    @contextmanager
    def reopened_for_a_save(self, session_id: str) -> Iterator[Session]:
        """Yield the session for saves of what was derived from it; one that ended stays so. Needs a transaction."""
        before = self.get(session_id)
        yield before
        now = table.by_id(self._store, before.id)
        if before.ended_at is not None and now is not None and now.ended_at is None:
            self.end(before.id, at=before.ended_at)

    def current_id(self, project: str) -> str:
        """Return the id of this process's session for a project; writes nothing."""
        known = self._started.get(project)
        if known is not None and not known.startswith(OWN_PREFIX):
            return known
        if self._mode == "manual":
            return f"{MANUAL_PREFIX}{project}"
        if self._hosts and (session_id := self._joined(project)):
            return session_id
        return self._started.setdefault(project, OWN_PREFIX + os.urandom(8).hex())

    def _joined(self, project: str) -> str | None:
        since = to_text(self._journal.moment() - _MOST_OPEN)
        found = hosted(self._store, project, self._hosts)
        return found or registered(self._store, project, self._projects.directory, since=since)

    def end_own(self) -> None:
        """End the sessions this process opened by itself; those an agent started are the agent's to end."""
        for session_id in [known for known in self._started.values() if known.startswith(OWN_PREFIX)]:
            self._end_if_there(session_id)

    def _end_if_there(self, session_id: str) -> None:
        if table.by_id(self._store, session_id) is not None:
            self.end(session_id)

    def summarize(self, session_id: str, summary: str) -> None:
        """Keep a session's summary beside it. Call inside a transaction."""
        self._summarize(session_id, lambda _: summary)

    def resummarize(self, session_id: str, *, old: str, new: str | None) -> None:
        """Follow a correction or deletion of the summary observation. Call inside a transaction."""
        self._summarize(session_id, lambda kept: (kept or "").replace(old, new or "").strip() or None)

    def resume_summary(self, session_id: str, text: str) -> None:
        """Add the text of a restored summary observation. Call inside a transaction."""
        self._summarize(session_id, lambda kept: _both(kept, text))

    def _summarize(self, session_id: str, change: Callable[[str | None], str | None]) -> None:
        session = table.by_id(self._store, session_id)
        if session is not None and (summary := change(session.summary)) != session.summary:
            self._write(replace(session, summary=summary))

    def get(self, session_id: str) -> Session:
        """Return the session of this id. Raises SessionNotFoundError."""
        session_id = clean_session_id(session_id)
        session = table.by_id(self._store, session_id)
        if session is None:
            raise SessionNotFoundError(session_id)
        return session

    def recent(
        self, project: str | None = None, *, all_projects: bool = False, limit: int = 20, offset: int = 0
    ) -> tuple[SessionLine, ...]:
        """Return the latest sessions of a project, the most recently active first, without those that were emptied."""
        limit, _ = clamp("limit", limit, 1, SESSIONS_MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        lines = table.recent(self._store, projects=place.reads, limit=limit + offset)[offset:]
        # An emptied one holds nothing but deleted observations, which can be restored.
        return tuple(
            line
            for line in lines
            if line.ended_at is None
            or line.summary is not None
            or line.observations
            or not table.observations_in(self._store, line.id)
        )

    def page(
        self,
        project: str | None = None,
        *,
        all_projects: bool = False,
        containing: str = "",
        limit: int = 20,
        offset: int = 0,
    ) -> tuple[SessionLine, ...]:
        """Return the sessions whose id, agent, project or summary contains a text, the most recently active first."""
        limit, _ = clamp("limit", limit, 1, SESSIONS_MOST)
        place = self._projects.for_read(project, all_projects=all_projects)
        return tuple(table.page(self._store, projects=place.reads, containing=containing, limit=limit, offset=offset))

    def delete(self, session_id: str) -> None:
        """Remove a session that holds no observations, and its prompts, leaving tombstones.

        Raises ConflictError (session_in_use): observations belong to it, soft-deleted ones included.
        """
        with self._store.transaction():
            session = self.get(session_id)
            session_id = session.id
            held = table.observations_in(self._store, session_id)
            if held:
                raise ConflictError(
                    f"session {session_id[:80]!r} still has {amount(held, 'observation')}",
                    hint="delete those first; deleting a session deletes no memory",
                    code="session_in_use",
                )
            for prompt in table.prompts_of(self._store, session_id):
                self.remove_prompt(prompt.id)
            self.close_or_remove(session_id)

    def remove_prompt(self, prompt_id: int) -> None:
        """Remove a prompt for good, if it is there, leaving a tombstone. Call inside a transaction."""
        prompt = table.prompt_by_id(self._store, prompt_id)
        if prompt is not None:
            self._store.execute("delete from user_prompts where id = :id", id=prompt_id)
            clock = self._journal.stamp()
            self._journal.removed(
                "prompt", prompt.sync_id, project=prompt.project, clock=clock, session_id=prompt.session_id
            )

    def close_or_remove(self, session_id: str) -> bool:
        """End a session and forget its summary, turns and checkpoints; where no row names it, remove it.

        Whether it was removed. Call inside a transaction.
        """
        session = self.get(session_id)
        for kept in ("turns", "checkpoints"):
            self._store.execute(f"delete from {kept} where session_id = :id", id=session_id)
        if table.observations_in(self._store, session_id) or table.prompts_of(self._store, session_id):
            self._write(replace(session, ended_at=session.ended_at or self._journal.now(), summary=None))
            return False
        self._store.execute("delete from sessions where id = :id", id=session_id)
        self._journal.removed("session", session_id, project=session.project, clock=self._journal.stamp())
        return True

    def _ensure_row(
        self, session_id: str, place: Place, directory: str, ownership_mode: str = "shared", agent: str | None = None
    ) -> SessionState:
        session = table.by_id(self._store, session_id)
        if session is None:
            where = str(expanded(directory)) if directory.startswith("~") else native(directory)
            folder, now = redact(readable_path(where)).text, self._journal.now()
            agent = self.agent if agent is None else agent
            created = Session(session_id, place.project, folder, agent, ownership_mode, now, None, None)
            self._write(created, new=True)
            return SessionState(created, "created")
        if session.project != place.project and table.arrived(self._store, session_id):
            # The session came from another machine; what is saved here belongs to the project here.
            session = replace(session, project=place.project, ended_at=None, summary=None)
            self._write(session)
            self._store.update("sessions", {"id": session_id}, {"arrival": None})
            return SessionState(session, "continued")
        if session.ended_at is not None:
            reopened = replace(session, ended_at=None)
            self._write(reopened)
            return SessionState(reopened, "reopened")
        return SessionState(session, "continued")

    def _write(self, session: Session, *, new: bool = False) -> None:
        clock = self._journal.stamp()
        values = {name: getattr(session, name) for name in SESSION_COLUMNS}
        values |= {"updated_at": self._journal.now(), "clock": clock}
        self._store.insert("sessions", values) if new else self._store.update("sessions", {"id": session.id}, values)
        self._journal.changed("session", session.id, project=session.project, clock=clock)


def _both(kept: str | None, given: str | None) -> str | None:
    """Return both summaries; the one given at the end does not replace the one that is kept."""
    if not kept or not given or given in kept:
        return kept or given
    return f"{kept}\n\n{given}"


def _clean_summary(summary: str | None) -> tuple[str | None, tuple[Told, ...]]:
    if not summary or not summary.strip():
        return None, ()
    text, truncation, redacted = clean_content(summary, field="summary")
    return text, intake_notes(redacted, truncation)
