"""Starting the server, its deployment files, and its limit of requests."""

from __future__ import annotations

import asyncio
import gzip
import re
import subprocess
import sys
import threading
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import anyio
import psycopg
import pytest
from starlette.requests import Request
from starlette.types import Message

from engram_py.base.settings import SETTINGS
from engram_py.cloud import routes
from engram_py.cloud.accounts import CloudSettings, load_cloud_settings
from engram_py.cloud.database import MIGRATION_LOCK
from engram_py.cloud.errors import (
    CloudServerError,
    InvalidBodyError,
    InvalidCloudSettingError,
    PushTooLargeError,
    TooBusyError,
)
from engram_py.cloud.routes import read_body, takes_gzip
from engram_py.cloud.server import Gate, prepare
from engram_py.interfaces.cli.sync import CLOUD_COMMANDS
from tests.cloud.asking import Running, entry, plain_environment, server_process, wait_until_blocked
from tests.cloud.cluster import Cluster
from tests.support import raising


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
    with raising(CloudServerError, "database_too_new", match=r"it has 9999_later\)"):
        run()


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


DEPLOY = Path(__file__).resolve().parents[2] / "deploy"
FILES = sorted(path for path in DEPLOY.iterdir() if path.is_file())


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.name)
def test_every_variable_and_command_that_is_named_exists(path: Path) -> None:
    text = path.read_text(encoding="utf-8")

    assert set(re.findall(r"\bENGRAM_[A-Z_]+", text)) <= {setting.variable for setting in SETTINGS}
    named = re.findall(r"engram cloud ([a-z]+)", text)
    assert set(named) <= set(CLOUD_COMMANDS)


def test_the_files_of_a_deployment_are_all_there() -> None:
    assert {path.name for path in FILES} >= {"Dockerfile", "compose.yaml", "engram-cloud.service", "README.md"}


def request(pieces: Iterable[bytes] = (), **headers: str) -> Request:
    waiting = list(pieces)

    async def receive() -> Message:
        piece = waiting.pop(0) if waiting else b""
        return {"type": "http.request", "body": piece, "more_body": bool(waiting)}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "headers": raw}, receive)


def test_one_request_too_many_is_refused_and_the_place_is_free_again_afterwards() -> None:
    busy = Gate(most=3, most_each=2)
    with busy.enter(), busy.enter_as(1), busy.enter(), busy.enter_as(1):
        with pytest.raises(TooBusyError, match="this account"), busy.enter(), busy.enter_as(1):
            pass
        with busy.enter(), busy.enter_as(2), pytest.raises(TooBusyError, match="the server"), busy.enter():
            pass
        assert busy.inside == 2
    with busy.enter(), busy.enter_as(1):
        assert busy.inside == 1
    assert busy.inside == 0


@pytest.mark.anyio
@pytest.mark.parametrize("step", [1, 7, 1_000_000])
async def test_a_packed_body_arrives_whole_however_it_is_cut(step: int) -> None:
    text = bytes(range(256)) * 300 + b"\0" * 200_000
    packed = gzip.compress(text[:1000]) + gzip.compress(text[1000:])
    pieces = [packed[place : place + step] for place in range(0, len(packed), step)]

    assert await read_body(request(pieces, content_encoding="gzip"), 1_000_000) == text


@pytest.mark.anyio
async def test_a_body_may_be_as_large_as_the_limit_and_no_byte_larger() -> None:
    for size, packed in ((1000, False), (1001, False), (1000, True), (1001, True)):
        body = gzip.compress(b"x" * size) if packed else b"x" * size
        asked = request([body], content_encoding="gzip" if packed else "identity")
        if size == 1000:
            assert len(await read_body(asked, 1000)) == 1000
        else:
            with pytest.raises(PushTooLargeError):
                await read_body(asked, 1000)


@pytest.mark.anyio
async def test_a_body_that_claims_too_much_or_does_not_come_or_is_no_gzip_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(routes, "BODY_SECONDS", 0.01)
    for length, code in (("1001", "push_too_large"), ("", "request_timeout")):
        asked = request(content_length=length)
        asked._receive = never
        with raising(CloudServerError, code):
            await read_body(asked, 1000)
    with pytest.raises(InvalidBodyError):
        await read_body(request([b""], content_encoding="gzip"), 1000)


@pytest.mark.parametrize(
    ("header", "takes"),
    [
        ("", False), ("gzip", True), ("br, gzip;q=0.1", True), ("*", True), ("gzip;q=0", False),
        ("gzip; q=0.000", False), ("gzip;q=1.0", True), ("deflate", False),
    ],
)  # fmt: skip
def test_gzip_is_sent_to_who_takes_it(header: str, takes: bool) -> None:
    assert takes_gzip(request(accept_encoding=header)) is takes
