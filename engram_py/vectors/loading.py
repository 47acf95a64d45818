"""Makes the embedder that the setting names."""

from __future__ import annotations

from engram_py.vectors.protocol import Embedder, Spec


def load_embedder(spec: Spec, *, key: str = "", download: bool = False, threads: int | None = None) -> Embedder:
    """The embedder, ready to be asked; only the library it needs is imported.

    ``download`` lets the library fetch a model that is not on this machine. ``threads`` bounds the processors an
    ONNX model uses, by default half of them.

    Raises EmbedderError: a package or the model is not there, or cannot be read.
    """
    match spec.kind:
        case "model2vec":
            from engram_py.vectors.static import StaticEmbedder

            return StaticEmbedder(spec, download=download)
        case "fastembed":
            from engram_py.vectors.sentence import SentenceEmbedder

            return SentenceEmbedder(spec, download=download, threads=threads)
        case "openai":
            from engram_py.vectors.endpoint import EndpointEmbedder

            return EndpointEmbedder(spec, key=key)
