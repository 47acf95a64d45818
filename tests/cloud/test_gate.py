"""Limits that need no database: how many at once, and what a body becomes when it is unpacked."""

from __future__ import annotations

import gzip
from collections.abc import Iterable

import anyio
import pytest
from starlette.requests import Request
from starlette.types import Message

from engram_py.cloud import routes
from engram_py.cloud.errors import InvalidBodyError, PushTooLargeError, RequestTimeoutError, TooBusyError
from engram_py.cloud.routes import read_body, takes_gzip
from engram_py.cloud.server import Gate


def request(pieces: Iterable[bytes] = (), **headers: str) -> Request:
    waiting = list(pieces)

    async def receive() -> Message:
        piece = waiting.pop(0) if waiting else b""
        return {"type": "http.request", "body": piece, "more_body": bool(waiting)}

    raw = [(name.replace("_", "-").encode(), value.encode()) for name, value in headers.items()]
    return Request({"type": "http", "method": "POST", "headers": raw}, receive)


def test_one_request_too_many_is_refused_and_the_place_is_free_again_afterwards() -> None:
    busy = Gate(most=3, most_each=2)
    with busy.enter(), busy.enter_as(1), busy.enter(), busy.enter_as(1):
        with pytest.raises(TooBusyError, match="this account"), busy.enter(), busy.enter_as(1):
            pass
        with busy.enter(), busy.enter_as(2), pytest.raises(TooBusyError, match="the server"), busy.enter():
            pass
        assert busy.inside == 2
    with busy.enter(), busy.enter_as(1):
        assert busy.inside == 1
    assert busy.inside == 0


@pytest.mark.anyio
@pytest.mark.parametrize("step", [1, 7, 1_000_000])
async def test_a_packed_body_arrives_whole_however_it_is_cut(step: int) -> None:
    text = bytes(range(256)) * 300 + b"\0" * 200_000
    packed = gzip.compress(text[:1000]) + gzip.compress(text[1000:])
    pieces = [packed[place : place + step] for place in range(0, len(packed), step)]

    assert await read_body(request(pieces, content_encoding="gzip"), 1_000_000) == text


@pytest.mark.anyio
async def test_a_body_may_be_as_large_as_the_limit_and_no_byte_larger() -> None:
    for size, packed in ((1000, False), (1001, False), (1000, True), (1001, True)):
        body = gzip.compress(b"x" * size) if packed else b"x" * size
        asked = request([body], content_encoding="gzip" if packed else "identity")
        if size == 1000:
            assert len(await read_body(asked, 1000)) == 1000
        else:
            with pytest.raises(PushTooLargeError):
                await read_body(asked, 1000)


@pytest.mark.anyio
async def test_a_body_that_claims_too_much_or_does_not_come_or_is_no_gzip_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async def never() -> Message:
        await anyio.sleep_forever()
        raise AssertionError

    monkeypatch.setattr(routes, "BODY_SECONDS", 0.01)
    for length, refusal in (("1001", PushTooLargeError), ("", RequestTimeoutError)):
        asked = request(content_length=length)
        asked._receive = never
        with pytest.raises(refusal):
            await read_body(asked, 1000)
    with pytest.raises(InvalidBodyError):
        await read_body(request([b""], content_encoding="gzip"), 1000)


@pytest.mark.parametrize(
    ("header", "takes"),
    [
        ("", False),
        ("gzip", True),
        ("br, gzip;q=0.1", True),
        ("*", True),
        ("gzip;q=0", False),
        ("gzip; q=0.000", False),
        ("gzip;q=1.0", True),
        ("deflate", False),
    ],
)
def test_gzip_is_sent_to_who_takes_it(header: str, takes: bool) -> None:
    assert takes_gzip(request(accept_encoding=header)) is takes
