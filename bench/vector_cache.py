"""An embedder that remembers: embedding the sets takes half an hour, measuring them again should not."""

from __future__ import annotations

import hashlib
import sqlite3
import threading
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.vectors.loading import load_embedder
from engram_py.vectors.protocol import Embedder, Spec

if TYPE_CHECKING:
    from engram_py.vectors.arrays import Vectors


class Remembering:
    """Asks ``inner`` for what is not in the file yet."""

    def __init__(self, inner: Embedder, name: str, file: Path) -> None:
        self._inner = inner
        self._name = name
        self._lock = threading.Lock()
        self._db = sqlite3.connect(file, check_same_thread=False, isolation_level=None)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("create table if not exists vectors (key text primary key, vector blob not null)")

    def passages(self, texts: Sequence[str]) -> Vectors:
        import numpy as np

        with self._lock:
            keys = [self._key("passage", text) for text in texts]
            known = {key: vector for key in keys if (vector := self._read(key)) is not None}
            missing = [place for place, key in enumerate(keys) if key not in known]
            if missing:
                for place, vector in zip(missing, self._inner.passages([texts[p] for p in missing]), strict=True):
                    known[keys[place]] = self._write(keys[place], vector)
            return np.stack([known[key] for key in keys])

    def question(self, text: str) -> Vectors:
        with self._lock:
            key = self._key("question", text)
            known = self._read(key)
            found: Vectors = (self._write(key, self._inner.question(text)[0]) if known is None else known)[None]
            return found

    def _key(self, kind: str, text: str) -> str:
        return hashlib.sha256(f"{self._name}\0{kind}\0{text}".encode()).hexdigest()

    def _read(self, key: str) -> Any:
        import numpy as np

        row = self._db.execute("select vector from vectors where key = ?", (key,)).fetchone()
        return None if row is None else np.frombuffer(row[0], dtype=np.float32)

    def _write(self, key: str, vector: Vectors) -> Vectors:
        self._db.execute("insert or replace into vectors values (?, ?)", (key, vector.tobytes()))
        return vector


def remembering(file: Path) -> Any:
    """``load_embedder`` with that memory; hand it to ``Vectors`` as ``load``."""

    def load(spec: Spec, **options: Any) -> Embedder:
        return Remembering(load_embedder(spec, **options), spec.name, file)

    return load
