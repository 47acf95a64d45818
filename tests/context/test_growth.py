"""What a session's start and the counts cost does not grow with the memory: steps of SQLite are counted, not time."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.settings import Settings

SMALL, LARGE = 1_000, 20_000

# One row of each kind for each number, of the ways in which a memory grows.
_ROWS = """
with recursive n (i) as (select 1 union all select i + 1 from n where i < :rows)
insert into observations (sync_id, session_id, project, scope, type, title, content, topic_key, origin, lifecycle,
    pinned, content_hash, last_seen_at, created_at, updated_at, clock)
select 'obs-' || i, {session}, 'widgets', {scope}, {type}, 'Title ' || i, 'Text ' || i, null, 'user', {lifecycle},
    {pinned}, 'hash ' || i, {at}, {at}, {at}, :clock
from n
"""
_SESSIONS = """
with recursive n (i) as (select 1 union all select i + 1 from n where i < :rows / 10 + 1)
insert into sessions (id, project, started_at, updated_at, clock)
select 's-' || (i - 1), 'widgets', {at}, {at}, :clock from n
"""
_PROMPTS = """
with recursive n (i) as (select 1 union all select i + 1 from n where i < :rows / 10)
insert into user_prompts (sync_id, session_id, project, content, created_at, clock)
select 'prompt-' || i, 's-' || i, 'widgets', 'Prompt ' || i, {at}, :clock from n
"""
_AT = "strftime('%Y-%m-%dT%H:%M:%fZ', '2026-01-01', '+' || i || ' minutes')"
_PLAIN = {
    "session": "'s-' || (i / 10)",
    "scope": "'project'",
    "type": "substr('decisionbugfix  pattern ', 8 * (i % 3) + 1, 8)",
    "lifecycle": "'active'",
    "pinned": "0",
    "at": _AT,
}
KINDS = {
    "plain": {},
    "one-session": {"session": "'s-0'"},
    "notes": {"type": "'note'"},
    "summaries": {"type": "iif(i % 10, 'decision', 'session_summary')"},
    "shared": {"scope": "'global'"},
    "personal": {"scope": "'personal'"},
    "pinned": {"pinned": "iif(i % 5, 0, 1)"},
    "preferences": {"type": "'preference'", "scope": "'personal'"},
}
ASKED: dict[str, Callable[[Engram], object]] = {
    "session-start": lambda app: app.contexts.assemble(mode="session", unasked=True),
    "context": lambda app: app.contexts.assemble(mode="session"),
    "stats": lambda app: app.statistics.count(),
    "stats-of-a-project": lambda app: app.statistics.count("widgets"),
    "a-session-begins": lambda app: app.sessions.start("agent-1", directory=str(app.store.path.parent)),
}


def filled(folder: Path, rows: int, **kind: str) -> Engram:
    app = Engram(settings=Settings(folder), directory=folder.parent, project="widgets")
    with app.store.transaction():
        app.projects.for_write(None)
        for sql in (_SESSIONS, _ROWS, _PROMPTS):
            app.store.execute(sql.format(**{**_PLAIN, **kind}), rows=rows, clock=app.journal.stamp())
    return app


def steps(app: Engram, ask: Callable[[Engram], object]) -> int:
    """How many instructions SQLite runs, in hundreds."""
    ask(app)
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    app.store._connection.set_progress_handler(count, 100)
    app.contexts._answers = type(app.contexts._answers)()
    ask(app)
    app.store._connection.set_progress_handler(None, 0)
    return counted


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_it_takes_no_more_steps_on_a_large_memory(tmp_path: Path, kind: dict[str, str]) -> None:
    small, large = (filled(tmp_path / str(rows) / "data", rows, **kind) for rows in (SMALL, LARGE))
    grown = {name: (steps(small, ask), steps(large, ask)) for name, ask in ASKED.items()}
    assert [name for name, (few, many) in grown.items() if many > 1.3 * few + 10] == [], grown
    small.close()
    large.close()
