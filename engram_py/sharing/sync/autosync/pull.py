"""Pull what changed elsewhere: page by page, applied in small steps, with a cursor for each project."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from engram_py.base.database.store import Row
from engram_py.base.dataclass import replace
from engram_py.base.errors import EngramError
from engram_py.base.files import readable
from engram_py.base.lazy import logger_of
from engram_py.sharing.sync.autosync import table
from engram_py.sharing.sync.autosync.client import TURN_SECONDS, Channel, Grant, LogPage, ServerListing
from engram_py.sharing.sync.autosync.table import TARGET
from engram_py.sharing.sync.errors import CloudFailedError
from engram_py.sharing.sync.mutation import Mutation, mutation_of
from engram_py.sharing.sync.replica.project_access import allowed_rows
from engram_py.sharing.sync.replica.table import newest_seq

logger = logger_of(__name__)

FIRST_LIMIT, MOST_LIMIT = 100, 500
# Parsing a page blocks the other threads of this process, so its size is limited.
_SMALL_PAGE, _LARGE_PAGE = 200_000, 1_000_000
# Other writers wait while a step is applied: step sizes aim at this time.
_STEP_SECONDS = 0.02
_FIRST_STEP, _LONGEST_STEP = 10, 200
_BREATH_SECONDS = 0.002
_OF_PROJECTS = ("policy_forbidden", "paused")


class Pull:
    """One turn of pulling. Page and step sizes adapt and are kept for the next turn."""

    def __init__(self) -> None:
        self._limit, self._step = FIRST_LIMIT, _FIRST_STEP
        self.begin()

    def begin(self) -> None:
        """Forget the last turn."""
        self.ahead, self.more = 0, False
        self.blocked: dict[str, CloudFailedError] = {}

    def run(self, channel: Channel, listing: ServerListing) -> None:
        """Pull to the end of the log, or until the turn's time is over (``more``).

        Raises CloudFailedError, Stopped.
        """
        until = time.monotonic() + TURN_SECONDS
        grants = listing.grants
        self._update_access(channel, listing)
        names_judged = self._judge_again(channel)
        done: set[str] = set()
        while not self.more and (group := self._next_group(channel, done, grants)):
            names = [row["project"] for row in group]
            newest = max((grants[name].latest_seq for name in names), default=0) if grants is not None else 0
            self._catch_up(channel, names, group[0]["pulled_seq"], newest, until=until)
            if not self.more and grants is not None:
                for name in set(names) - set(self.blocked):
                    channel.commit("pull", [name], {"seen_seq": max(0, grants[name].latest_seq)})
            done |= set(names)
        # Of two projects that became one, the row that says so may have come after the rows that follow from it.
        waiting = table.first_set_aside(channel.store, channel.server)
        self.more |= bool(waiting) and table.names_now(channel.store, channel.server) != names_judged

    def _judge_again(self, channel: Channel) -> str:
        """Pull rows that were set aside once more where names of projects have changed since; return those names."""
        names = table.names_now(channel.store, channel.server)
        row = table.state(channel.store, TARGET)
        if row is None or row["names_judged"] == names:
            return names
        first = table.first_set_aside(channel.store, channel.server)
        for project in channel.projects():
            if (seq := first.get(project["project"], 0)) and seq <= project["pulled_seq"]:
                channel.commit("pull", [project["project"]], {"pulled_seq": seq - 1, "seen_seq": 0})
        with channel.store.transaction():
            table.set_state(channel.store, TARGET, names_judged=names)
        return names

    def _update_access(self, channel: Channel, listing: ServerListing) -> None:
        """Store the access to each project, and start over where the server's log was replaced."""
        rows = channel.projects()
        if listing.instance and channel.is_new_database(listing.instance):
            self._start_over(channel, [row["project"] for row in rows])
        if listing.grants is None:
            return
        for row in channel.projects():
            name, grant = row["project"], listing.grants.get(row["project"])
            access = "none" if grant is None else "paused" if grant.paused else grant.access
            if access != row["access"]:
                channel.commit("pull", [name], {"access": access})
            if grant is None:
                # The project may be new there, or not granted. Once listed, all of it is pulled.
                channel.commit("pull", [name], {"pulled_seq": 0, "seen_seq": 0, "pull_reason": "policy_forbidden"})
            elif row["pull_reason"]:
                channel.commit("pull", [name], {"pull_reason": ""})
            if grant is not None and 0 <= grant.latest_seq < row["seen_seq"]:
                self._start_over(channel, [name])

    def _next_group(self, channel: Channel, done: set[str], grants: Mapping[str, Grant] | None) -> list[Row]:
        passed = done | set(self.blocked)
        rows = [row for row in channel.projects() if row["project"] not in passed]
        if grants is not None:
            known = {name: grant.latest_seq for name, grant in grants.items()}
            rows = [row for row in rows if known.get(row["project"], row["seen_seq"]) != row["seen_seq"]]
        least = min((row["pulled_seq"] for row in rows), default=None)
        return [row for row in rows if row["pulled_seq"] == least]

    def _catch_up(self, channel: Channel, names: Sequence[str], cursor: int, newest: int, *, until: float) -> None:
        start, started_over = cursor, False
        while True:
            channel.checkpoint()
            try:
                page = self._page(channel, names, cursor)
            except CloudFailedError as failure:
                if failure.reason_code not in _OF_PROJECTS:
                    raise
                self._pull_each(channel, names, failure, cursor, until=until)
                return
            if page.upto < cursor:
                if started_over:
                    raise CloudFailedError("transport_failed", "the server sent an impossible position in its log")
                self._start_over(channel, names)
                cursor, start, started_over = 0, 0, True
                continue
            self.take(channel, names, page, {"pulled_seq": page.upto, "pull_reason": ""})
            cursor = page.upto
            channel.report("Receiving", cursor - start, max(newest, cursor) - start)
            if not page.more:
                return
            if time.monotonic() > until:
                self.more = True
                return

    def _page(self, channel: Channel, names: Sequence[str], cursor: int) -> LogPage:
        while True:
            try:
                page = channel.client.pull(since=cursor, projects=names, limit=self._limit)
            except CloudFailedError as failure:
                if failure.kind != "answer_too_long" or self._limit == 1:
                    raise
                self._limit //= 2
                continue
            if page.size > _LARGE_PAGE:
                self._limit = max(1, self._limit // 2)
            elif page.size < _SMALL_PAGE and page.more:
                self._limit = min(MOST_LIMIT, self._limit * 2)
            return page

    def _pull_each(
        self, channel: Channel, names: Sequence[str], failure: CloudFailedError, cursor: int, *, until: float
    ) -> None:
        """Pull the projects one by one after a refusal, so that only the refused ones are blocked."""
        if len(names) == 1:
            self.blocked[names[0]] = failure
            channel.commit("pull", names, {"pull_reason": failure.reason_code})
            return
        for name in names:
            self._catch_up(channel, [name], cursor, 0, until=until)

    def _start_over(self, channel: Channel, names: Sequence[str]) -> None:
        """Pull and push everything once more: the server's log is not the one it was."""
        resend = newest_seq(channel.store)
        cursors = {"pulled_seq": 0, "seen_seq": 0, "pushed_seq": 0, "resend_upto": resend}
        channel.commit("pull", names, cursors)
        channel.notices.append(
            f"the server's log of {', '.join(sorted(names)[:5])} was replaced, as by a restored backup: "
            "all of it is synced again"
        )

    # --- applying -----------------------------------------------------------------------------------------

    def take(
        self, channel: Channel, names: Sequence[str], page: LogPage, cursors: Mapping[str, int | str] | None = None
    ) -> None:
        """Apply a page and store ``cursors`` for these projects."""
        rows, aside = read_page(channel, names, page)
        # Judged by all that is enrolled, so that it is the same whichever projects come in one page.
        enrolled = [row["project"] for row in channel.projects()]
        rows, strange = allowed_rows(channel.store, [*names, *enrolled], rows)
        aside += [
            channel.aside("pull", mutation, code="of_another_project", reason=reason, repairable=False)
            for mutation, reason in strange
        ]
        taken: list[tuple[str, str]] = []
        while rows:
            part, rows = rows[: self._step], rows[self._step :]
            for mutation, reason in self._apply(channel, part):
                if reason:
                    aside.append(_unreadable(channel, mutation, reason))
                else:
                    taken.append((mutation.entity, mutation.entity_key))
        channel.commit("pull", names, cursors, aside=aside, taken=taken)
        channel.result.received += len(page.entries)

    def _apply(self, channel: Channel, part: Sequence[Mutation]) -> list[tuple[Mutation, str]]:
        """Apply rows and return each with the reason for which it was refused, '' when it was taken."""
        channel.stopped.wait(_BREATH_SECONDS)  # others get the lock
        began = time.monotonic()
        try:
            done = channel.replica.apply(part, source=TARGET)
        except EngramError:
            raise
        except Exception as exc:
            if len(part) > 1:  # one by one: a bad row does not stop the others
                return [one for mutation in part for one in self._apply(channel, [mutation])]
            logger.exception("a row that arrived cannot be applied")
            return [(part[0], f"a bug: {type(exc).__name__}")]
        took = max(time.monotonic() - began, 1e-6)
        wanted = int(len(part) * _STEP_SECONDS / took)
        self._step = max(1, min(wanted, 2 * self._step, _LONGEST_STEP))
        channel.result.applied += done.applied
        channel.result.deferred += done.deferred
        self.ahead += done.ahead
        reasons = {one.index: one.reason for one in done.refused}
        return [(mutation, reasons.get(index, "")) for index, mutation in enumerate(part)]


def with_new_projects(channel: Channel, listing: ServerListing) -> ServerListing:
    """Add enrolled projects that do not exist there yet to the listing of a token that may write anything."""
    if listing.grants is None or listing.every != "write":
        return listing
    new = [row for row in channel.projects() if row["project"] not in listing.grants]
    for row in new:
        if row["pulled_seq"] or row["seen_seq"]:  # when it is there again, all of it is asked for
            channel.commit("pull", [row["project"]], {"pulled_seq": 0, "seen_seq": 0})
    made = {row["project"]: Grant(name=row["project"], access="write", latest_seq=0) for row in new}
    return listing.model_copy(update={"grants": {**listing.grants, **made}})


def fetch_again(channel: Channel, row: Row, names: list[str]) -> None:
    """Pull one row that was set aside once more."""
    channel.checkpoint()
    page = channel.client.pull(since=row["remote_seq"] - 1, projects=names, limit=1)
    if not page.entries or page.entries[0][0] != row["remote_seq"]:
        channel.commit("pull", taken=[(row["entity"], row["entity_key"])])
        return
    Pull().take(channel, names, page)


def read_page(channel: Channel, names: Sequence[str], page: LogPage) -> tuple[list[Mutation], list[dict[str, Any]]]:
    """Split a page into mutations and rows for set-aside: unreadable or of another project."""
    found: list[Mutation] = []
    aside: list[dict[str, Any]] = []

    def set_aside(one: tuple[int, Mapping[str, Any]], why: str) -> None:
        aside.append(_unreadable(channel, _partial_mutation(one[1], one[0], names), why))

    for _, mutation in readable(page.entries, lambda one: mutation_of(one[1], seq=one[0]), aside=set_aside):
        if mutation.project in names:
            found.append(mutation)
        else:
            foreign = replace(mutation, project=_fallback_project(names))
            aside.append(_unreadable(channel, foreign, f"its project {mutation.project} was not asked for"))
    return found, aside


def _unreadable(channel: Channel, mutation: Mutation, reason: str) -> dict[str, Any]:
    return channel.aside("pull", mutation, code="unreadable", reason=reason, repairable=False)


def _fallback_project(names: Sequence[str]) -> str:
    """Return the project that a row of none of them is set aside under."""
    return names[0] if len(names) == 1 else ""


def _partial_mutation(entry: Mapping[str, Any], seq: int, names: Sequence[str]) -> Mutation:
    """Return a mutation with the readable parts of an unreadable entry."""

    def text(name: str, otherwise: str) -> str:
        value = entry.get(name)
        good = isinstance(value, str) and value.isprintable() and 0 < len(value) <= 400
        return str(value) if good else otherwise

    project = text("project", "")
    project = project if project in names else _fallback_project(names)
    return Mutation(text("entity", "?"), text("entity_key", f"#{seq}"), "upsert", project, {}, "", seq=seq)
