"""Servers, proxies and networks that misbehave: nothing is lost, nothing doubled, and the reason names the thing."""

from __future__ import annotations

import gzip
import json
import threading

import pytest

from tests.sharing.sync.autosync.conftest import Lab, from_elsewhere
from tests.sharing.sync.autosync.team_server import TOKEN, Request, Trick, team_server

PUSH, PULL, LIST = "mutations/push", "mutations/pull", "/sync/projects"


def status(code: int, body: bytes = b"", **headers: str) -> Trick:
    def trick(request: Request) -> None:
        request.raw(body, code, **headers)

    return trick


def says(value: object) -> Trick:
    def trick(request: Request) -> None:
        request.answer(value)

    return trick


def html(request: Request) -> None:
    request.raw(b"<!doctype html><title>Sign in</title>", 200, Content_Type="text/html")


def half_a_body(request: Request) -> None:
    request.raw(b'{"accepted": [0, 1', 200, Content_Type="application/json", Content_Length="5000")
    request.hang_up()


def half_a_gzip(request: Request) -> None:
    whole = gzip.compress(json.dumps({"x": "y" * 9000}).encode())
    request.raw(whole[: len(whole) // 2], 200, Content_Encoding="gzip")


def hangs_up(request: Request) -> None:
    request.hang_up()


def endless(request: Request) -> None:
    request.send_response(200)
    request.send_header("Content-Type", "application/json")
    request.end_headers()
    try:
        while True:
            request.wfile.write(b"[" * 65_536)
    except OSError:
        request.close_connection = True


def bomb(request: Request) -> None:
    request.raw(gzip.compress(b" " * (40 * 2**20)), 200, Content_Encoding="gzip")


def stalls(request: Request) -> None:
    threading.Event().wait(2)  # longer than the client waits
    request.hang_up()


def drips(request: Request) -> None:
    """A byte every tenth of a second: never late for the next one."""
    request.send_response(200)
    request.send_header("Content-Length", "100000")
    request.end_headers()
    try:
        for _ in range(100):
            request.wfile.write(b" ")
            request.wfile.flush()
            threading.Event().wait(0.05)
    except OSError:
        request.close_connection = True


ANYWHERE = [
    pytest.param(status(500, b"boom"), "transport_failed", "status 500", id="500"),
    pytest.param(status(502, b"<html>Bad gateway</html>"), "transport_failed", "status 502", id="502-html"),
    pytest.param(status(504), "transport_failed", "status 504", id="504"),
    pytest.param(status(200, b""), "transport_failed", "nothing", id="nothing"),
    pytest.param(status(200, b"OK"), "transport_failed", "not JSON", id="not-json"),
    pytest.param(status(200, b'{"accepted": ['), "transport_failed", "not JSON", id="half-json"),
    pytest.param(status(200, b"[" * 100_000), "transport_failed", "not JSON", id="deep-json"),
    pytest.param(html, "transport_failed", "web page", id="html"),
    pytest.param(half_a_body, "transport_failed", "broke off", id="half-a-body"),
    pytest.param(half_a_gzip, "transport_failed", "broke off", id="half-a-gzip"),
    pytest.param(hangs_up, "transport_failed", "broke off", id="hangs-up"),
    pytest.param(status(200, b"xx", Content_Encoding="gzip"), "transport_failed", "compression", id="no-gzip"),
    pytest.param(status(200, b"xx", Content_Encoding="br"), "transport_failed", "coding", id="brotli"),
    pytest.param(status(307, Location="https://evil.example/"), "cloud_config_error", "evil.example", id="redirect"),
    pytest.param(status(404, b"not here"), "server_unsupported", "no such route", id="404"),
    pytest.param(status(429, Retry_After="77"), "transport_failed", "asks to wait", id="429"),
    pytest.param(says([1, 2]), "transport_failed", "not one of a sync server", id="a-list"),
    pytest.param(says(None), "transport_failed", "not one of a sync server", id="null"),
]


def in_step(lab: Lab) -> None:
    """Once the server is itself again, what waited goes out, once."""
    lab.synced()
    assert (lab.status.pending, lab.status.set_aside_total) == (0, 0)
    assert lab.sent() == lab.titles()


@pytest.mark.parametrize(("trick", "code", "words"), ANYWHERE)
def test_a_bad_answer_loses_and_doubles_nothing_and_the_other_direction_goes_on(
    lab: Lab, trick: Trick, code: str, words: str
) -> None:
    lab.save("one", "two")
    lab.team.play(PUSH, trick)
    done = lab.failed()
    assert (done.reason_code, words in done.reason_message) == (code, True), done.reason_message
    phase: str = lab.status.phase
    assert phase == "push_failed"
    in_step(lab)

    lab.team.add(from_elsewhere(lab, f"obs-of-{lab.project}", "three"))
    lab.team.play(PULL, trick)
    lab.save("four")
    done = lab.failed()
    assert (done.reason_code, words in done.reason_message) == (code, True), done.reason_message
    phase = lab.status.phase
    assert phase == "pull_failed"
    assert (lab.sent(), lab.titles()) == (["four", "one", "three", "two"], ["four", "one", "two"])
    in_step(lab)


WRONG = [
    pytest.param(PUSH, {}, id="empty"),
    pytest.param(PUSH, {"accepted": [0], "unchanged": [], "rejected": []}, id="answers-for-one-of-many"),
    pytest.param(PUSH, {"accepted": "all", "unchanged": [], "rejected": []}, id="text"),
    pytest.param(PUSH, {"accepted": [True, False], "unchanged": [], "rejected": []}, id="booleans"),
    pytest.param(PUSH, {"accepted": [0, 0, 1, 2], "unchanged": [], "rejected": []}, id="twice"),
    pytest.param(PUSH, {"accepted": [0, 1, 2, 99], "unchanged": [], "rejected": []}, id="not-sent"),
    pytest.param(PUSH, {"accepted": [], "unchanged": [], "rejected": [7]}, id="rejected-number"),
    pytest.param(PUSH, {"accepted_seqs": [10**30], "accepted": [0]}, id="seq-too-large"),
    pytest.param(PULL, {}, id="no-page"),
    pytest.param(PULL, {"mutations": [], "has_more": True, "latest_seq": 5}, id="more-of-nothing"),
    pytest.param(PULL, {"mutations": {}, "has_more": False, "latest_seq": 5}, id="an-object"),
    pytest.param(PULL, {"mutations": [[]], "has_more": False, "latest_seq": 5}, id="a-list-as-entry"),
    pytest.param(PULL, {"mutations": [{"seq": "1"}], "has_more": False, "latest_seq": 5}, id="seq-is-text"),
    pytest.param(PULL, {"mutations": [{"seq": 2}, {"seq": 2}], "has_more": False, "latest_seq": 5}, id="seq-twice"),
    pytest.param(PULL, {"mutations": [], "has_more": "no", "latest_seq": 5}, id="more-is-text"),
    pytest.param(PULL, {"mutations": [], "has_more": False, "latest_seq": -1}, id="negative"),
    pytest.param(PULL, {"mutations": [], "has_more": False, "latest_seq": 10**40}, id="latest-too-large"),
]


@pytest.mark.parametrize(("part", "answer"), WRONG)
def test_an_answer_of_wrong_types_acknowledges_nothing_and_moves_no_cursor(lab: Lab, part: str, answer: object) -> None:
    lab.save("one", "two")
    lab.team.add(from_elsewhere(lab, f"obs-of-{lab.project}", "three"))
    lab.team.play(part, says(answer))

    assert lab.failed().reason_code == "transport_failed"

    in_step(lab)
    assert lab.titles() == ["one", "three", "two"]


@pytest.mark.parametrize(
    ("trick", "words"),
    [
        pytest.param(endless, "longer than", id="endless"),
        pytest.param(bomb, "longer than", id="gzip-bomb"),
        pytest.param(stalls, "does not answer", id="stalls"),
        pytest.param(drips, "in time", id="drips"),
    ],
)
def test_an_answer_without_an_end_is_given_up(lab: Lab, trick: Trick, words: str) -> None:
    if trick in (stalls, drips):
        lab.exchange = lab.lane(whole_seconds=0.5)
    lab.save("one")
    lab.team.play(PUSH, trick)

    done = lab.failed()

    assert (done.reason_code, words in done.reason_message) == ("transport_failed", True), done.reason_message
    in_step(lab)


def test_what_was_taken_and_not_acknowledged_is_not_doubled(lab: Lab) -> None:
    def takes_and_hangs_up(request: Request) -> None:
        for one in request.json["entries"]:
            lab.team.add(one)
        request.hang_up()

    lab.save("one", "two")
    lab.team.play(PUSH, takes_and_hangs_up)

    lab.failed()

    in_step(lab)
    assert lab.sent() == ["one", "two"]


def test_a_server_that_is_not_there_is_named_and_tried_again(lab: Lab) -> None:
    with team_server(grants={lab.project: "write"}) as gone:
        lab.app.autosync.account.login(gone.address, TOKEN)
        lab.app.autosync.account.enroll([lab.project])
        lab.save("one")

    done = lab.failed()

    assert (done.reason_code, gone.address in done.reason_message) == ("transport_failed", True)
    assert lab.titles() == ["one"]


def test_the_token_goes_to_no_other_address(lab: Lab) -> None:
    lab.save("one")
    with team_server(grants={lab.project: "write"}) as other:
        for part in (LIST, PUSH):
            lab.team.play(part, status(307, Location=f"{other.address}/sync/projects"))
        done = lab.failed()
        assert other.asked == []
    assert "engram cloud login" in done.next_step


def test_a_token_that_is_revoked_in_the_middle_of_a_push_stops_the_asking_until_the_next_login(lab: Lab) -> None:
    def revoke(request: Request) -> bool:
        request.team.tokens.clear()
        return False

    lab.save("one", "two")
    lab.team.play(PUSH, revoke)

    assert lab.failed().reason_code == "auth_required"

    asked = len(lab.team.asked)
    lab.clock.advance(days=1)
    assert lab.exchange.once() is None
    assert lab.exchange.once(now=True) is None
    assert len(lab.team.asked) == asked
    assert "engram cloud login" in lab.status.next_step
    fresh = "engram_" + "u" * 43
    lab.team.tokens.add(fresh)
    lab.app.autosync.account.login(lab.team.address, fresh)
    in_step(lab)
    assert lab.sent() == ["one", "two"]


def test_the_pull_goes_on_where_the_push_fails_and_the_other_way_round(lab: Lab) -> None:
    lab.save("one")
    lab.team.add(from_elsewhere(lab, f"obs-1-of-{lab.project}", "three"))
    lab.team.always[PUSH] = status(500)
    for _ in range(12):
        lab.failed()

    assert (lab.status.phase, lab.status.consecutive_failures) == ("backoff", 12)
    lab.team.add(from_elsewhere(lab, f"obs-2-of-{lab.project}", "four"))
    lab.failed()
    assert lab.titles() == ["four", "one", "three"]
    lab.team.always = {LIST: status(500)}
    lab.failed()
    assert lab.sent() == ["four", "one", "three"]


def test_what_the_server_says_of_its_failure_is_shown_as_one_harmless_line(lab: Lab) -> None:
    lab.save("one")
    said = {"error": {"code": "x", "message": "disk\x1b[2J full\n" + "z" * 5000, "hint": ""}}
    lab.team.play(PUSH, lambda request: request.answer(said, 500))

    message = lab.failed().reason_message

    assert "disk" in message
    assert message.isprintable()
    assert len(message) < 400
