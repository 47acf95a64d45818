"""The database or the server goes away in the middle: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import os
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from engram_py.cloud.settings import CloudSettings
from tests.cloud.asking import Client, Running, entry, held_commits, server_process, serving
from tests.cloud.cluster import Cluster
from tests.flooding import LINUX, check_flood, scarce

pytestmark = pytest.mark.postgres

TERMINATE = """
select pg_terminate_backend(pid) from pg_stat_activity
where datname = current_database() and pid <> pg_backend_pid() and (%(all)s or wait_event_type = 'Lock')
"""


def test_a_connection_that_dies_in_a_push_leaves_nothing(server: Running, account: Client, project: str) -> None:
    batch = [entry(project, f"obs-{number}") for number in range(50)]
    answers: list[httpx.Response] = []
    with held_commits(server, project):
        pushing = threading.Thread(
            target=lambda: answers.append(account.ask("POST", "/sync/mutations/push", json={"entries": batch}))
        )
        pushing.start()
        with psycopg.connect(server.url, autocommit=True) as killing:
            while not killing.execute(TERMINATE, {"all": False}).fetchall():
                pass
        pushing.join(30)

    assert answers[0].status_code == 503
    assert answers[0].json()["error"]["code"] == "database_unavailable"
    assert answers[0].headers["Retry-After"] == "5"
    assert account.pull_all() == []
    assert len(account.push(batch)["accepted"]) == 50
    assert len(account.push(batch)["unchanged"]) == 50
    assert len(account.pull_all()) == 50


def test_all_connections_of_the_pool_may_die(server: Running, account: Client, project: str) -> None:
    with ThreadPoolExecutor(12) as threads:  # so that there are many
        list(threads.map(lambda _: account.push([entry(project, "obs-1")]), range(24)))
    for _ in range(3):
        with psycopg.connect(server.url, autocommit=True) as killing:
            killing.execute(TERMINATE, {"all": True})
        assert account.push([entry(project, "obs-1")])["unchanged"] == [0]
        assert server.client("").ask("GET", "/health").json()["status"] == "ok"


def test_a_stream_that_breaks_off_has_no_last_line(postgres: Cluster, project: str) -> None:
    with serving(CloudSettings(postgres.create())) as running:
        account = running.account(write=[project])
        for start in range(0, 400, 50):  # far more than the sockets in between hold
            account.push([entry(project, f"obs-{n}", content="x" * 40_000) for n in range(start, start + 50)])
        lines: list[str] = []
        headers = {"Authorization": f"Bearer {account.token}", "Accept": "application/x-ndjson"}
        address = f"{running.address}/sync/mutations/pull"
        with (
            suppress(httpx.HTTPError),
            httpx.stream("GET", address, headers=headers, timeout=30, trust_env=False) as answer,
        ):
            for line in answer.iter_lines():
                if not lines:  # the table that later pages need goes away under the running stream
                    running.sql("alter table cloud_mutations rename to elsewhere")
                lines.append(line)

    assert 0 < len(lines) < 400
    assert not any('"end":true' in line for line in lines)


def test_without_its_database_the_server_says_so_and_recovers(postgres: Cluster, project: str) -> None:
    url = postgres.create()
    name = url.partition("@/")[2].partition("?")[0]
    with serving(CloudSettings(url)) as running:
        account = running.account(write=[project])
        with psycopg.connect(postgres.url("postgres"), autocommit=True) as admin:
            _empty(admin, name)
            admin.execute(f"alter database {name} rename to away_{name}".encode())
            health = running.client("").ask("GET", "/health")
            admin.execute(f"alter database away_{name} rename to {name}".encode())
        assert health.status_code == 503
        while running.client("").ask("GET", "/health").status_code != 200:
            pass
        assert account.push([entry(project, "obs-1")])["accepted"] == [0]


def _empty(admin: psycopg.Connection[Any], name: str) -> None:
    """No new connections, and an end to those there are."""
    admin.execute(f"alter database {name} allow_connections false".encode())
    try:
        query = "select pg_terminate_backend(pid) from pg_stat_activity where datname = %s"
        while admin.execute(query, (name,)).fetchall():
            pass
    finally:
        admin.execute(f"alter database {name} allow_connections true".encode())


def test_what_a_server_acknowledged_before_kill_9_is_there_and_pushing_all_again_doubles_nothing(
    postgres: Cluster, project: str
) -> None:
    url = postgres.create()
    batches = [[entry(project, f"obs-{batch}-{n}") for n in range(25)] for batch in range(40)]
    acknowledged: list[str] = []
    with server_process(url) as (process, running):
        account = running.account(write=[project])
        for number, batch in enumerate(batches):
            if number == 20:  # while the next is on its way
                threading.Thread(target=process.kill).start()
            try:
                told = account.push(batch)
            except httpx.HTTPError:
                break
            acknowledged += [batch[index]["entity_key"] for index in told["accepted"]]
        token = account.token

    with server_process(url) as (_, running):
        account = running.client(token)
        kept = {one["entity_key"] for one in account.pull_all()}
        assert set(acknowledged) <= kept
        assert len(kept) % 25 == 0  # a batch is there or not
        for batch in batches:
            account.push(batch)
        found = [one["entity_key"] for one in account.pull_all()]
    assert len(found) == len(set(found)) == 1000


@LINUX
def test_a_flood_of_connections_leaves_the_server_its_descriptors_and_the_log_a_line(
    postgres: Cluster, tmp_path: Path
) -> None:
    env = {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")}
    env |= {"ENGRAM_DATABASE_URL": postgres.create(), "ENGRAM_CLOUD_ADMIN": "an-admin-token-of-the-tests"}
    with scarce(tmp_path / "log", ["cloud", "serve", "--port", "0"], env, tmp_path) as server:
        check_flood(server, "/health")
