"""Fetches what changed elsewhere: page by page, applied in small steps, with a cursor for each project."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from engram_py.database.store import Row
from engram_py.errors import EngramError
from engram_py.sync.autosync import table
from engram_py.sync.autosync.answers import Listing, Page
from engram_py.sync.autosync.guarding import within
from engram_py.sync.autosync.line import TURN_SECONDS, Line
from engram_py.sync.autosync.problems import Problem
from engram_py.sync.autosync.settings import TARGET
from engram_py.sync.autosync.values import Grant
from engram_py.sync.mutation import Applied, Mutation, Refused
from engram_py.sync.wire import InvalidEntryError, mutation_of

logger = logging.getLogger(__name__)

FIRST_LIMIT, MOST_LIMIT = 100, 500
# A page is parsed in one go, and whoever else wants to compute in this process waits for that.
_SMALL_PAGE, _LARGE_PAGE = 200_000, 1_000_000
# Writers wait while a step is applied, so it is made as long as this allows.
_STEP_SECONDS = 0.02
_FIRST_STEP, _LONGEST_STEP = 10, 200
# What cannot be read is named, up to here: a server can send it without end.
_MOST_ASIDE = 10_000
_OF_PROJECTS = ("policy_forbidden", "paused")


class Pull:
    """One turn of fetching. Keeps what it learned about sizes and speed for the next one."""

    def __init__(self) -> None:
        self._limit = FIRST_LIMIT
        self._step = _FIRST_STEP
        self.received = self.set_aside = 0
        self.applied = Applied()
        self.more = False
        self.blocked: dict[str, Problem] = {}

    def begin(self) -> None:
        """A new turn: what the last one did is forgotten, also when this one does not get far."""
        self.received = self.set_aside = 0
        self.applied, self.more, self.blocked = Applied(), False, {}

    def run(self, line: Line, listing: Listing) -> None:
        """Fetch until the end, or until the turn is over (``more``). Raises Problem, Stopped, LeaseLost."""
        until = time.monotonic() + TURN_SECONDS
        grants = listing.grants
        self._take_note(line, listing)
        done: set[str] = set()
        while not self.more and (group := self._next_group(line, done, grants)):
            names = [row["project"] for row in group]
            newest = max((grants[name].latest_seq for name in names), default=0) if grants is not None else 0
            self._catch_up(line, names, group[0]["pulled_seq"], newest, until=until)
            if not self.more and grants is not None:
                for name in set(names) - set(self.blocked):
                    line.commit("pull", [name], {"seen_seq": max(0, grants[name].latest_seq)})
            done |= set(names)

    def _take_note(self, line: Line, listing: Listing) -> None:
        """Which projects this token may see, and which logs are not the ones they were."""
        rows = table.projects(line.store, line.server)
        if listing.instance and line.is_other_database(listing.instance):
            self._start_over(line, [row["project"] for row in rows])
        if listing.grants is None:
            return
        for row in table.projects(line.store, line.server):
            name, grant = row["project"], listing.grants.get(row["project"])
            access = "none" if grant is None else "paused" if grant.paused else grant.access
            if access != row["access"]:
                line.commit("pull", [name], {"access": access})
            if grant is None:
                # It may be new there, or not granted. When it is shown, all of it is asked for.
                line.commit("pull", [name], {"pulled_seq": 0, "seen_seq": 0, "pull_reason": "policy_forbidden"})
            elif row["pull_reason"]:
                line.commit("pull", [name], {"pull_reason": ""})
            if grant is not None and 0 <= grant.latest_seq < row["seen_seq"]:
                self._start_over(line, [name])

    def _next_group(self, line: Line, done: set[str], grants: Mapping[str, Grant] | None) -> list[Row]:
        rows = [
            row for row in table.projects(line.store, line.server) if row["project"] not in done | set(self.blocked)
        ]
        if grants is not None:
            rows = [row for row in rows if row["project"] in grants]
            rows = [row for row in rows if grants[row["project"]].latest_seq != row["seen_seq"]]
        least = min((row["pulled_seq"] for row in rows), default=None)
        return [row for row in rows if row["pulled_seq"] == least]

    def _catch_up(self, line: Line, names: Sequence[str], cursor: int, newest: int, *, until: float) -> None:
        start, started_over = cursor, False
        while True:
            line.go_on()
            try:
                page = self._page(line, names, cursor)
            except Problem as problem:
                if problem.code not in _OF_PROJECTS:
                    raise
                self._one_by_one(line, names, problem, cursor, until=until)
                return
            if page.upto < cursor:
                if started_over:
                    raise Problem("transport_failed", "the server's log ends before where it begins")
                self._start_over(line, names)
                cursor, start, started_over = 0, 0, True
                continue
            self.take(line, names, page, {"pulled_seq": page.upto, "pull_reason": ""})
            cursor = page.upto
            line.said("Receiving", cursor - start, max(newest, cursor) - start)
            if not page.more:
                return
            if time.monotonic() > until:
                self.more = True
                return

    def _page(self, line: Line, names: Sequence[str], cursor: int) -> Page:
        while True:
            try:
                page = line.client.pull(since=cursor, projects=names, limit=self._limit)
            except Problem as problem:
                if problem.kind != "answer_too_long" or self._limit == 1:
                    raise
                self._limit //= 2
                continue
            if page.size > _LARGE_PAGE:
                self._limit = max(1, self._limit // 2)
            elif page.size < _SMALL_PAGE and page.more:
                self._limit = min(MOST_LIMIT, self._limit * 2)
            return page

    def _one_by_one(self, line: Line, names: Sequence[str], problem: Problem, cursor: int, *, until: float) -> None:
        """The server refuses one of these projects: the others are fetched."""
        if len(names) == 1:
            self.blocked[names[0]] = problem
            line.commit("pull", names, {"pull_reason": problem.code})
            return
        for name in names:
            self._catch_up(line, [name], cursor, 0, until=until)

    def _start_over(self, line: Line, names: Sequence[str]) -> None:
        """The server's log is another one than it was: everything is fetched from it, and sent to it, once more."""
        resend = table.last_seq(line.store)
        cursors = {"pulled_seq": 0, "seen_seq": 0, "pushed_seq": 0, "resend_upto": resend}
        line.commit("pull", names, cursors)
        line.notices.append(
            f"the server's log of {', '.join(sorted(names)[:5])} is not the one it was, as after a restored backup: "
            "all of it is exchanged once more"
        )

    # --- applying -----------------------------------------------------------------------------------------

    def take(self, line: Line, names: Sequence[str], page: Page, cursors: Mapping[str, int | str]) -> None:
        """Apply a page, and note ``cursors`` of these projects once that is done."""
        readable, aside = read_page(line, names, page)
        readable, strange = within(line.store, names, readable)
        aside += [_unreadable(line, mutation, reason) for mutation, reason in strange]
        taken: list[tuple[str, str]] = []
        while readable:
            part, readable = readable[: self._step], readable[self._step :]
            result = self._apply(line, part)
            refused = {one.index: one.reason for one in result.refused}
            for index, mutation in enumerate(part):
                if index in refused:
                    aside.append(_unreadable(line, mutation, refused[index]))
                else:
                    taken.append((mutation.entity, mutation.entity_key))
            self.applied += result
        room = max(0, _MOST_ASIDE - table.count_set_aside(line.store, line.server, "pull")) if aside else 0
        line.commit("pull", names if cursors else (), cursors, aside=aside[:room], taken=taken)
        self.received += len(page.entries)
        self.set_aside += len(aside)

    def _apply(self, line: Line, part: Sequence[Mutation]) -> Applied:
        line.breathe()
        began = time.monotonic()
        try:
            result = line.replica.apply(part, source=TARGET)
        except EngramError:
            raise
        except Exception as exc:
            if len(part) > 1:
                return self._apply_each(line, part)
            logger.exception("a row that arrived cannot be applied")
            one = part[0]
            return Applied(refused=(Refused(0, one.entity, one.entity_key, f"a bug: {type(exc).__name__}"),))
        took = max(time.monotonic() - began, 1e-6)
        wanted = int(len(part) * _STEP_SECONDS / took)
        self._step = max(1, min(wanted, 2 * self._step, _LONGEST_STEP))
        return result

    def _apply_each(self, line: Line, part: Sequence[Mutation]) -> Applied:
        """One row is more than this program can take: the others are applied without it."""
        total = Applied()
        for index, mutation in enumerate(part):
            result = self._apply(line, [mutation])
            total += replace(result, refused=tuple(replace(one, index=index) for one in result.refused))
        return total


def read_page(line: Line, names: Sequence[str], page: Page) -> tuple[list[Mutation], list[dict[str, Any]]]:
    """The mutations of a page, and what of it cannot be read or was not asked for."""
    readable: list[Mutation] = []
    aside: list[dict[str, Any]] = []
    for seq, entry in page.entries:
        try:
            mutation = mutation_of(entry, seq=seq)
        except InvalidEntryError as exc:
            aside.append(_unreadable(line, _named(entry, seq, names), str(exc)))
            continue
        if mutation.project in names:
            readable.append(mutation)
        else:
            foreign = replace(mutation, project=_whose(names))
            aside.append(_unreadable(line, foreign, f"its project {mutation.project} was not asked for"))
    return readable, aside


def _unreadable(line: Line, mutation: Mutation, reason: str) -> dict[str, Any]:
    return line.aside("pull", mutation, code="unreadable", reason=reason, repairable=False)


def _whose(names: Sequence[str]) -> str:
    """Under which project an entry of none of them is set aside."""
    return names[0] if len(names) == 1 else ""


def _named(entry: Mapping[str, Any], seq: int, names: Sequence[str]) -> Mutation:
    """As much of an entry that cannot be read as names it."""

    def text(name: str, otherwise: str) -> str:
        value = entry.get(name)
        good = isinstance(value, str) and value.isprintable() and 0 < len(value) <= 400
        return str(value) if good else otherwise

    project = text("project", "")
    project = project if project in names else _whose(names)
    return Mutation(text("entity", "?"), text("entity_key", f"#{seq}"), "upsert", project, {}, "", seq=seq)
