"""Engram's chunk routes: what it pushes it can pull, and its rows reach those who pull mutations."""

from __future__ import annotations

import gzip
import json
from typing import Any

import pytest

from tests.cloud.asking import Client, Running, clock, entry, new_project
from tests.cloud.test_pushing import version

pytestmark = pytest.mark.postgres

ENVELOPE = "application/vnd.engram.sync+gzip; version=1"


def chunk(project: str, chunk_id: str = "a1b2c3d4", **more: Any) -> dict[str, Any]:
    """What Engram sends, as its transport writes it: a Go list without entries is null."""
    session = {"id": "s1", "project": project, "directory": "/x", "started_at": "2026-01-01 10:00:00"}
    observation = entry(project, "obs-1")["payload"] | {"project": project, "updated_at": "2026-01-01 10:00:01"}
    del observation["engram_py"]
    gone = {"entity": "observation", "entity_key": "obs-9", "op": "delete", "payload": '{"sync_id":"obs-9"}'}
    data = {"sessions": [session], "observations": [observation], "prompts": None, "mutations": [gone], **more}
    return {
        "chunk_id": chunk_id,
        "created_by": "mallory",
        "client_created_at": "2026-01-01T10:00:02Z",
        "project": project,
        "data": data,
    }


def test_a_chunk_comes_back_as_it_was_and_its_rows_reach_those_who_pull_rows(account: Client, project: str) -> None:
    sent = chunk(project)
    packed = gzip.compress(json.dumps(sent).encode())
    answer = account.ask("POST", "/sync/push", content=packed, headers={"Content-Type": ENVELOPE})

    assert answer.status_code == 200, answer.text
    assert answer.json()["accepted"] == [0, 1, 2]
    rows = {(one["entity"], one["entity_key"], one["op"]) for one in account.pull_all()}
    assert rows == {("session", "s1", "upsert"), ("observation", "obs-1", "upsert"), ("observation", "obs-9", "delete")}
    listed = account.ask("GET", "/sync/pull", params={"project": project}).json()
    name = account.ask("GET", "/whoami").json()["principal"]
    made = {"id": "a1b2c3d4", "created_by": name, "created_at": "2026-01-01T10:00:02Z"}
    assert listed == {"version": 1, "chunks": [made | {"sessions": 1, "memories": 1, "prompts": 0}]}
    assert account.ask("GET", "/sync/pull/a1b2c3d4", params={"project": project}).json() == sent["data"]
    enveloped = account.ask("GET", "/sync/pull/a1b2c3d4", headers={"Accept": ENVELOPE})
    assert enveloped.headers["Content-Type"] == ENVELOPE
    assert json.loads(gzip.decompress(enveloped.content)) == sent["data"]


def test_a_chunk_again_is_fine_and_its_id_with_other_content_is_a_conflict(account: Client, project: str) -> None:
    assert account.ask("POST", "/sync/push", json=chunk(project)).status_code == 200

    again = account.ask("POST", "/sync/push", json=chunk(project))
    other = account.ask("POST", "/sync/push", json=chunk(project, sessions=[{"id": "s2"}]))

    assert (again.status_code, again.json()["unchanged"]) == (200, [0, 1, 2])
    assert (other.status_code, other.json()["error"]["code"]) == (409, "chunk_conflict")
    assert ("session", "s2") not in {(one["entity"], one["entity_key"]) for one in account.pull_all()}
    assert account.ask("GET", "/sync/pull/a1b2c3d4").json() == chunk(project)["data"]


@pytest.mark.parametrize(
    "spoil",
    [
        pytest.param({"chunk_id": "../../x"}, id="path"),
        pytest.param({"chunk_id": "A1"}, id="short"),
        pytest.param({"chunk_id": None}, id="none"),
        pytest.param({"project": ""}, id="no-project"),
        pytest.param({"project": "a\0b"}, id="nul"),
        pytest.param({"data": []}, id="list"),
        pytest.param({"data": {"sessions": {}}}, id="sessions-object"),
        pytest.param({"data": {"note": "\ud800"}}, id="surrogate"),
    ],
)
def test_what_is_no_chunk_is_refused(server: Running, project: str, spoil: dict[str, Any]) -> None:
    account = server.account(write=["*"])
    answer = account.ask("POST", "/sync/push", content=json.dumps(chunk(project) | spoil).encode())

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")


def read(account: Client, chunk_id: str = "a1b2c3d4") -> Any:
    answer = account.ask("GET", f"/sync/pull/{chunk_id}")
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_a_chunk_gives_only_the_rows_that_were_taken_for_its_project(server: Running, project: str) -> None:
    other = new_project()
    mine, both, late = (
        server.account(write=[project]),
        server.account(write=[project, other]),
        server.account(read=[project]),
    )
    smuggled = entry(other, "obs-q", content="SMUGGLED")
    sent = chunk(project, prompts=[{"sync_id": "p1", "session_id": "s1"}, "NO ROW"], mutations=[smuggled])
    sent["data"]["more"] = "UNREAD"

    refused = mine.ask("POST", "/sync/push", json=sent).json()["rejected"]
    both.ask("POST", "/sync/push", json=sent | {"chunk_id": "b1b2c3d4"})

    assert [one["index"] for one in refused] == [2, 3, 4]
    for chunk_id in ("a1b2c3d4", "b1b2c3d4"):
        kept = {name: sent["data"][name] for name in ("sessions", "observations")} | {"prompts": [], "mutations": []}
        assert read(late, chunk_id) == kept
    assert [one["prompts"] for one in late.ask("GET", "/sync/pull").json()["chunks"]] == [0, 0]
    assert mine.ask("POST", "/sync/push", json=sent).status_code == 200  # the same again is still the same


@pytest.mark.parametrize("own", [{}, {"withdrawn": True}], ids=["destroyed", "personal"])
def test_what_is_destroyed_or_made_personal_leaves_all_chunks(
    server: Running, project: str, own: dict[str, Any]
) -> None:
    account, late = server.account(write=[project]), server.account(read=[project])
    words = entry(project, "obs-1", content="THE WORDS")
    older = version(project, "obs-1", "THE WORDS before")
    sent = chunk(project, mutations=[words, older, entry(project, "obs-2")])
    sent["data"]["observations"][0]["content"] = "THE WORDS"
    account.ask("POST", "/sync/push", json=sent)
    account.ask("POST", "/sync/push", json=sent | {"chunk_id": "b1b2c3d4"})
    server.sql("update cloud_chunks set row_keys = null where chunk_id = %s and project = %s", "b1b2c3d4", project)

    gone = entry(project, "obs-1") | {"op": "delete"}
    gone["payload"] = {"sync_id": "obs-1", "engram_py": {"clock": clock(1_790_000_000_000), **own}}
    account.push([gone])
    account.ask("POST", "/sync/push", json=sent | {"chunk_id": "c1b2c3d4"})

    for chunk_id in ("a1b2c3d4", "b1b2c3d4", "c1b2c3d4"):
        data = read(late, chunk_id)
        assert (data["sessions"], data["observations"]) == (sent["data"]["sessions"], [])
        assert data["mutations"] == [entry(project, "obs-2")]
    assert [one["memories"] for one in late.ask("GET", "/sync/pull").json()["chunks"]] == [0, 0, 0]
    assert "THE WORDS" not in str(late.pull_all())
