"""What one exchange works with: the memory, the server, and the ways to be told to stop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Protocol

from engram_py.database.journal import Journal
from engram_py.database.store import Store
from engram_py.sync.autosync import table
from engram_py.sync.autosync.settings import TARGET
from engram_py.sync.mutation import Applied, Changes, Mutation

if TYPE_CHECKING:
    from engram_py.sync.autosync.client import CloudClient

# (what is done, how much of it, of how much)
Progress = Callable[[str, int, int], None]

# In the background neither direction keeps the other from its turn for longer than this.
TURN_SECONDS = 30.0
_RENEW_SECONDS = 15.0
_BREATH_SECONDS = 0.002


class Replica(Protocol):
    """What of the memory is exchanged: ``services.replica``."""

    def changes(
        self,
        *,
        after: int = 0,
        projects: Sequence[str] | None = None,
        towards: str = "",
        max_rows: int = 500,
        max_bytes: int = 4 * 2**20,
    ) -> Changes: ...

    def apply(self, mutations: Sequence[Mutation], *, source: str = "") -> Applied: ...

    def retry_deferred(self) -> Applied: ...


class Stopped(Exception):
    """The process ends; what was not acknowledged is exchanged another time."""


@dataclass(slots=True)
class Line:
    """An exchange with one server, under the lease."""

    store: Store
    journal: Journal
    replica: Replica
    client: CloudClient
    server: str
    renew: Callable[[], None]
    stopped: threading.Event
    progress: Progress | None = None
    notices: list[str] = field(default_factory=list)
    _renewed: float = field(default_factory=time.monotonic)

    def go_on(self) -> None:
        """Called before every request. Raises Stopped, LeaseLost."""
        if self.stopped.is_set():
            raise Stopped
        if time.monotonic() - self._renewed > _RENEW_SECONDS:
            self.renew()
            self._renewed = time.monotonic()

    @property
    def device(self) -> str:
        """What this machine calls itself; a memory that only ever fetched has no name until it is asked for one."""
        with self.store.transaction():
            return self.journal.device()

    def breathe(self) -> None:
        """Between two writes of ours whoever else wants to write comes first: the lock goes to the quickest."""
        self.stopped.wait(_BREATH_SECONDS)

    def said(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)

    def is_other_database(self, instance: str) -> bool:
        """Whether the server has another database than when we last looked; from now on this is the known one."""
        row = table.state(self.store, TARGET)
        known = row["instance"] if row is not None else ""
        if known != instance:
            with self.store.transaction():
                table.set_state(self.store, TARGET, instance=instance)
        return bool(known) and known != instance

    def aside(self, direction: str, mutation: Mutation, *, code: str, reason: str, repairable: bool) -> dict[str, Any]:
        """A row of what was set aside."""
        return {
            "server": self.server,
            "direction": direction,
            "entity": mutation.entity,
            "entity_key": mutation.entity_key,
            "project": mutation.project,
            "remote_seq": mutation.seq if direction == "pull" else 0,
            "reason_code": code[:60],
            "reason": reason[:500],
            "repairable": int(repairable),
        }

    def commit(
        self,
        direction: str,
        projects: Iterable[str],
        cursors: Mapping[str, int | str],
        *,
        aside: Sequence[Mapping[str, Any]] = (),
        taken: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Note how far these projects are, in the transaction that keeps what was not taken on the way."""
        with self.store.transaction():
            table.set_projects(self.store, self.server, projects, **cursors)
            table.take_back(self.store, self.server, direction, taken)
            table.lay_aside(self.store, aside, now=self.journal.now())
