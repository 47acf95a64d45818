"""Two machines and the real server: both hold in the end what either saves, and PostgreSQL nothing that is secret."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest

from engram_py import Draft, Engram
from engram_py.dataclass import replace
from engram_py.observations.values import Change
from engram_py.settings import Settings
from engram_py.sync.autosync import login
from engram_py.sync.autosync.table import CloudSynced
from tests.cloud.asking import Client, Running
from tests.cloud.cluster import Cluster

pytestmark = pytest.mark.postgres

SECRET = "AKIAQ3EGRBYTEXAMPLE7"
PERSONAL = "salamander-under-the-doormat"
SHARED = "kingfisher-for-everybody"


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


def test_nothing_secret_is_in_the_database_files(
    postgres: Cluster, server: Running, project: str, machines: tuple[Engram, Engram]
) -> None:
    here, _ = machines
    here.settings = replace(here.settings, sync_prompts=True)
    account = server.account(write=[project])
    join(here, server, account, project)
    saved = here.save(Draft("Deploy", f"the key is {SECRET}, and {SHARED} <private>{PERSONAL}</private>"))
    here.save(Draft("Home", PERSONAL, scope="personal"))
    here.observations.update(saved.id, Change(content=f"{SHARED} again, with {SECRET}"))
    here.prompts.save(f"why does {SECRET} not work?")
    sync(here)

    with psycopg.connect(server.url, autocommit=True) as connection:
        connection.execute("checkpoint")
    files = b"".join(path.read_bytes() for path in (postgres.directory / "data").rglob("*") if path.is_file())

    assert SHARED.encode() in files  # the search would find it
    assert SECRET.encode() not in files
    assert PERSONAL.encode() not in files
    assert account.token[14:].encode() not in files
