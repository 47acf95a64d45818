"""The memory of another machine."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.settings import Settings
from tests.support import FakeClock


@pytest.fixture
def other(tmp_path: Path, folder: Path, clock: FakeClock) -> Iterator[Engram]:
    """An empty memory with a file of its own."""
    with Engram(settings=Settings(tmp_path / "other", clock=clock), directory=folder) as memory:
        yield memory
