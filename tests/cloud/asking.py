"""A server in this process or in one of its own, and clients of it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import httpx
import psycopg
from psycopg.rows import dict_row

from engram_py.cloud.accounts import CloudSettings
from engram_py.cloud.admin import Admin
from engram_py.cloud.database import connected
from engram_py.cloud.routes import build_cloud_application
from engram_py.cloud.server import prepare
from engram_py.interfaces.http.server import server_of

ROOT_TOKEN = "engram_root-token-of-the-tests"
_numbers = count(1)


def clock(milliseconds: int, counter: int = 0, device: str = "00000000000000aa") -> str:
    return f"{milliseconds:012x}-{counter:04x}-{device}"


def entry(project: str, key: str, at: int = 1, **more: Any) -> dict[str, Any]:
    """A row as a replica sends it; ``more`` goes into its payload."""
    row = {"sync_id": key, "session_id": "s1", "type": "note", "scope": "project"}
    texts = {"title": "a title", "content": "some content", **more}
    payload = {**row, **texts, "engram_py": {"format": 1, "clock": clock(at)}}
    named = {"project": project, "entity": "observation", "entity_key": key, "op": "upsert"}
    return {**named, "payload": payload, "occurred_at": "2026-01-01T00:00:00.000Z"}


@dataclass
class Client:
    """Asks as one account. ``token`` empty: as nobody."""

    address: str
    token: str = ""
    _http: httpx.Client = field(init=False, repr=False)

    def __post_init__(self) -> None:
        headers = {"Authorization": f"Bearer {self.token}"} if self.token else {}
        self._http = httpx.Client(base_url=self.address, headers=headers, timeout=30, trust_env=False)

    def ask(self, method: str, path: str, **more: Any) -> httpx.Response:
        return self._http.request(method, path, **more)

    def push(self, entries: Sequence[object], **more: Any) -> Any:
        answer = self.ask("POST", "/sync/mutations/push", json={"entries": list(entries), **more})
        assert answer.status_code == 200, answer.text
        return answer.json()

    def pull(self, since: int = 0, limit: int = 100, projects: Sequence[str] = ()) -> Any:
        query = {"since_seq": since, "limit": limit, "project": list(projects)}
        answer = self.ask("GET", "/sync/mutations/pull", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def pull_all(self, limit: int = 1000, projects: Sequence[str] = ()) -> list[dict[str, Any]]:
        """Every row there is, page by page."""
        found, since, more = [], 0, True
        while more:
            page = self.pull(since, limit, projects)
            found += page["mutations"]
            since, more = page["latest_seq"], page["has_more"]
        return found

    def stream(self, since: int = 0, **headers: str) -> list[Any]:
        answer = self.ask(
            "GET",
            "/sync/mutations/pull",
            params={"since_seq": since},
            headers={"Accept": "application/x-ndjson", **headers},
        )
        assert answer.status_code == 200, answer.text
        return [json.loads(line) for line in answer.text.splitlines()]

    def admin(self, operation: str, **given: Any) -> Any:
        answer = self.ask("POST", f"/admin/{operation}", json=given)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def close(self) -> None:
        self._http.close()


@dataclass
class Running:
    """A server that is up. Accounts and projects get names that no other test uses."""

    address: str
    url: str
    pepper: str = ""
    _clients: list[Client] = field(default_factory=list)

    def client(self, token: str) -> Client:
        made = Client(self.address, token)
        self._clients.append(made)
        return made

    def account(self, *, write: Sequence[str] = (), read: Sequence[str] = (), role: str = "member") -> Client:
        name = f"user{next(_numbers)}"
        made = self.administer("users/add", user=name, write=list(write), read=list(read), role=role)
        return self.client(made["token"])

    def administer(self, operation: str, **given: Any) -> Any:
        """What ``engram cloud`` does on the machine of the database."""

        async def work() -> Any:
            async with connected(self.url) as connection:
                return await Admin(connection, actor="local:test", pepper=self.pepper).run(operation, given)

        return asyncio.run(work())

    def sql(self, query: str, *values: Any) -> list[dict[str, Any]]:
        with psycopg.connect(self.url, autocommit=True, row_factory=dict_row) as connection:
            done = connection.execute(query.encode(), values)
            return done.fetchall() if done.description else []

    def requests_in_progress(self) -> int:
        lines = self.client("").ask("GET", "/metrics").text.splitlines()
        [line] = [line for line in lines if line.startswith("engram_cloud_requests_in_progress ")]
        return int(float(line.split()[1]))

    def close(self) -> None:
        for client in self._clients:
            client.close()


def new_project() -> str:
    return f"project{next(_numbers)}"


@contextmanager
def serving(settings: CloudSettings) -> Iterator[Running]:
    """A server on a thread of this process."""
    asyncio.run(prepare(settings))
    with closing(socket.create_server(("127.0.0.1", 0))) as bound:
        server = server_of(build_cloud_application(settings))
        thread = threading.Thread(target=server.run, kwargs={"sockets": [bound]}, daemon=True)
        thread.start()
        running = Running(f"http://127.0.0.1:{bound.getsockname()[1]}", settings.database_url, settings.pepper)
        try:
            yield running
        finally:
            running.close()
            server.should_exit = True
            thread.join(30)
            assert not thread.is_alive(), "the server did not end"


def plain_environment() -> dict[str, str]:
    """The environment of this process, without settings of engram."""
    return {name: value for name, value in os.environ.items() if not name.startswith("ENGRAM_")}


@contextmanager
def server_process(url: str, *arguments: str, **environment: str) -> Iterator[tuple[subprocess.Popen[str], Running]]:
    """``engram cloud serve`` as a process of its own."""
    command = [sys.executable, "-m", "engram_py", "cloud", "serve", "--port", "0", *arguments]
    env = {**plain_environment(), "ENGRAM_DATABASE_URL": url, **environment}
    process = subprocess.Popen(command, env=env, stderr=subprocess.PIPE, text=True)
    assert process.stderr is not None
    address = ""
    try:
        for line in process.stderr:
            if "engram cloud serves " in line:
                address = line.partition("serves ")[2].partition(";")[0]
                break
        assert address, "the server did not start"
        # A pipe that nobody empties would hold the server up after some pages of log.
        emptying = threading.Thread(target=process.stderr.read, daemon=True)
        emptying.start()
        running = Running(address, url)
        yield process, running
        running.close()
    finally:
        process.kill()
        process.wait(30)
        if address:
            emptying.join(30)
        process.stderr.close()


def wait_until_blocked(watching: psycopg.Connection[Any], many: int = 1) -> None:
    """Until so many connections of this database wait for a lock of another."""
    query = "select count(*) from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()"
    while True:
        row = watching.execute(query).fetchone()
        if row and row[0] >= many:
            return


@contextmanager
def held_commits(server: Running, project: str) -> Iterator[None]:
    """Pushes of rows of ``project`` stop at their commit, when all is written, until the end of this."""
    server.sql("create table gate (open int)")
    server.sql("insert into gate values (1)")
    server.sql(
        "create function hold() returns trigger language plpgsql as"
        " $$ begin perform 1 from gate for update; return null; end $$"
    )
    server.sql(
        "create constraint trigger hold after insert on cloud_mutations initially deferred"
        f" for each row when (new.project = '{project}') execute function hold()"
    )
    try:
        with psycopg.connect(server.url) as holding:
            holding.execute("select 1 from gate for update")
            yield
    finally:
        server.sql("drop trigger hold on cloud_mutations")
        server.sql("drop function hold")
        server.sql("drop table gate")
