"""What keeps a memory in step with a server: what was set, how far it is, what was not taken and why."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Phase = Literal["idle", "pushing", "pulling", "push_failed", "pull_failed", "backoff", "healthy", "disabled"]
Direction = Literal["push", "pull"]

UNKNOWN_SEQ = -1


@dataclass(frozen=True, slots=True)
class Grant:
    """A project as the server shows it to this token."""

    name: str
    access: Literal["read", "write"]
    paused: bool = False
    latest_seq: int = UNKNOWN_SEQ
    paused_reason: str = ""


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """Where this machine is logged in now. ``kept_in``, the place of the token, is ``keychain`` or ``file``."""

    server: str
    principal: str
    role: str
    kept_in: str
    token_expires_at: str | None = None
    projects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """``server`` is where this machine was logged in; empty when it was nowhere."""

    server: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enrolled:
    """Which projects go to the server from now on (``added``), or no longer (``removed``); ``projects`` are all now."""

    server: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CloudProject:
    """An enrolled project: what the server lets this token do, how many changes wait, and what is in the way.

    Of one that may only be read, ``pending`` are the changes made on this machine, which stay here.
    """

    name: str
    access: str
    pending: int
    reason_code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A row that was not taken: ``push`` by the server, ``pull`` by this program."""

    direction: Direction
    entity: str
    entity_key: str
    project: str
    reason_code: str
    reason: str
    repairable: bool
    tries: int
    last_seen_at: str
    next_step: str = ""


@dataclass(frozen=True, slots=True)
class CloudStatus:
    """How sync with a server is. ``enabled``: this process's kind of program would sync in the background."""

    enabled: bool
    server: str
    principal: str
    kept_in: str
    phase: Phase
    reason_code: str
    reason_message: str
    next_step: str
    consecutive_failures: int
    backoff_until: str | None
    last_attempt_at: str | None
    last_success_at: str | None
    projects: tuple[CloudProject, ...] = ()
    set_aside_total: int = 0
    set_aside: tuple[SetAside, ...] = ()
    deferred: int = 0
    dead: int = 0
    notice: str = ""

    @property
    def pending(self) -> int:
        """The changes that are going to be sent."""
        return sum(one.pending for one in self.projects if one.access != "read")


@dataclass(frozen=True, slots=True)
class CloudSynced:
    """What one exchange with the server did. ``outcome`` is ``busy`` when another process was at it."""

    outcome: Literal["done", "failed", "busy"]
    server: str
    sent: int = 0
    known: int = 0
    received: int = 0
    applied: int = 0
    deferred: int = 0
    set_aside: int = 0
    reason_code: str = ""
    reason_message: str = ""
    next_step: str = ""
    warnings: tuple[str, ...] = ()
