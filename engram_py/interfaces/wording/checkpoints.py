"""The words of checkpoints. One that was loaded is its own text, and nothing else."""

from __future__ import annotations

from datetime import datetime

from engram_py.checkpoints.values import Checkpoint, CheckpointLine
from engram_py.interfaces.wording.phrases import Words, age, amount


def _checkpoint(value: Checkpoint, now: datetime) -> str:
    if value.encoding == "utf-8":
        return value.content
    size = amount(value.size, "byte")
    return f"The checkpoint of session {value.session_id} is {size} that are no text; as JSON it comes in base64."


def _line(value: CheckpointLine, now: datetime) -> str:
    saved = age(value.saved_at, now)
    return f"Checkpoint {value.id} of session {value.session_id} in {value.project}: {value.size:,} bytes ({saved})"


WORDS: Words = {Checkpoint: _checkpoint, CheckpointLine: _line}
