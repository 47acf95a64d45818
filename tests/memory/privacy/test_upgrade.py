"""A memory of the version before signatures keeps whose every row is."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.database import migrations
from engram_py.base.settings import Settings
from tests.base.database.files import make_of_schema
from tests.support import FakeClock

_BEFORE = [file.stem for file in migrations.migration_files()].index("0041_signatures")
_SESSION = (
    "insert into sessions (id, project, directory, started_at, updated_at, clock) values ('s', ?, '', '', '', '')"
)
_ROW = """
insert into observations (sync_id, session_id, project, scope, type, title, content, content_hash, arrival, created_at,
    updated_at, clock)
values (?, 's', ?, 'project', 'decision', ?, 'text', '', ?, '2026-01-01T00:00:00.000Z', '2026-01-01T00:00:00.000Z', '')
"""
_ARRIVALS = [
    (1, "import", "old.json", "2026-01-01"),
    (2, "import", "other.json", None),
    (3, "git:1", "~Bob", "2026-01-01"),
    (4, "git:1", "*", "2026-01-01"),
    (5, "git:2", "~Mallory", None),
]


@pytest.fixture
def upgraded(data_dir: Path, clock: FakeClock) -> Engram:
    make_of_schema(data_dir / "engram.db", _BEFORE)
    with closing(sqlite3.connect(data_dir / "engram.db")) as connection, connection:
        for project in ("widgets", "payroll"):
            connection.execute(
                "insert into projects (name, display_name, created_at, updated_at, clock) values (?, ?, '', '', '')",
                (project, project),
            )
        connection.execute(_SESSION, ("widgets",))
        connection.executemany("insert into arrivals (id, source, author, name, trusted_at) values (?, ?, ?, ?, ?)", [
            (number, source, author, author.strip("~"), at) for number, source, author, at in _ARRIVALS
        ])  # fmt: skip
        rows = [("own", None), ("mine", 1), ("unasked", 2), ("bob", 3), ("mallory", 5)]
        connection.executemany(_ROW, [(f"obs-{title}", "widgets", title, arrival) for title, arrival in rows])
    return Engram(settings=Settings(data_dir, clock=clock), directory=data_dir, project="widgets")


def test_own_rows_stay_own_trusted_ones_the_projects_and_the_rest_unchecked(upgraded: Engram) -> None:
    with upgraded as app:
        found = {
            row.title: (row.unchecked, row.author) for row in app.browsing.recent("widgets", newest=True, limit=10)
        }

    assert found == {
        "own": (None, None),
        "mine": (None, None),  # an import that was trusted was said to be one's own
        "unasked": ("import\nother.json", "other.json"),
        "bob": (None, "Bob"),
        "mallory": ("git:2\nMallory", "Mallory"),
    }


def test_who_writes_next_into_a_trusted_source_is_trusted_where_it_was_and_nowhere_else(upgraded: Engram) -> None:
    with upgraded as app:
        trusted = {(one.author, project) for one in app.trust.arrivals().items for project in one.trusted_in}
        assert trusted == {("~Bob", "widgets")}
        assert app.trust.is_decided("git:1", "widgets")
        assert not app.trust.is_decided("git:1", "payroll")
