"""A pull: all that an account may read, each state once, from a cursor on, in pages or as a stream."""

from __future__ import annotations

import gzip
import json
import zlib

import httpx
import pytest

from engram_py.cloud import chunks
from tests.cloud.asking import Client, Running, entry, new_project

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
