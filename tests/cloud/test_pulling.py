"""A pull in pages or as a stream, its order, its chunks, and two machines that exchange."""

from __future__ import annotations

import gzip
import json
import threading
import time
import zlib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import psycopg
import pytest

from engram_py import Draft, Engram
from engram_py.base.dataclass import replace
from engram_py.base.settings import Settings
from engram_py.cloud import chunks
from engram_py.memory.observations.values import Change
from engram_py.sharing.sync.autosync import login
from engram_py.sharing.sync.autosync.table import CloudSynced
from tests.cloud.asking import Client, Running, clock, entry, held_commits, new_project, wait_until_blocked
from tests.cloud.cluster import Cluster
from tests.cloud.test_pushing import version

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize(("projects", "limit", "pages"), [(2, 7, 9), (45, 50, 3)])
def test_pages_give_every_row_once_and_end(server: Running, projects: int, limit: int, pages: int) -> None:
    names = [new_project() for _ in range(projects)]
    account = server.account(write=names)
    total = 60 if projects == 2 else 135
    account.push([entry(names[number % projects], f"obs-{number}") for number in range(total)])

    found, since, turns = [], 0, 0
    while True:
        page = account.pull(since, limit=limit)
        found += page["mutations"]
        since, turns = page["latest_seq"], turns + 1
        if not page["has_more"]:
            break

    assert turns == pages
    assert [one["entity_key"] for one in found] == [f"obs-{number}" for number in range(total)]
    assert [one["seq"] for one in found] == sorted(one["seq"] for one in found)
    assert (account.pull(since)["mutations"], account.pull(since)["latest_seq"]) == ([], since)
    some = account.pull_all(projects=[names[0]])
    assert {one["project"] for one in some} == {names[0]}
    assert account.pull(projects=[names[0]])["latest_seq"] == some[-1]["seq"] <= since


def test_a_page_stops_after_some_megabytes_but_holds_a_row(
    account: Client, project: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(8):
        account.push([entry(project, f"obs-{number}", content="x" * 900_000)])

    page = account.pull(limit=100)

    assert 1 <= len(page["mutations"]) <= 5
    assert page["has_more"]
    assert page["latest_seq"] == page["mutations"][-1]["seq"]
    assert len(account.pull_all()) == 8
    monkeypatch.setattr(chunks, "PAGE_BYTES", 1000)
    assert len(account.pull(limit=100)["mutations"]) == 1
    assert len(account.pull_all()) == 8


def test_a_row_that_changes_between_pages_is_given_again_and_none_is_left_out(account: Client, project: str) -> None:
    account.push([entry(project, f"obs-{number}") for number in range(10)])
    page = account.pull(limit=4)
    account.push([entry(project, "obs-1", 2, title="new"), entry(project, "obs-8", 2, title="new")])

    rest = account.pull(page["latest_seq"], limit=100)

    assert [one["entity_key"] for one in rest["mutations"]] == [f"obs-{number}" for number in (4, 5, 6, 7, 9, 1, 8)]
    assert not rest["has_more"]


def test_the_stream_is_all_of_it_and_its_last_line_says_so(account: Client, project: str) -> None:
    for start in range(0, 2400, 400):
        account.push([entry(project, f"obs-{number}", content="zwei\nZeilen") for number in range(start, start + 400)])

    *rows, end = account.stream()

    assert rows == account.pull_all()
    assert len(rows) == 2400
    assert (end["end"], end["has_more"], end["latest_seq"]) == (True, False, rows[-1]["seq"])
    assert account.stream(rows[-1]["seq"]) == [end]


def test_answers_are_packed_for_who_asks_for_it(server: Running, account: Client, project: str) -> None:
    account.push([entry(project, f"obs-{number}", content="word " * 200) for number in range(50)])
    token = {"Authorization": f"Bearer {account.token}"}

    def raw(accept_encoding: str, accept: str = "*/*") -> tuple[str, bytes]:
        headers = token | {"Accept-Encoding": accept_encoding, "Accept": accept}
        with httpx.stream("GET", f"{server.address}/sync/mutations/pull", headers=headers, trust_env=False) as answer:
            return answer.headers.get("Content-Encoding", ""), b"".join(answer.iter_raw())

    plain, packed = raw("identity"), raw("br, gzip;q=0.5")
    assert (plain[0], packed[0]) == ("", "gzip")
    assert json.loads(gzip.decompress(packed[1])) == json.loads(plain[1])
    assert len(packed[1]) * 5 < len(plain[1])
    assert raw("gzip;q=0")[0] == ""
    stream = raw("gzip", "application/x-ndjson")
    assert stream[0] == "gzip"
    assert zlib.decompress(stream[1], 31).count(b"\n") == 51


@pytest.mark.parametrize("query", ["since_seq=-1", "since_seq=x", f"since_seq={2**63}", "limit=1.5", "project=a%00b"])
def test_a_pull_that_makes_no_sense_is_refused(server: Running, query: str) -> None:
    answer = server.account(read=["*"]).ask("GET", f"/sync/mutations/pull?{query}")

    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "invalid_request")


def test_while_an_earlier_push_is_not_committed_no_later_one_is_seen(server: Running, project: str) -> None:
    """The trap itself, by way of the application: were the second push seen first, the first would be lost."""
    other = new_project()
    first, second = server.account(write=[project]), server.account(write=[other])
    reader = server.account(read=[project, other])
    with ThreadPoolExecutor(2) as pool, psycopg.connect(server.url, autocommit=True) as watching:
        with held_commits(server, project):
            early = pool.submit(first.push, [entry(project, "obs-early")])
            wait_until_blocked(watching, 1)
            late = pool.submit(second.push, [entry(other, "obs-late")])
            wait_until_blocked(watching, 2)
            seen = reader.pull()
        assert early.result(30)["accepted_seqs"] < late.result(30)["accepted_seqs"]

    rest = reader.pull(seen["latest_seq"])
    assert seen["mutations"] == []
    assert [one["entity_key"] for one in rest["mutations"]] == ["obs-early", "obs-late"]


def test_readers_who_follow_eight_writers_lose_nothing(server: Running) -> None:
    names = [new_project() for _ in range(2)]
    writers = [server.account(write=names) for _ in range(8)]
    readers = [server.account(read=names) for _ in range(2)]
    done = threading.Event()
    seen: list[list[tuple[str, str]]] = [[] for _ in readers]

    def write(place: int, writer: Client) -> None:
        for turn in range(12):
            writer.push([entry(names[(turn + n) % 2], f"obs-{place}-{turn}-{n}") for n in range(5)])

    def read(reader: Client, into: list[tuple[str, str]]) -> None:
        since = 0
        while True:
            last = done.is_set()
            page = reader.pull(since, limit=30)
            into += [(one["project"], one["entity_key"]) for one in page["mutations"]]
            assert page["latest_seq"] >= since
            since = page["latest_seq"]
            if last and not page["has_more"]:
                return

    reading = [threading.Thread(target=read, args=pair) for pair in zip(readers, seen, strict=True)]
    writing = [threading.Thread(target=write, args=pair) for pair in enumerate(writers)]
    for thread in [*reading, *writing]:
        thread.start()
    for thread in writing:
        thread.join(60)
    done.set()
    for thread in reading:
        thread.join(60)

    for found in seen:
        assert len(found) == len(set(found)) == 8 * 12 * 5


def test_seqs_are_times_that_tell_nothing_of_others_and_rise_although_the_clock_was_set_back(
    server: Running, account: Client, project: str
) -> None:
    start = time.time()
    first, second = (account.push([entry(project, key)])["accepted_seqs"][0] for key in ("obs-1", "obs-2"))
    end = time.time()
    assert start - 1 <= first / 1_000_000 < second / 1_000_000 <= end + 1
    assert second - first > 1  # neighbours would say that nobody wrote in between

    ahead, before = 2**52, server.sql("select last_seq from cloud_sequence")[0]["last_seq"]
    server.sql("update cloud_sequence set last_seq = %s", ahead)
    try:
        told = account.push([entry(project, "obs-3"), entry(project, "obs-4")])
    finally:
        server.sql("update cloud_sequence set last_seq = %s", before)
    assert told["accepted_seqs"] == [ahead + 1, ahead + 2]
    server.sql("delete from cloud_mutations where project = %s", project)
    server.sql("update cloud_projects set latest_seq = 0 where name = %s", project)


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
