"""An observation alone, and two whose titles resemble each other, so that the second asks about the first."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.memory.observations.values import Saved
from tests.support import draft

OLD, NEW = "Token storage backend choice", "Token storage backend replaced"


def pair(app: Engram) -> tuple[Saved, Saved]:
    return app.save(draft("Redis.", title=OLD)), app.save(draft("Postgres.", title=NEW))


@pytest.fixture
def saved(app: Engram) -> Saved:
    """One observation alone."""
    return app.save(draft("Fifteen minutes."))
