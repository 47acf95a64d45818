"""Questions in which no cue is heard, about what this memory knows well."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from tests.context.prompting import given, nothing

KEPT = [
    Draft("Monthly credit quota is 450", "The monitor suspends at 100 %. Finance wants a mail at 80 %.", "config"),
    Draft("Certificate of the broker expires in February", "mill-mqtt, port 8883, issued by the plant.", "config"),
    Draft("Signing keys rotate every 90 days", "verify() takes a list of public keys.", "config"),
    Draft("Lint baseline is frozen since 11 November", "Nobody adds to it without asking Maren.", "policy"),
    Draft("Double confirmation after a retried webhook", "The event came twice; both confirmed.", "bugfix"),
    Draft("Only the query builder", "Lazy references fired N+1 queries.", "decision", aliases=("ORM",)),
    Draft("Terraform state stays locked", "Unlock it by hand, after a look into the table.", "gotcha"),
    Draft("Schrottpreise kommen als cp1252", "Der Einkauf schickt montags eine Datei mit Dezimalkomma.", "gotcha"),
    Draft("La liste des passagers part avant le départ", "Trente minutes, au bureau du port.", "policy"),
]
ASKED = [
    ("what is the monthly credit quota?", 0),
    ("which port does the MQTT broker listen on?", 1),
    ("when do signing keys rotate", 2),
    ("who reviews lint baseline changes?", 3),
    ("why did the webhook confirm twice?", 4),
    ("Warum nutzen wir kein ORM?", 5),
    ("how do I unlock the terraform state?", 6),
    ("wann kommen die Schrottpreise mit Dezimalkomma?", 7),
    ("quand part la liste des passagers ?", 8),
]
NOTHING = [
    "how do I reverse a list in python?",
    "what is a closure?",
    "which port does postgres use by default?",
    "what is the difference between a broker and a queue?",
    "how do signing ceremonies work?",
    "how do I unlock a phone?",
    "who won the quota debate in 2014?",
    "what is the weather at the port?",
    "wie sortiere ich eine Liste in Kotlin?",
    "quel port utilise redis ?",
    "is it safe to delete this?",
    "what should I cook for five passengers?",
]


@pytest.fixture
def ids(app: Engram) -> list[int]:
    return [app.save(one).id for one in KEPT]


@pytest.mark.parametrize(("prompt", "place"), ASKED)
def test_a_question_gets_the_memory_that_holds_nearly_all_of_it(
    app: Engram, ids: list[int], prompt: str, place: int
) -> None:
    assert given(app, prompt) == [ids[place]]
    assert not nothing(app, prompt)


@pytest.mark.parametrize("prompt", NOTHING)
def test_a_question_about_programming_or_the_world_gets_nothing(app: Engram, ids: list[int], prompt: str) -> None:
    assert given(app, prompt) == []
    assert nothing(app, prompt)


def test_words_that_every_memory_has_are_no_answer_where_the_rare_one_is_missing(app: Engram) -> None:
    for number in range(60):
        app.save(Draft(f"Queue and port {number}", f"The limit of port {number} is {number}.", "config"))

    assert given(app, "what is the limit of the port in zeppelin?") == []
    assert nothing(app, "what is the limit of the port in zeppelin?")


def test_a_question_about_a_time_of_which_nothing_is_known_gets_nothing_unless_only_the_time_is_asked(
    app: Engram,
) -> None:
    app.episodes.summarize("Goal: the parser.", session_id="s-1")

    assert app.contexts.assemble(query="what did the whale eat in May 2020?").sections[-1].items == ()
    assert [item.id for item in app.contexts.assemble(query="what was decided in May 2020?").sections[-1].items] == [
        "s-1"
    ]
