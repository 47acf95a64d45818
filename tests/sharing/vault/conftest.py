"""A memory with a vault, whose day is UTC's."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from tests.support import FakeClock


@pytest.fixture
def clock() -> FakeClock:
    return FakeClock(datetime(2026, 1, 2, 5, tzinfo=UTC))


@pytest.fixture
def app(data_dir: Path, folder: Path, clock: FakeClock) -> Iterator[Engram]:
    settings = Settings(data_dir, clock=clock, timezone="UTC")
    with Engram(settings=settings, directory=folder) as engram:
        yield engram


@pytest.fixture
def root(app: Engram, tmp_path: Path) -> Path:
    """The vault of a memory with one row of each kind."""
    app.save(Draft("Use WAL mode", "Readers do not wait.\n\n- neither do writers\n\n```sh\npragma", "decision"))
    app.identity.add("Call me Ada")
    app.facts.add("alice", "Alice works at Acme since spring")
    app.facts.add("alice", "Alice works at Globex these days")
    app.notes.add("Tried the new parser\n## 10:00 it was slow")
    found = tmp_path / "vault"
    app.vault.init(found)
    return found
