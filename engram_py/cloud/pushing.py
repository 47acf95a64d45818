"""Push: a row replaces the stored one when it is later, and gets the next sequence number.

Seqs are where clients go on reading from, so they must become visible in their order. A number that is handed out
before its transaction ends does not: a reader who has seen 10 while 9 is not committed never asks for 9 again. Here a
push first updates the one row of ``cloud_sequence`` and so holds it until its commit; the next push waits for that.
"""

from __future__ import annotations

import json
import time
from collections import Counter

from engram_py.base.clock import dated, is_ahead
from engram_py.base.dataclass import dataclass
from engram_py.cloud.accounts import Caller, Right, instance, rights, split_own_rows, visible
from engram_py.cloud.database import AuditLine, Connection, one, record_audit, rows
from engram_py.cloud.deletions import RowKey, destroyed_by, erase_versions, key_columns, remaining_rows, remove_rows
from engram_py.cloud.errors import PolicyForbiddenError, SyncPausedError
from engram_py.cloud.validation import EntryBatch, Incoming, Rejected
from engram_py.sharing.sync.mutation import rank

# Seqs are microseconds since 1970 where the clock allows it, and always higher than the last. So the gaps between
# those an account sees say nothing of how much others wrote, and a database that was restored from a backup does not
# hand out seqs anew that clients have read past already.
_RESERVE = """
update cloud_sequence
set last_seq = greatest(last_seq, (extract(epoch from clock_timestamp()) * 1000000)::bigint) + %(count)s
returning last_seq - %(count)s as before
"""

_STORED = """
select
    kept.project, kept.entity, kept.entity_key, kept.op, kept.clock, kept.fingerprint,
    case when asked.hidden then kept.payload else '' end as payload
from unnest(%(projects)s::text[], %(entities)s::text[], %(keys)s::text[], %(hidden)s::boolean[])
    as asked (project, entity, entity_key, hidden)
join cloud_mutations as kept
    on kept.project = asked.project and kept.entity = asked.entity and kept.entity_key = asked.entity_key
"""

_ENDS = "select name, latest_seq from cloud_projects where name = any(%(names)s::text[])"

_KNOW_PROJECTS = """
insert into cloud_projects as known (name, latest_seq)
select name, latest_seq from unnest(%(names)s::text[], %(seqs)s::bigint[]) as given (name, latest_seq)
on conflict (name) do update set latest_seq = greatest(known.latest_seq, excluded.latest_seq)
"""

_STORE = """
insert into cloud_mutations (
    seq, project, entity, entity_key, op, clock, fingerprint, payload, payload_bytes, occurred_at, principal_id, device
)
select
    given.seq, given.project, given.entity, given.entity_key, given.op, given.clock, given.fingerprint,
    given.payload, given.payload_bytes, given.occurred_at, %(principal)s, %(device)s
from unnest(
    %(seqs)s::bigint[], %(projects)s::text[], %(entities)s::text[], %(keys)s::text[], %(ops)s::text[],
    %(clocks)s::text[], %(fingerprints)s::text[], %(payloads)s::text[], %(sizes)s::integer[], %(times)s::text[]
) as given (seq, project, entity, entity_key, op, clock, fingerprint, payload, payload_bytes, occurred_at)
on conflict (project, entity, entity_key) do update set
    seq = excluded.seq,
    op = excluded.op,
    clock = excluded.clock,
    fingerprint = excluded.fingerprint,
    payload = excluded.payload,
    payload_bytes = excluded.payload_bytes,
    occurred_at = excluded.occurred_at,
    principal_id = excluded.principal_id,
    device = excluded.device,
    received_at = now()
"""

# An account may ask for five hundred projects that nobody granted; the log is not its notebook.
_MOST_DENIED_LINES = 20


@dataclass(frozen=True, slots=True)
class _StoredRow:
    """A row that is stored already, or comes earlier in the same push."""

    age: tuple[str, str]
    op: str
    payload: str


@dataclass(frozen=True, slots=True)
class Pushed:
    """The result of a push; indexes refer to the entries sent, ``seqs`` to ``accepted``.

    ``latest_seq`` is the highest that the account can see, ``instance`` tells this database from another one.
    ``previous`` is where the log of each project ended before: a client that had read up to there knows that none but
    its own rows have come since.
    """

    accepted: tuple[int, ...]
    seqs: tuple[int, ...]
    unchanged: tuple[int, ...]
    rejected: tuple[Rejected, ...]
    project: str
    latest_seq: int
    instance: str
    previous: dict[str, int]


def key_of(row: Incoming) -> RowKey:
    return row.mutation.project, row.mutation.entity, row.mutation.entity_key


def version_of(row: Incoming) -> tuple[str, str]:
    """Return the key that orders the states of a row: the clock, then the content. A final deletion is last."""
    return rank(row.mutation), row.fingerprint


async def push(connection: Connection, caller: Caller, batch: EntryBatch, *, action: str = "push") -> Pushed:
    """Take what may be taken of a batch, in one transaction.

    Raises:
        PolicyForbiddenError: the caller may write to none of its projects.
        SyncPausedError: all it may write to are paused.
    """
    async with connection.transaction():
        named = [name for row in batch.rows for name in row.projects]
        allowed = await rights(connection, caller, named)
        # Before the lock, which others wait for.
        latest = max((project.latest_seq for project in await visible(connection, caller)), default=0)
        source = await instance(connection)
        judged = [(_with_writable_project(row, allowed), _refusal(row, allowed)) for row in batch.rows]
        may = [row for row, refusal in judged if refusal is None]
        refused = [refusal for _, refusal in judged if refusal is not None]
        whole_refusal = _whole_refusal(batch, may, refused, allowed)
        kept: dict[int, int] = {}
        previous: dict[str, int] = {}
        if may:
            # Takes the lock of all pushes, and the seqs after the number that is returned.
            reserved = await one(connection, _RESERVE, {"count": len(may)})
            assert reserved is not None
            may, strange = await split_own_rows(connection, caller, may)
            refused += strange
            kept, previous = await _store(connection, caller, may, batch.device, reserved["before"])
        await record_audit(connection, caller.name, _lines(action, batch, may, refused, kept))
    if whole_refusal is not None:
        raise whole_refusal
    accepted, projects = sorted(kept), {row.mutation.project for row in may}
    return Pushed(
        tuple(accepted),
        tuple(kept[index] for index in accepted),
        tuple(row.index for row in may if row.index not in kept),
        tuple(sorted([*batch.rejected, *refused], key=lambda refusal: refusal.index)),
        projects.pop() if len(projects) == 1 else "",
        max([latest, *kept.values()]),
        source,
        previous,
    )


def _with_writable_project(row: Incoming, allowed: dict[str, Right]) -> Incoming:
    """Return the row with a project in its payload that the account may write to.

    A row names its project in the payload too, perhaps by an older name. One of a project that the account may not
    write to would end in that project on every machine, so it gets the project it was pushed to.
    """
    right = allowed.get(row.given_project)
    if row.given_project == row.mutation.project or (right is not None and right.writes):
        return row
    return row.moved(row.mutation.project)


def _refusal(row: Incoming, allowed: dict[str, Right]) -> Rejected | None:
    """Return why the caller may not push a row, None when it may.

    An alias takes the right to both names: on every machine it moves all that has its name to its project.
    """
    mutation = row.mutation
    right, named = allowed.get(mutation.project), allowed.get(mutation.entity_key)
    if right is None or not right.writes:
        code, reason = "policy_forbidden", f"this account may not write to {mutation.project}"
    elif right.paused:
        code, reason = "sync-paused", f"{mutation.project} is paused"
    elif is_ahead(mutation.clock, now_milliseconds=_now()):
        code, reason = "dated_ahead", f"dated {dated(mutation.clock)}: it is accepted from then on"
    elif mutation.entity == "alias" and (named is None or not named.writes):
        reason = f"this account may not write to {mutation.entity_key}, so it cannot become a name of "
        code, reason = "alias_not_granted", reason + mutation.project
    else:
        return None
    return Rejected(row.index, mutation.entity, mutation.entity_key, code, reason, repairable=True)


def _whole_refusal(
    batch: EntryBatch, may: list[Incoming], refused: list[Rejected], allowed: dict[str, Right]
) -> PolicyForbiddenError | SyncPausedError | None:
    """Return the error of a push whose every row is refused for its project: not granted, or paused."""
    codes = {refusal.reason_code for refusal in refused}
    if may or not refused or batch.rejected or not codes <= {"policy_forbidden", "sync-paused"}:
        return None
    projects = {row.mutation.project for row in batch.rows}
    paused = sorted(name for name in projects if name in allowed and allowed[name].writes)
    if "sync-paused" in codes:
        return SyncPausedError(paused[0], allowed[paused[0]].paused_reason)
    return PolicyForbiddenError(f"write to {', '.join(sorted(projects)[:5])}")


async def _store(
    connection: Connection, caller: Caller, may: list[Incoming], device: str, before: int
) -> tuple[dict[int, int], dict[str, int]]:
    """Write the rows that are later than what is there: index → seq of those that were, project → its end before."""
    names = sorted({row.mutation.project for row in may})
    ends = {row["name"]: row["latest_seq"] for row in await rows(connection, _ENDS, {"names": names})}
    winners = _winners(may, await _held(connection, may))
    ordered = sorted(await remaining_rows(connection, winners), key=lambda row: row.index)
    seqs = [before + place for place in range(1, len(ordered) + 1)]
    if ordered:
        await _write(connection, caller, ordered, seqs, device)
        gone = destroyed_by(ordered)
        await erase_versions(connection, gone)
        await remove_rows(connection, gone)
    kept = {row.index: seq for row, seq in zip(ordered, seqs, strict=True)}
    return kept, {name: ends.get(name, 0) for name in names}


def _winners(may: list[Incoming], held: dict[RowKey, _StoredRow]) -> dict[RowKey, Incoming]:
    """Return the last state of each row, where that is later than what is kept."""
    winners: dict[RowKey, Incoming] = {}
    for given in may:
        row, key = given, key_of(given)
        now = held.get(key)
        if now is not None and now.op == "upsert" and row.hides:
            row = row.over(json.loads(now.payload))
        if now is None or _came_too_early(now) or version_of(row) > now.age:
            winners[key] = row
            held[key] = _StoredRow(version_of(row), row.mutation.op, row.payload)
    return winners


def _came_too_early(held: _StoredRow) -> bool:
    """Return whether a state is dated ahead: an earlier program took it, and it counts for nothing before its time."""
    clock = held.age[0].rpartition(" ")[2]
    return not clock.startswith("~") and is_ahead(clock, now_milliseconds=_now())


def _now() -> int:
    return int(time.time() * 1000)


async def _held(connection: Connection, asked: list[Incoming]) -> dict[RowKey, _StoredRow]:
    keys = sorted({key_of(row) for row in asked})
    hidden = {key_of(row) for row in asked if row.hides}
    values = {**key_columns(keys), "hidden": [key in hidden for key in keys]}
    return {
        (row["project"], row["entity"], row["entity_key"]): _StoredRow(
            (row["clock"], row["fingerprint"]), row["op"], row["payload"]
        )
        for row in await rows(connection, _STORED, values)
    }


async def _write(connection: Connection, caller: Caller, ordered: list[Incoming], seqs: list[int], device: str) -> None:
    mutations = [row.mutation for row in ordered]
    latest = {row.mutation.project: seq for row, seq in zip(ordered, seqs, strict=True)}
    await connection.execute(_KNOW_PROJECTS.encode(), {"names": list(latest), "seqs": list(latest.values())})
    values = {
        **key_columns([key_of(row) for row in ordered]),
        "seqs": seqs,
        "ops": [mutation.op for mutation in mutations],
        "clocks": [rank(mutation) for mutation in mutations],
        "fingerprints": [row.fingerprint for row in ordered],
        "payloads": [row.payload for row in ordered],
        "sizes": [row.size for row in ordered],
        "times": [mutation.occurred_at for mutation in mutations],
        "principal": caller.principal_id,
        "device": device,
    }
    await connection.execute(_STORE.encode(), values)


def _lines(
    action: str, batch: EntryBatch, may: list[Incoming], refused: list[Rejected], kept: dict[int, int]
) -> list[AuditLine]:
    accepted = Counter(row.mutation.project for row in may if row.index in kept)
    project_of = {row.index: row.mutation.project for row in batch.rows}
    denied = Counter((project_of[refusal.index], refusal.reason_code) for refusal in refused)
    return [
        *(AuditLine(action, project=name, entries=count) for name, count in sorted(accepted.items())),
        *(
            AuditLine(action, project=name, outcome="denied", reason_code=code, entries=count)
            for (name, code), count in sorted(denied.items())[:_MOST_DENIED_LINES]
        ),
    ]
