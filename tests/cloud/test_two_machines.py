"""Two machines and the real server: what either saves, revises or destroys, both hold in the end."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.config import Settings
from engram_py.sync.autosync import login
from engram_py.sync.autosync.values import CloudSynced
from engram_py.sync.errors import CloudFailedError
from tests.cloud.asking import Client, Running

pytestmark = pytest.mark.postgres


@pytest.fixture
def machines(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, project: str) -> Iterator[tuple[Engram, Engram]]:
    monkeypatch.setattr(login, "_keep_in_keychain", lambda server, token: False)
    with ExitStack() as stack:
        here, there = (
            stack.enter_context(Engram(settings=Settings(tmp_path / name), directory=tmp_path, project=project))
            for name in ("here", "there")
        )
        yield here, there


def join(machine: Engram, server: Running, account: Client, project: str) -> None:
    assert machine.autosync.account.login(server.address, account.token).principal
    machine.autosync.account.enroll([project])


def sync(*machines: Engram) -> CloudSynced:
    for one in machines:
        done = one.autosync.sync_now()
        assert done.outcome == "done", done
    return done


def test_two_machines_converge_through_the_server(
    server: Running, project: str, machines: tuple[Engram, Engram]
) -> None:
    here, there = machines
    account = server.account(write=[project])
    for one in machines:
        join(one, server, account, project)
    saved = [here.save(Draft(f"Note {number}", f"What note {number} says.")) for number in range(40)]
    here.save(Draft("Lifetime", "Fifteen minutes.", topic_key="auth/lifetime"))
    there.save(Draft("Lifetime", "One hour.", topic_key="auth/lifetime"))
    there.save(Draft("Mine", "Nobody's business.", scope="personal"))

    sync(here, there, here, there)

    assert here.replica.digest(projects=[project]) == there.replica.digest(projects=[project])
    twin = there.search("Note 7", project=project).results[0]
    there.observations.delete(twin.id, hard=True)
    here.observations.delete(saved[3].id)
    there.save(Draft("Lifetime", "Two hours.", topic_key="auth/lifetime"))
    sync(there, here, there)
    assert here.replica.digest() == there.replica.digest()
    live = "select title from observations where deleted_at is null and scope <> 'personal' order by title"
    assert [row[0] for row in here.store.rows(live)] == [row[0] for row in there.store.rows(live)]
    assert "Nobody's business." not in str(account.pull_all())


def test_what_was_sent_does_not_come_back(server: Running, project: str, machines: tuple[Engram, Engram]) -> None:
    here, _ = machines
    join(here, server, server.account(write=[project]), project)
    for number in range(20):
        here.save(Draft(f"Note {number}", f"What note {number} says."))

    assert sync(here).sent > 20
    again = sync(here)

    assert (again.sent, again.received) == (0, 0)


def test_a_revoked_token_stops_the_machine_until_the_next_one(
    server: Running, project: str, machines: tuple[Engram, Engram]
) -> None:
    here, _ = machines
    account = server.account(write=[project])
    join(here, server, account, project)
    here.save(Draft("Note", "Kept."))
    server.administer("users/disable", user=account.ask("GET", "/whoami").json()["principal"])

    assert here.autosync.sync_now().reason_code == "auth_required"
    with pytest.raises(CloudFailedError):
        here.autosync.sync_now()

    here.autosync.account.login(server.address, server.account(write=[project]).token)
    assert sync(here).sent > 0
