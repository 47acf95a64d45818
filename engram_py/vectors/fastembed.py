"""Sentence embeddings through fastembed: ONNX models on the processor."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.vectors.arrays import unit
from engram_py.vectors.errors import EmbedderFailedError
from engram_py.vectors.protocol import Embedder, Spec, half_of_the_processors, library

if TYPE_CHECKING:
    from engram_py.vectors.arrays import Vectors

_POOLINGS = {
    "pooling_mode_cls_token": "CLS",
    "pooling_mode_lasttoken": "LAST_TOKEN",
    "pooling_mode_mean_tokens": "MEAN",
}


class FastembedEmbedder(Embedder):
    """A model fastembed knows by name, or any directory with a ``model.onnx`` and its tokenizer.

    A directory may say how to pool in ``1_Pooling/config.json``, as sentence-transformers writes it; else the mean
    of the tokens is taken.

    Raises (when made):
        EmbedderMissingError: fastembed is not installed.
        EmbedderFailedError: the model is not there or cannot be read.
    """

    def __init__(self, spec: Spec, *, download: bool, threads: int | None = None) -> None:
        fastembed = library(spec.name, "fastembed")
        self._name = spec.name
        try:
            self._model: Any = _loaded(fastembed.TextEmbedding, spec, download, threads or half_of_the_processors())
        except EmbedderFailedError:
            raise
        except Exception as exc:  # whatever the library and the files it reads may raise
            if spec.directory is None and not download:
                raise EmbedderFailedError.absent(spec.name) from exc
            raise EmbedderFailedError.loading(spec.name, exc) from exc

    def passages(self, texts: Sequence[str]) -> Vectors:
        try:
            return unit(list(self._model.passage_embed(list(texts), batch_size=max(1, len(texts)))))
        except Exception as exc:
            raise EmbedderFailedError.running(self._name, exc) from exc

    def question(self, text: str) -> Vectors:
        try:
            return unit(list(self._model.query_embed(text)))
        except Exception as exc:
            raise EmbedderFailedError.running(self._name, exc) from exc


def _loaded(model: Any, spec: Spec, download: bool, threads: int) -> Any:
    folder = spec.directory
    if folder is None:
        return model(spec.target, threads=threads, local_files_only=not download)
    file = _model_file(folder, spec.name)
    _register(model, folder, file)
    return model(str(folder), threads=threads, specific_model_path=str(folder), local_files_only=True)


def _register(model: Any, folder: Path, file: str) -> None:
    from fastembed.common.model_description import ModelSource, PoolingType

    if any(one["model"].lower() == str(folder).lower() for one in model.list_supported_models()):
        return
    model.add_custom_model(
        model=str(folder),
        pooling=PoolingType[_pooling(folder)],
        normalization=True,
        sources=ModelSource(url=folder.as_uri()),
        dim=0,  # never read: what the model answers decides
        model_file=file,
    )


def _model_file(folder: Path, name: str) -> str:
    for file in ("model.onnx", "onnx/model.onnx", "model_optimized.onnx"):
        if (folder / file).is_file():
            return file
    raise EmbedderFailedError(name, f"{folder} holds no model.onnx", hint="name the folder of an ONNX model")


def _pooling(folder: Path) -> str:
    try:
        told = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return "MEAN"
    found = [pooling for key, pooling in _POOLINGS.items() if isinstance(told, dict) and told.get(key) is True]
    return found[0] if found else "MEAN"
