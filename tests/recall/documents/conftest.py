"""Repositories with a history worth asking, and a memory in them."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from tests.memory.anchors.repositories import Repo
from tests.support import Git, Opener, RepoMaker, app, clock, git, make_repo, open_memory

__all__ = ["app", "clock", "git", "history", "make_repo", "open_memory"]

REASON = """Retry uploads only on connection errors

The payment provider answers 409 to a second upload of the same invoice. A blind
retry doubled invoices for three customers in May.

Signed-off-by: Ada <ada@example.org>"""


@pytest.fixture
def history(make_repo: RepoMaker, git: Git) -> Repo:
    """A repository whose second commit gives a reason, with a decision record."""
    repo = Repo(make_repo("work/widgets"), git)
    repo.commit(REASON, {"src/upload.py": ["retry = False"]})
    repo.commit("typo", {"src/login.py": ["login = 0"]})
    return repo


@pytest.fixture
def indexed(open_memory: Opener, history: Repo) -> Engram:
    """A memory in that repository which has read its documents."""
    app = open_memory(history.root)
    app.documents.update()
    return app


def write(root: Path, path: str, text: str) -> Path:
    file = root / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text, encoding="utf-8")
    return file


def sources(app: Engram, query: str, **options: object) -> list[str]:
    """The documents that a search of documents finds."""
    return [hit.source for hit in app.documents.search(query, **options).results]  # type: ignore[arg-type]
