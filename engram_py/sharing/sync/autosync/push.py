"""Push what changed here in bounded batches; rows and projects that the server refuses do not stop the rest."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable, Sequence
from typing import Any

from engram_py.base.clock import due_before
from engram_py.base.database.store import Row
from engram_py.base.dataclass import dataclass, field
from engram_py.base.reasons import amount
from engram_py.sharing.sync.autosync import table
from engram_py.sharing.sync.autosync.client import TURN_SECONDS, Channel, PushReply, ServerListing
from engram_py.sharing.sync.autosync.table import TARGET
from engram_py.sharing.sync.errors import CloudFailedError
from engram_py.sharing.sync.mutation import Changes, Mutation, entry_of

# The limits of Engram's own server. Reading as many holds the lock about as long as applying a step.
MOST_ROWS, MOST_BYTES = 100, 2**20
_LEAST_ROWS, _LEAST_BYTES = 25, 64 * 1024
_PATIENT_TURNS = 3
# A server may list a name as granted and still refuse its alias: the offers are limited.
_ALIAS, _MOST_OFFERS = "alias_not_granted", 5
# Refusals of an entry that concern its project, not the row.
_OF_PROJECTS = {"policy_forbidden": "policy_forbidden", "paused": "paused", "sync-paused": "paused"}


@dataclass(slots=True)
class Delivered:
    """The result of sending ``total`` rows: set aside, accepted, and projects that were refused."""

    total: int
    aside: list[dict[str, Any]] = field(default_factory=list)
    taken: list[tuple[str, str]] = field(default_factory=list)
    blocked: dict[str, CloudFailedError] = field(default_factory=dict)
    # project → the end of its log at the server before, and after our rows
    ends: dict[str, tuple[int, int]] = field(default_factory=dict)
    # Rows that were alone in a request that was refused.
    suspects: list[tuple[Mutation, CloudFailedError]] = field(default_factory=list)

    @property
    def understood(self) -> bool:
        """Return whether the server accepted or judged any row of this batch."""
        return bool(self.taken or self.aside)


class Push:
    """One turn of pushing. Batch limits adapt to the server and are kept for the next turn.

    ``listing`` is what the server showed last; ``local_only`` says what stays on this machine without harm.
    """

    def __init__(self) -> None:
        self.listing = ServerListing()
        self._rows, self._bytes = MOST_ROWS, MOST_BYTES
        self._broke = 0  # turns in a row that ended with a failure of the server itself
        self.begin()

    def begin(self) -> None:
        """Forget the last turn."""
        self.more = False
        self.blocked: dict[str, CloudFailedError] = {}
        self.local_only: list[str] = []

    def run(self, channel: Channel) -> None:
        """Push until nothing waits, or until the turn's time is over (``more``). Raises CloudFailedError, Stopped."""
        try:
            self._push_groups(channel)
        except CloudFailedError as failure:
            self._broke = self._broke + 1 if failure.kind == "server_error" else 0
            raise
        self._broke = 0

    def _push_groups(self, channel: Channel) -> None:
        until = time.monotonic() + TURN_SECONDS
        done: set[str] = set()
        rows = channel.projects() if channel.progress is not None else []
        total = sum(table.pending(channel.store, row) for row in rows if row["access"] != "read")
        self._block_refused(channel)
        self._offer_again(channel)
        while not self.more and (group := self._next_group(channel, done)):
            names = {row["project"] for row in group}
            resend = max(row["resend_upto"] for row in group)
            self._catch_up(channel, names, group[0]["pushed_seq"], resend, until=until, total=total)
            done |= {row["project"] for row in group}

    def _next_group(self, channel: Channel, done: set[str]) -> list[Row]:
        """Return the projects with the lowest cursor: one request serves them all."""
        rows = [
            row
            for row in channel.projects()
            if row["project"] not in done | set(self.blocked) and row["access"] != "read"
        ]
        least = min((_position(row) for row in rows), default=None)
        return [row for row in rows if _position(row) == least]

    def _block_refused(self, channel: Channel) -> None:
        """Block the projects that the server would refuse anyway, if they have something to send."""
        for row in channel.projects():
            if row["access"] in ("", "write"):
                continue
            if row["access"] == "read":
                self._note_local_changes(channel, row)
                continue
            first, grant = self._first_change(channel, row), (self.listing.grants or {}).get(row["project"])
            if first and row["access"] == "paused" and grant is not None and grant.paused_reason:
                message = f"{row['project']} is paused: {grant.paused_reason}"
                self._block(channel, row["project"], CloudFailedError("paused", message))
            elif first:
                # Send one row: the project may be new there, and the refusal of a paused one has the reason.
                for name, failure in self._deliver(channel, first).blocked.items():
                    named = failure.message if name in failure.message else f"{name}: {failure.message}"
                    self._block(channel, name, CloudFailedError(failure.reason_code, named))

    def _note_local_changes(self, channel: Channel, row: Row) -> None:
        """Note changes in a read-only project, which stay on this machine."""
        if row["push_reason"]:
            channel.commit("push", [row["project"]], {"push_reason": ""})
        if count := table.pending(channel.store, row):
            self.local_only.append(f"{row['project']} is read-only; this machine keeps {amount(count, 'change')}")

    def _offer_again(self, channel: Channel) -> None:
        """Send rows again whose reason is gone: aliases of which the token may write both names now, and rows that
        were dated ahead."""
        aliases = table.set_aside(channel.store, channel.server, refused_as=_ALIAS, limit=MOST_ROWS)
        rows = [
            row
            for row in aliases
            if row["tries"] < _MOST_OFFERS
            and self.listing.may_write(row["entity_key"])
            and self.listing.may_write(row["project"])
        ]
        now = int(channel.journal.moment().timestamp() * 1000)
        rows += table.come_due(channel.store, channel.server, due_before(now), limit=MOST_ROWS)
        if rows:
            done = resend(channel, [(row["entity"], row["entity_key"], row["project"]) for row in rows])
            channel.commit("push", aside=done.aside, taken=done.taken)

    def _catch_up(
        self, channel: Channel, names: set[str], cursor: int, resend: int, *, until: float, total: int
    ) -> None:
        while names:
            channel.checkpoint()
            batch = self._changes(channel, names, cursor, resend, max_rows=self._rows)
            done = self._deliver(channel, batch.mutations)
            names -= set(done.blocked)
            for name, failure in done.blocked.items():
                self._block(channel, name, failure)
            if batch.upto > cursor:
                cursors: dict[str, int | str] = {"pushed_seq": batch.upto, "push_reason": ""}
                channel.commit("push", names, cursors, aside=done.aside, taken=done.taken)
            self._skip_own(channel, done)
            if not done.suspects:
                self._rows = min(MOST_ROWS, 2 * self._rows)
            channel.report("Sending", channel.result.sent + channel.result.known, total)
            if not batch.more or batch.upto <= cursor:
                return
            cursor = batch.upto
            if time.monotonic() > until:
                self.more = True
                return

    def _deliver(self, channel: Channel, mutations: Sequence[Mutation]) -> Delivered:
        """Send these rows in as many requests as the server needs."""
        done = Delivered(len(mutations))
        stack = [list(mutations)] if mutations else []
        while stack:
            part = [one for one in stack.pop() if one.project not in done.blocked]
            if not part:
                continue
            channel.checkpoint()
            entries = [entry_of(one) for one in part]
            try:
                _record_answer(channel, part, channel.client.push(entries, device=channel.device), done)
            except CloudFailedError as failure:
                stack += self._after_refusal(channel, part, failure, len(json.dumps(entries)), done)
        if done.suspects and not done.understood and done.total > 1:
            raise done.suspects[0][1]
        for one, refusal in done.suspects:
            done.aside.append(channel.aside("push", one, code="refused", reason=refusal.message, repairable=True))
        return done

    def _after_refusal(
        self, channel: Channel, part: list[Mutation], failure: CloudFailedError, size: int, done: Delivered
    ) -> list[list[Mutation]]:
        """Return the batches to try after a refused request, first one last. Raises when nothing would help."""
        # After a few turns that ended with a server error, look for a row that causes it.
        failing = failure.kind == "server_error" and self._broke >= _PATIENT_TURNS
        suspicious = failure.kind == "bad_request" or failing
        if (suspicious or failure.kind == "too_large") and len(part) > 1:
            if failure.kind == "too_large":
                self._bytes = max(_LEAST_BYTES, min(self._bytes, size) // 2)
            self._rows = max(_LEAST_ROWS, min(self._rows, len(part) // 2))
            return [part[len(part) // 2 :], part[: len(part) // 2]]
        if failure.kind == "too_large":
            if size < _LEAST_BYTES:
                message = (
                    f"{channel.server} does not even take a body of {size:,} bytes; check the proxy in front of it"
                )
                raise CloudFailedError("cloud_config_error", message) from failure
            reason = f"{failure.message}; the row has {size:,} bytes"
            done.aside.append(channel.aside("push", part[0], code="too_large", reason=reason, repairable=False))
            return []
        if suspicious:
            # If the server accepts nothing else either, the rows are not the cause.
            if (done.suspects and not done.understood) or (failing and done.total == 1):
                raise failure
            done.suspects.append((part[0], failure))
            return []
        if failure.reason_code not in _OF_PROJECTS:
            raise failure
        by_project: dict[str, list[Mutation]] = {}
        for one in part:
            by_project.setdefault(one.project, []).append(one)
        if len(by_project) > 1:
            return list(by_project.values())
        done.blocked[part[0].project] = failure
        return []

    # --- projects that are not taken ----------------------------------------------------------------------

    def _block(self, channel: Channel, project: str, failure: CloudFailedError) -> None:
        self.blocked[project] = failure
        channel.commit("push", [project], {"push_reason": failure.reason_code})

    def _changes(self, channel: Channel, names: Iterable[str], cursor: int, resend: int, *, max_rows: int) -> Changes:
        """Return the next batch. Up to ``resend`` it includes rows that came from a server: this one may lack them."""
        towards = "" if cursor < resend else TARGET
        batch = channel.replica.changes(
            after=cursor, projects=sorted(names), towards=towards, max_rows=max_rows, max_bytes=self._bytes
        )
        if not towards and batch.upto > resend:
            early = tuple(one for one in batch.mutations if one.seq <= resend)
            return Changes(early, resend, more=True)
        return batch

    def _first_change(self, channel: Channel, row: Row) -> tuple[Mutation, ...]:
        resend = row["resend_upto"]
        for cursor in sorted({row["pushed_seq"], max(row["pushed_seq"], resend)}):
            batch = self._changes(channel, [row["project"]], cursor, resend, max_rows=1)
            if batch.mutations:
                return batch.mutations
        return ()

    def _skip_own(self, channel: Channel, done: Delivered) -> None:
        """Move the pull cursor past our own rows, so that they do not come back.

        Only where a project's log ended where we had read to: elsewhere, rows of others may lie between.
        """
        for row in channel.projects() if done.ends else ():
            name = row["project"]
            if name in done.ends and done.ends[name][0] == row["seen_seq"]:
                last = done.ends[name][1]
                channel.commit("pull", [name], {"pulled_seq": max(row["pulled_seq"], last), "seen_seq": last})


def resend(channel: Channel, keys: Iterable[tuple[str, str, str]]) -> Delivered:
    """Send single rows again, each given by kind, key and project, whatever the cursor is."""
    found: list[Mutation] = []
    gone: list[tuple[str, str]] = []
    for entity, entity_key, project in keys:
        seq = table.seq_of(channel.store, entity, entity_key)
        batch = None if seq is None else channel.replica.changes(after=seq - 1, projects=[project], max_rows=1)
        rows = [one for one in batch.mutations if one.entity_key == entity_key] if batch else []
        if rows:
            found += rows
        else:
            gone.append((entity, entity_key))
    done = Push()._deliver(channel, found)
    done.taken += gone
    return done


def _record_answer(channel: Channel, part: Sequence[Mutation], answer: PushReply, done: Delivered) -> None:
    for one in answer.rejected:
        mutation, code = part[one.index], one.reason_code or "refused"
        reason = one.reason or code
        if code in _OF_PROJECTS:
            failure = CloudFailedError(_OF_PROJECTS[code], f"{mutation.project}: {reason}")
            done.blocked[mutation.project] = failure
        else:
            done.aside.append(channel.aside("push", mutation, code=code, reason=reason, repairable=one.repairable))
    done.taken += [(part[index].entity, part[index].entity_key) for index in (*answer.accepted, *answer.unchanged)]
    channel.result.sent += len(answer.accepted)
    channel.result.known += len(answer.unchanged)
    if len(answer.accepted_seqs) != len(answer.accepted):
        return
    for index, seq in zip(answer.accepted, answer.accepted_seqs, strict=True):
        name = part[index].project
        if name in answer.previous:
            done.ends[name] = (done.ends.get(name, (answer.previous[name], 0))[0], seq)


def _position(row: Row) -> tuple[int, bool]:
    return row["pushed_seq"], row["pushed_seq"] < row["resend_upto"]
