"""Run one exchange with the server: take the lease, pull, push, record the result."""

from __future__ import annotations

import contextlib
import random
import threading
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from engram_py.database.journal import Journal
from engram_py.database.store import Row, Store
from engram_py.dataclass import dataclass, replace
from engram_py.errors import EngramError
from engram_py.log import logger_of
from engram_py.sync.autosync import table, tokens
from engram_py.sync.autosync.channel import Channel, Progress, Stopped
from engram_py.sync.autosync.login import Login, current_login, token_of
from engram_py.sync.autosync.problems import SLOWS_DOWN, Problem
from engram_py.sync.autosync.pull import Pull
from engram_py.sync.autosync.push import Push, resend
from engram_py.sync.autosync.schedule import MOST_SECONDS, Lease, LeaseLost, delay, remaining
from engram_py.sync.autosync.settings import TARGET, CloudSettings
from engram_py.sync.autosync.values import CloudSynced, Grant
from engram_py.times import to_text

if TYPE_CHECKING:
    from engram_py.sync.autosync.answers import Listing
    from engram_py.sync.autosync.client import CloudClient
    from engram_py.sync.replica.replica import Replica


logger = logger_of(__name__)

# After so many failures in a row the phase is `backoff`.
MANY_FAILURES = 10
# The time for the last push when a process ends.
LAST_SECONDS = 1.5


@dataclass(frozen=True, slots=True)
class Turn:
    """The result of one direction; ``problem`` is None when it went well."""

    problem: Problem | None = None
    ran: bool = True


class Exchange:
    """Pulls and pushes on request, and keeps the connection open in between."""

    def __init__(
        self,
        store: Store,
        journal: Journal,
        replica: Callable[[], Replica],
        settings: CloudSettings,
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
        self._lease = Lease(store, journal, TARGET)
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
        self._stopped, self._whole_seconds = threading.Event(), LAST_SECONDS
        timer = threading.Timer(LAST_SECONDS, self._stopped.set)
        timer.daemon = True
        timer.start()
        try:
            self.once(only="push")
        finally:
            timer.cancel()

    def retry_set_aside(self) -> bool:
        """Offer the rows that were set aside again, in both directions. False while another process syncs.

        What is not taken again stays set aside. Raises CloudFailedError.
        """

        try:
            login = current_login(self._store, self._settings)
            if login is None:
                return True
            client = self._connected(login, self._token_of(login))
            with self._lease.holding() as renew:
                if renew is not None:
                    retry(self._open_channel(client, login, renew, None))
                return renew is not None
        except (Stopped, LeaseLost):
            return False
        except Problem as problem:
            raise problem.as_error() from problem

    # --- one exchange -----------------------------------------------------------------------------------

    def once(
        self, *, now: bool = False, only: str | None = None, progress: Progress | None = None
    ) -> CloudSynced | None:
        """Pull and push once and return the result; None when there is nothing to do or a backoff runs.

        ``now`` does not wait for the time that failures before have set. Never raises for the server's sake.
        """
        self.more = False
        login: Login | None = None
        try:
            login = current_login(self._store, self._settings)
            if login is None or not table.has_projects(self._store, login.server):
                return None
            directions = self._due(now=now) & ({only} if only else {"push", "pull"})
            if not directions:
                return None
            token = self._token_of(login)
            if table.is_refused_token(self._store, tokens.mark(token)):
                return None
            with self._lease.holding() as renew:
                if renew is None:
                    return CloudSynced("busy", login.server)
                return self._run(login, token, directions, renew, progress)
        except (Stopped, LeaseLost):
            return None
        except Problem as problem:
            return self._record(login.server if login else self._settings.server, Turn(problem), Turn(problem), ())
        except Exception as exc:
            if self._stopped.is_set():
                return None  # the file was closed under it
            return self._record_failure(_local_problem(exc))

    def _run(
        self, login: Login, token: str, due: frozenset[str], renew: Callable[[], None], progress: Progress | None
    ) -> CloudSynced:
        channel = self._open_channel(self._connected(login, token), login, renew, progress)
        pull = push = Turn(ran=False)
        if "pull" in due:
            pull = self._run_direction("pulling", lambda: self._fetch(channel))
        if self._pull.applied.ahead and pull.ran:
            ahead = self._pull.applied.ahead
            channel.notices.append(f"{ahead} row(s) that arrived are dated in the future: see to the machines' clocks")
        if pull.problem is not None and pull.problem.code == "auth_required":
            push = Turn(pull.problem)
        elif "push" in due:
            push = self._run_direction("pushing", lambda: self._push.run(channel))
        for problem in (pull.problem, push.problem):
            if problem is not None and problem.code == "auth_required":
                with self._store.transaction():
                    table.set_state(self._store, TARGET, refused_token=tokens.mark(token))
        return self._record(login.server, pull, push, channel.notices)

    def _fetch(self, channel: Channel) -> None:
        self._pull.begin()
        listing = _with_new_projects(channel, channel.client.listing())
        self._push.listing = listing
        self._pull.run(channel, listing)

    def _run_direction(self, phase: str, work: Callable[[], None]) -> Turn:
        """Run one direction and return its result; a failure does not stop the other direction."""
        self._set_phase(phase)
        try:
            work()
        except (Stopped, LeaseLost):
            raise
        except Problem as problem:
            return Turn(problem)
        except Exception as exc:
            if self._stopped.is_set():
                raise Stopped from exc  # the file was closed under it
            return Turn(_local_problem(exc))
        blocked = self._pull.blocked if phase == "pulling" else self._push.blocked
        mine = [one for name, one in sorted(blocked.items())]
        return Turn(mine[0] if mine else None)

    def _set_phase(self, phase: str) -> None:
        row = table.state(self._store, TARGET)
        if row is None or row["phase"] != phase:
            with self._store.transaction():
                table.set_state(self._store, TARGET, phase=phase)

    def _token_of(self, login: Login) -> str:
        # A keychain may be slow or ask the user, so it is read once after each login.
        if self._token is None or self._token[0] != login:
            self._token = (login, token_of(self._store, login))
        return self._token[1]

    def _open_channel(
        self, client: CloudClient, login: Login, renew: Callable[[], None], progress: Progress | None
    ) -> Channel:
        return Channel(
            self._store, self._journal, self._replica(), client, login.server, renew, self._stopped, progress
        )

    def _connected(self, login: Login, token: str) -> CloudClient:
        from engram_py.sync.autosync.client import WHOLE_SECONDS, CloudClient

        if self._client is None or self._client[0] != (login.server, token):
            self.close()
            client = CloudClient(login.server, token, whole_seconds=self._whole_seconds or WHOLE_SECONDS)
            self._client = ((login.server, token), client)
        return self._client[1]

    # --- when, and whether ------------------------------------------------------------------------------

    def _due(self, *, now: bool) -> frozenset[str]:
        row = table.state(self._store, TARGET)
        if now or row is None:
            return frozenset({"push", "pull"})
        moment = self._journal.moment()
        return frozenset(
            one for one in ("push", "pull") if not remaining(row[f"{one}_backoff_until"], moment, most=MOST_SECONDS)
        )

    # --- how it went ------------------------------------------------------------------------------------

    def _record_failure(self, problem: Problem) -> CloudSynced:
        with contextlib.suppress(EngramError):
            return self._record("", Turn(problem), Turn(problem), ())
        return CloudSynced(
            "failed", "", reason_code=problem.code, reason_message=problem.message, next_step=problem.step
        )

    def _record(self, server: str, pull: Turn, push: Turn, notices: list[str] | tuple[str, ...]) -> CloudSynced:
        with self._store.transaction():
            row = table.state(self._store, TARGET)
            values: dict[str, Any] = self._counted("pull", pull, row) | self._counted("push", push, row)
            failed = {name: turn.problem for name, turn in (("push", push), ("pull", pull)) if turn.problem is not None}
            values |= self._phase(failed, values, row)
            now = self._journal.now()
            values["last_attempt_at"] = now
            values |= {"last_success_at": now} if not failed else {}
            values |= {"notice": "; ".join(notices)[:1000]} if notices else {}
            table.set_state(self._store, TARGET, **values)
        problem = next(iter(failed.values()), None)
        self.more = (self._pull.more and pull.problem is None) or (self._push.more and push.problem is None)
        sending, fetching = self._push, self._pull
        return CloudSynced(
            "failed" if failed else "done",
            server,
            sent=sending.sent if push.ran else 0,
            known=sending.known if push.ran else 0,
            received=fetching.received if pull.ran else 0,
            applied=fetching.applied.applied if pull.ran else 0,
            deferred=fetching.applied.deferred if pull.ran else 0,
            set_aside=(sending.set_aside if push.ran else 0) + (fetching.set_aside if pull.ran else 0),
            reason_code=problem.code if problem else "",
            reason_message=problem.message if problem else "",
            next_step=problem.step if problem else "",
            warnings=(*notices, *(sending.local_only if push.ran else ())),
        )

    def _counted(self, direction: str, turn: Turn, row: Any) -> dict[str, Any]:
        """Return the failure count and the backoff of a direction."""
        if not turn.ran:
            return {}
        problem = turn.problem
        if problem is None or problem.code not in SLOWS_DOWN:
            return {f"{direction}_failures": 0, f"{direction}_backoff_until": None}
        failures = (row[f"{direction}_failures"] if row is not None else 0) + 1
        seconds = delay(failures, chance=self._chance(), retry_after=problem.retry_after)
        until = to_text(self._journal.moment() + timedelta(seconds=seconds))
        return {f"{direction}_failures": failures, f"{direction}_backoff_until": until}

    @staticmethod
    def _phase(failed: dict[str, Problem], values: dict[str, Any], row: Any) -> dict[str, Any]:
        counts = {name: values.get(f"{name}_failures", row[f"{name}_failures"] if row is not None else 0)
                  for name in ("push", "pull")}  # fmt: skip
        pending = [name for name, count in counts.items() if count]
        if not failed and not pending:
            return {"phase": "healthy", "reason_code": "", "reason_message": ""}
        name = next(iter(failed), pending[0] if pending else "push")
        phase = "backoff" if max(counts.values()) >= MANY_FAILURES else f"{name}_failed"
        if not failed:  # one direction is well, and the other was not asked: its reason still stands
            return {"phase": phase}
        return {"phase": phase, "reason_code": failed[name].code, "reason_message": failed[name].message}


def _with_new_projects(channel: Channel, listing: Listing) -> Listing:
    """Add enrolled projects that do not exist there yet to the listing of a token that may write anything."""
    if listing.grants is None or listing.every != "write":
        return listing
    new = [row for row in table.projects(channel.store, channel.server) if row["project"] not in listing.grants]
    for row in new:
        if row["pulled_seq"] or row["seen_seq"]:  # when it is there again, all of it is asked for
            channel.commit("pull", [row["project"]], {"pulled_seq": 0, "seen_seq": 0})
    made = {row["project"]: Grant(row["project"], "write", latest_seq=0) for row in new}
    return replace(listing, grants={**listing.grants, **made})


def _local_problem(exc: Exception) -> Problem:
    if isinstance(exc, EngramError):  # a full disk, a locked file
        logger.warning("sync waits: %s", exc.message)
        return Problem("internal_error", exc.message)
    logger.error("sync failed", exc_info=exc)
    return Problem("internal_error", f"a bug: {type(exc).__name__}")


_AT_ONCE = 50


def retry(channel: Channel) -> None:
    """Retry the rows that were set aside in both directions, and deferred rows. Raises Problem, Stopped, LeaseLost."""
    rows = table.set_aside(channel.store, channel.server, limit=100_000)
    mine = [row for row in rows if row["direction"] == "push"]
    for start in range(0, len(mine), _AT_ONCE):
        part = mine[start : start + _AT_ONCE]
        done = resend(channel, [(row["entity"], row["entity_key"], row["project"]) for row in part])
        channel.commit("push", (), {}, aside=done.aside, taken=done.taken)
    enrolled = [row["project"] for row in table.projects(channel.store, channel.server)]
    for row in rows:
        if row["direction"] == "pull" and row["remote_seq"]:
            _fetch(channel, row, [row["project"]] if row["project"] in enrolled else enrolled)
    channel.replica.retry_deferred()


def _fetch(channel: Channel, row: Row, names: list[str]) -> None:
    """Pull the listing and the changes."""
    channel.checkpoint()
    page = channel.client.pull(since=row["remote_seq"] - 1, projects=names, limit=1)
    if not page.entries or page.entries[0][0] != row["remote_seq"]:
        channel.commit("pull", (), {}, taken=[(row["entity"], row["entity_key"])])
        return
    Pull().take(channel, names, page, {})
