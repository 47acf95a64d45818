"""The order of seqs: a reader that goes on from the last it saw misses nothing, whatever is written meanwhile.

The trap: numbers from a sequence are handed out before their transaction ends. Whoever sees 10 while 9 is not committed
goes on from 10, and 9 is lost to them for ever.
"""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import psycopg
import pytest

from tests.cloud.asking import Client, Running, entry, held_commits, new_project, wait_until_blocked

pytestmark = pytest.mark.postgres


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
