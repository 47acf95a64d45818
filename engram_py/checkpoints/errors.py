"""Refusals of saving and loading a checkpoint."""

from __future__ import annotations

from engram_py.checkpoints.values import LIMIT_BYTES
from engram_py.doors import call
from engram_py.errors import InvalidInputError, NotFoundError

_SHOWN_CHARS = 80


class CheckpointTooLargeError(InvalidInputError):
    code = "checkpoint_too_large"

    def __init__(self) -> None:
        super().__init__(
            f"the checkpoint has more than {LIMIT_BYTES:,} bytes; nothing was saved",
            hint="save less of the state, or keep it in a file and save its path",
        )


class CheckpointSecretError(InvalidInputError):
    code = "checkpoint_secret"

    def __init__(self, count: int) -> None:
        self.count = count
        super().__init__(
            f"the checkpoint holds {count} secret or private part(s), and is no JSON without them; nothing was saved",
            hint="take them out and save it again",
        )


class CheckpointNotFoundError(NotFoundError):
    code = "checkpoint_not_found"

    def __init__(self, where: str) -> None:
        self.where = where[:_SHOWN_CHARS]
        super().__init__(f"no checkpoint of {self.where}", hint=f"{call('checkpoints')} lists those there are")
