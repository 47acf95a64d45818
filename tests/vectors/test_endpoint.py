"""An OpenAI-compatible endpoint: what is asked of it, and what it may not do to us."""

from __future__ import annotations

import json
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import pytest

from engram_py.vectors import endpoint as module
from engram_py.vectors.endpoint import WireError, post_json
from engram_py.vectors.model import load_embedder
from engram_py.vectors.protocol import Embedder, EmbedderFailedError, parse_embedder, unit
from tests.embedders import DIMENSION, Endpoint, endpoint, np, trigrams


@pytest.fixture
def served() -> Iterator[Endpoint]:
    with endpoint() as found:
        yield found


def embedder(served: Endpoint, *, model: str = "tiny", key: str = "") -> Embedder:
    return load_embedder(parse_embedder(f"openai:{served.address}/v1#{model}"), key=key)


def refusal(served: Endpoint) -> str:
    with pytest.raises(EmbedderFailedError) as refused:
        embedder(served).passages(["one", "two"])
    return refused.value.message


def test_texts_are_sent_together_and_vectors_come_back_in_their_order(served: Endpoint) -> None:
    found = embedder(served).passages(["login tokens", "queue of jobs"])
    assert np.allclose(found, unit([trigrams("login tokens"), trigrams("queue of jobs")]))
    [asked] = served.requests
    assert asked == {"model": "tiny", "input": ["login tokens", "queue of jobs"], "path": "/v1/embeddings"}
    assert "authorization" not in served.headers[0]


def test_a_key_goes_out_as_a_bearer_token(served: Endpoint) -> None:
    embedder(served, key="sesame").question("login?")
    assert served.headers[0]["authorization"] == "Bearer sesame"


def test_a_model_gets_the_words_before_a_text_that_it_was_trained_with(served: Endpoint) -> None:
    nomic = embedder(served, model="nomic-embed-text:v1.5")
    nomic.passages(["tokens"])
    nomic.question("tokens?")
    assert [one["input"] for one in served.requests] == [["search_document: tokens"], ["search_query: tokens?"]]


@pytest.mark.parametrize(
    ("status", "body", "said"),
    [
        (404, b'{"error": "model \\"tiny\\" not found"}', "status 404"),
        (500, b"\x1b[31mboom\x07", "status 500: [31mboom"),
        (302, b"", "status 302"),
        (200, b"<html>", "not JSON"),
        (200, b"[" * 100_000, "not JSON"),
        (200, b"[]", "one vector per text"),
        (200, b'{"data": [{"embedding": [1, 2]}]}', "one vector per text"),
        (200, b'{"data": [{"embedding": [1, 2]}, {"embedding": "AAAA"}]}', "not a list of numbers"),
        (200, b'{"data": [{"embedding": [1, 2]}, {"embedding": [1, true]}]}', "not a list of numbers"),
        (200, b'{"data": [{"embedding": [1, 2]}, {"embedding": [1, 2, 3]}]}', "not of one length"),
        (200, b'{"data": [{"embedding": []}, {"embedding": []}]}', "not of one length"),
        (200, b'{"data": [{"index": 0, "embedding": [1]}, {"index": 0, "embedding": [2]}]}', "not of one length"),
        (200, b'{"data": [{"index": 7, "embedding": [1]}, {"index": 8, "embedding": [2]}]}', "not of one length"),
        (200, json.dumps({"data": [{"embedding": [10**400]}, {"embedding": [1]}]}).encode(), "out of range"),
    ],
)
def test_an_answer_that_is_no_answer_is_refused_in_one_line(
    served: Endpoint, status: int, body: bytes, said: str
) -> None:
    served.answer = lambda _: (status, body)
    message = refusal(served)
    assert said in message
    assert message.isprintable()


def test_numbers_that_are_none_become_a_vector_of_nothing(served: Endpoint) -> None:
    served.answer = lambda _: (200, b'{"data": [{"embedding": [NaN, 1]}, {"embedding": [1e999, 2]}]}')
    assert embedder(served).passages(["one", "two"]).tolist() == [[0, 0], [0, 0]]


def test_an_answer_without_an_end_is_cut_off(served: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_BYTES_AT_ONCE", 1_000)
    monkeypatch.setattr(module, "_BYTES_PER_TEXT", 0)
    served.answer = lambda _: (200, b" " * 2_000)
    assert "longer than 1,000 bytes" in refusal(served)


def test_a_redirect_is_not_followed(served: Endpoint) -> None:
    with endpoint() as elsewhere:
        served.answer = lambda _: (307, b"")
        assert "status 307" in refusal(served)
        assert elsewhere.requests == []


def test_no_proxy_of_the_environment_hears_the_texts(served: Endpoint, monkeypatch: pytest.MonkeyPatch) -> None:
    with endpoint() as proxy:
        for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
            monkeypatch.setenv(name, proxy.address)
        assert embedder(served).question("login").shape == (1, DIMENSION)
        assert proxy.requests == []


def test_a_server_that_is_not_there_is_named_with_what_to_look_for() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        address = f"http://127.0.0.1:{free.getsockname()[1]}"
    spec = parse_embedder(f"openai:{address}/v1#tiny")
    with pytest.raises(EmbedderFailedError) as refused:
        load_embedder(spec).question("login")
    assert refused.value.hint == f"is the server at {address}/v1 running, and does it have tiny?"


@contextmanager
def dripping(first: bytes) -> Iterator[str]:
    """A server that sends ``first`` and then a byte now and then, for ever."""
    over = threading.Event()

    def drip() -> None:
        connection, _ = listener.accept()
        with connection, suppress(OSError):
            connection.recv(65_536)
            connection.sendall(first)
            while not over.wait(0.01):
                connection.sendall(b"x")

    with socket.create_server(("127.0.0.1", 0)) as listener:
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/v1/embeddings"
        over.set()
        thread.join()


@pytest.mark.parametrize(
    "first",
    [b"", b"HTTP/1.1 200 OK\r\nX-Long: ", b"HTTP/1.1 200 OK\r\nContent-Length: 900000\r\n\r\n"],
    ids=["status", "header", "body"],
)
def test_a_server_that_drips_is_hung_up_on_in_time(first: bytes) -> None:
    with dripping(first) as url, pytest.raises(WireError):
        post_json(url, {"input": []}, headers={}, seconds=0.3, most_bytes=10**9)


def test_a_server_that_says_nothing_is_hung_up_on_in_time() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}/v1/embeddings"
        with pytest.raises(WireError, match=r"no answer within 0\.2 s"):
            post_json(url, {"input": []}, headers={}, seconds=0.2, most_bytes=1_000)


def test_half_a_surrogate_pair_is_sent_as_json_can_hold_it(served: Endpoint) -> None:
    found: Any = embedder(served).passages(["a \ud800 b", "NUL \0 too"])
    assert found.shape == (2, DIMENSION)
