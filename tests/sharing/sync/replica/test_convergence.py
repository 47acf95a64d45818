"""Any machines that exchanged the same changes, in any order, any number of times, hold the same memory."""

from __future__ import annotations

import os
import random
import shutil
import tempfile
from collections.abc import Callable, Collection
from datetime import timedelta
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, assume, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, rule, run_state_machine_as_test

from engram_py import Draft
from engram_py.memory.observations.values import Change
from tests.sharing.sync.replica import machines as net

# `make replicas` asks for 2,000; a run of everything takes a look at fewer.
EXAMPLES = int(os.environ.get("ENGRAM_REPLICA_EXAMPLES", "8"))
STEPS = 30

_WORDS = ("wal", "lock", "retry", "cache")
_TEXTS = st.sampled_from([f"{one} because of {other}" for one in _WORDS for other in _WORDS])
_TITLES = st.sampled_from(["Use WAL", "Retry the lock", "Cache is stale"])
_TOPICS = st.sampled_from([None, "db/wal", "db/lock"])
_PROJECTS = st.sampled_from(["p", "q", "r"])
_ENTITIES = st.sampled_from(["api", "ledger", "Dana Reyes"])
_WITH_ENTITIES = st.sampled_from(["alias", "merge", "archive", "restore", "rewrite", "rewrite"])
_SCOPES = st.sampled_from(["project", "project", "project", "global", "personal"])
_SKEWS = st.sampled_from([0, -90_000, 45, 7_200, 40 * 86_400, 366 * 86_400 * 50])
_WRONG = timedelta(days=400)
_PICK = st.integers(0, 30)
_FACTS = st.sampled_from(
    ["It runs on Debian in the cellar", "It runs on Fedora in the attic", "Somebody has to look at its logs each day"]
)


class Replicas(RuleBasedStateMachine):
    empty: Path

    @initialize(skews=st.lists(_SKEWS, min_size=2, max_size=4))
    def start(self, skews: list[int]) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=self.empty.parent))
        self.machines = [
            net.machine(f"m{place}", self.folder, self.empty, skew=timedelta(seconds=skew), trusts_all=True)
            for place, skew in enumerate(skews)
        ]
        self.readers: list[net.Machine] = []
        self.flying: list[net.Packet] = []
        self.said: list[net.Packet] = []  # every packet, also those that were lost
        self.written: dict[str, str] = {}  # every text ever acknowledged → the observation it was written to
        self.private: set[str] = set()

    # --- what people do ----------------------------------------------------------------------------------

    @rule(at=_PICK, title=_TITLES, text=_TEXTS, topic=_TOPICS, project=_PROJECTS, scope=_SCOPES)
    def save(self, at: int, title: str, text: str, topic: str | None, project: str, scope: str) -> None:
        app = self._machine(at).app
        text = self._unique(text) if len(title) > 7 else text  # a third of the saves may repeat each other
        draft = Draft(title, text, "decision", scope=scope, topic_key=topic)
        self._note(self._machine(at).attempt(lambda: app.save(draft, project=project, session_id=f"s-{project}")), text)

    @rule(at=_PICK, which=_PICK, text=_TEXTS, scope=st.sampled_from([None, None, "personal", "project"]))
    def update(self, at: int, which: int, text: str, scope: str | None) -> None:
        text = self._unique(text)
        change = Change(content=text, scope=scope)
        self._note(self._on(at, which, lambda app, row: app.observations.update(row, change)), text)

    @rule(at=_PICK, entity=_ENTITIES, text=_FACTS)
    def derive(self, at: int, entity: str, text: str) -> None:
        app = self._machine(at).app
        self._machine(at).attempt(lambda: app.facts.add(entity, text, origin="derived"))

    @rule(at=_PICK, text=_TEXTS)
    def note(self, at: int, text: str) -> None:
        text = self._unique(text)
        self._note(self._machine(at).attempt(lambda: self._machine(at).app.notes.add(text, project="p")), text)

    @rule(at=_PICK, days=st.sampled_from([0, 1, 40]))
    def tend(self, at: int, days: int) -> None:
        self._machine(at).clock.now += timedelta(days=days)
        for name in ("heartbeat", "consolidate", "synthesize"):
            [done] = self._machine(at).app.maintenance.run(name).passes
            assert done.status == "done", done

    @rule(at=_PICK, which=_PICK, pinned=st.booleans())
    def pin(self, at: int, which: int, pinned: bool) -> None:
        self._on(at, which, lambda app, row: app.observations.pin(row, pinned=pinned))

    @rule(at=_PICK, which=_PICK, hard=st.booleans())
    def delete(self, at: int, which: int, hard: bool) -> None:
        self._on(at, which, lambda app, row: app.observations.delete(row, hard=hard))

    @rule(at=_PICK, which=_PICK, project=_PROJECTS)
    def move(self, at: int, which: int, project: str) -> None:
        self._on(at, which, lambda app, row: app.observations.move(row, project))

    @rule(at=_PICK, which=_PICK, topic=st.sampled_from(["db/wal", "db/lock", "db/other"]))
    def rename(self, at: int, which: int, topic: str) -> None:
        self._on(at, which, lambda app, row: app.observations.update(row, Change(topic_key=topic)))

    @rule(at=_PICK, which=_PICK, text=_TEXTS)
    def misdate(self, at: int, which: int, text: str) -> None:
        """A machine whose clock is wrong for a while writes with a date that lies far ahead."""
        machine, text = self._machine(at), self._unique(text)
        machine.clock.now += _WRONG
        change = Change(content=text)
        self._note(self._on(at, which, lambda app, row: app.observations.update(row, change)), text)
        machine.clock.now -= _WRONG

    @rule(text=_TEXTS, other=_TEXTS, how=st.sampled_from(["hide", "destroy", "move", "rename", "keep", "personal"]))
    def open_twice(self, text: str, other: str, how: str) -> None:
        """Two open one topic before either hears of the other; one of them then does something to its own."""
        topic = f"twice/{len(self.said)}"
        rows = []
        for place, said in ((0, self._unique(text)), (1, f"{self._unique(other)} there")):
            draft = Draft("Opened twice", said, "decision", topic_key=topic)
            rows.append(self.machines[place].app.save(draft, project="p"))
            self._note(rows[-1], said)
        self._send(self.machines[0], self.machines[1])
        self._send(self.machines[1], self.machines[0])
        observations, row = self.machines[1].app.observations, rows[1].id
        done: dict[str, Callable[[], object]] = {
            "hide": lambda: observations.delete(row),
            "destroy": lambda: observations.delete(row, hard=True),
            "move": lambda: observations.move(row, "q"),
            "rename": lambda: observations.update(row, Change(topic_key=f"{topic}/other")),
            "personal": lambda: observations.update(row, Change(scope="personal")),
            "keep": lambda: None,
        }
        self.machines[1].attempt(done[how])
        if how == "personal":
            self.private.add(rows[1].sync_id)

    @rule(at=_PICK, which=_PICK)
    def undelete(self, at: int, which: int) -> None:
        self._on(at, which, lambda app, row: app.observations.undelete(row))

    @rule(at=_PICK, one=_PICK, other=_PICK, verdict=st.sampled_from(["supersedes", "related"]))
    def judge(self, at: int, one: int, other: int, verdict: str) -> None:
        machine = self._machine(at)
        ids = machine.ids()
        if ids:
            pair = ids[one % len(ids)], ids[other % len(ids)]
            relations = machine.app.relations
            machine.attempt(lambda: relations.compare(*pair, verdict, confidence=0.9, reasoning="read both"))

    @rule(at=_PICK, entity=_ENTITIES, text=_TEXTS, project=_PROJECTS, scope=_SCOPES)
    def fact(self, at: int, entity: str, text: str, project: str, scope: str) -> None:
        machine, text = self._machine(at), self._unique(f"it runs on {text}")
        add = partial(machine.app.facts.add, project=project, scope=scope, session_id=f"s-{project}")
        saved = machine.attempt(lambda: add(entity, text))
        self._note(saved if saved is not None and saved.outcome != "deduped" else None, text)

    @rule(at=_PICK, one=_ENTITIES, other=_ENTITIES, project=_PROJECTS, scope=_SCOPES)
    def link(self, at: int, one: str, other: str, project: str, scope: str) -> None:
        machine = self._machine(at)
        machine.attempt(lambda: machine.app.entities.link(one, "calls", other, project=project, scope=scope))

    @rule(at=_PICK, one=_ENTITIES, other=_ENTITIES, project=_PROJECTS, how=_WITH_ENTITIES)
    def entity(self, at: int, one: str, other: str, project: str, how: str) -> None:
        machine = self._machine(at)
        entities = machine.app.entities
        done: dict[str, Callable[[], object]] = {
            "alias": lambda: entities.alias(one, [f"{one} {other}"], project=project),
            "merge": lambda: entities.merge(one, other, project=project),
            "archive": lambda: entities.archive(one, project=project),
            "restore": lambda: entities.archive(one, restore=True, project=project),
            "rewrite": entities.rewrite_summaries,
        }
        machine.attempt(done[how])

    @rule(at=_PICK, one=_PROJECTS, into=_PROJECTS)
    def merge(self, at: int, one: str, into: str) -> None:
        machine = self._machine(at)
        machine.attempt(lambda: machine.app.merging.merge([one], into))

    @rule(at=_PICK, text=_TEXTS, project=_PROJECTS)
    def prompt(self, at: int, text: str, project: str) -> None:
        self._machine(at).app.prompts.save(text, project=project, session_id=f"s-{project}")

    @rule(at=_PICK, project=_PROJECTS, how=st.sampled_from(["end", "delete"]))
    def close_session(self, at: int, project: str, how: str) -> None:
        machine = self._machine(at)
        machine.attempt(lambda: getattr(machine.app.sessions, how)(f"s-{project}"))

    @rule(at=_PICK, seconds=st.sampled_from([1, 3_600, -7_200, 86_400 * 3]))
    def jump(self, at: int, seconds: int) -> None:
        self._machine(at).clock.now += timedelta(seconds=seconds)

    # --- what the network does ---------------------------------------------------------------------------

    @rule(sender=_PICK, receiver=_PICK)
    def tell(self, sender: int, receiver: int) -> None:
        """One tells another all it has, and nothing goes wrong: without this few rows are ever known to two."""
        one, other = self._machine(sender), self._machine(receiver)
        if one is not other:
            packet = self._send(one, other)
            net.receive(other, packet)
            one.cursors[other.name] = packet.upto

    @rule(data=st.lists(_PICK, min_size=2, max_size=2))
    def meet(self, data: list[int]) -> None:
        self.tell(*data)
        self.tell(*reversed(data))

    @rule(which=_PICK, first=_TEXTS, second=_TEXTS, delete=st.sampled_from([None, None, False, True]))
    def disagree(self, which: int, first: str, second: str, delete: bool | None) -> None:
        """Two change one memory that both hold before either hears of the other, and what they say crosses."""
        one, other = self.machines[:2]
        self.tell(0, 1)
        ids = one.ids()
        if not ids:
            return
        row = one.app.store.row("select id, sync_id from observations where id = :id", id=ids[which % len(ids)])
        assert row is not None
        there = other.app.store.value("select id from observations where sync_id = :key", key=row["sync_id"])
        self._change(one, row["id"], first, None)
        if there is not None:
            self._change(other, there, second, delete)
        packets = [(other, self._send(one, other)), (one, self._send(other, one))]
        for receiver, packet in packets:
            net.receive(receiver, packet)
            self._named(packet.sender).cursors[receiver.name] = packet.upto

    def _change(self, machine: net.Machine, row: int, text: str, delete: bool | None) -> None:
        if delete is not None:
            machine.attempt(lambda: machine.app.observations.delete(row, hard=delete))
            return
        text = self._unique(text)
        self._note(machine.attempt(lambda: machine.app.observations.update(row, Change(content=text))), text)

    @rule(sender=_PICK, receiver=_PICK, rows=st.sampled_from([1, 3, 500]))
    def send(self, sender: int, receiver: int, rows: int) -> None:
        one, other = self._machine(sender), self._machine(receiver)
        assume(one is not other)
        self.flying.append(self._send(one, other, max_rows=rows))

    @rule(which=_PICK, seed=st.integers(0, 99), part=st.sampled_from([None, None, 1, 2]), again=st.booleans())
    def deliver(self, which: int, seed: int, part: int | None, again: bool) -> None:
        if not self.flying:
            return
        packet = self.flying[which % len(self.flying)]
        applied = net.receive(self._named(packet.receiver), packet, order=random.Random(seed), part=part)
        assert not applied.refused, applied.refused
        if not again:
            self.flying.remove(packet)
        if part is None and not again:  # else the acknowledgement is lost: the sender sends it all again
            cursors = self._named(packet.sender).cursors
            cursors[packet.receiver] = max(cursors.get(packet.receiver, 0), packet.upto)

    @rule(which=_PICK)
    def lose(self, which: int) -> None:
        if self.flying:
            self.flying.pop(which % len(self.flying))

    def teardown(self) -> None:
        try:
            if hasattr(self, "machines"):
                self._check()
        finally:
            for machine in [*getattr(self, "machines", []), *getattr(self, "readers", [])]:
                machine.app.close()
            shutil.rmtree(getattr(self, "folder", ""), ignore_errors=True)

    def _check(self) -> None:
        seed = len(self.said)
        heard = self.said[: seed // 2 + 1]
        # Where somebody edited later what its owner made personal, a text from before may stay with some until the
        # owner answers, who takes all of it back: that answer is not among these packets.
        self._agree(self._readers(heard, "some"), but=_withdrawn(heard))
        latest = max(machine.clock.now for machine in self.machines) + _WRONG
        for machine in self.machines:
            machine.clock.now = latest  # nothing has to wait any more
            net.read_all(machine, self.said, random.Random(seed))  # also what was lost
        packets = self.said + net.exchange_all(self.machines)
        self._agree([*self.machines, *self._readers(packets, "all")])
        self._nothing_is_lost(net.contents(self.machines[0]))

    def _readers(self, packets: list[net.Packet], name: str) -> list[net.Machine]:
        """Return machines that read the same packets in orders of their own, and never spoke with each other."""
        latest = max(machine.clock.now for machine in self.machines) - net.START
        machine = partial(net.machine, folder=self.folder, empty=self.empty, skew=latest, trusts_all=True)
        made = [machine(f"{name}{place}") for place in range(2)]
        self.readers += made
        for place, reader in enumerate(made):
            net.read_all(reader, packets, random.Random(len(packets) + place))
        return made

    def _agree(self, machines: list[net.Machine], *, but: Collection[str] = ()) -> None:
        """Compare all that machines hold; of the observations ``but``, older texts may differ."""
        first, *others = machines
        expected, digest = net.contents(first), first.app.replica.digest()
        for other in others:
            held = net.contents(other)
            texts = {*expected["versions"]} ^ {*held["versions"]}
            apart = bool(texts) and all(sync_id in but for sync_id, *_ in texts)
            for name, rows in expected.items():
                assert held[name] == rows or (apart and name == "versions"), f"{name} of {other.name} and {first.name}"
            assert apart or other.app.replica.digest() == digest, f"digests of {other.name} and {first.name}"
            for word in _WORDS:
                assert net.found(other, word) == net.found(first, word)

    def _nothing_is_lost(self, held: dict[str, Any]) -> None:
        """Every text is live, an older version, or in a row that was deleted; but for what was destroyed or made
        personal on purpose."""
        texts = {row[6] for row in held["observations"]} | {row[3] for row in held["versions"]}
        destroyed = {key for entity, key in held["buried"] if entity == "observation"}
        for text, sync_id in self.written.items():
            if sync_id not in destroyed | self.private:
                assert text in texts, f"{text!r} of {sync_id} is lost"

    # --- helpers -----------------------------------------------------------------------------------------

    def _machine(self, place: int) -> net.Machine:
        return self.machines[place % len(self.machines)]

    def _send(self, sender: net.Machine, receiver: net.Machine, *, max_rows: int = 500) -> net.Packet:
        self.said.append(net.send(sender, receiver, max_rows=max_rows))
        return self.said[-1]

    def _named(self, name: str) -> net.Machine:
        return next(one for one in self.machines if one.name == name)

    def _on(self, at: int, which: int, action: Any) -> Any:
        machine = self._machine(at)
        ids = machine.ids()
        return machine.attempt(lambda: action(machine.app, ids[which % len(ids)])) if ids else None

    def _unique(self, text: str) -> str:
        return f"{text} {len(self.written)}"

    def _note(self, answer: Any, text: str) -> None:
        if answer is not None:
            self.written[text] = answer.sync_id
            if answer.scope == "personal":
                self.private.add(answer.sync_id)


def _withdrawn(packets: list[net.Packet]) -> set[str]:
    """Return the observations that some packet tells were made personal."""
    told = [net.read(text) for packet in packets for text in packet.entries]
    return {one.entity_key for one in told if (one.payload.get("engram_py") or {}).get("withdrawn")}


@pytest.mark.parametrize("part", range(4))
@pytest.mark.timeout(1500)
def test_machines_that_exchanged_everything_hold_the_same_memory(part: int, empty_memory: Path) -> None:
    class Part(Replicas):
        empty = empty_memory

    if EXAMPLES <= 200:  # CI plays the same ones, other ones in each part; whoever asks for more looks for new ones
        seed(part)(Part)
    run_state_machine_as_test(
        Part,
        settings=settings(
            max_examples=max(1, EXAMPLES // 4),
            stateful_step_count=STEPS,
            deadline=None,
            suppress_health_check=list(HealthCheck),
            database=None,
            # Names of rows are random, so a smaller case seldom fails in the same way.
            phases=[Phase.generate],
        ),
    )
