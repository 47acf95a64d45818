"""A server over the memory of the folder widgets, asked in this process."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.interfaces.http.application import build_application
from tests.interfaces.http.asking import PORT, Asker


@pytest.fixture
def ask(app: Engram) -> Asker:
    return Asker(build_application(app, port=PORT))


@pytest.fixture
def guarded(app: Engram) -> Asker:
    """The same with the token ``swordfish``."""
    return Asker(build_application(app, port=PORT, token="swordfish"))
