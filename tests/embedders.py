"""Embedders for tests: one that needs no model, and an endpoint on this machine that uses it."""

from __future__ import annotations

import json
import threading
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from engram_py.recall.vectors.protocol import Embedder, Spec, unit

np: Any = pytest.importorskip("numpy", reason="vectors need numpy: the extra vectors")

DIMENSION = 96
SETTING = "openai:http://127.0.0.1:1/v1#tiny"  # what memories keep the tiny embedder's vectors under


def trigrams(text: str, dimension: int = DIMENSION, seed: int = 0) -> list[float]:
    """How often each run of three letters occurs, by its checksum: texts of like words are near each other."""
    row = [0.0] * dimension
    padded = f"  {text.lower()} "
    for start in range(len(padded) - 2):
        row[zlib.crc32(padded[start : start + 3].encode("utf-8", "replace"), seed) % dimension] += 1.0
    return row


class TinyEmbedder:
    """Counts runs of three letters. Notes every text it was given; ``refuses`` makes it fail on some of them."""

    def __init__(self, dimension: int = DIMENSION, seed: int = 0) -> None:
        self.dimension, self.seed = dimension, seed
        self.embedded: list[str] = []
        self.asked: list[str] = []
        self.refuses: Callable[[str], Exception | None] = lambda text: None

    def passages(self, texts: Sequence[str]) -> Any:
        for text in texts:
            if (failure := self.refuses(text)) is not None:
                raise failure
        self.embedded += texts
        return unit([trigrams(text, self.dimension, self.seed) for text in texts])

    def question(self, text: str) -> Any:
        if (failure := self.refuses(text)) is not None:
            raise failure
        self.asked.append(text)
        return unit([trigrams(text, self.dimension, self.seed)])

    def load(self, spec: Spec, **options: Any) -> Embedder:
        """Stands where ``load_embedder`` does."""
        return self


class Endpoint:
    """An OpenAI-compatible server on this machine. ``answer`` may be replaced; ``requests`` are what came."""

    def __init__(self) -> None:
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.answer: Callable[[dict[str, Any]], tuple[int, bytes]] = vectors_of
        self.released = threading.Event()
        self.arrived = threading.Event()
        self.address = ""

    @property
    def setting(self) -> str:
        return f"openai:{self.address}/v1#tiny"


def vectors_of(body: dict[str, Any]) -> tuple[int, bytes]:
    """What a server answers that works; the last vector first, because only ``index`` says which is which."""
    data = [{"index": place, "embedding": trigrams(text)} for place, text in enumerate(body["input"])]
    return 200, json.dumps({"object": "list", "data": data[::-1], "model": body["model"]}).encode()


@contextmanager
def endpoint() -> Iterator[Endpoint]:
    """A running one."""
    served = Endpoint()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            served.requests.append(body | {"path": self.path})
            served.headers.append({name.lower(): value for name, value in self.headers.items()})
            served.arrived.set()
            status, answer = served.answer(body)
            try:
                self.send_response(status)
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)
            except OSError:  # who asked has gone
                pass

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    served.address = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield served
    finally:
        served.released.set()
        server.shutdown()
        server.server_close()
        thread.join()
