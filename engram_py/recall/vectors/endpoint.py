"""Embeddings from an OpenAI-compatible endpoint: Ollama, LM Studio, llama.cpp, vLLM, or the API itself."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from engram_py.recall.vectors.protocol import Embedder, Spec, library, unit
from engram_py.recall.vectors.values import EmbedderFailedError

if TYPE_CHECKING:
    from engram_py.recall.vectors.protocol import Vectors

QUESTION_SECONDS = 3.0  # somebody waits for the search
BATCH_SECONDS = 120.0  # a model that is loaded first takes its time
_BYTES_AT_ONCE, _BYTES_PER_TEXT = 1_000_000, 400_000
MAX_DIMENSION = 16_384
_SHOWN_CHARS = 200

# Models that were trained with other words before a question than before what answers it, as their cards say. A part
# of the name is enough: Ollama says nomic-embed-text, LM Studio text-embedding-nomic-embed-text-v1.5.
_PREFIXES = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "e5-": ("passage: ", "query: "),
    "mxbai-embed": ("", "Represent this sentence for searching relevant passages: "),
    "snowflake-arctic-embed": ("", "Represent this sentence for searching relevant passages: "),
}


class EndpointEmbedder(Embedder):
    """Asks ``{address}/embeddings``, with ``key`` as a bearer token. Raises EmbedderError without numpy."""

    def __init__(self, spec: Spec, *, key: str = "") -> None:
        library(spec.name, "numpy")  # the answer becomes an array
        self._spec = spec
        self._url = f"{spec.target}/embeddings"
        self._headers = {"Authorization": f"Bearer {key}"} if key else {}
        found = [prefixes for part, prefixes in _PREFIXES.items() if part in spec.model.lower()]
        self._before_passage, self._before_question = found[0] if found else ("", "")

    def passages(self, texts: Sequence[str]) -> Vectors:
        return self._ask([self._before_passage + text for text in texts], BATCH_SECONDS)

    def question(self, text: str) -> Vectors:
        return self._ask([self._before_question + text], QUESTION_SECONDS)

    def _ask(self, texts: list[str], seconds: float) -> Vectors:
        body = {"model": self._spec.model, "input": texts}
        most = _BYTES_AT_ONCE + len(texts) * _BYTES_PER_TEXT
        try:
            answer = post_json(self._url, body, headers=self._headers, seconds=seconds, most_bytes=most)
            rows = _rows(answer, len(texts))
        except WireError as exc:
            hint = f"is the server at {self._spec.target} running, and does it have {self._spec.model}?"
            raise EmbedderFailedError(self._spec.name, str(exc), hint=hint) from exc
        return unit(rows)


def _rows(answer: object, expected: int) -> list[list[float]]:
    """Return the vectors in the order they were asked for. Raises WireError when the answer is malformed."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, list) or len(data) != expected:
        raise WireError("the answer does not hold one vector per text")
    rows: dict[int, list[float]] = {}
    for place, one in enumerate(data):
        row = one.get("embedding") if isinstance(one, dict) else None
        index = one.get("index", place) if isinstance(one, dict) else place
        if not isinstance(row, list) or not all(type(number) in (float, int) for number in row):
            raise WireError("an embedding is not a list of numbers")
        rows[index if isinstance(index, int) else place] = row
    lengths = {len(row) for row in rows.values()}
    if set(rows) != set(range(expected)) or len(lengths) != 1 or not 0 < max(lengths) <= MAX_DIMENSION:
        raise WireError("the vectors of the answer are not of one length, one for each text")
    try:
        return [[float(number) for number in rows[place]] for place in range(expected)]
    except OverflowError as exc:
        raise WireError("an embedding holds a number that is out of range") from exc


# --- one bounded exchange: no redirect is followed, no proxy asked, no answer read without an end -----------


class WireError(Exception):
    """The exchange failed; the text says how."""


def post_json(
    url: str, body: Mapping[str, Any], *, headers: Mapping[str, str], seconds: float, most_bytes: int
) -> object:
    """Return the parsed answer of a POST, within ``seconds`` in all.

    Raises WireError: no connection, no answer in time, a status other than 200, more than ``most_bytes``, or no JSON.
    """
    deadline = time.monotonic() + seconds
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    connection = kind(parts.hostname or "", parts.port, timeout=seconds)
    told = {"Content-Type": "application/json", "Accept": "application/json", "Connection": "close", **headers}
    try:
        connection.connect()
        with _ended_at(deadline, connection.sock):
            connection.request("POST", parts.path, json.dumps(body).encode(), told)
            with contextlib.closing(connection.getresponse()) as response:
                status, answer = response.status, _read(response, most_bytes)
    except (OSError, http.client.HTTPException, ValueError) as exc:
        if isinstance(exc, TimeoutError) or time.monotonic() >= deadline:
            raise WireError(f"no answer within {seconds:g} s") from exc
        raise WireError(str(exc) or type(exc).__name__) from exc
    finally:
        connection.close()
    if status != http.client.OK:
        raise WireError(f"status {status}{_said(answer)}")
    try:
        return json.loads(answer)
    except (ValueError, RecursionError) as exc:
        raise WireError("the answer is not JSON") from exc


@contextmanager
def _ended_at(deadline: float, connected: socket.socket) -> Iterator[None]:
    """Hang up at the deadline: a socket's own timeout starts anew with every byte that drips in."""

    def hang_up() -> None:
        with contextlib.suppress(OSError):
            connected.shutdown(socket.SHUT_RDWR)

    timer = threading.Timer(max(0.0, deadline - time.monotonic()), hang_up)
    timer.daemon = True
    timer.start()
    try:
        yield
        if time.monotonic() >= deadline:
            raise TimeoutError
    finally:
        timer.cancel()


def _read(response: http.client.HTTPResponse, most_bytes: int) -> bytes:
    answer = response.read(most_bytes + 1)
    if len(answer) > most_bytes:
        raise WireError(f"the answer is longer than {most_bytes:,} bytes")
    return answer


def _said(answer: bytes) -> str:
    """Return what the server says of the failure, as one short line."""
    text = " ".join(answer[: 4 * _SHOWN_CHARS].decode("utf-8", "replace").split())
    shown = "".join(c for c in text if c.isprintable())[:_SHOWN_CHARS]
    return f": {shown}" if shown else ""
