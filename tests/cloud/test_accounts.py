"""Accounts, tokens and grants, and the server while its database is away or it is flooded."""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import re
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest
from click.testing import CliRunner

from engram_py.cloud import chunks
from engram_py.cloud.accounts import CloudSettings, authenticate, scope
from engram_py.cloud.database import connected
from engram_py.cloud.database import rows as all_rows
from engram_py.cloud.errors import CloudServerError, InvalidCloudSettingError
from engram_py.cloud.routes import ROUTES
from engram_py.interfaces.cli.main import cli
from tests.cloud.asking import ROOT_TOKEN, Client, Running, entry, held_commits, new_project, server_process, serving
from tests.cloud.cluster import Cluster
from tests.flooding import LINUX, check_flood, scarce
from tests.support import raising

pytestmark = pytest.mark.postgres


def refused(client: Client) -> str:
    answer = client.ask("GET", "/whoami")
    assert answer.status_code == 401
    assert answer.json()["error"]["code"] == "auth_required"
    return str(answer.json()["error"]["message"])


def test_of_a_token_only_a_hash_and_its_first_letters_are_kept(server: Running) -> None:
    account = server.account()
    kept = json.dumps([server.sql(f"select * from {table}") for table in _tables(server)], default=str)

    assert len(account.token) == len("engram_") + 43
    assert account.token[14:] not in kept
    assert hashlib.sha256(account.token.encode()).hexdigest() not in kept, "the pepper is not in the hash"
    assert ROOT_TOKEN not in kept
    assert account.token[:13] in kept


def _tables(server: Running) -> list[str]:
    found = server.sql("select tablename from pg_tables where tablename like 'cloud_%%'")
    return [row["tablename"] for row in found]


def test_a_token_ends_when_it_is_revoked_on_its_day_and_with_its_account(server: Running) -> None:
    account = server.account()
    name = account.ask("GET", "/whoami").json()["principal"]
    made = server.administer("tokens/add", user=name, label="laptop", expires_in_days=30)
    short = server.client(made["token"])
    first = server.administer("tokens/list", user=name)[0]
    assert short.ask("GET", "/whoami").json()["token_expires_at"][:10] == made["expires_at"][:10]

    server.administer("users/disable", user=name)
    assert refused(account) == "this account is disabled"
    server.administer("users/enable", user=name)
    server.administer("tokens/revoke", id=first["id"], reason="lost")
    assert refused(account) == "this token was revoked"
    assert short.ask("GET", "/whoami").json()["principal"] == name
    assert server.administer("tokens/list", user=name)[1]["last_used_at"] is not None
    with raising(CloudServerError, "unknown_token"):
        server.administer("tokens/revoke", id=first["id"])
    assert refused(account)
    server.sql("update cloud_tokens set expires_at = now() - interval '1 second' where id = %s", made["token_id"])
    assert refused(short) == "this token has expired"
    lines = server.administer("audit/list", user=name)
    assert [(one["action"], one["outcome"], one["reason_code"]) for one in lines] == [
        ("auth", "denied", code) for code in ("expired", "revoked", "disabled")
    ]


def test_a_member_cannot_look_after_the_server_and_an_admin_sees_no_rows(server: Running, project: str) -> None:
    member, root = server.account(write=[project]), server.client(ROOT_TOKEN)
    member.push([entry(project, "obs-1")])

    for operation in ("users/list", "users/add", "tokens/add", "grants/add", "audit/list", "pause/add", "no/such"):
        answer = member.ask("POST", f"/admin/{operation}", json={"user": "mallory", "project": project})
        assert (answer.status_code, answer.json()["error"]["code"]) == (403, "policy_forbidden"), operation
    assert root.ask("GET", "/whoami").json()["role"] == "admin"
    assert root.pull_all() == []
    assert root.ask("GET", "/sync/mutations/pull", params={"project": project}).status_code == 403


def test_an_admin_does_over_http_what_the_command_does(server: Running, project: str) -> None:
    root, name = server.client(ROOT_TOKEN), f"carol-{project}"
    made = root.admin("users/add", user=name, read=[project])
    carol = server.client(made["token"])

    assert carol.ask("GET", "/whoami").json()["principal"] == name
    assert root.admin("grants/list", user=name)[0] | {"created_at": ""} == {
        "account": name, "project": project, "access": "read", "granted_by": "env:admin", "created_at": "",
    }  # fmt: skip
    root.admin("grants/add", user=name, project=project, access="write")
    assert carol.push([entry(project, "obs-1")])["accepted"] == [0]
    [line] = [one for one in root.admin("audit/list", project=project) if one["action"] == "push"]
    assert (line["actor"], line["outcome"], line["entries"]) == (name, "done", 1)
    assert "some content" not in json.dumps(root.admin("audit/list", limit=1000))


@pytest.mark.parametrize(
    ("operation", "given"),
    [
        ("users/add", {}), ("users/add", {"user": "a b"}), ("users/add", {"user": "env:admin"}),
        ("users/add", {"user": 7}), ("users/add", {"user": "dave", "role": "king"}),
        ("users/add", {"user": "dave", "read": "x"}), ("users/add", {"user": "dave", "read": [""]}),
        ("users/add", {"user": "dave", "expires_in_days": 0}), ("users/add", {"user": "dave", "expires_in_days": True}),
        ("grants/add", {"user": "dave", "project": "a\0b"}), ("grants/add", {"user": "nobody-there", "project": "x"}),
        ("tokens/revoke", {"id": "1"}), ("tokens/revoke", {"id": 2**70}), ("tokens/list", {"user": "\ud800"}),
        ("audit/list", {"limit": "all"}), ("pause/add", {"project": "*"}), ("drop/tables", {}),
    ],
)  # fmt: skip
def test_what_an_admin_gets_wrong_is_refused_and_changes_nothing(
    server: Running, operation: str, given: dict[str, object]
) -> None:
    before = server.sql("select count(*) as n from cloud_principals")
    answer = server.client(ROOT_TOKEN).ask("POST", f"/admin/{operation}", content=json.dumps(given).encode())

    assert answer.status_code in (400, 404), answer.text
    assert answer.json()["error"]["hint"]
    assert server.sql("select count(*) as n from cloud_principals") == before


def test_the_environments_accounts_are_what_it_says_now(postgres: Cluster) -> None:
    url, first, second = postgres.create(), "engram_member-token-number-one", "engram_member-token-number-two"
    with serving(CloudSettings(url, member_token=first, member_projects=("a", "b"))) as running:
        assert running.client(first).push([entry("a", "obs-1"), entry("c", "obs-1")])["accepted"] == [0]
    with serving(CloudSettings(url, member_token=second, member_projects=("b",))) as running:
        assert refused(running.client(first))
        assert running.client(second).pull_all() == []
        assert running.client(second).push([entry("b", "obs-2")])["accepted"] == [0]
    with serving(CloudSettings(url)) as running:
        assert refused(running.client(second))


def test_a_server_or_a_command_without_the_pepper_is_refused(server: Running, account: Client, project: str) -> None:
    with pytest.raises(InvalidCloudSettingError), serving(CloudSettings(server.url, pepper="another")):
        pass
    environment = {"ENGRAM_DATABASE_URL": server.url, "ENGRAM_CLOUD_TOKEN_PEPPER": ""}
    refused = CliRunner().invoke(cli, ["cloud", "users", "add", f"grace-{project}"], env=environment)

    assert refused.exit_code == 1
    assert "ENGRAM_CLOUD_TOKEN_PEPPER" in refused.stderr
    assert refused.stdout == ""
    assert account.ask("GET", "/whoami").status_code == 200


SECRET = "xyzzy-plugh"


@pytest.fixture
def foreign(server: Running) -> str:
    """A project with rows and a chunk that only its owner knows, paused with a reason."""
    name = f"{SECRET}-{new_project()}"
    owner = server.account(write=[name])
    owner.push([entry(name, f"obs-{SECRET}", content=SECRET)])
    assert owner.ask("POST", "/sync/push", json=_chunk(name, "0badcafe")).status_code == 200
    server.administer("pause/add", project=name, reason=SECRET)
    return name


def _chunk(project: str, chunk_id: str) -> dict[str, Any]:
    session = {"id": f"s-{SECRET}", "project": project, "directory": "/x"}
    return {"chunk_id": chunk_id, "project": project, "data": {"sessions": [session], "observations": None}}


def _everywhere(client: Client, project: str) -> Iterator[tuple[str, httpx.Response]]:
    """Every route of the application, asked about ``project`` in every way it can be asked."""
    bodies = (
        {"entries": [entry(project, f"obs-{SECRET}", 99)]},
        _chunk(project, "0badcafe"),
        {"project": project, "user": "user1", "access": "write", "id": 1},
    )
    for method, path, audience, _ in ROUTES:
        if audience in ("anybody", "scrape"):
            continue
        words = {"chunk_id": ["0badcafe", project], "noun": ["users", "audit"], "verb": ["list", "add"]}
        places = [path]
        for name in re.findall(r"{(\w+)}", path):
            places = [one.replace(f"{{{name}}}", word) for one in places for word in words[name]]
        for place in places:
            if method == "GET":
                plain, named = "application/json", {"project": project}
                for query, accept in (
                    ({}, plain),
                    (named, plain),
                    (named | {"since_seq": "0", "limit": "9"}, plain),
                    (named, "application/x-ndjson"),
                    ({}, "application/x-ndjson"),
                    (named, "application/vnd.engram.sync+gzip"),
                ):
                    answer = client.ask("GET", place, params=query, headers={"Accept": accept})
                    yield f"GET {place} {sorted(query)} {accept}", answer
            else:
                for number, body in enumerate(bodies):
                    yield f"POST {place} {number}", client.ask("POST", place, json=body)


def test_another_users_token_sees_nothing_it_was_not_granted_by_any_route(server: Running, foreign: str) -> None:
    own, absent = new_project(), f"{SECRET}-absent-{new_project()}"
    client = server.account(write=[own])
    client.push([entry(own, "obs-own")])
    before = server.sql("select seq, payload from cloud_mutations where project = %s order by seq", foreign)

    there, not_there = dict(_everywhere(client, foreign)), dict(_everywhere(client, absent))

    assert len(there) > 50
    for asked, answer in there.items():
        # The same answer to the last byte as for a project that is not there, but for the name that was asked for.
        other = not_there[asked.replace(foreign, absent)]
        assert answer.status_code == other.status_code, asked
        assert _same(answer.text, foreign) == _same(other.text, absent), asked
        assert SECRET not in answer.text.replace(foreign, "").replace(f"obs-{SECRET}", ""), asked
    assert server.sql("select seq, payload from cloud_mutations where project = %s order by seq", foreign) == before
    assert server.sql("select 1 from cloud_projects where name = %s", absent) == []


def _same(text: str, project: str) -> str:
    return re.sub(r'"(accepted_)?seqs?":\[?\d*\]?', "", text.replace(project, "PROJECT"))


def test_without_a_token_every_route_but_health_is_closed(server: Running, foreign: str) -> None:
    for token in ("", "engram_" + "A" * 43, "Bearer", "x" * 600):
        for asked, answer in _everywhere(server.client(token), foreign):
            assert answer.status_code == 401, asked
            assert answer.json()["error"]["code"] == "auth_required", asked
            assert "www-authenticate" in answer.headers
            if token:
                break
    assert server.client("").ask("GET", "/health").status_code == 200


def test_the_cursor_and_the_list_of_projects_count_only_what_is_granted(server: Running, foreign: str) -> None:
    own = new_project()
    client = server.account(write=[own])
    assert client.pull()["latest_seq"] == 0
    seq = client.push([entry(own, "obs-own")])["latest_seq"]
    other = server.account(write=[name := new_project()])
    later = other.push([entry(name, "obs-later")])["latest_seq"]

    assert later > seq
    assert client.pull()["latest_seq"] == seq
    assert client.stream()[-1]["latest_seq"] == seq
    listed = client.ask("GET", "/sync/projects").json()["projects"]
    assert listed == [{"name": own, "access": "write", "paused": False, "paused_reason": "", "latest_seq": seq}]
    assert client.push([entry(own, "obs-own")])["latest_seq"] == seq


def test_who_may_read_may_not_write_and_rows_without_a_grant_are_refused_one_by_one(
    server: Running, project: str
) -> None:
    writer, reader, other = server.account(write=[project]), server.account(read=[project]), new_project()
    told = writer.push([entry(other, "obs-0"), entry(project, "obs-1"), entry(other, "obs-3")])
    assert told["accepted"] == [1]
    assert [(one["index"], one["reason_code"], one["repairable"]) for one in told["rejected"]] == [
        (0, "policy_forbidden", True),
        (2, "policy_forbidden", True),
    ]
    assert server.sql("select 1 from cloud_projects where name = %s", other) == []

    refused = reader.ask("POST", "/sync/mutations/push", json={"entries": [entry(project, "obs-1", 9, title="mine")]})
    empty = _chunk(project, "0badcafe") | {"data": {}}
    chunk = reader.ask("POST", "/sync/push", json=empty)
    assert (refused.status_code, refused.json()["error"]["code"]) == (403, "policy_forbidden")
    assert chunk.status_code == 403
    assert writer.ask("GET", "/sync/pull").json()["chunks"] == []
    assert [one["payload"]["title"] for one in reader.pull_all()] == ["a title"]


def test_a_grant_holds_from_the_next_request_on_and_so_does_its_end(server: Running, project: str) -> None:
    writer, account = server.account(write=[project]), server.account()
    name = account.ask("GET", "/whoami").json()["principal"]
    writer.push([entry(project, "obs-1")])

    assert account.pull_all() == []
    server.administer("grants/add", user=name, project=project)
    assert len(account.pull_all(projects=[project])) == 1
    server.administer("grants/remove", user=name, project=project)
    assert account.pull_all() == []
    assert account.ask("GET", "/sync/mutations/pull", params={"project": project}).status_code == 403


def test_a_grant_of_every_project_covers_those_to_come_and_a_further_right_in_one(
    server: Running, project: str
) -> None:
    account = server.account(read=["*"], write=[project])
    server.account(write=[later := new_project()]).push([entry(later, "obs-1")])

    assert [one["project"] for one in account.pull_all(projects=[later])] == [later]
    told = account.ask("GET", "/sync/projects").json()
    listed = {one["name"]: one["access"] for one in told["projects"]}
    assert (listed[later], listed[project], told["every"]) == ("read", "write", "read")
    assert server.account(write=[later]).ask("GET", "/sync/projects").json()["every"] == ""
    assert account.push([entry(later, "obs-2"), entry(project, "obs-2")])["accepted"] == [1]


def test_a_paused_project_is_read_and_not_written(server: Running, project: str) -> None:
    account, second = server.account(write=["*"]), new_project()
    account.push([entry(project, "obs-1")])
    server.administer("pause/add", project=project, reason="we move house")

    refused = account.ask("POST", "/sync/mutations/push", json={"entries": [entry(project, "obs-2")]})
    chunk = account.ask("POST", "/sync/push", json=_chunk(project, "0badcafe"))
    mixed = account.push([entry(project, "obs-2"), entry(second, "obs-2")])

    assert (chunk.status_code, chunk.json()["error"]["code"]) == (409, "sync-paused")
    assert (refused.status_code, refused.json()["error"]["code"]) == (409, "sync-paused")
    assert "we move house" in refused.json()["error"]["message"]
    assert [(one["index"], one["reason_code"]) for one in mixed["rejected"]] == [(0, "sync-paused")]
    assert len(account.pull_all(projects=[project])) == 1
    server.administer("pause/remove", project=project)
    assert account.push([entry(project, "obs-2")])["accepted"] == [0]


def test_the_query_of_rows_asks_for_the_grant_itself(
    server: Running, account: Client, foreign: str, project: str
) -> None:
    """Whatever its caller believes to be granted."""
    account.push([entry(project, "obs-1")])

    async def rows() -> tuple[list[Any], list[Any]]:
        async with connected(server.url) as connection:
            caller = await authenticate(connection, account.token, pepper=server.pepper)
            values = scope(caller, projects=[foreign, project], since=0, limit=100, bytes=2**20)
            return await all_rows(connection, chunks._PAGE, values), await all_rows(connection, chunks._LIST, values)

    found, listed = asyncio.run(rows())
    assert [row["entity_key"] for row in found] == ["obs-1"]
    assert listed == []


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
