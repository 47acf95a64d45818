"""Sessions, the user prompts said in them, and the checkpoints kept in them."""

from __future__ import annotations

from typing import Literal

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import InvalidInputError, NotFoundError
from engram_py.base.reasons import Told, operation, sentence
from engram_py.memory.observations.values import Row


class SessionNotFoundError(NotFoundError):
    def __init__(self, session_id: str) -> None:
        self.session_id = session_id[:80]
        super().__init__(f"no session {self.session_id!r}", hint=sentence("list them with ", operation("sessions")))


class TranscriptRefusedError(InvalidInputError):
    def __init__(self, reason: str) -> None:
        self.reason = reason
        super().__init__(
            f"the transcript was not read: {reason}",
            hint="the path comes from the agent's hook; all other work of the hook is done",
        )


class TranscriptMissingError(TranscriptRefusedError):
    def __init__(self) -> None:
        super().__init__("it does not exist")


class TranscriptUnheardError(TranscriptRefusedError):
    def __init__(self) -> None:
        super().__init__("it is not empty, but no user message was recognised in it")


# Before the name of the project; every session's, as Engram writes it (spec/engram-behaviour.md 5.2).
SUMMARY_TITLE = "Session summary: "
PROMPTS_MOST = 200  # of one list


@dataclass(frozen=True, slots=True)
class Session:
    """One run of a coding agent in a project. Times are UTC text; ``ended_at`` None means still open."""

    id: str
    project: str
    directory: str
    agent: str
    ownership_mode: str
    started_at: str
    ended_at: str | None
    summary: str | None

    @classmethod
    def from_row(cls, row: Row) -> Session:
        return cls(*row[: len(SESSION_COLUMNS)])


SESSION_COLUMNS: tuple[str, ...] = Session.__match_args__


@dataclass(frozen=True, slots=True)
class SessionState:
    """A session and what a call did to it."""

    session: Session
    event: Literal["created", "reopened", "continued", "ended"]
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class SessionLine:
    """A session in a list, with the number of live observations it holds, and when the last of them was saved.
    ``unchecked`` as in ``Observation``."""

    id: str
    project: str
    agent: str
    started_at: str
    ended_at: str | None
    summary: str | None
    observations: int
    last_activity_at: str = ""
    unchecked: str | None = None


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt that a person typed; ``unchecked`` as in ``Observation``."""

    id: int
    sync_id: str
    session_id: str
    project: str
    content: str
    created_at: str
    unchecked: str | None = None


@dataclass(frozen=True, slots=True)
class PromptSaved:
    outcome: Literal["added", "duplicate"]
    id: int
    sync_id: str
    project: str
    project_source: str
    session_id: str
    redacted: int = 0
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class CapturedLearnings:
    """The learnings that passive capture found in a text, and how many were new."""

    extracted: int
    saved: int
    duplicates: int
    ids: tuple[int, ...]
    project: str
    project_source: str
    warnings: tuple[Told, ...] = ()

    @property
    def unfinished(self) -> bool:
        """Return whether there was no time for all of it: the same text again goes on from there."""
        return self.extracted > self.saved + self.duplicates


Role = Literal["user", "assistant"]


@dataclass(frozen=True, slots=True)
class Turn:
    """A message of one side. ``key`` names the message within its session; ``position`` orders it in its transcript.

    ``agent`` is the subagent that spoke, empty for the main one; ``said_at`` is None where the transcript has no time.
    """

    role: Role
    content: str
    key: str
    position: int = 0
    agent: str = ""
    said_at: str | None = None


@dataclass(frozen=True, slots=True)
class KeptTurn:
    """A turn as it is kept; ``read_at`` is when a hook read it."""

    session_id: str
    project: str
    role: Role
    agent: str
    content: str
    said_at: str | None
    read_at: str


@dataclass(frozen=True, slots=True)
class Said:
    """Something said, as a search finds it: ``layer`` is ``turns`` or ``prompts``, where it has its ``id``;
    ``truncated``: ``content`` is a passage of it."""

    layer: str
    id: int
    session_id: str
    project: str
    role: str
    agent: str
    said_at: str
    content: str
    truncated: bool = False


@dataclass(frozen=True, slots=True)
class TranscriptReading:
    """The result of one look into a transcript: the turns that are new, and whether more of it waits for the next look.

    ``skipped`` is how many bytes of its beginning were never read, ``unreadable`` how many lines are no JSON.
    ``unheard`` says that it was read from beginning to end, is not empty, and holds nothing that a user said.
    """

    turns: tuple[Turn, ...]
    added: int
    cited: int
    bytes_read: int
    more: bool = False
    skipped: int = 0
    unheard: bool = False
    unreadable: int = 0


@dataclass(frozen=True, slots=True)
class Tally:
    """In how many sessions an observation was given unasked, and in how many it was cited."""

    injected: int = 0
    cited: int = 0


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The bytes of a checkpoint: ``content`` is their text, or where they are none their ``base64``."""

    id: int
    session_id: str
    project: str
    size: int
    saved_at: str
    encoding: Literal["utf-8", "base64"]
    content: str
    warnings: tuple[Told, ...] = ()

    @property
    def data(self) -> bytes:
        """The bytes as they were saved."""
        from base64 import b64decode

        return self.content.encode() if self.encoding == "utf-8" else b64decode(self.content)


@dataclass(frozen=True, slots=True)
class CheckpointLine:
    """A checkpoint in a list, or one that was just saved; ``redacted`` is how many secrets were taken out of it."""

    id: int
    session_id: str
    project: str
    size: int
    saved_at: str
    redacted: int = 0
    warnings: tuple[Told, ...] = ()
