"""Older texts: none is lost, and all can be read."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.observations.errors import ObservationNotFoundError
from engram_py.observations.values import Change
from tests.memory import FakeClock, draft


def test_every_overwritten_text_becomes_a_version_with_its_own_date(app: Engram, clock: FakeClock) -> None:
    saved = app.save(draft("One.", title="First", topic_key="auth/tokens"))
    clock.advance(hours=1)
    app.save(draft("Two.", title="Second", topic_key="auth/tokens"))
    clock.advance(hours=1)
    app.observations.update(saved.id, Change(content="Three."))

    detail = app.get(saved.id, history=True)
    assert (detail.observation.title, detail.observation.content) == ("Second", "Three.")
    assert [(old.version, old.title, old.content, old.created_at) for old in detail.versions] == [
        (2, "Second", "Two.", "2026-03-01T11:00:00.000Z"),
        (1, "First", "One.", "2026-03-01T10:00:00.000Z"),
    ]
    assert (detail.version_total, detail.next_cursor) == (2, None)


def test_history_is_left_out_unless_asked_for_and_still_counted(app: Engram) -> None:
    saved = app.save(draft("One.", topic_key="auth/tokens"))
    app.save(draft("Two.", topic_key="auth/tokens"))
    detail = app.get(saved.id)
    assert (detail.versions, detail.version_total) == ((), 1)


@pytest.mark.parametrize(("older", "sizes"), [(120, [50, 50, 20]), (50, [50])], ids=["three-pages", "one-that-is-full"])
def test_a_long_history_is_read_in_pages_without_a_gap(app: Engram, older: int, sizes: list[int]) -> None:
    saved = app.save(draft("text 0", topic_key="auth/tokens"))
    for number in range(1, older + 1):
        app.save(draft(f"text {number}", topic_key="auth/tokens"))

    pages: list[int] = []
    texts: list[str] = []
    cursor = None
    while True:
        detail = app.get(saved.id, history=True, cursor=cursor)
        pages.append(len(detail.versions))
        texts += [old.content for old in detail.versions]
        cursor = detail.next_cursor
        if cursor is None:
            break

    assert pages == sizes
    assert texts == [f"text {number}" for number in reversed(range(older))]
    assert detail.version_total == older


@pytest.mark.parametrize(("cursor", "found"), [(0, 0), (-(2**70), 0), (2**70, 1)])
def test_a_cursor_beyond_every_number_finds_an_empty_page_or_the_first(app: Engram, cursor: int, found: int) -> None:
    saved = app.save(draft("One.", topic_key="auth/tokens"))
    app.save(draft("Two.", topic_key="auth/tokens"))
    assert len(app.get(saved.id, history=True, cursor=cursor).versions) == found


@pytest.mark.parametrize("unusable", [0, -1, 2**63])
def test_an_id_that_cannot_be_one_is_refused(app: Engram, unusable: int) -> None:
    with pytest.raises(InvalidArgumentError) as refusal:
        app.get(unusable)
    assert refusal.value.argument == "id"


def test_an_id_nobody_has_is_not_found(app: Engram) -> None:
    with pytest.raises(ObservationNotFoundError) as refusal:
        app.get(2**63 - 1)
    assert refusal.value.deleted_at is None
