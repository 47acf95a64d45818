"""Embeddings from an OpenAI-compatible endpoint: Ollama, LM Studio, llama.cpp, vLLM, or the API itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from engram_py.errors import EmbedderFailedError, EmbedderMissingError
from engram_py.vectors.arrays import unit
from engram_py.vectors.http import WireError, post_json
from engram_py.vectors.protocol import Spec

if TYPE_CHECKING:
    from engram_py.vectors.arrays import Vectors

QUESTION_SECONDS = 3.0  # somebody waits for the search
BATCH_SECONDS = 120.0  # a model that is loaded first takes its time
_BYTES_AT_ONCE, _BYTES_PER_TEXT = 1_000_000, 400_000
MAX_DIMENSION = 16_384

# Models that were trained with other words before a question than before what answers it, as their cards say. A part
# of the name is enough: Ollama says nomic-embed-text, LM Studio text-embedding-nomic-embed-text-v1.5.
_PREFIXES = {
    "nomic-embed-text": ("search_document: ", "search_query: "),
    "e5-": ("passage: ", "query: "),
    "mxbai-embed": ("", "Represent this sentence for searching relevant passages: "),
    "snowflake-arctic-embed": ("", "Represent this sentence for searching relevant passages: "),
}


class EndpointEmbedder:
    """Asks ``{address}/embeddings``. ``key`` goes out as a bearer token when there is one.

    Raises EmbedderMissingError (when made) without numpy.
    """

    def __init__(self, spec: Spec, *, key: str = "") -> None:
        try:
            import numpy as np  # noqa: F401 (the answer becomes an array)
        except ImportError as exc:
            raise EmbedderMissingError(spec.name, "numpy") from exc
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
    """The vectors in the order they were asked for. Raises WireError when the answer is not what it should be."""
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
