"""The doors through which a set gets into a memory: order, sessions, times, and what is kept between runs."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from bench import memories
from bench.corpus import Corpus
from bench.datasets import load
from bench.filling import fill
from bench.keeping import fingerprint, kept


def rows_of(data_dir: Path, sql: str) -> list[tuple[Any, ...]]:
    with closing(sqlite3.connect(data_dir / "engram.db")) as database:
        return database.execute(sql).fetchall()


def test_an_import_keeps_the_order_the_sessions_and_the_times(sets: Path, folder: Path, tmp_path: Path) -> None:
    dataset = load("locomo-turns", sets)
    memories.import_into(tmp_path / "filled", folder, dataset)

    rows = rows_of(tmp_path / "filled", "select sync_id, project, session_id, created_at from observations order by id")
    assert [row[:3] for row in rows] == [
        (memories.sync_id(memory.key), memory.project, memory.session) for memory in dataset.memories
    ]
    assert [str(row[3])[:19] for row in rows] == [
        memory.created_at.strftime("%Y-%m-%dT%H:%M:%S") for memory in dataset.memories if memory.created_at
    ]


def test_memories_without_a_time_are_of_one_age(sets: Path, folder: Path, tmp_path: Path) -> None:
    memories.import_into(tmp_path / "filled", folder, load("xquad", sets))

    assert rows_of(tmp_path / "filled", "select count(distinct created_at) from observations") == [(1,)]


@pytest.mark.soak
def test_saving_keeps_the_order_and_gives_what_has_no_title_its_key(sets: Path, folder: Path, tmp_path: Path) -> None:
    dataset = load("xquad", sets)
    keys = memories.save_into(tmp_path / "saved", folder, dataset)

    rows = rows_of(tmp_path / "saved", "select sync_id, title, session_id from observations order by id")
    assert [keys[str(row[0])] for row in rows] == [memory.key for memory in dataset.memories]
    assert [row[1:] for row in rows] == [(memory.key, memory.session) for memory in dataset.memories]


def test_a_kept_memory_is_used_again_until_what_fills_it_changes(tmp_path: Path) -> None:
    filled: list[str] = []

    def fill_with(name: str) -> Path:
        def into(data_dir: Path) -> None:
            data_dir.mkdir()
            (data_dir / "engram.db").write_text(name, encoding="utf-8")
            filled.append(name)

        return kept(tmp_path / "store", "tiny", name, into)

    for name in ("one", "one", "two"):
        home = fill_with(name)

    assert filled == ["one", "two"]
    assert (home / "engram.db").read_text(encoding="utf-8") == "two"


def test_a_filling_that_stops_halfway_leaves_nothing_to_use(tmp_path: Path) -> None:
    def halfway(data_dir: Path) -> None:
        data_dir.mkdir()
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        kept(tmp_path / "store", "tiny", "one", halfway)

    assert list((tmp_path / "store").iterdir()) == []


def test_a_folder_that_is_not_ours_is_never_replaced(tmp_path: Path) -> None:
    mine = tmp_path / "store" / "tiny"
    mine.mkdir(parents=True)
    (mine / "thesis.txt").write_text("years of work", encoding="utf-8")

    with pytest.raises(OSError):
        kept(tmp_path / "store", "tiny", "one", lambda data_dir: data_dir.mkdir())

    assert (mine / "thesis.txt").read_text(encoding="utf-8") == "years of work"


def test_a_fingerprint_follows_the_set_and_the_code() -> None:
    names = {fingerprint([], "a"), fingerprint([], "b"), fingerprint(["migrations/*.sql"], "a")}

    assert len(names) == 3


def test_a_memory_that_twenty_projects_share_gives_each_a_twentieth(folder: Path, tmp_path: Path) -> None:
    count = fill(tmp_path / "spread", folder, Corpus.load().many(799), projects=20)

    shares = dict(rows_of(tmp_path / "spread", "select project, count(*) from observations group by project"))
    assert count == 800
    assert len(shares) == 20
    assert set(shares.values()) <= {39, 40, 41}
    mixed = "select session_id from observations group by session_id having count(distinct project) > 1"
    assert rows_of(tmp_path / "spread", mixed) == []
