"""Values of server sync: results of commands, status, rows that were set aside."""

from __future__ import annotations

from typing import Literal

from engram_py.dataclass import dataclass

Phase = Literal["idle", "pushing", "pulling", "push_failed", "pull_failed", "backoff", "healthy", "disabled"]
Direction = Literal["push", "pull"]


@dataclass(frozen=True, slots=True)
class LoggedIn:
    """The result of a login. ``kept_in`` says where the token is: ``keychain`` or ``file``."""

    server: str
    principal: str
    role: str
    kept_in: str
    token_expires_at: str | None = None
    projects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class LoggedOut:
    """The result of a logout; ``server`` is '' when nobody was logged in."""

    server: str
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Enrolled:
    """The projects that were enrolled or unenrolled now; ``projects`` are all that are enrolled."""

    server: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    projects: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class CloudProject:
    """An enrolled project: its access, the number of pending changes, and what blocks it.

    Of one that may only be read, ``pending`` are the changes made on this machine, which stay here.
    """

    name: str
    access: str
    pending: int
    reason_code: str = ""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class SetAside:
    """A row that was refused: by the server (``push``) or by this program (``pull``)."""

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
    """The status of sync with a server. ``enabled`` says whether server processes sync in the background."""

    enabled: bool
    server: str = ""
    principal: str = ""
    kept_in: str = ""
    phase: Phase = "disabled"
    reason_code: str = ""
    reason_message: str = ""
    next_step: str = ""
    consecutive_failures: int = 0
    backoff_until: str | None = None
    last_attempt_at: str | None = None
    last_success_at: str | None = None
    projects: tuple[CloudProject, ...] = ()
    set_aside_total: int = 0
    set_aside: tuple[SetAside, ...] = ()
    deferred: int = 0
    dead: int = 0
    notice: str = ""

    @property
    def pending(self) -> int:
        """The number of changes that will be sent."""
        return sum(one.pending for one in self.projects if one.access != "read")


@dataclass(slots=True)
class CloudSynced:
    """The result of an exchange, counted while it runs. ``outcome`` is ``busy`` while another process syncs."""

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
