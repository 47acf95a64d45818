"""A push: each entry is taken or refused by itself, also by many clients at once."""

from __future__ import annotations

import gzip
import json
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import psycopg
import pytest

from engram_py.sharing.sync.mutation import entry_of, fingerprint, mutation_of, version_digest, version_key
from tests.cloud.asking import Client, Running, clock, entry, new_project, wait_until_blocked

pytestmark = pytest.mark.postgres


def test_what_was_pushed_comes_back_as_it_was(account: Client, project: str) -> None:
    text = 'Zeile\n\t"\u00fc" \u6f22\u5b57 \U0001f980 \\u0000 </script>'
    sent = entry(project, "obs-1", content=text, confidence=0.1, big=1e5, n=None)

    told = account.push([sent])
    [got] = account.pull_all()

    back = mutation_of(got, seq=got["seq"])
    assert entry_of(back) == entry_of(mutation_of(sent))
    seq = got.pop("seq")
    assert got == sent
    assert fingerprint(got["payload"]) == fingerprint(sent["payload"])
    assert told | {"instance": ""} == {
        "accepted_seqs": [seq],
        "accepted": [0],
        "unchanged": [],
        "rejected": [],
        "project": project,
        "latest_seq": seq,
        "instance": "",
        "previous": {project: 0},
    }
    assert account.push([entry(project, "obs-1", 2)])["previous"] == {project: seq}
    # A kind that nobody knows yet is carried through.
    hologram = entry(project, "hol-1") | {"entity": "hologram", "payload": {"engram_py": {"clock": clock(1)}}}
    hologram["payload"]["deep"] = {"er": [1, {"x": [True, None]}]}
    account.push([hologram, entry(project, "hol-1") | {"op": "delete", "entity": "gone", "payload": None}])
    assert [(one["entity"], one["op"]) for one in account.pull_all()[1:]] == [
        ("hologram", "upsert"),
        ("gone", "delete"),
    ]
    assert account.pull_all()[1]["payload"] == hologram["payload"]


def test_the_later_state_of_a_row_stays_whichever_came_first(server: Running, account: Client, project: str) -> None:
    account.push([entry(project, "obs-1", 5, content="new"), entry(project, "obs-2", 5, content="old")])

    told = account.push([entry(project, "obs-1", 4, content="old"), entry(project, "obs-2", 6, content="new")])

    assert (told["accepted"], told["unchanged"]) == ([1], [0])
    found = account.pull_all()
    assert [(one["entity_key"], one["payload"]["content"]) for one in found] == [("obs-1", "new"), ("obs-2", "new")]
    assert server.sql("select count(*) as n from cloud_mutations where project = %s", project) == [{"n": 2}]
    told = account.push([entry(project, "obs-1", at, title=f"at {at}") for at in (6, 9, 3)])
    assert (told["accepted"], told["unchanged"]) == ([1], [0, 2])
    assert "at 9" in [one["payload"]["title"] for one in account.pull_all()]


def test_one_clock_with_two_contents_ends_the_same_everywhere(server: Running, account: Client, project: str) -> None:
    one, other = entry(project, "obs-1", content="one"), entry(project, "obs-1", content="other")
    expected = max(one, other, key=lambda it: fingerprint(it["payload"]))["payload"]["content"]

    for order in ([one, other], [other, one]):
        server.sql("delete from cloud_mutations where project = %s", project)
        for sent in order:
            account.push([sent])
        assert account.pull_all()[0]["payload"]["content"] == expected


def test_a_push_that_is_repeated_doubles_nothing_and_says_so(account: Client, project: str) -> None:
    batch = [entry(project, f"obs-{number}") for number in range(20)]
    first = account.push(batch)
    again = account.push(batch)

    assert again["accepted"] == []
    assert again["unchanged"] == list(range(20))
    assert again["latest_seq"] == first["latest_seq"]
    assert len(account.pull_all()) == 20


DEEP: Any = "x"
for _ in range(90):
    DEEP = [DEEP]

BAD = [
    pytest.param(lambda e: 7, "invalid_entry", id="number"),
    pytest.param(lambda e: e | {"entity": 1}, "invalid_entry", id="entity-number"),
    pytest.param(lambda e: e | {"entity_key": ""}, "invalid_entry", id="no-key"),
    pytest.param(lambda e: e | {"entity_key": "k" * 401}, "invalid_entry", id="long-key"),
    pytest.param(lambda e: e | {"entity_key": "a\nb"}, "invalid_entry", id="key-newline"),
    pytest.param(lambda e: e | {"project": "*"}, "invalid_entry", id="every-project"),
    pytest.param(lambda e: e | {"project": None}, "invalid_entry", id="no-project"),
    pytest.param(lambda e: e | {"payload": []}, "invalid_entry", id="payload-list"),
    pytest.param(lambda e: e | {"payload": "{"}, "invalid_entry", id="payload-text"),
    pytest.param(lambda e: e | {"payload": "[" * 50_000}, "invalid_entry", id="payload-text-deep"),
    pytest.param(lambda e: e | {"payload": e["payload"] | {"content": " "}}, "invalid_entry", id="no-content"),
    pytest.param(lambda e: e | {"payload": e["payload"] | {"x": DEEP}}, "invalid_entry", id="deep"),
    pytest.param(lambda e: e | {"payload": e["payload"] | {"x": "a\0b"}}, "invalid_text", id="nul"),
    pytest.param(lambda e: e | {"payload": e["payload"] | {"a\0b": 1}}, "invalid_text", id="nul-name"),
    pytest.param(lambda e: e | {"payload": e["payload"] | {"x": ["\ud800"]}}, "invalid_text", id="surrogate"),
    pytest.param(lambda e: e | {"payload": json.dumps({"x": "\0"})}, "invalid_text", id="nul-in-text-payload"),
    pytest.param(lambda e: e | {"occurred_at": "\udfff"}, "invalid_text", id="time-surrogate"),
    pytest.param(lambda e: e | {"occurred_at": "9" * 65}, "invalid_entry", id="time-long"),
    pytest.param(lambda e: e | {"payload": e["payload"] | {"x": float("nan")}}, "invalid_number", id="nan"),
    pytest.param(lambda e: e | {"payload": e["payload"] | {"x": 2**70}}, "invalid_number", id="huge-integer"),
    pytest.param(
        lambda e: e | {"payload": e["payload"] | {"content": "ü" * 500_001}}, "payload_too_large", id="too-large"
    ),
    pytest.param(
        lambda e: e | {"payload": e["payload"] | {"engram_py": {"clock": "0" * 12 + "-0000-" + "a" * 90}}},
        "invalid_entry",
        id="long-clock",
    ),
]


@pytest.mark.parametrize(("spoil", "code"), BAD)
def test_a_bad_entry_is_refused_and_the_others_land(account: Client, project: str, spoil: Any, code: str) -> None:
    batch = [entry(project, "obs-1"), spoil(entry(project, "obs-2")), entry(project, "obs-3")]
    answer = account.ask("POST", "/sync/mutations/push", content=json.dumps({"entries": batch}).encode())

    assert answer.status_code == 200, answer.text
    told = answer.json()
    assert told["accepted"] == [0, 2]
    [refused] = told["rejected"]
    assert (refused["index"], refused["reason_code"], refused["repairable"]) == (1, code, False)
    assert refused["reason"]
    assert {one["entity_key"] for one in account.pull_all()} == {"obs-1", "obs-3"}


BODIES = [
    pytest.param(b"", 400, "invalid_body", id="empty"),
    pytest.param(b"{", 400, "invalid_body", id="half"),
    pytest.param(b"[]", 400, "invalid_body", id="list"),
    pytest.param(b"<html>", 400, "invalid_body", id="html"),
    pytest.param(b"\xff\xfe{\x00", 400, "invalid_body", id="utf-16"),
    pytest.param(b'{"entries":' + b"[" * 100_000, 400, "invalid_body", id="deep"),
    pytest.param(b'{"entries":' + b"9" * 5000 + b"}", 400, "invalid_body", id="long-number"),
    pytest.param(b"{}", 400, "invalid_request", id="no-entries"),
    pytest.param(b'{"entries":{}}', 400, "invalid_request", id="entries-object"),
    pytest.param(b'{"entries":[' + b"0," * 500 + b"0]}", 413, "push_too_large", id="too-many"),
    pytest.param(b'{"entries":["' + b"x" * 8_388_608 + b'"]}', 413, "push_too_large", id="too-large"),
]


@pytest.mark.parametrize(("body", "status", "code"), BODIES)
def test_a_body_that_is_no_push_is_refused_whole(server: Running, body: bytes, status: int, code: str) -> None:
    answer = server.account(write=["*"]).ask("POST", "/sync/mutations/push", content=body)

    assert (answer.status_code, answer.json()["error"]["code"]) == (status, code)
    assert answer.json()["error"]["hint"]


def test_who_still_sends_what_is_too_large_reads_why_it_was_refused(server: Running) -> None:
    account = server.account(write=["*"])
    host, _, port = account.address.removeprefix("http://").rpartition(":")
    with socket.create_connection((host, int(port)), timeout=20) as line:
        line.sendall(
            b"POST /sync/mutations/push HTTP/1.1\r\nHost: x\r\nConnection: close\r\nContent-Length: 9000000\r\n"
            + f"Authorization: Bearer {account.token}\r\n\r\n".encode()
        )
        for _ in range(9):
            time.sleep(0.05)
            line.sendall(b"x" * 1_000_000)
        with line.makefile("rb") as answered:
            told = answered.read()
    assert b" 413 " in told.partition(b"\r\n")[0]
    assert b"push_too_large" in told


def test_a_gzip_bomb_is_stopped_and_half_a_gzip_is_refused(account: Client, project: str) -> None:
    good = gzip.compress(json.dumps({"entries": [entry(project, "obs-1")]}).encode())
    bomb = gzip.compress(b" " * 200_000_000, 9)
    encoded = {"Content-Encoding": "gzip"}

    def status(content: bytes, headers: dict[str, str]) -> int:
        return account.ask("POST", "/sync/mutations/push", content=content, headers=headers).status_code

    assert status(bomb, encoded) == 413
    assert status(good[:-6], encoded) == 400
    assert status(good + b"rubbish", encoded) == 400
    assert status(b"no gzip", encoded) == 400
    assert status(good, {"Content-Encoding": "br"}) == 415
    assert account.pull_all() == []
    assert status(good, encoded) == 200
    assert len(account.pull_all()) == 1


def destruction(project: str, key: str, at: int) -> dict[str, Any]:
    return entry(project, key, at) | {
        "op": "delete",
        "payload": {"sync_id": key, "hard_delete": True, "engram_py": {"clock": clock(at)}},
    }


def version(project: str, owner: str, content: str) -> dict[str, Any]:
    key = version_key(owner, version_digest("2026-01-01", "a title", content))
    return entry(project, key, 1, created_at="2026-01-01", content=content) | {"entity": "version"}


@pytest.mark.parametrize("own", [{}, {"withdrawn": True}], ids=["destroyed", "personal"])
def test_what_was_destroyed_or_became_personal_takes_its_older_texts_along(
    server: Running, account: Client, project: str, own: dict[str, Any]
) -> None:
    account.push(
        [entry(project, "obs-1", 1), version(project, "obs-1", "an older text"), version(project, "obs-10", "x")]
    )
    gone = destruction(project, "obs-1", 3)
    if own:
        gone["payload"] = {"sync_id": "obs-1", "engram_py": {"clock": clock(3), **own}}

    account.push([gone])
    late = account.push([version(project, "obs-1", "an older text"), version(project, "obs-1", "another old text")])

    assert late["accepted"] == []
    found = {one["entity_key"].split("/")[0]: one["op"] for one in account.pull_all()}
    assert found == {"obs-1": "delete", "obs-10": "upsert"}
    kept = server.sql("select payload from cloud_mutations where project = %s", project)
    assert not any("older text" in row["payload"] or "another old" in row["payload"] for row in kept)
    # What was destroyed stays so; what became personal may be shared again, with its older texts.
    again = account.push([entry(project, "obs-1", 4), version(project, "obs-1", "an older text")])
    assert again["accepted"] == ([0, 1] if own else [])
    twice = account.push([entry(project, "obs-1", 5), version(project, "obs-1", "x"), gone])
    assert twice["accepted"] == ([0, 1] if own else [])


def test_a_payload_cannot_name_a_project_its_sender_may_not_write_to(server: Running, project: str) -> None:
    other = new_project()
    mine, both = server.account(write=[project]), server.account(write=[project, other])

    def naming_the_other(key: str) -> dict[str, Any]:
        made = entry(project, key)
        made["payload"]["project"] = other
        return made

    mine.push([naming_the_other("obs-1")])
    both.push([naming_the_other("obs-2")])

    assert [one["payload"]["project"] for one in both.pull_all()] == [project, other]


def test_nobody_makes_a_project_another_name_of_theirs_without_a_right_to_both(server: Running, project: str) -> None:
    other, nowhere = new_project(), new_project()
    mine, both = server.account(write=[project]), server.account(write=[project, other])
    both.push([entry(other, "obs-1")])

    def alias(name: str) -> dict[str, Any]:
        made = entry(project, name) | {"entity": "alias"}
        made["payload"] |= {"alias": name, "project": project}
        return made

    told = mine.push([alias(other), alias(nowhere), entry(project, "obs-2")])

    assert [(one["index"], one["reason_code"]) for one in told["rejected"]] == [
        (0, "alias_not_granted"),
        (1, "alias_not_granted"),
    ]
    assert told["accepted"] == [2]
    assert both.push([alias(other)])["accepted"] == [0]


def engram_deletion(project: str, key: str, at: str, **more: Any) -> dict[str, Any]:
    """As Engram deletes: its times are whole seconds, and there is no clock."""
    payload = {"sync_id": key, "session_id": "s1", "project": project, "deleted": True, "deleted_at": at, **more}
    return entry(project, key) | {"op": "delete", "payload": payload, "occurred_at": ""}


def test_a_row_of_a_foreign_project_cannot_be_taken_to_another(server: Running, project: str) -> None:
    secret = new_project()
    owner, mine, both = (
        server.account(write=[secret]),
        server.account(write=[project], read=[secret]),
        server.account(write=[project, secret]),
    )
    prompt = entry(secret, "prompt-1") | {"entity": "prompt"}
    relation = entry(secret, "rel-1", source_id="a", target_id="b", relation="x", judgment_status="judged")
    relation |= {"entity": "relation"}
    session = entry(secret, "s1", id="s1") | {"entity": "session"}
    owned = [entry(secret, "obs-1"), version(secret, "obs-1", "old"), prompt, relation]
    owner.push([*owned, session])

    stolen = [one | {"project": project} for one in owned]
    told = mine.push(
        [
            *stolen,
            version(project, "obs-1", "never seen"),
            destruction(project, "obs-1", 9),
            session | {"project": project},
            entry(project, "obs-mine"),
        ]
    )

    assert [(one["index"], one["reason_code"], one["repairable"]) for one in told["rejected"]] == [
        (index, "not_yours", False) for index in range(6)
    ]
    assert secret not in str(told)
    assert told["accepted"] == [6, 7]
    assert mine.push(stolen[:1])["rejected"][0]["reason_code"] == "not_yours"  # all of a push: not a refusal of it
    assert both.push(stolen)["rejected"] == []
    assert mine.push([entry(project, "obs-1", 9), version(project, "obs-1", "of now")])["accepted"] == [0, 1]


def test_a_soft_deletion_of_engram_hides_the_text_and_keeps_it(account: Client, project: str) -> None:
    at = "2026-01-02 10:00:00"
    account.push([entry(project, "obs-1", 1, content="the text"), version(project, "obs-1", "older")])

    told = account.push([engram_deletion(project, "obs-1", at)])
    again = account.push([engram_deletion(project, "obs-1", at)])

    assert (told["accepted"], again["unchanged"]) == ([0], [0])
    found = {one["entity"]: one for one in account.pull_all()}
    hidden = mutation_of(found["observation"])
    assert (hidden.op, hidden.payload["content"], hidden.payload["deleted"]) == ("upsert", "the text", True)
    assert hidden.payload["deleted_at"] == at
    assert hidden.clock == mutation_of(engram_deletion(project, "obs-1", at)).clock
    assert found["version"]["payload"]["content"] == "older"
    account.push([engram_deletion(project, "obs-1", "2026-01-01 10:00:00")])  # an earlier one changes nothing
    assert mutation_of(account.pull_all()[-1]).clock == hidden.clock
    account.push([engram_deletion(project, "obs-1", "2026-01-03 10:00:00", hard_delete=True)])
    assert [one["op"] for one in account.pull_all()] == ["delete"]
    # Without a time that can be read it has that of its clock.
    account.push([entry(project, "obs-2", 1), engram_deletion(project, "obs-2", "yesterday", updated_at=at)])
    assert account.pull_all()[-1]["payload"]["deleted_at"] == "2026-01-02T10:00:00.000Z"


def test_a_push_of_nothing_but_rows_dated_ahead_is_no_paused_project(account: Client, project: str) -> None:
    early = entry(project, "obs-1")
    early["payload"]["engram_py"] = {"clock": clock(int(time.time() * 1000) + 3 * 86_400_000)}
    [refused] = account.push([early])["rejected"]
    assert (refused["reason_code"], refused["repairable"]) == ("dated_ahead", True)


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
