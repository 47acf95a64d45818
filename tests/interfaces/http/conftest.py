"""A server over the memory of the folder widgets, asked in this process."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.base.dataclass import replace
from engram_py.interfaces.http.application import build_application
from tests.interfaces.http.asking import PORT, Asker, asker


@pytest.fixture
def ask(app: Engram) -> Asker:
    return asker(app)


@pytest.fixture
def guarded(app: Engram) -> Asker:
    """Somebody who shows nothing to a server with the token ``swordfish``."""
    app.settings = replace(app.settings, http_token="swordfish")
    return Asker(build_application(app, port=PORT))
