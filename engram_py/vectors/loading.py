"""Makes the embedder that the setting names."""

from __future__ import annotations

from pathlib import Path

from engram_py.errors import EmbedderFailedError
from engram_py.vectors.protocol import Embedder, Spec


def load_embedder(
    spec: Spec, *, models: Path | None = None, key: str = "", download: bool = False, threads: int | None = None
) -> Embedder:
    """The embedder, ready to be asked; only the library it needs is imported.

    ``models`` is the folder that ``engram vectors on`` fetches into. ``download`` lets a library fetch a model that is
    not on this machine. ``threads`` bounds the processors an ONNX model uses, by default half of them.

    Raises EmbedderError: a package or the model is not there, or cannot be read.
    """
    match spec.kind:
        case "static" | "sentence":
            return _lane(spec, models, threads)
        case "model2vec":
            from engram_py.vectors.model2vec import Model2VecEmbedder

            return Model2VecEmbedder(spec, download=download)
        case "fastembed":
            from engram_py.vectors.fastembed import FastembedEmbedder

            return FastembedEmbedder(spec, download=download, threads=threads)
        case "openai":
            from engram_py.vectors.endpoint import EndpointEmbedder

            return EndpointEmbedder(spec, key=key)


def _lane(spec: Spec, models: Path | None, threads: int | None) -> Embedder:
    folder = models / f"{spec.kind}-{spec.target}" if models else None
    if folder is None or not folder.is_dir():
        raise EmbedderFailedError.absent(spec.kind)
    if spec.kind == "static":
        from engram_py.vectors.static import StaticEmbedder

        return StaticEmbedder(spec.kind, folder)
    from engram_py.vectors.sentence import SentenceEmbedder

    return SentenceEmbedder(spec.kind, folder, threads=threads)
