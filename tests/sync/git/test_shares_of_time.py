"""What comes with a clone takes its share of the time, and of the space."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

import pytest

from engram_py.sync.git import importer, service
from engram_py.sync.mutation import AppliedBatch, Mutation
from tests.sync.git.conftest import Member, put_chunk


def document(rows: int, *, length: int = 20, first: int = 0) -> dict[str, Any]:
    observations = [
        {
            "sync_id": f"obs-{number:016x}",
            "session_id": "s1",
            "type": "decision",
            "title": f"row {number}",
            "content": f"{number} " + "x" * length,
            "project": "widgets",
            "scope": "project",
            "created_at": "2026-02-01 10:00:00",
            "updated_at": "2026-02-01 10:00:00",
        }
        for number in range(first, first + rows)
    ]
    session = {"id": "s1", "project": "widgets", "directory": "~/w", "started_at": "2026-02-01 10:00:00"}
    return {"sessions": [session], "observations": observations, "prompts": []}


def test_reading_goes_on_where_it_stopped(ada: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importer, "_LONGEST_STEP", 5)
    monkeypatch.setattr(importer, "_FIRST_STEP", 5)
    put_chunk(ada.root, document(12))
    applied: list[int] = []
    apply = ada.app.replica.apply

    def counted(rows: Sequence[Mutation], **told: str) -> AppliedBatch:
        applied.append(len(rows))
        return apply(rows, **told)

    monkeypatch.setattr(ada.app.replica, "apply", counted)

    reads = [ada.sync.read_new(until=time.monotonic()) for _ in range(2)]  # no time: a step each
    last = ada.sync.read_new(until=time.monotonic() + 60)

    assert all(one is None or one.read is None or one.read.more for one in reads)
    assert last is not None
    assert sum(applied) == 13  # the session and the rows, each once
    assert len(ada.titles()) == 12


def test_a_chunk_that_unpacks_to_much_is_left_to_a_reading_that_nobody_waits_for(ada: Member) -> None:
    put_chunk(ada.root, document(120, length=40_000))
    small = put_chunk(ada.root, document(1, first=1000))

    done = ada.sync.read_new(until=time.monotonic() + 60)

    assert done is not None
    assert done.read is not None
    assert (done.read.chunks, done.read.more, ada.titles()) == (1, True, ["row 1000"]), small
    ada.sync.read_rest(until=time.monotonic() + 60)
    assert len(ada.titles()) == 121


def test_what_a_folder_adds_unasked_is_bounded_and_said(ada: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(service, "UNASKED_BYTES", 100_000)
    put_chunk(ada.root, document(100, length=500))
    put_chunk(ada.root, document(100, length=501, first=500))

    ada.sync.read_new(until=time.monotonic() + 60)
    [refusal] = ada.sync.status().refused

    assert len(ada.titles()) == 100
    assert "`engram sync` reads it" in refusal.reason
    assert ada.sync.read_new(until=time.monotonic() + 60) is None  # it is not looked at again
    ada.imported()
    assert len(ada.titles()) == 200
