"""The context of one exchange: the memory, the server, the counts so far, progress and cancellation."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from engram_py.database.journal import Journal
from engram_py.database.store import Row, Store
from engram_py.dataclass import dataclass, field
from engram_py.sync.autosync import table
from engram_py.sync.autosync.settings import TARGET
from engram_py.sync.autosync.values import CloudSynced
from engram_py.sync.mutation import Mutation

if TYPE_CHECKING:
    from engram_py.sync.autosync.client import CloudClient
    from engram_py.sync.replica.replica import Replica

# (what is done, how much of it, of how much)
Progress = Callable[[str, int, int], None]

# The longest turn of one direction before the other gets its own.
TURN_SECONDS = 30.0
_RENEW_SECONDS = 15.0
_BREATH_SECONDS = 0.002
# The most unreadable rows that are recorded: a server can send them without end.
_MOST_ASIDE = 10_000


class Stopped(Exception):
    """The process ends, or lost the lease; what was not acknowledged is exchanged by the next one."""


@dataclass(slots=True)
class Channel:
    """The context of an exchange with one server, under the lease that ``renew`` extends while it is still held."""

    store: Store
    journal: Journal
    replica: Replica
    client: CloudClient
    renew: Callable[[], bool]
    stopped: threading.Event
    result: CloudSynced
    progress: Progress | None = None
    notices: list[str] = field(default_factory=list)
    _renewed: float = field(default_factory=time.monotonic)

    @property
    def server(self) -> str:
        return self.client.server

    def checkpoint(self) -> None:
        """Renew the lease when it is due; called before every request. Raises Stopped."""
        late = time.monotonic() - self._renewed > _RENEW_SECONDS
        if self.stopped.is_set() or (late and not self.renew()):
            raise Stopped
        if late:
            self._renewed = time.monotonic()

    @property
    def device(self) -> str:
        """The name of this device, made when it is first asked for."""
        with self.store.transaction():
            return self.journal.device()

    def projects(self) -> list[Row]:
        """Return the enrolled projects with their cursors."""
        return table.projects(self.store, self.server)

    def yield_lock(self) -> None:
        """Pause between two writes, so that other writers get the lock."""
        self.stopped.wait(_BREATH_SECONDS)

    def report(self, what: str, done: int, total: int) -> None:
        if self.progress is not None:
            self.progress(what, done, total)

    def is_new_database(self, instance: str) -> bool:
        """Return whether the server has another database than at the last exchange, and remember the present one."""
        row = table.state(self.store, TARGET)
        known = row["instance"] if row is not None else ""
        if known != instance:
            with self.store.transaction():
                table.set_state(self.store, TARGET, instance=instance)
        return bool(known) and known != instance

    def aside(self, direction: str, mutation: Mutation, *, code: str, reason: str, repairable: bool) -> dict[str, Any]:
        """Return a row for ``sync_set_aside``."""
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
        projects: Iterable[str] = (),
        cursors: Mapping[str, int | str] | None = None,
        *,
        aside: Sequence[Mapping[str, Any]] = (),
        taken: Sequence[tuple[str, str]] = (),
    ) -> None:
        """Store the cursors of ``projects`` in one transaction with the rows that were set aside or accepted."""
        self.result.set_aside += len(aside)
        if aside and direction == "pull":
            aside = aside[: max(0, _MOST_ASIDE - table.count_set_aside(self.store, self.server, "pull"))]
        with self.store.transaction():
            table.set_projects(self.store, self.server, projects if cursors else (), **cursors or {})
            table.clear_set_aside(self.store, self.server, direction, taken)
            for row in aside:
                self.store.execute(table.ADD_SET_ASIDE, **row, now=self.journal.now())
