"""What an account was not granted does not exist for it: by no route, under no id, and in no number."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from engram_py.cloud import chunks
from engram_py.cloud.accounts import authenticate, scope
from engram_py.cloud.database import connected
from engram_py.cloud.database import rows as all_rows
from engram_py.cloud.routes import ROUTES
from tests.cloud.asking import Client, Running, entry, new_project

pytestmark = pytest.mark.postgres

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
