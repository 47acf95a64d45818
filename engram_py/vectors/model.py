"""The embedder of this process: loaded when first asked, bounded in time, and left to rest after a failure."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.errors import EmbedderError
from engram_py.vectors.protocol import Embedder, Spec, parse_embedder
from engram_py.vectors.values import EmbedderFailedError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram_py.vectors.protocol import Vectors

Loader = Callable[..., Embedder]

# A model that answers this sentence differently from before is another model, whatever its name.
PROBE = "The retry limit is five attempts, with a pause that doubles: see config/http.toml."

_REST_SECONDS = 30.0  # after a failure searches do without, so that each does not wait for the same timeout
_REMEMBERED = 64


class VectorModel:
    """Answers with vectors, or raises EmbedderError soon. Used by several threads."""

    def __init__(self, setting: str, *, models: Path, key: str = "", load: Loader | None = None) -> None:
        self.setting = setting
        self._models = models
        self._key = key
        self._load = load or load_embedder
        self._embedder: Embedder | None = None
        self._loading = threading.Lock()
        self._failure: EmbedderError | None = None
        self._failed_at = 0.0
        self._questions: OrderedDict[str, Vectors] = OrderedDict()
        self._probe: Vectors | None = None

    @property
    def spec(self) -> Spec:
        """The parsed setting. Raises InvalidEmbedderError."""
        return parse_embedder(self.setting)

    def open(self, *, download: bool = False, threads: int | None = None) -> Embedder:
        """Return the embedder, loaded once with ``download`` and ``threads``. Raises EmbedderError."""
        with self._loading:
            if self._embedder is None:
                self._embedder = self._load(
                    self.spec, models=self._models, key=self._key, download=download, threads=threads
                )
            return self._embedder

    def probe(self, *, seconds: float | None = None) -> Vectors:
        """Return the model's vector of the fixed sentence, asked once. Raises EmbedderError like ``question``."""
        if self._probe is None:
            self._probe = self.question(PROBE, seconds=seconds)
        return self._probe

    def question(self, text: str, *, seconds: float | None = None) -> Vectors:
        """Return the vector of a question, within ``seconds`` where they are given.

        Raises EmbedderError: the model failed now or shortly before, or takes too long; the next question waits for it.
        """
        known = self._questions.get(text)
        if known is not None:
            return known
        if seconds is None:
            return self._asked(text)
        if self._failure is not None and time.monotonic() - self._failed_at < _REST_SECONDS:
            raise self._failure
        answer: Future[Vectors] = Future()

        def ask() -> None:
            try:
                answer.set_result(self._asked(text))
            except BaseException as exc:
                answer.set_exception(exc)

        threading.Thread(target=ask, name="engram-question", daemon=True).start()
        try:
            return answer.result(seconds)
        except TimeoutError:
            hint = "a model that is being loaded answers the next search"
            raise EmbedderFailedError(self.setting, f"no vector within {seconds:g} s", hint=hint) from None

    def passages(self, texts: Sequence[str]) -> Vectors:
        """Return one row per text. Raises EmbedderError."""
        return self.open().passages(texts)

    def _asked(self, text: str) -> Vectors:
        try:
            found = self.open().question(text)
        except EmbedderError as exc:
            self._failure, self._failed_at = exc, time.monotonic()
            raise
        self._failure = None
        self._questions[text] = found
        while len(self._questions) > _REMEMBERED:
            self._questions.popitem(last=False)
        return found


def load_embedder(
    spec: Spec, *, models: Path | None = None, key: str = "", download: bool = False, threads: int | None = None
) -> Embedder:
    """Return the embedder, ready to be asked; only the library it needs is imported.

    ``models`` is the folder that ``engram vectors on`` fetches into. ``download`` lets a library fetch a model.
    ``threads`` bounds the processors of an ONNX model, by default half of them. Raises EmbedderError.
    """
    match spec.kind:
        case "static" | "sentence":
            return _lane(spec, models, threads)
        case "model2vec":
            from engram_py.vectors.embedders import Model2VecEmbedder

            return Model2VecEmbedder(spec, download=download)
        case "fastembed":
            from engram_py.vectors.embedders import FastembedEmbedder

            return FastembedEmbedder(spec, download=download, threads=threads)
        case "openai":
            from engram_py.vectors.endpoint import EndpointEmbedder

            return EndpointEmbedder(spec, key=key)


def _lane(spec: Spec, models: Path | None, threads: int | None) -> Embedder:
    folder = spec.folder(models) if models else None
    if folder is None or not folder.is_dir():
        raise EmbedderFailedError.absent(spec.kind)
    if spec.kind == "static":
        from engram_py.vectors.embedders import StaticEmbedder

        return StaticEmbedder(spec.kind, folder)
    from engram_py.vectors.embedders import SentenceEmbedder

    return SentenceEmbedder(spec.kind, folder, threads=threads)
