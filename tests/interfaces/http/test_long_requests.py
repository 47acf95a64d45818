"""What is long: a query of a megabyte is answered, and what no server reads is refused."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Iterator
from urllib.parse import quote

import pytest

from tests.interfaces.http.asking import Running, serving_many

MEGABYTE = 1_000_000
LONG = "the query was long; its first 8,000 characters were read"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving_many(tmp_path_factory.mktemp("long")) as running:
        saved = {"title": "Raised the timeout", "content": "To 30 seconds."}
        assert running.ask("POST", "/observations", saved).status == 201
        yield running


@pytest.mark.parametrize("text", ["timeout ", "🎉timeout "], ids=["ascii", "emoji"])
def test_a_megabyte_in_the_address_is_searched_for_and_said_to_be_long(server: Running, text: str) -> None:
    query = quote(text) * (MEGABYTE // len(text.encode()))
    reply = server.ask("GET", f"/search?q={query}")

    assert (reply.status, [row["id"] for row in reply.value]) == (200, [1])
    assert LONG in json.loads(reply.headers["x-engram-notes"])


def test_a_megabyte_in_a_body_is_searched_for_and_said_to_be_long(server: Running) -> None:
    reply = server.ask("POST", "/search", {"query": "timeout " * (MEGABYTE // 8)})

    assert (reply.status, [hit["id"] for hit in reply.value["results"]]) == (200, [1])
    assert LONG in reply.value["warnings"]
    assert len(reply.body) < 2_000


@pytest.mark.parametrize("size", [5 * MEGABYTE, 30 * MEGABYTE])
def test_an_address_that_is_too_long_is_refused_and_the_server_lives_on(server: Running, size: int) -> None:
    with contextlib.suppress(ConnectionError):  # the rest is not read, so the refusal may be lost
        assert server.ask("GET", f"/search?q={'x' * size}").status == 400
    assert server.ask("GET", "/health").status == 200


@pytest.mark.parametrize("size", [9 * MEGABYTE, 30 * MEGABYTE])
def test_who_still_sends_a_body_that_is_too_large_reads_the_refusal(server: Running, size: int) -> None:
    refused = server.ask("POST", "/search", b'{"query": "' + b"x" * size + b'"}')
    assert (refused.status, refused.code) == (413, "body_too_large")
