"""Starting: on an empty database, several at once, on one of a newer version, and where everybody could come."""

from __future__ import annotations

import asyncio
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from engram_py.cloud.database import MIGRATION_LOCK
from engram_py.cloud.errors import DatabaseTooNewError, InvalidCloudSettingError
from engram_py.cloud.server import prepare
from engram_py.cloud.settings import CloudSettings, load_cloud_settings
from tests.cloud.asking import Running, entry, plain_environment, server_process, wait_until_blocked
from tests.cloud.cluster import Cluster


def serve(url: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """``engram cloud serve`` that is expected to refuse."""
    command = [sys.executable, "-m", "engram_py", "cloud", "serve", *arguments]
    given = plain_environment() | ({"ENGRAM_DATABASE_URL": url} if url else {}) | environment
    return subprocess.run(command, env=given, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.postgres
def test_servers_that_start_together_on_an_empty_database_all_serve_it(postgres: Cluster, project: str) -> None:
    url = postgres.create()
    running: list[Running] = []
    leave, up = threading.Event(), threading.Barrier(4)

    def run(_: int) -> None:
        with server_process(url, ENGRAM_CLOUD_ADMIN="an-admin-token-of-the-tests") as (_process, one):
            running.append(one)
            up.wait(60)
            leave.wait(60)

    with ThreadPoolExecutor(3) as pool:
        done = [pool.submit(run, number) for number in range(3)]
        try:
            up.wait(60)
            account = running[0].account(write=[project])
            for place, one in enumerate(running):
                one.client(account.token).push([entry(project, f"obs-{place}")])
            assert len(running[2].client(account.token).pull_all()) == 3
            assert running[0].sql("select count(*) as n from cloud_facts where name = 'instance'") == [{"n": 1}]
        finally:
            leave.set()
        for one_done in done:
            one_done.result(60)


@pytest.mark.postgres
def test_of_servers_that_bring_a_database_up_together_one_does_it_and_a_newer_one_is_left_alone(
    postgres: Cluster,
) -> None:
    url = postgres.create()

    def run(_: int = 0) -> list[str]:
        return asyncio.run(prepare(CloudSettings(url)))

    with (
        ThreadPoolExecutor(4) as pool,
        psycopg.connect(url) as first,
        psycopg.connect(url, autocommit=True) as watching,
    ):
        first.execute("select pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        done = [pool.submit(run, number) for number in range(4)]
        wait_until_blocked(watching, 4)
        first.rollback()
        assert sorted(one.result(60) for one in done) == [[], [], [], ["0001_server", "0002_keys"]]
    Running("", url).sql("insert into cloud_migrations (name) values ('9999_later')")
    with pytest.raises(DatabaseTooNewError) as caught:
        run()
    assert caught.value.unknown == ["9999_later"]


@pytest.mark.postgres
def test_an_address_that_others_reach_is_refused_until_there_is_a_token(postgres: Cluster) -> None:
    url = postgres.create()
    refused = serve(url, "--host", "0.0.0.0", "--port", "0")

    assert refused.returncode == 1
    assert "engram cloud users add NAME --admin" in refused.stderr
    with server_process(url, "--host", "0.0.0.0", ENGRAM_CLOUD_ADMIN="an-admin-token-of-the-tests") as (_, running):
        running.address = running.address.replace("0.0.0.0", "127.0.0.1")
        assert running.client("an-admin-token-of-the-tests").ask("GET", "/whoami").json()["role"] == "admin"


@pytest.mark.parametrize(
    ("url", "said"),
    [
        pytest.param("", "ENGRAM_DATABASE_URL is not set", id="none"),
        pytest.param("postgresql://me:hunter2@127.0.0.1:1/x", "PostgreSQL does not answer", id="not-answering"),
    ],
)
def test_without_a_database_the_command_says_so_in_one_line_without_a_password(url: str, said: str) -> None:
    refused = serve(url)

    assert refused.returncode == 1
    assert said in refused.stderr
    assert "hunter2" not in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ENGRAM_CLOUD_PORT", "http"),
        ("ENGRAM_CLOUD_PORT", "99999"),
        ("ENGRAM_CLOUD_MAX_PUSH_BYTES", "10"),
        ("ENGRAM_CLOUD_ADMIN", "short"),
        ("ENGRAM_CLOUD_TOKEN", "with a blank in the middle of it"),
        ("ENGRAM_CLOUD_AUDIT_DAYS", "0"),
    ],
)
def test_a_setting_that_makes_no_sense_is_named_and_its_value_is_not_shown(variable: str, value: str) -> None:
    with pytest.raises(InvalidCloudSettingError) as caught:
        load_cloud_settings({"ENGRAM_DATABASE_URL": "postgresql:///x", variable: value})

    assert caught.value.variable == variable
    assert value not in str(caught.value)
