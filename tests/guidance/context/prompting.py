"""Prompts to a memory of two weeks, and what each is given."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.guidance.context.values import Context, OwnFile
from engram_py.interfaces.wording import render
from engram_py.memory.sessions.values import Said
from tests.support import FakeClock


def asked(app: Engram, prompt: str, **arguments: Any) -> Context:
    return app.contexts.assemble(query=prompt, **arguments)


def shown(context: Context) -> list[object]:
    """Ids of observations, names of sessions and texts of prompts in the one section besides the overrides."""
    [*_, section] = context.sections
    assert len(context.sections) <= 2
    if section.name == "overrides":
        return []
    return [item.content if isinstance(item, Said | OwnFile) else item.id for item in section.items]


def text(app: Engram, context: Context) -> str:
    return render.text(context, now=app.journal.moment(), door="python")


@pytest.fixture
def kept(app: Engram, clock: FakeClock) -> dict[str, int]:
    """A project's memory of two weeks."""
    clock.now = datetime(2026, 2, 20, 10, tzinfo=UTC)  # a Friday
    ids = {
        "uv": app.save(Draft("Chose uv over poetry", "It resolves in a second.", "decision")).id,
        "login": app.save(Draft("Fixed flaky login test", "The token expired; tests/test_login.py", "bugfix")).id,
        "limiter": app.save(Draft("RateLimiter uses a token bucket", "Ten a second.", "pattern")).id,
        "billing": app.save(Draft("Billing", "Retries thrice, owner Dan.", "summary", topic_key="entity/billing")).id,
        "editor": app.save(Draft("Editor is Neovim", "With tabs.", "preference", scope="personal")).id,
    }
    app.episodes.summarize("## Goal\nCSV parser\n## Next Steps\n- [ ] quoted newlines", session_id="s-parser")
    app.prompts.save("Let the server listen on port 8181.", session_id="s-parser")
    clock.now = datetime(2026, 2, 25, 10, tzinfo=UTC)  # a Wednesday
    app.episodes.summarize("Moved the deploy to Argo CD; it crashed on a missing variable.", session_id="s-deploy")
    clock.now = datetime(2026, 3, 5, 10, tzinfo=UTC)  # a Thursday
    return ids
