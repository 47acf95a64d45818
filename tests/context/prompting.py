"""What a prompt in which no cue is heard is given, and what the hook knows of it before it opens anything else."""

from __future__ import annotations

from datetime import UTC, datetime

from engram_py import Engram
from engram_py.context.hook_gate import surely_nothing
from engram_py.observations.values import Observation


def given(app: Engram, prompt: str) -> list[int]:
    sections = app.contexts.assemble(query=prompt).sections
    return [item.id for section in sections for item in section.items if isinstance(item, Observation)]


def nothing(app: Engram, prompt: str) -> bool:
    return surely_nothing(app.store, prompt, ["widgets"], datetime(2026, 3, 5, tzinfo=UTC).date())
