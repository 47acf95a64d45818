"""What orders and reports are given: what their words name together, or what goes by the one thing they name."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from tests.context.prompting import given, nothing

KEPT = {
    "webhook": Draft("Fixed double mail after Stripe retried", "Twice.", "bugfix", topic_key="bug/stripe-retries"),
    "methods": Draft("PayPal goes through Stripe's element", "No own integration.", "decision"),
    "shrinker": Draft("R8 stripped the serializers", "Only release builds, so debug tests never saw it.", "bugfix"),
    "scan": Draft("Scan timeout is 1500 ms", "Then it is yellow.", "decision", topic_key="decision/scan-timeout"),
    "window": Draft("Window of repeated telegrams", "Now 400 ms.", "decision", topic_key="decision/dedupe-window"),
    "slim": Draft("Slim CI for dbt", "Only modified models.", "decision"),
    "stage": Draft("Two warehouses", "MEDIUM was no faster for dbt.", "decision"),
    "length": Draft("Vehicle length is entered in centimetres and rounded up to metres", "Trailers too.", "pattern"),
    "codes": Draft("Short codes on tickets", "The pier scanners missed long ones in rain.", "decision"),
}
ORDERED = [
    ("add a stripe test", {"webhook", "methods"}),
    ("write a test for stripe", {"webhook", "methods"}),
    ("fix the stripe client", {"webhook"}),
    ("update the scan screen", {"scan"}),
    ("write a test for dedupe with two probes", {"window"}),
    ("bump dbt", {"slim"}),
    ("set vehicle length limit", {"length"}),
    ("the pier scanners miss codes when it rains", {"codes"}),
]
NOTHING = [
    "write a test for the parser",
    "write a poem about stripe codes",
    "add a spinner to the scan history button",
    "update kotlin to 2.1",
    "set the table for four",
    "rename the vehicle type",
    "strip the whitespace of each line",
    "the pier closes when a storm rises",
]


@pytest.fixture
def ids(app: Engram) -> dict[str, int]:
    return {name: app.save(one).id for name, one in KEPT.items()}


@pytest.mark.parametrize(("prompt", "names"), ORDERED)
def test_an_order_gets_what_its_words_name(app: Engram, ids: dict[str, int], prompt: str, names: set[str]) -> None:
    assert set(given(app, prompt)) == {ids[name] for name in names}
    assert not nothing(app, prompt)


@pytest.mark.parametrize("prompt", NOTHING)
def test_an_order_of_which_one_word_stands_somewhere_gets_nothing(
    app: Engram, ids: dict[str, int], prompt: str
) -> None:
    assert set(given(app, prompt)) == set()


def test_of_many_about_a_thing_an_order_gets_those_with_most_of_its_words(app: Engram) -> None:
    for number in range(4):
        app.save(Draft(f"Scan number {number}", "Of the deck.", "decision", topic_key=f"decision/scan-{number}"))
    best = app.save(Draft("Scan badge", "It is on the screen.", "decision", topic_key="decision/scan-badge")).id
    for number in range(4, 8):
        app.save(Draft(f"Scan number {number}", "Of the deck.", "decision", topic_key=f"decision/scan-{number}"))

    found = app.contexts.assemble(query="update the scan screens").sections[-1].items

    assert len(found) <= 3
    assert best in given(app, "update the scan screens")
