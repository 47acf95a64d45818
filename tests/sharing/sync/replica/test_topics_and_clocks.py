"""Topics that two machines opened, and rows dated ahead: the same in every order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from itertools import permutations

import pytest

from engram_py import Draft, Engram
from engram_py.memory.observations.values import Change
from tests.sharing.sync.replica import machines as net
from tests.sharing.sync.replica.conftest import MachineMaker
from tests.sharing.sync.replica.machines import Machine
from tests.sharing.sync.replica.test_replica import pass_on, titles


def live_rows(machine: Machine) -> list[int]:
    return [row[0] for row in machine.app.store.rows("select id from observations where deleted_at is null")]


def live_texts(machine: Machine) -> set[str]:
    return {row[0] for row in machine.app.store.rows("select content from observations where deleted_at is null")}


def test_a_row_dated_far_ahead_is_merged_when_its_time_comes_and_not_before(
    desk: Machine, new_machine: MachineMaker
) -> None:
    wild = new_machine("wild", skew=timedelta(days=60))
    wild.app.save(Draft("Of two months later", "with ghp_16C7e42F292c6912E7710c838347Ae178B4a"))
    packet = net.send(wild, desk)

    applied = net.receive(desk, packet)
    desk.app.save(Draft("Of today", "text"))

    assert (applied.ahead, titles(desk)) == (applied.deferred, ["Of today"])
    assert "ghp_16C7" not in str([tuple(row) for row in desk.app.store.rows("select * from sync_apply_deferred")])
    desk.clock.now += timedelta(days=59, hours=1)
    assert net.exchange_all([desk, wild])
    assert sorted(titles(desk)) == ["Of today", "Of two months later"]
    assert net.contents(desk) == net.contents(wild)


def test_a_row_of_the_year_9999_that_an_older_version_took_in_can_be_corrected_everywhere(
    desk: Machine, laptop: Machine, new_machine: MachineMaker
) -> None:
    tower, machines = new_machine("tower"), [desk, laptop]
    saved = desk.app.save(Draft("Use WAL", "wrong"))
    pass_on(desk, laptop)
    for machine in machines:
        with machine.app.store.transaction():
            machine.app.store.execute("update observations set clock = 'e677d21fdbff-0000-4b5548ad02b95aa2'")

    desk.app.observations.update(saved.id, Change(content="corrected"))
    desk.app.observations.update(saved.id, Change(content="corrected twice"))
    net.exchange_all([*machines, tower])

    assert {one.app.store.value("select content from observations") for one in [*machines, tower]} == {
        "corrected twice"
    }
    assert net.contents(desk) == net.contents(laptop) == net.contents(tower)
    laptop.app.observations.update(laptop.ids()[0], Change(scope="personal"))
    net.exchange_all([*machines, tower])
    assert titles(desk) == titles(tower) == []


@pytest.mark.parametrize(
    "leave",
    [
        pytest.param(lambda app, row: app.observations.delete(row), id="deleted"),
        pytest.param(lambda app, row: app.observations.delete(row, hard=True), id="destroyed"),
        pytest.param(lambda app, row: app.observations.move(row, "q"), id="moved"),
        pytest.param(lambda app, row: app.observations.update(row, Change(topic_key="db/other")), id="renamed"),
        pytest.param(lambda app, row: app.observations.update(row, Change(scope="personal")), id="made-personal"),
    ],
)
def test_a_topic_opened_twice_is_the_same_in_every_order_once_one_of_them_leaves(
    desk: Machine, laptop: Machine, new_machine: MachineMaker, leave: Callable[[Engram, int], object]
) -> None:
    desk.app.save(Draft("Storage", "we use sqlite", topic_key="db/storage"))
    laptop.app.save(Draft("Elsewhere", "text"), project="q")
    own = laptop.app.save(Draft("Storage", "we use postgres", topic_key="db/storage"))
    packets = [net.send(desk, laptop), net.send(laptop, desk)]
    leave(laptop.app, own.id)
    packets.append(net.send(laptop, desk))

    readers = [new_machine(f"reader{place}") for place in range(6)]
    for reader, order in zip(readers, permutations(packets), strict=True):
        for packet in order:
            net.receive(reader, packet)

    assert len({reader.app.replica.digest().value for reader in readers}) == 1
    assert all("we use sqlite" in live_texts(reader) for reader in readers)
    assert all(net.contents(reader) == net.contents(readers[0]) for reader in readers)


def test_what_is_done_to_a_memory_here_is_done_to_the_text_that_it_shows_as_its_version(
    desk: Machine, laptop: Machine
) -> None:
    desk.app.save(Draft("Storage", "we use sqlite", topic_key="db/storage"))
    laptop.app.save(Draft("Storage", "we use postgres", topic_key="db/storage"))
    net.exchange_all([desk, laptop])
    [shown] = live_rows(desk)
    versions = desk.app.observations.get(shown, history=True).versions

    desk.app.observations.update(shown, Change(topic_key="db/engine"))
    moved = desk.app.observations.get(shown, history=True).versions
    desk.app.observations.delete(shown)
    net.exchange_all([desk, laptop])

    assert [one.content for one in versions] == [one.content for one in moved] == ["we use sqlite"]
    assert live_texts(desk) == live_texts(laptop) == set()
    assert net.contents(desk) == net.contents(laptop)


def test_what_this_machine_dated_ahead_reaches_the_others_when_its_time_comes(desk: Machine, laptop: Machine) -> None:
    saved = desk.app.save(Draft("Port", "It is 4172.", "decision"))
    pass_on(desk, laptop)
    desk.clock.now += timedelta(days=400)
    desk.app.observations.update(saved.id, Change(content="It is 4173."))
    desk.clock.now -= timedelta(days=400)
    [there] = laptop.ids()
    laptop.app.observations.update(there, Change(content="It is 4174."))
    pass_on(laptop, desk)  # takes the place of the text dated ahead, which waits here

    for machine in (desk, laptop):
        machine.clock.now += timedelta(days=401)
    net.exchange_all([desk, laptop])

    assert net.contents(desk) == net.contents(laptop)
    assert desk.app.get(saved.id).observation.content == "It is 4173."
    assert desk.app.get(saved.id).observation.unchecked is None


@pytest.mark.parametrize("order", [*permutations(range(3))])
def test_what_was_made_personal_after_a_date_ahead_is_withdrawn_in_any_order(
    desk: Machine, laptop: Machine, order: tuple[int, ...]
) -> None:
    saved = desk.app.save(Draft("Port", "It is 4172.", "decision", scope="global"))
    packets = [net.send(desk, laptop)]
    desk.clock.now += timedelta(days=400)
    desk.app.observations.update(saved.id, Change(content="It is 4173."))
    packets.append(net.send(desk, laptop))
    desk.clock.now -= timedelta(days=400, hours=2)
    desk.app.observations.update(saved.id, Change(scope="personal"))
    packets.append(net.send(desk, laptop))

    for place in order:
        net.receive(laptop, packets[place])

    assert titles(laptop) == []
    net.exchange_all([desk, laptop])
    assert (titles(desk), titles(laptop)) == (["Port"], [])
