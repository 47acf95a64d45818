"""Questions about when: kinds that are asked for are held to, a topic stays in the days of all its texts, and a date in
a technical question hides nothing."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from tests.memory import FakeClock


def titles(app: Engram, query: str) -> list[str]:
    return [hit.title for hit in app.searches.search(query).results]


@pytest.fixture
def diary(app: Engram, clock: FakeClock) -> Engram:
    """Two months of work: the clock begins on 1 March 2026. The queue is decided in March and again in April."""
    made = [
        (3, Draft("Chose Redis for the queue", "Streams, one consumer group.", "decision", topic_key="decision/queue")),
        (2, Draft("Fixed the login loop", "The cookie was not renewed.", "bugfix")),
        (1, Draft("Learned how the cache expires", "By the least used key.", "learning")),
        (5, Draft("Chose Tailwind", "Styles are utilities.", "decision")),
        (25, Draft("Chose NATS for the queue", "Redis lost messages.", "decision", topic_key="decision/queue")),
        (1, Draft("Fixed dates in the invoice", "2024-02-29 broke the parser of invoices.", "bugfix")),
    ]
    for days, draft in made:
        clock.advance(days=days)
        app.save(draft)
    clock.advance(days=3)
    return app


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("decisions in March", {"Chose NATS for the queue", "Chose Tailwind"}),
        ("which decisions were made in March 2026?", {"Chose NATS for the queue", "Chose Tailwind"}),
        ("bugs in March", {"Fixed the login loop"}),
        ("what did we decide in March?", {"Chose NATS for the queue", "Chose Tailwind"}),
        ("fixes since 1 April", {"Fixed dates in the invoice"}),
        ("what was learned in March?", {"Learned how the cache expires"}),
        ("decisions in April", {"Chose NATS for the queue"}),
    ],
)
def test_kinds_that_are_asked_for_are_held_to_on_the_days_of_all_texts(
    diary: Engram, query: str, wanted: set[str]
) -> None:
    assert set(titles(diary, query)) == wanted


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("why does the parser fail on 2024-02-29?", "Fixed dates in the invoice"),
        ("login loop on Monday", "Fixed the login loop"),
        ("queue decision last week", "Chose NATS for the queue"),
        ("nats redis lost messages 9 July 2022", "Chose NATS for the queue"),
        ("cookie not renewed yesterday", "Fixed the login loop"),
        ("the may fail case of the login loop", "Fixed the login loop"),
    ],
)
def test_a_date_in_a_technical_question_hides_nothing(diary: Engram, query: str, wanted: str) -> None:
    assert wanted in titles(diary, query)
