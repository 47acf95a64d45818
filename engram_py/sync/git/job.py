"""What one sync of one repository works on."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from engram_py.sync.chunk import FORMAT
from engram_py.sync.git.folder import ChunkFolder
from engram_py.sync.mutation import Applied, Changes, Digest, Mutation
from engram_py.sync.sealing import SealingKey
from engram_py.sync.signing import DeviceKey

Progress = Callable[[int, int], None]


class Exchange(Protocol):
    """The memory as one of several replicas, as far as a folder of chunks needs it."""

    def changes(
        self, *, after: int = 0, projects: Sequence[str] | None = None, towards: str = "", max_rows: int = 500,
        max_bytes: int = 4 * 2**20,
    ) -> Changes: ...  # fmt: skip

    def apply(self, mutations: Sequence[Mutation], *, source: str = "") -> Applied: ...

    def retry_deferred(self) -> Applied: ...

    def digest(self, *, projects: Sequence[str] | None = None) -> Digest: ...


@dataclass(frozen=True, slots=True)
class Job:
    """A repository's folder, whose memory goes through it, and on what terms.

    ``names`` are the names of the project that rows may have; None takes and gives rows of every project.
    """

    folder: ChunkFolder
    target: str
    project: str
    names: frozenset[str] | None
    key: SealingKey | None
    device: DeviceKey
    trusted: frozenset[str]
    allow_plain: bool = False
    progress: Progress | None = None
    until: float | None = None  # ``time.monotonic``: after that reading stops, and goes on the next time

    @property
    def is_late(self) -> bool:
        return self.until is not None and time.monotonic() >= self.until

    @property
    def projects(self) -> tuple[str, ...] | None:
        return None if self.names is None else (self.project,)

    @property
    def selection(self) -> str:
        return "" if self.names is None else self.project

    def policy(self, names: frozenset[str] | None) -> str:
        """What refusals were decided by, in short: where it is the same, they would be decided the same."""
        key = self.key.parameters.key_id if self.key else ""
        terms = [FORMAT, self.allow_plain, sorted(self.trusted), key, None if names is None else sorted(names)]
        return hashlib.sha256(json.dumps(terms).encode()).hexdigest()[:16]
