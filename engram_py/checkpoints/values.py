"""What a checkpoint is, and what is told of it."""

from __future__ import annotations

import base64
from typing import Literal

from engram_py.dataclass import dataclass

LIMIT_BYTES = 1_048_576
KEPT = 10  # of a session


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """The bytes of a checkpoint: ``content`` is their text, or where they are none their ``base64``."""

    id: int
    session_id: str
    project: str
    size: int
    saved_at: str
    encoding: Literal["utf-8", "base64"]
    content: str
    warnings: tuple[str, ...] = ()

    @property
    def data(self) -> bytes:
        """The bytes as they were saved."""
        return self.content.encode() if self.encoding == "utf-8" else base64.b64decode(self.content)


@dataclass(frozen=True, slots=True)
class CheckpointLine:
    """A checkpoint in a list, or one that was just saved; ``redacted`` is how many secrets were taken out of it."""

    id: int
    session_id: str
    project: str
    size: int
    saved_at: str
    redacted: int = 0
    warnings: tuple[str, ...] = ()


def as_content(data: bytes) -> tuple[Literal["utf-8", "base64"], str]:
    """Bytes as JSON can hold them."""
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return "base64", base64.b64encode(data).decode()
    return ("base64", base64.b64encode(data).decode()) if "\0" in text else ("utf-8", text)
