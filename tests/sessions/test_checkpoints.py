"""The state of an agent, byte for byte (shared/spec/seed-capabilities.md section 4, rows 41 and 42)."""

from __future__ import annotations

import json

import pytest

from engram_py import Engram
from engram_py.errors import EmptyFieldError
from engram_py.recall.layers import Layered
from engram_py.sessions.checkpoints import KEPT, LIMIT_BYTES
from engram_py.sessions.values import CheckpointNotFoundError, CheckpointSecretError, CheckpointTooLargeError
from tests.memory import FakeClock, Opener, rows_of

STATE = b'{"step": 3,\r\n  "notes": "caf\xc3\xa9  ",\t"open": ["zebra"]}\n\n'


def loaded(app: Engram, session: str | None = None) -> bytes:
    return app.checkpoints.load(session_id=session).data


def test_row_41_the_newer_of_a_session_comes_back_byte_for_byte(app: Engram) -> None:
    app.checkpoints.save(b'{"step": 2}', session_id="s1")
    app.checkpoints.save(STATE, session_id="s1")
    assert loaded(app, "s1") == STATE
    with pytest.raises(CheckpointNotFoundError, match="session s2"):
        app.checkpoints.load(session_id="s2")


@pytest.mark.parametrize("data", [b"\x00", b"\xff\xfe\x00state", b"\n", "ünï\0".encode(), b"x" * LIMIT_BYTES])
def test_bytes_that_are_no_text_come_back_as_well(app: Engram, data: bytes) -> None:
    app.checkpoints.save(data, session_id="s1")
    assert loaded(app, "s1") == data


def test_row_42_no_search_and_no_context_finds_one(app: Engram) -> None:
    app.checkpoints.save(STATE, session_id="s1")
    assert app.search("zebra").results == ()
    assert app.searches.prompts("zebra") == ()
    everything = app.search_in("all", "zebra")
    assert isinstance(everything, Layered)
    assert not any(found.results for found in everything.layers.values())
    assert not app.transcripts.turns("s1")
    assert not any(section.items for section in app.contexts.assemble(query="zebra", mode="cascade").sections)
    mutations = app.store.rows("select * from sync_mutations")
    assert "zebra" not in json.dumps([[str(value) for value in row] for row in mutations])


def test_without_a_session_the_latest_of_the_project_is_loaded(app: Engram, open_memory: Opener) -> None:
    app.checkpoints.save(b"first", session_id="s1")
    app.checkpoints.save(b"second", session_id="s2")
    other = open_memory(project="gadgets")
    other.checkpoints.save(b"theirs")
    assert (loaded(app), loaded(app, "s1"), loaded(other)) == (b"second", b"first", b"theirs")
    with pytest.raises(CheckpointNotFoundError, match="gizmos"):
        open_memory(project="gizmos").checkpoints.load()


def test_the_same_again_is_kept_once_and_no_more_than_ten_of_a_session(app: Engram, clock: FakeClock) -> None:
    for _ in range(2):
        app.checkpoints.save(STATE, session_id="s1")
    assert rows_of(app, "checkpoints") == 1
    for number in range(KEPT + 3):
        app.checkpoints.save(f"{number}".encode(), session_id="s1")
    app.checkpoints.save(b"other", session_id="s2")
    assert rows_of(app, "checkpoints") == KEPT + 1
    assert [line.session_id for line in app.checkpoints.listed().items] == ["s2", *["s1"] * KEPT]
    assert loaded(app, "s1") == f"{KEPT + 2}".encode()


def test_what_is_empty_or_too_large_is_refused(app: Engram) -> None:
    with pytest.raises(EmptyFieldError):
        app.checkpoints.save(b"")
    with pytest.raises(CheckpointTooLargeError, match="1,048,576"):
        app.checkpoints.save(b"x" * (LIMIT_BYTES + 1))
    assert rows_of(app, "checkpoints") == 0


@pytest.mark.parametrize("tail", [b"", b"\xff\x00"])
def test_a_secret_never_reaches_the_file_and_the_answer_says_so(app: Engram, tail: bytes) -> None:
    token = b"ghp_" + b"a1B2" * 9
    saved = app.checkpoints.save(b'{"token": "' + token + b'", "step": 3}' + tail)
    assert saved.redacted == 1
    assert "redacted" in saved.warnings[0]
    assert token not in loaded(app)
    assert loaded(app).endswith(b'"step": 3}' + tail)
    assert token not in app.store.path.read_bytes()


def test_json_that_would_be_none_without_its_secret_is_refused(app: Engram) -> None:
    with pytest.raises(CheckpointSecretError):
        app.checkpoints.save(b'{"note": "<private>the rest", "step": 3}')


def test_a_checkpoint_goes_with_what_is_cleared(app: Engram) -> None:
    for what in ("project", "everything"):
        app.checkpoints.save(STATE, session_id="s1")
        app.clearing.clear(what, project="widgets" if what == "project" else None)
        assert rows_of(app, "checkpoints") == 0
    app.checkpoints.save(STATE, session_id="s1")
    app.sessions.delete("s1")
    assert rows_of(app, "checkpoints") == 0


def test_a_session_that_moves_to_another_project_takes_its_checkpoints(app: Engram) -> None:
    app.checkpoints.save(STATE, session_id="s1")
    app.merging.merge(["widgets"], "gadgets")
    assert app.checkpoints.load(project="gadgets").data == STATE
