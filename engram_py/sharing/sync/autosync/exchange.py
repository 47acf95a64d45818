"""Run one exchange with the server: take the lease, pull, push, record the result."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable, Collection, Iterable, Mapping
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engram_py.base.database.mutation_queue import Journal
from engram_py.base.database.runs import NamedLease
from engram_py.base.database.store import Store
from engram_py.base.errors import EngramError
from engram_py.base.lazy import logger_of
from engram_py.base.reasons import amount
from engram_py.base.settings import Settings
from engram_py.base.times import to_text
from engram_py.sharing.sync.autosync import table
from engram_py.sharing.sync.autosync.client import WHOLE_SECONDS, Channel, CloudClient, Progress, Stopped
from engram_py.sharing.sync.autosync.login import Login, current_login, token_fingerprint, token_of
from engram_py.sharing.sync.autosync.pull import Pull, fetch_again, with_new_projects
from engram_py.sharing.sync.autosync.push import Push, resend
from engram_py.sharing.sync.autosync.schedule import MOST_SECONDS, delay, remaining, stopped_after
from engram_py.sharing.sync.autosync.table import TARGET, CloudSynced
from engram_py.sharing.sync.errors import CloudFailedError

if TYPE_CHECKING:
    from engram_py.sharing.sync.replica.replica import Replica

logger = logger_of(__name__)

# After so many failures in a row the phase is `backoff`.
MANY_FAILURES = 10
# The time for the last push when a process ends.
LAST_SECONDS = 1.5
_BOTH = ("push", "pull")
# Failures of the connection, which cause a backoff. The others concern one project.
_SLOWS_DOWN = ("transport_failed", "server_unsupported", "cloud_config_error", "internal_error")
# How many rows that were set aside are offered in one request.
_AT_ONCE = 50


class Exchange:
    """Pulls and pushes on request, and keeps the connection open in between. ``more``: there was no time for all."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        replica: Callable[[], Replica],
        settings: Settings,
        *,
        stopped: threading.Event | None = None,
        chance: Callable[[], float] = random.random,
        whole_seconds: float | None = None,
    ) -> None:
        self._store = store
        self._journal = journal
        self._replica = replica
        self._settings = settings
        self._stopped = stopped or threading.Event()
        self._chance = chance
        self._whole_seconds = whole_seconds
        self._lease = NamedLease(store, journal, TARGET)
        self._client: tuple[tuple[str, str], CloudClient] | None = None
        self._token: tuple[Login, str] | None = None
        self._push, self._pull = Push(), Pull()
        self.more = False

    def close(self) -> None:
        """Close the connection."""
        if self._client is not None:
            self._client[1].close()
            self._client = None

    def release(self) -> None:
        """Release the lease."""
        self._lease.release()

    def last(self) -> None:
        """Push what is left when the process ends, within LAST_SECONDS."""
        self.close()
        with stopped_after(LAST_SECONDS) as self._stopped:
            self._whole_seconds = LAST_SECONDS
            self.once(only="push")

    def retry_set_aside(self) -> bool:
        """Offer the rows that were set aside again, in both directions. False while another process syncs.

        What is not taken again stays set aside. Raises CloudFailedError.
        """
        try:
            login = current_login(self._store, self._settings)
            if login is None:
                return True
            with self._lease.holding() as renew:
                if renew is not None:
                    retry(self._channel(login, renew, CloudSynced("done", login.server)))
                return renew is not None
        except Stopped:
            return False

    # --- one exchange -----------------------------------------------------------------------------------

    def once(
        self, *, now: bool = False, only: str | None = None, progress: Progress | None = None
    ) -> CloudSynced | None:
        """Pull and push once and return the result; None when there is nothing to do or a backoff runs.

        ``now`` does not wait for the time that failures before have set. Never raises for the server's sake.
        """
        self.more = False
        self._pull.begin()
        self._push.begin()
        result = CloudSynced("done", self._settings.cloud_server)
        try:
            login = current_login(self._store, self._settings)
            if login is None or not table.has_projects(self._store, login.server):
                return None
            result.server = login.server
            directions = self._due(_BOTH if only is None else (only,), now=now)
            if not directions or table.is_refused_token(self._store, token_fingerprint(self._token_of(login))):
                return None
            with self._lease.holding() as renew:
                if renew is None:
                    result.outcome = "busy"
                    return result
                channel = self._channel(login, renew, result, progress)
                return self._record(result, self._run(channel, directions), channel.notices)
        except Stopped:
            return None
        except CloudFailedError as failure:
            return self._record(result, dict.fromkeys(_BOTH, failure))
        except Exception as exc:
            if self._stopped.is_set():
                return None  # the file was closed under it
            local = _local_failure(exc)
            with contextlib.suppress(EngramError):
                return self._record(result, dict.fromkeys(_BOTH, local))
            return _failed(result, local)

    def _run(self, channel: Channel, due: Collection[str]) -> dict[str, CloudFailedError | None]:
        """Run the directions and return what went wrong in each."""
        turns: dict[str, CloudFailedError | None] = {}
        if "pull" in due:
            turns["pull"] = self._run_direction("pulling", lambda: self._fetch(channel))
        if ahead := self._pull.ahead:
            channel.notices.append(
                f"received {amount(ahead, 'change')} dated in the future; check the clocks of your machines"
            )
        failed = turns.get("pull")
        if failed is not None and failed.reason_code == "auth_required":
            turns["push"] = failed
        elif "push" in due:
            turns["push"] = self._run_direction("pushing", lambda: self._push.run(channel))
        if any(failure is not None and failure.reason_code == "auth_required" for failure in turns.values()):
            assert self._token is not None
            with self._store.transaction():
                table.set_state(self._store, TARGET, refused_token=token_fingerprint(self._token[1]))
        return turns

    def _fetch(self, channel: Channel) -> None:
        """Pull the listing and the changes."""
        listing = with_new_projects(channel, channel.client.listing())
        self._push.listing = listing
        self._pull.run(channel, listing)

    def _run_direction(self, phase: str, work: Callable[[], None]) -> CloudFailedError | None:
        """Run one direction and return what went wrong; a failure does not stop the other direction."""
        row = table.state(self._store, TARGET)
        if row is None or row["phase"] != phase:
            with self._store.transaction():
                table.set_state(self._store, TARGET, phase=phase)
        try:
            work()
        except Stopped:
            raise
        except CloudFailedError as failure:
            return failure
        except Exception as exc:
            if self._stopped.is_set():
                raise Stopped from exc  # the file was closed under it
            return _local_failure(exc)
        blocked = self._pull.blocked if phase == "pulling" else self._push.blocked
        return blocked[min(blocked)] if blocked else None

    def _token_of(self, login: Login) -> str:
        # A keychain may be slow or ask the user, so it is read once after each login.
        if self._token is None or self._token[0] != login:
            self._token = (login, token_of(self._store, login))
        return self._token[1]

    def _channel(
        self, login: Login, renew: Callable[[], bool], result: CloudSynced, progress: Progress | None = None
    ) -> Channel:
        address = (login.server, self._token_of(login))
        if self._client is None or self._client[0] != address:
            self.close()
            self._client = (address, CloudClient(*address, whole_seconds=self._whole_seconds or WHOLE_SECONDS))
        client, replica = self._client[1], self._replica()
        return Channel(self._store, self._journal, replica, client, renew, self._stopped, result, progress)

    def _due(self, directions: Iterable[str], *, now: bool) -> set[str]:
        """Return the directions that no backoff holds up."""
        row = table.state(self._store, TARGET)
        if now or row is None:
            return set(directions)
        moment = self._journal.moment()
        return {one for one in directions if not remaining(row[f"{one}_backoff_until"], moment, most=MOST_SECONDS)}

    def _record(
        self, result: CloudSynced, turns: Mapping[str, CloudFailedError | None], notices: Iterable[str] = ()
    ) -> CloudSynced:
        """Store what became of the directions that ran, complete the result and return it."""
        failed = {name: failure for name in _BOTH if (failure := turns.get(name)) is not None}
        with self._store.transaction():
            now = self._journal.now()
            table.set_state(self._store, TARGET, last_attempt_at=now)
            row = table.state(self._store, TARGET)
            assert row is not None
            failures: dict[str, int] = {name: row[f"{name}_failures"] for name in _BOTH}
            values: dict[str, Any] = {}
            for name, failure in turns.items():
                slow = failure is not None and failure.reason_code in _SLOWS_DOWN
                failures[name] = failures[name] + 1 if slow else 0
                values |= {f"{name}_failures": failures[name], f"{name}_backoff_until": None}
                if slow:
                    values[f"{name}_backoff_until"] = self._backoff(failures[name], failure)
            values |= {"last_success_at": now} if not failed else {}
            values |= {"notice": "; ".join(notices)[:1000]} if notices else {}
            table.set_state(self._store, TARGET, **_phase(failed, failures), **values)
        push, pull = self._push, self._pull
        self.more = (pull.more and "pull" not in failed) or (push.more and "push" not in failed)
        result.warnings = (*notices, *push.local_only)
        return _failed(result, next(iter(failed.values()))) if failed else result

    def _backoff(self, failures: int, failure: CloudFailedError | None) -> str:
        asked = failure.retry_after if failure is not None else None
        seconds = delay(failures, chance=self._chance(), retry_after=asked)
        return to_text(self._journal.moment() + timedelta(seconds=seconds))


def _failed(result: CloudSynced, failure: CloudFailedError) -> CloudSynced:
    result.outcome, result.next_step = "failed", failure.hint
    result.reason_code, result.reason_message = failure.reason_code, failure.message
    return result


def _phase(failed: Mapping[str, CloudFailedError], failures: Mapping[str, int]) -> dict[str, str]:
    waiting = [*failed, *(name for name in _BOTH if failures[name])]
    if not waiting:
        return {"phase": "healthy", "reason_code": "", "reason_message": ""}
    phase = "backoff" if max(failures.values()) >= MANY_FAILURES else f"{waiting[0]}_failed"
    if not failed:  # one direction is well, and the other was not asked: its reason still stands
        return {"phase": phase}
    failure = failed[waiting[0]]
    return {"phase": phase, "reason_code": failure.reason_code, "reason_message": failure.message}


def _local_failure(exc: Exception) -> CloudFailedError:
    if isinstance(exc, EngramError):  # a full disk, a locked file
        logger.warning("sync waits: %s", exc.message)
        return CloudFailedError("internal_error", exc.message)
    logger.error("sync failed", exc_info=exc)
    return CloudFailedError("internal_error", f"a bug: {type(exc).__name__}")


def retry(channel: Channel) -> None:
    """Retry the rows that were set aside in both directions, and deferred rows. Raises CloudFailedError, Stopped."""
    rows = table.set_aside(channel.store, channel.server, limit=100_000)
    mine = [row for row in rows if row["direction"] == "push"]
    for start in range(0, len(mine), _AT_ONCE):
        part = mine[start : start + _AT_ONCE]
        done = resend(channel, [(row["entity"], row["entity_key"], row["project"]) for row in part])
        channel.commit("push", aside=done.aside, taken=done.taken)
    enrolled = [row["project"] for row in channel.projects()]
    for row in rows:
        if row["direction"] == "pull" and row["remote_seq"]:
            fetch_again(channel, row, [row["project"]] if row["project"] in enrolled else enrolled)
    channel.replica.retry_deferred()
