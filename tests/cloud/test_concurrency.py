"""Many at once: the same row from two machines, eight clients with a thousand rows each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from engram_py.sync.mutation import fingerprint
from tests.cloud.asking import Client, Running, entry, wait_until_blocked

pytestmark = pytest.mark.postgres


def test_eight_clients_with_a_thousand_rows_each_lose_and_double_nothing(server: Running, project: str) -> None:
    """Each also writes ten rows that all of them write: of those the latest clock stays, or the larger content."""
    accounts = [server.account(write=[project]) for _ in range(8)]

    def shared(place: int, turn: int) -> dict[str, Any]:
        return entry(project, f"shared-{turn}", min(place, 6), content=f"of {place}")

    def write(pair: tuple[int, Client]) -> int:
        place, account = pair
        accepted = 0
        for turn in range(10):
            rows = [entry(project, f"obs-{place}-{number}") for number in range(turn * 100, turn * 100 + 100)]
            told = account.push([*rows, shared(place, turn)])
            accepted += len([index for index in told["accepted"] if index < 100])
        return accepted

    with ThreadPoolExecutor(8) as pool:
        assert sum(pool.map(write, enumerate(accounts))) == 8_000

    *rows, end = accounts[0].stream()
    assert len({one["entity_key"] for one in rows}) == len(rows) == 8_010
    assert end["end"] is True
    kept = {one["entity_key"]: one["payload"] for one in rows}
    for turn in range(10):
        rivals = [shared(place, turn)["payload"] for place in (6, 7)]
        assert kept[f"shared-{turn}"] == max(rivals, key=fingerprint)


def test_pushes_that_wait_for_each_other_keep_nobody_from_reading(server: Running, project: str) -> None:
    accounts = [server.account(write=[project]) for _ in range(14)]
    accounts[0].push([entry(project, "obs-first")])
    with (
        ThreadPoolExecutor(14) as pool,
        psycopg.connect(server.url) as holding,
        psycopg.connect(server.url, autocommit=True) as watching,
    ):
        holding.execute("select 1 from cloud_sequence for update")
        told = [pool.submit(account.push, [entry(project, f"obs-{place}")]) for place, account in enumerate(accounts)]
        wait_until_blocked(watching)
        while server.requests_in_progress() < 14:
            pass
        assert [one["entity_key"] for one in server.account(read=[project]).pull_all()] == ["obs-first"]
        assert server.client("").ask("GET", "/health").status_code == 200
        holding.rollback()
        assert all(one.result(30)["accepted"] == [0] for one in told)

    assert len(accounts[0].pull_all()) == 15


def test_one_account_with_too_many_requests_is_asked_to_wait_and_others_are_not(server: Running, project: str) -> None:
    account, other = server.account(write=[project]), server.account(write=[project])
    with ThreadPoolExecutor(60) as pool:
        answers = list(
            pool.map(
                lambda n: account.ask("POST", "/sync/mutations/push", json={"entries": [entry(project, f"o{n}")]}),
                range(120),
            )
        )
        assert other.push([entry(project, "mine")])["accepted"] == [0]

    statuses = {answer.status_code for answer in answers}
    assert statuses <= {200, 429}
    for answer in answers:
        if answer.status_code == 429:
            assert answer.headers["Retry-After"] == "1"
            assert answer.json()["error"]["code"] == "too_busy"
    kept = {one["entity_key"] for one in account.pull_all()} - {"mine"}
    assert len(kept) == sum(answer.status_code == 200 for answer in answers)
