"""Guards travel with their memory, and one that came from somebody else acts only once a person trusts it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.guidance.guards.values import Guard, from_json
from tests.sharing.sync.replica import machines as net
from tests.sharing.sync.replica.conftest import desk, empty_memory, laptop, new_machine
from tests.sharing.sync.replica.machines import Machine, share_key

__all__ = ["desk", "empty_memory", "laptop", "new_machine"]

NPM = Guard(command="npm *", use="pnpm", by="Ada", strict=True)
MAKE = Guard(command="make *", by="Eve")


def kept(app: Engram, sync_id: str) -> tuple[tuple[Guard, ...], int | None]:
    row = app.store.row("select guards, arrival from observations where sync_id = :id", id=sync_id)
    assert row is not None
    return from_json(row["guards"]), row["arrival"]


def test_a_guard_reaches_the_other_machines_of_its_person(desk: Machine, laptop: Machine) -> None:
    saved = desk.app.save(Draft("Package manager", "x", "decision"))
    desk.app.guards.add(saved.id, NPM)
    net.exchange_all([desk, laptop])
    assert kept(laptop.app, saved.sync_id)[0] == (NPM,)

    here = laptop.app.store.value("select id from observations")
    laptop.app.guards.remove(here)
    net.exchange_all([desk, laptop])
    assert kept(desk.app, saved.sync_id)[0] == ()


def test_a_row_without_guards_is_written_as_older_versions_write_it(desk: Machine, laptop: Machine) -> None:
    saved = desk.app.save(Draft("Package manager", "x", "decision"))
    assert '"guards"' not in "".join(net.send(desk, laptop).entries)
    desk.app.guards.add(saved.id, NPM)
    sent = [json.loads(entry) for entry in net.send(desk, laptop).entries]
    assert [one["payload"]["engram_py"]["guards"] for one in sent if one["entity"] == "observation"]


def test_a_guard_that_somebody_else_gives_my_memory_makes_it_theirs_to_trust(desk: Machine, laptop: Machine) -> None:
    share_key(laptop.app.settings.data_dir, person=2)
    saved = desk.app.save(Draft("Package manager", "x", "decision"))
    net.exchange_all([desk, laptop])
    laptop.app.trust.source("desk", projects=["p"])
    laptop.app.guards.add(laptop.app.store.value("select id from observations"), MAKE)
    packet = net.send(laptop, desk)

    desk.app.replica.apply([net.read(entry) for entry in packet.entries], source="git:elsewhere")

    guards, arrival = kept(desk.app, saved.sync_id)
    assert guards == (MAKE,)
    assert arrival is not None
    assert desk.app.guards.listed()[0].unchecked is not None


@pytest.mark.parametrize("trusted", [False, True])
def test_an_export_keeps_guards(desk: Machine, laptop: Machine, tmp_path: Path, trusted: bool) -> None:
    share_key(laptop.app.settings.data_dir, person=2)
    saved = desk.app.save(Draft("Package manager", "x", "decision"))
    desk.app.guards.add(saved.id, NPM)
    desk.app.transfer.export(tmp_path / "file.json")
    laptop.app.transfer.import_file(tmp_path / "file.json", trusted=trusted)

    guards, arrival = kept(laptop.app, saved.sync_id)
    assert (guards, arrival is None) == ((NPM,), trusted)
