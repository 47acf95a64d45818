"""What the tests of several doors share."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.settings import Settings
from tests.embedders import Endpoint, endpoint


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


@pytest.fixture
def served(monkeypatch: pytest.MonkeyPatch) -> Iterator[Endpoint]:
    """An endpoint that is the embedder of every command and server."""
    with endpoint() as found:
        monkeypatch.setenv("ENGRAM_EMBEDDER", found.setting)
        yield found


@pytest.fixture
def editor(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The program that is $EDITOR; a test writes what it does to the path in ``argv[1]``."""
    script = tmp_path / "editor.py"
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.setenv("EDITOR", f"{sys.executable} {script}")
    return script
