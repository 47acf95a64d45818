"""Static embeddings through model2vec: a table of word pieces, averaged. Thousands of texts a second, no GPU."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.vectors.arrays import unit
from engram_py.vectors.errors import EmbedderFailedError
from engram_py.vectors.protocol import Embedder, Spec, library

if TYPE_CHECKING:
    from engram_py.vectors.arrays import Vectors


class Model2VecEmbedder(Embedder):
    """A model2vec model from a directory, or from Hugging Face's cache on this machine.

    Raises (when made):
        EmbedderMissingError: model2vec is not installed.
        EmbedderFailedError: the model is not there or cannot be read.
    """

    def __init__(self, spec: Spec, *, download: bool) -> None:
        model2vec = library(spec.name, "model2vec")
        self._name = spec.name
        self._lock = threading.Lock()  # encode() sets the tokenizer's cut and sets it back
        try:
            place = _place(spec, download=download)
            self._model: Any = model2vec.StaticModel.from_pretrained(place, force_download=False)
        except EmbedderFailedError:
            raise
        except Exception as exc:  # whatever the library and the files it reads may raise
            raise EmbedderFailedError.loading(spec.name, exc) from exc

    def passages(self, texts: Sequence[str]) -> Vectors:
        try:
            with self._lock:
                return unit(self._model.encode(list(texts), use_multiprocessing=False))
        except Exception as exc:
            raise EmbedderFailedError.running(self._name, exc) from exc


def _place(spec: Spec, *, download: bool) -> Path:
    """The model's directory. Only with ``download`` is anything fetched from Hugging Face."""
    if spec.directory is not None:
        if not spec.directory.is_dir():
            raise EmbedderFailedError(spec.name, f"{spec.directory} is not a directory", hint="name the model's folder")
        return spec.directory
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(spec.target, local_files_only=True))
    except Exception as exc:
        if not download:
            raise EmbedderFailedError.absent(spec.name) from exc
    return Path(snapshot_download(spec.target))
