"""Embedders of libraries that may be installed: fastembed's ONNX models, model2vec's tables of word pieces."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.vectors.arrays import unit
from engram_py.vectors.errors import EmbedderFailedError
from engram_py.vectors.protocol import Embedder, Spec, half_of_the_processors, library, running

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
    of the tokens is taken. Raises EmbedderMissingError or EmbedderFailedError when made.
    """

    def __init__(self, spec: Spec, *, download: bool, threads: int | None = None) -> None:
        model = library(spec.name, "fastembed").TextEmbedding
        self._name = spec.name
        threads = threads or half_of_the_processors()
        folder = spec.directory
        try:
            if folder is None:
                self._model: Any = model(spec.target, threads=threads, local_files_only=not download)
            else:
                _register(model, folder, spec.name)
                place = str(folder)
                self._model = model(place, threads=threads, specific_model_path=place, local_files_only=True)
        except EmbedderFailedError:
            raise
        except Exception as exc:  # whatever the library and the files it reads may raise
            if folder is None and not download:
                raise EmbedderFailedError.absent(spec.name) from exc
            raise EmbedderFailedError.loading(spec.name, exc) from exc

    def passages(self, texts: Sequence[str]) -> Vectors:
        with running(self._name):
            return unit(list(self._model.passage_embed(list(texts), batch_size=max(1, len(texts)))))

    def question(self, text: str) -> Vectors:
        with running(self._name):
            return unit(list(self._model.query_embed(text)))


def _register(model: Any, folder: Path, name: str) -> None:
    from fastembed.common.model_description import ModelSource, PoolingType

    files = ("model.onnx", "onnx/model.onnx", "model_optimized.onnx")
    file = next((file for file in files if (folder / file).is_file()), None)
    if file is None:
        raise EmbedderFailedError(name, f"{folder} holds no model.onnx", hint="name the folder of an ONNX model")
    if any(one["model"].lower() == str(folder).lower() for one in model.list_supported_models()):
        return
    model.add_custom_model(
        model=str(folder),
        pooling=PoolingType[_pooling(folder)],
        normalization=True,
        sources=ModelSource(url=folder.as_uri()),
        dim=0,  # never read: the length of the model's answer decides
        model_file=file,
    )


def _pooling(folder: Path) -> str:
    try:
        told = json.loads((folder / "1_Pooling" / "config.json").read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return "MEAN"
    found = [pooling for key, pooling in _POOLINGS.items() if isinstance(told, dict) and told.get(key) is True]
    return found[0] if found else "MEAN"


class Model2VecEmbedder(Embedder):
    """A model2vec model from a directory, or from Hugging Face's cache on this machine.

    Raises EmbedderMissingError or EmbedderFailedError when made.
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
        with running(self._name), self._lock:
            return unit(self._model.encode(list(texts), use_multiprocessing=False))


def _place(spec: Spec, *, download: bool) -> Path:
    """Return the model's directory. Only with ``download`` is anything fetched from Hugging Face."""
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
