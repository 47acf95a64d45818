"""The protocol of embedders, the setting that chooses one, and vectors: unit length in memory, signed bytes in the
file.
"""

from __future__ import annotations

import contextlib
import importlib
import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, Protocol
from urllib.parse import urlsplit

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import EmbedderError
from engram_py.base.install_hints import package_hint
from engram_py.base.settings import is_loopback
from engram_py.recall.vectors.values import SENTENCE_WEIGHT, STATIC_WEIGHT, EmbedderFailedError, InvalidEmbedderError

if TYPE_CHECKING:
    from types import ModuleType


if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Vectors = NDArray[np.float32]


def unit(rows: Any) -> Vectors:
    """Return the rows as float32 of length one; a row that is zero, or not finite, becomes zero."""
    import numpy as np

    array = np.atleast_2d(np.asarray(rows, dtype=np.float32))
    array = np.where(np.isfinite(array).all(axis=1, keepdims=True), array, np.float32(0))
    length = np.linalg.norm(array, axis=1, keepdims=True)
    result: Vectors = np.divide(array, length, out=np.zeros_like(array), where=length > 1e-12)
    return result


def pack(rows: Vectors) -> bytes:
    """Return one row of signed bytes after the other, without their scale.

    Rounding turns a vector of 384 numbers by about half a degree; on the development sets no figure changes.
    """
    import numpy as np

    largest = np.abs(rows).max(axis=1, keepdims=True)
    scaled = np.divide(rows * 127, largest, out=np.zeros_like(rows), where=largest > 0)
    return bytes(np.rint(scaled).astype(np.int8).tobytes())


def unpack(blobs: Sequence[bytes], dimension: int) -> tuple[Vectors, NDArray[np.int64]]:
    """Return the unit rows of all blobs, and how many rows each blob has."""
    import numpy as np

    counts = np.array([len(blob) // dimension for blob in blobs], dtype=np.int64)
    raw = np.frombuffer(b"".join(blobs), dtype=np.int8).reshape(-1, dimension)
    return unit(raw) if len(raw) else raw.astype(np.float32), counts


Kind = Literal["sentence", "multilingual", "static", "model2vec", "fastembed", "openai"]

_FORMS = "sentence, multilingual, static, model2vec:NAME, fastembed:NAME or openai:http://127.0.0.1:11434/v1#MODEL"

# The model of each lane; another one gets another name, under which its vectors are kept.
MODELS: dict[Kind, str] = {
    "sentence": "minilm-l6-int8",
    "multilingual": "minilm-use-3",
    "static": "wordllama-256",
}


class Embedder(Protocol):
    """Turns texts into vectors of one length, for several threads. Both methods raise EmbedderError."""

    def passages(self, texts: Sequence[str]) -> Vectors:
        """One row per text: of unit length, or all zero where the model saw nothing in the text."""

    def question(self, text: str) -> Vectors:
        """One row for what somebody asks; some models write questions differently from what answers them."""
        return self.passages([text])


def library(name: str, package: str) -> ModuleType:
    """Return the package that the embedder ``name`` needs. Raises EmbedderError (embedder_not_installed) without it."""
    try:
        return importlib.import_module(package)
    except ImportError as exc:
        with_command = package in ("numpy", "onnxruntime", "threadpoolctl")
        step = (
            "run `engram vectors on`: it installs what is missing" if with_command else f"run `{package_hint(package)}`"
        )
        raise EmbedderError(f"{name} needs the package {package}", hint=step, code="embedder_not_installed") from exc


@contextlib.contextmanager
def running(name: str) -> Iterator[None]:
    """Turn whatever a library raises into EmbedderFailedError."""
    try:
        yield
    except Exception as exc:
        raise EmbedderFailedError.running(name, exc) from exc


def half_of_the_processors() -> int:
    """Return how many threads a model uses; the others are for what the person at this machine is doing."""
    return max(1, (os.cpu_count() or 2) // 2)


@dataclass(frozen=True, slots=True)
class Spec:
    """A parsed setting. ``target`` is a model, a name, a directory or a base URL; ``model`` the endpoint's."""

    kind: Kind
    target: str
    model: str = ""

    @property
    def name(self) -> str:
        """The name that its vectors are kept under."""
        return f"{self.kind}:{self.target}" + (f"#{self.model}" if self.model else "")

    @property
    def weight(self) -> float:
        """The weight of its cosines beside words."""
        return STATIC_WEIGHT if self.kind in ("static", "model2vec") else SENTENCE_WEIGHT

    @property
    def shared(self) -> bool:
        """Whether one process holds the model for all: a table is mapped from its file, and small."""
        return self.kind in ("sentence", "multilingual", "fastembed")

    @property
    def directory(self) -> Path | None:
        """The model's directory, None for a name: an absolute path, or one that begins with ~."""
        try:
            path = Path(self.target).expanduser()
        except RuntimeError:  # ~somebody, who has no home here
            path = Path(self.target)
        return path if path.is_absolute() or self.target.startswith("~") else None

    def folder(self, models: Path) -> Path:
        """Return where the model of a lane is kept below the folder that models are fetched into."""
        return models / f"{self.kind}-{self.target}"

    @property
    def host(self) -> str:
        """The host texts are sent to, empty for a model of this machine."""
        return urlsplit(self.target).hostname or "" if self.kind == "openai" else ""

    @property
    def private(self) -> bool:
        """Whether texts stay on this machine, or leave it encrypted."""
        return not self.host or self.target.startswith("https:") or is_loopback(self.host.rstrip("."))


def parse_embedder(text: str) -> Spec:
    """Read the ``embedder`` setting. Raises InvalidEmbedderError when it is none of the forms."""
    kind, colon, target = text.strip().partition(":")
    for lane, model in MODELS.items():
        if kind.lower() == lane and target in ("", model):
            return Spec(lane, model)
    target = target.strip()
    if not colon or not target or "\0" in target:
        raise InvalidEmbedderError(text, f"it is {_FORMS}")
    match kind.strip().lower():
        case "model2vec" | "fastembed" as library_kind:
            return Spec(library_kind, target)
        case "openai":
            return _endpoint(text, target)
    raise InvalidEmbedderError(text, f"it is {_FORMS}")


def _endpoint(text: str, target: str) -> Spec:
    address, _, model = target.partition("#")
    try:
        url = urlsplit(address)
        port_is_fine = url.port is None or url.port > 0
    except ValueError as exc:
        raise InvalidEmbedderError(text, str(exc)) from exc
    if url.scheme not in ("http", "https") or not url.hostname or not port_is_fine:
        raise InvalidEmbedderError(text, "the address begins with http:// or https:// and names a host")
    if not model.strip():
        raise InvalidEmbedderError(text, "the model follows the address after a #")
    if url.username is not None or url.password is not None or url.query or any(c.isspace() for c in address):
        # The setting is the name that vectors are kept under and that messages show: no place for a secret.
        raise InvalidEmbedderError("openai:…", "an address holds no password and no ?; see embedder_key_variable")
    return Spec("openai", address.rstrip("/"), model.strip())
