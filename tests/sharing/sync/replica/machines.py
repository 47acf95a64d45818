"""Machines that hold one memory each, with clocks that disagree and a network that loses, repeats and reorders."""

from __future__ import annotations

import json
import random
import shutil
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from engram_py import Engram
from engram_py.base.database.store import Row
from engram_py.base.errors import EngramError
from engram_py.base.settings import Settings
from engram_py.sharing.sync.mutation import AppliedBatch, Mutation, entry_of, mutation_of

START = datetime(2026, 3, 1, 10, 0, tzinfo=UTC)


class SkewedClock:
    """Runs a little at every look, from a start of its own, and shows whole seconds, so that machines share moments."""

    def __init__(self, skew: timedelta = timedelta()) -> None:
        self.now = START + skew

    def __call__(self) -> datetime:
        self.now += timedelta(milliseconds=1)
        return self.now.replace(microsecond=0)


@dataclass
class Machine:
    name: str
    app: Engram
    clock: SkewedClock
    cursors: dict[str, int] = field(default_factory=dict)
    trusts_all: bool = False

    def ids(self) -> list[int]:
        return [row[0] for row in self.app.store.rows("select id from observations order by id")]

    def attempt(self, action: Callable[[], Any]) -> Any:
        """Do what a user would; being refused with a reason is one of the answers."""
        try:
            return action()
        except EngramError:
            return None


@dataclass(frozen=True)
class Packet:
    sender: str
    receiver: str
    upto: int
    entries: tuple[str, ...]


def template(folder: Path) -> Path:
    """A data directory with an empty, current database, to be copied: making one takes most of an example's time."""
    settings = Settings(folder, clock=SkewedClock(), sync_prompts=True)
    with Engram(settings=settings, directory=folder, project="p") as app, app.store.connection() as connection:
        connection.execute("pragma wal_checkpoint(truncate)")
    return folder


def share_key(data: Path, *, person: int = 1) -> None:
    """Give a memory the key of a person."""
    (data / "sync").mkdir(mode=0o700, exist_ok=True)
    (data / "sync" / "device.key").write_text(f"{person:064x}\n")


def machine(
    name: str, folder: Path, empty: Path, *, skew: timedelta = timedelta(), trusts_all: bool = False
) -> Machine:
    """Open a new memory of the one person whose machines these are.

    With `trusts_all` it trusts every row that arrives, as a user trusts what an older program wrote unsigned.
    """
    data = folder / name
    shutil.copytree(empty, data)
    share_key(data)  # all machines are of one person
    clock = SkewedClock(skew)
    app = Engram(
        settings=Settings(data, clock=clock, sync_prompts=True),
        directory=folder,
        project="p",
    )
    with app.store.connection() as connection:
        connection.execute("pragma synchronous = off")  # nobody pulls the plug of a test
    return Machine(name, app, clock, trusts_all=trusts_all)


def send(sender: Machine, receiver: Machine, *, max_rows: int = 500) -> Packet:
    """What the sender would send now, as it travels; nothing is marked as sent."""
    after = sender.cursors.get(receiver.name, 0)
    changes = sender.app.replica.changes(after=after, towards=receiver.name, max_rows=max_rows)
    entries = tuple(json.dumps(entry_of(mutation)) for mutation in changes.mutations)
    return Packet(sender.name, receiver.name, changes.upto, entries)


def receive(
    receiver: Machine, packet: Packet, *, order: random.Random | None = None, part: int | None = None
) -> AppliedBatch:
    entries = list(packet.entries[:part])
    if order is not None:
        order.shuffle(entries)
    applied = receiver.app.replica.apply([read(text) for text in entries], source=packet.sender)
    if receiver.trusts_all:
        projects = [row[0] for row in receiver.app.store.tuples("select name from projects")]
        sources = [row[0] for row in receiver.app.store.tuples("select distinct source from arrivals")]
        if sources:
            receiver.app.trust.source(*sources, projects=projects)
    return applied


def read(text: str) -> Mutation:
    return mutation_of(json.loads(text))


def exchange_all(machines: list[Machine]) -> list[Packet]:
    """Exchange between every two machines until nobody has anything new to say; all that was said."""
    said: list[Packet] = []
    for _ in range(60):
        quiet = True
        for sender in machines:
            for receiver in machines:
                if sender is receiver:
                    continue
                packet = send(sender, receiver)
                said.append(packet)
                applied = receive(receiver, packet)
                assert not applied.refused, applied.refused
                sender.cursors[receiver.name] = packet.upto
                quiet = quiet and not applied.applied
        if quiet:
            return said
    raise AssertionError("the machines never come to rest")


def read_all(machine: Machine, packets: list[Packet], order: random.Random) -> None:
    """Let a machine that says nothing itself read packets in this order, each of them in any order."""
    for packet in order.sample(packets, len(packets)):
        applied = receive(machine, packet, order=order)
        assert not applied.refused, applied.refused


def contents(machine: Machine, *, without: Collection[str] = ()) -> dict[str, Any]:
    """All that machines have to agree on but the columns ``without``, by names that are the same everywhere."""
    store = machine.app.store
    shared = """
    select sync_id, session_id, project, scope, type, title, content, topic_key, aliases, terms, origin, lifecycle,
        pinned, salience, review_after, expires_at, git_branch, git_commit, revision_count, duplicate_count,
        last_seen_at, content_hash, created_at, updated_at, deleted_at, clock, about, entity_kind, folded_into
    from observations where scope <> 'personal' order by sync_id
    """
    # The texts an observation had, its own and those of what is folded into it. A machine that saw one text come twice
    # may know of two moments.
    versions = """
    select distinct sync_id, 0, v.title, v.content
    from observation_versions as v join observations as o on o.id = v.observation_id
    where scope <> 'personal' and (digest is null or digest not like '-%' or digest like '-%/%')
      and (v.title, v.content) <> (o.title, o.content)
    order by 1, 3, 4
    """
    relations = """
    select r.sync_id, source_id, target_id, relation, judgment_status, r.project, r.clock from memory_relations as r
    where judgment_status <> 'pending'
      and exists (
          select 1 from observations where sync_id = iif(source_id like 'entity:%', evidence, source_id)
          and scope <> 'personal')
      and exists (
          select 1 from observations where sync_id = iif(target_id like 'entity:%', evidence, target_id)
          and scope <> 'personal')
    order by r.sync_id
    """
    prompts = "select sync_id, session_id, project, content, created_at, clock from user_prompts order by sync_id"
    sessions = """
    select id, project, directory, started_at, ended_at, summary, clock from sessions
    where clock <> '000000000000-0000-' order by id
    """
    aliases = "select alias, project from project_aliases order by alias"
    buried = """
    select entity, entity_key from tombstones
    where entity in ('observation', 'prompt') and final
      and (entity, entity_key) not in (select entity, entity_key from sync_private)
    order by 1, 2
    """
    queries = {
        "observations": shared,
        "versions": versions,
        "relations": relations,
        "prompts": prompts,
        "sessions": sessions,
        "aliases": aliases,
        "buried": buried,
    }
    return {name: [_cut(row, without) for row in store.rows(sql)] for name, sql in queries.items()}


def _cut(row: Row, without: Collection[str]) -> tuple[Any, ...]:
    return tuple(value for name, value in zip(row.keys(), row, strict=True) if name not in without)


def found(machine: Machine, word: str) -> set[str]:
    """The shared memories the index finds by a word. Their order may differ: near-equal ones give way to each other
    by the order in which a machine came to know them."""
    sql = """
    select sync_id from observations
    where scope <> 'personal' and id in (select rowid from observations_fts where observations_fts match :word)
    """
    return {row[0] for row in machine.app.store.rows(sql, word=word)}
