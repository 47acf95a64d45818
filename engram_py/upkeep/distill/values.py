"""Values of distilling: the facts that a distiller is given, its answer, and the outcome."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal, Protocol

from engram_py.base.dataclass import dataclass
from engram_py.memory.sessions.values import Role

if TYPE_CHECKING:
    from engram_py.base.git.activity import Work

# Weakest first: a later text of a weaker one never takes the place of a stronger one's.
STRENGTHS = ("heuristic", "http", "command", "agent")

Source = Literal["heuristic", "http", "command", "agent"]


@dataclass(frozen=True, slots=True)
class SessionTurn:
    """One turn of a session as a distiller reads it, without blocks of memory."""

    role: Role
    content: str


@dataclass(frozen=True, slots=True)
class SessionFacts:
    """The facts of a session for a distiller. ``prompts`` are the person's, in order; ``turns`` what both said, the
    beginning and the end of a long conversation. ``unanswered`` is the last prompt, where nothing was said after it.
    ``work`` is what git tells; None without a repository, or where it does not say."""

    session_id: str
    project: str
    directory: str
    agent: str
    started_at: str
    ended_at: str
    prompts: tuple[str, ...]
    turns: tuple[SessionTurn, ...]
    unanswered: str = ""
    work: Work | None = None


@dataclass(frozen=True, slots=True)
class FactCandidate:
    """A fact that a digest offers: a sentence about an entity."""

    entity: str
    text: str
    salience: float = 0.6


@dataclass(frozen=True, slots=True)
class Digest:
    """A session in few words; ``facts`` and ``identity`` (what the person said of themselves) are kept as such where
    they are new. ``tokens`` and ``cost`` are what a model says it took."""

    summary: str
    goal: str = ""
    done: tuple[str, ...] = ()
    decisions: tuple[str, ...] = ()
    next_steps: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    entities: tuple[str, ...] = ()
    facts: tuple[FactCandidate, ...] = ()
    identity: tuple[str, ...] = ()
    salience: float = 0.5
    tokens: int = 0
    cost: float = 0.0


class Distiller(Protocol):
    """Writes the digest of a session."""

    @property
    def source(self) -> Source:
        """Its name, which says how strong its text is."""

    def distill(self, facts: SessionFacts) -> Digest | None:
        """Return the digest; None where nothing is notable. Raises DistillerFailed."""


class DistillerFailed(Exception):
    """A distiller that gave no digest. ``counts``: it was tried and failed, which is not done forever."""

    def __init__(self, reason: str, *, counts: bool = True) -> None:
        super().__init__(reason)
        self.reason, self.counts = reason, counts


@dataclass(frozen=True, slots=True)
class Distilled:
    """The outcome of distilling a session's turns: ``result`` is ``distilled`` or a token such as
    ``skipped:low_novelty:79chars``, ``no_signals`` or ``dead_letter:3``; ``id`` is the summary's, if there is one."""

    session_id: str
    project: str
    result: str
    turns: int = 0
    id: int | None = None
    source: str = ""
    tokens: int = 0
    cost: float = 0.0


@dataclass(frozen=True, slots=True)
class Flushed:
    """The outcomes of distilling several sessions. ``busy``: another process distills just now."""

    sessions: tuple[Distilled, ...]
    busy: bool = False
