"""The sentence lane: all-MiniLM-L6-v2 in eight bits on the processor, through onnxruntime."""

from __future__ import annotations

import gzip
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.vectors.arrays import unit
from engram_py.vectors.errors import EmbedderFailedError
from engram_py.vectors.protocol import Embedder, half_of_the_processors, library, running
from engram_py.vectors.wordpiece import WordPiece

if TYPE_CHECKING:
    from engram_py.vectors.arrays import Vectors

MODEL = "model.onnx"
MAX_PIECES = 256  # what the model was trained with
_VOCABULARY = Path(__file__).with_name("wordpiece.txt.gz")


class SentenceEmbedder(Embedder):
    """The mean of what the model says of each word piece, from ``folder``, which ``lanes`` filled.

    Raises (when made):
        EmbedderMissingError: numpy or onnxruntime is not installed.
        EmbedderFailedError: the model is not there or cannot be read.
    """

    def __init__(self, name: str, folder: Path, *, threads: int | None = None) -> None:
        onnxruntime = library(name, "onnxruntime")
        self._name = name
        self._words = WordPiece(gzip.decompress(_VOCABULARY.read_bytes()).decode().splitlines())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = threads or half_of_the_processors()
        try:
            self._model: Any = onnxruntime.InferenceSession(
                str(folder / MODEL), options, providers=["CPUExecutionProvider"]
            )
        except Exception as exc:  # whatever the library may raise over a file
            raise EmbedderFailedError.loading(name, exc) from exc

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        start, end = self._words.ends
        rows = [[start, *self._words.numbers(text, most=MAX_PIECES - 2), end] for text in texts]
        numbers = np.zeros((len(rows), max(map(len, rows))), np.int64)
        mask = np.zeros_like(numbers)
        for place, row in enumerate(rows):
            numbers[place, : len(row)] = row
            mask[place, : len(row)] = 1
        asked = {"input_ids": numbers, "attention_mask": mask, "token_type_ids": np.zeros_like(numbers)}
        with running(self._name):
            said = self._model.run(None, asked)[0]
        return unit((said * mask[:, :, None]).sum(axis=1) / mask.sum(axis=1, keepdims=True))
