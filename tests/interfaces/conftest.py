"""What the tests of several doors share."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.settings import Settings


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture
def here(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder widgets, as the working directory."""
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture
def app(data_dir: Path, folder: Path) -> Iterator[Engram]:
    """An open memory whose calls belong to project widgets, under the machine's clock as commands are."""
    with Engram(settings=Settings(data_dir), directory=folder) as engram:
        yield engram
