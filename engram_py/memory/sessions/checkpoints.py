"""Agents: what the sessions of each left; and checkpoints: the state of an agent, kept whole and given back byte for
byte, out of every search.
"""

from __future__ import annotations

import base64
import json
from typing import Literal

from engram_py.base.capture.redact import redact
from engram_py.base.capture.session_id import clean_session_id
from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass
from engram_py.base.errors import EmptyFieldError, InvalidInputError, NotFoundError
from engram_py.base.reasons import Told, amount, operation, sentence
from engram_py.memory.observations.arguments import clamp
from engram_py.memory.observations.listing import Listing
from engram_py.memory.observations.validation import intake_notes
from engram_py.memory.projects.projects import Core
from engram_py.memory.sessions.sessions import Sessions
from engram_py.memory.sessions.values import Checkpoint, CheckpointLine

LIMIT_BYTES = 1_048_576
KEPT = 10  # of a session
MOST = 200

LATEST = """
select checkpoints.id, checkpoints.session_id, sessions.project, {columns}
from checkpoints cross join sessions on sessions.id = checkpoints.session_id
where {where}
order by checkpoints.id desc
limit :limit
"""
_WHOLE = "checkpoints.saved_at, checkpoints.content"
_LINE = "length(checkpoints.content) as size, checkpoints.saved_at"
_OF_SESSION = "checkpoints.session_id = :session_id"
_IN_PROJECTS = "(:projects is null or sessions.project in (select value from json_each(:projects)))"

TRIM = """
delete from checkpoints
where session_id = :session_id
  and id not in (select id from checkpoints where session_id = :session_id order by id desc limit :kept)
"""


class Checkpoints:
    """Keeps the last ten checkpoints of each session, on this machine alone."""

    def __init__(self, core: Core, sessions: Sessions) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._sessions = sessions

    def save(self, content: bytes, *, project: str | None = None, session_id: str | None = None) -> CheckpointLine:
        """Keep ``content`` as the latest checkpoint of a session; saved again unchanged, it is kept once.

        Secrets are taken out first, and the answer says so; every other byte is given back as it came.

        Raises:
            EmptyFieldError, InvalidInputError (checkpoint_too_large): no byte, or over a mebibyte.
            InvalidInputError (checkpoint_secret): it is JSON, and would be none without the secrets in it.
        """
        if not content:
            raise EmptyFieldError("content")
        if len(content) > LIMIT_BYTES:
            raise InvalidInputError(
                f"the checkpoint has more than {LIMIT_BYTES:,} bytes; nothing was saved",
                hint="save less of the state, or keep it in a file and save its path",
                code="checkpoint_too_large",
            )
        data, redacted = _without_secrets(content)
        with self._store.transaction():
            place = self._projects.for_write(project, session_id=session_id)
            session, now = self._sessions.ensure(session_id, place), self._journal.now()
            row_id = self._keep(session.id, data, now)
        notes = (*intake_notes(redacted, None), *place.warnings)
        return CheckpointLine(row_id, session.id, session.project, len(data), now, redacted, notes)

    def load(self, *, session_id: str | None = None, project: str | None = None) -> Checkpoint:
        """Return the latest checkpoint of a session; without one the latest of the project, whichever session saved it.

        Raises NotFoundError (checkpoint_not_found).
        """
        rows, where, _ = self._latest(_WHOLE, session_id, project, limit=1)
        if not rows:
            raise NotFoundError(
                f"{where[:80]} has no checkpoint",
                hint=sentence(operation("checkpoints"), " lists them all"),
                code="checkpoint_not_found",
            )
        row_id, of_session, in_project, saved_at, data = rows[0]
        return Checkpoint(row_id, of_session, in_project, len(data), saved_at, *_as_text(data))

    def listed(self, *, session_id: str | None = None, project: str | None = None, limit: int = 20) -> Listing:
        """Return the checkpoints of a session, or of the project, the latest first."""
        limit, clamped = clamp("limit", limit, 1, MOST)
        rows, _, warnings = self._latest(_LINE, session_id, project, limit=limit)
        return Listing("checkpoints", tuple(CheckpointLine(*row) for row in rows), (*clamped, *warnings))

    def _latest(
        self, columns: str, session_id: str | None, project: str | None, *, limit: int
    ) -> tuple[list[Row], str, tuple[Told, ...]]:
        """Return the rows of a session or of a project, the name of that, and notes on the choice of the project."""
        if session_id and session_id.strip():
            wanted = clean_session_id(session_id)
            sql = LATEST.format(columns=columns, where=_OF_SESSION)
            return self._store.rows(sql, session_id=wanted, limit=limit), f"session {wanted}", ()
        place = self._projects.for_read(project)
        sql = LATEST.format(columns=columns, where=_IN_PROJECTS)
        rows = self._store.rows(sql, projects=place.reads, limit=limit)
        return rows, place.project or "any project", place.warnings

    def _keep(self, session_id: str, data: bytes, now: str) -> int:
        sql = LATEST.format(columns="checkpoints.content", where=_OF_SESSION)
        last = self._store.row(sql, session_id=session_id, limit=1)
        if last is not None and last["content"] == data:
            self._store.update("checkpoints", {"id": last["id"]}, {"saved_at": now})
            return int(last["id"])
        row_id = self._store.insert("checkpoints", {"session_id": session_id, "content": data, "saved_at": now})
        self._store.execute(TRIM, session_id=session_id, kept=KEPT)
        return row_id


def _as_text(data: bytes) -> tuple[Literal["utf-8", "base64"], str]:
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = "\0"
    return ("base64", base64.b64encode(data).decode()) if "\0" in text else ("utf-8", text)


def _without_secrets(content: bytes) -> tuple[bytes, int]:
    """Return the bytes without secrets, and the number of secrets. Bytes that are not UTF-8 are read as Latin-1."""
    try:
        encoding, text = "utf-8", content.decode()
    except UnicodeDecodeError:
        encoding, text = "latin-1", content.decode("latin-1")
    hidden = redact(text)
    if not hidden.count:
        return content, 0
    if _is_json(text) and not _is_json(hidden.text):
        raise InvalidInputError(
            f"without its {amount(hidden.count, 'secret or private part')} the checkpoint is no valid JSON; "
            "nothing was saved",
            hint="remove them and save it again",
            code="checkpoint_secret",
        )
    return hidden.text.encode(encoding, "replace"), hidden.count


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except (ValueError, RecursionError):
        return False
    return True


_AGENTS = """
with kept as (
    select
        session_id,
        sum(type = 'session_summary') as episodes,
        sum(type <> 'session_summary') as memories,
        sum(about is not null) as facts
    from observations where deleted_at is null and lifecycle = 'active' group by session_id
),
said as (select session_id, count(*) as turns from turns group by session_id)
select
    agent, count(*), sum(coalesce(facts, 0)), sum(coalesce(episodes, 0)), sum(coalesce(memories, 0)),
    sum(coalesce(turns, 0)), max(updated_at)
from sessions
left join kept on kept.session_id = sessions.id
left join said on said.session_id = sessions.id
where :agent is null or agent = :agent
group by agent order by max(updated_at) desc, agent
"""


@dataclass(frozen=True, slots=True)
class AgentLine:
    """An agent and what its sessions left: facts about entities, episodes (summaries of sessions), memories (all else
    that was kept, facts included), and the turns of its conversations that are still there."""

    id: str
    sessions: int
    facts: int
    episodes: int
    memories: int
    turns: int
    last_active_at: str


def agents(store: Store, agent_id: str | None = None) -> tuple[AgentLine, ...]:
    """Return every agent, the last active first, or one. Raises NotFoundError (agent_not_found)."""
    found = tuple(AgentLine(*row) for row in store.tuples(_AGENTS, agent=agent_id))
    if agent_id is not None and not found:
        raise NotFoundError(
            f"agent {agent_id[:80]!r} has no sessions",
            hint=sentence(operation("agents"), " lists agents that have"),
            code="agent_not_found",
        )
    return found


def last_active(store: Store) -> dict[str, tuple[int, str]]:
    """Return how many sessions each agent had, and when it was last active; the last active first."""
    sql = "select agent, count(*), max(updated_at) from sessions group by agent order by max(updated_at) desc"
    return {agent or "": (count, at) for agent, count, at in store.tuples(sql)}
