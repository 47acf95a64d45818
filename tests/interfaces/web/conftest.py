"""The page over the memory of the folder widgets, visited in this process."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.interfaces.serve import build_application
from engram_py.interfaces.web.access import Access
from tests.interfaces.http.asking import HOST, PORT, Asker
from tests.interfaces.web.visiting import Visitor


@pytest.fixture
def stranger(app: Engram) -> Visitor:
    """A browser that was not let in."""
    return Visitor(Asker(build_application(app, port=PORT)), f"http://{HOST}")


@pytest.fixture
def visitor(app: Engram, stranger: Visitor) -> Visitor:
    """A browser that came by the link."""
    stranger.look(f"/ui/enter?token={Access(app.settings.data_dir).link_token()}")
    return stranger
