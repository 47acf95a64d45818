"""Which words of a question or an order say what is wanted, and whether a memory holds enough of them."""

from __future__ import annotations

import pytest

from engram_py.context.gate.questions import match_question, question_in, words_answered


@pytest.mark.parametrize(
    ("prompt", "words", "needed"),
    [
        ("which port does the MQTT broker listen on?", ["port", "mqtt", "broker", "listen"], 3),
        ("when do signing keys rotate", ["signing", "keys", "rotate"], 2),
        ("wie groß darf der DB-Pool sein?", ["groß", "db", "pool"], 2),
        ("quelle est la taille du pool de connexions", ["taille", "pool", "connexions"], 2),
        ("please, how many retries does the mailer make?", ["retries", "mailer"], 2),
        ("how do I unlock the terraform state?", ["unlock", "terraform", "state"], 3),
        ("rotate the signing keys", ["signing", "keys"], 2),
        ("please write a test for the retry of the mailer", ["retry", "mailer"], 2),
        ("the pier scanners miss codes when it rains", ["pier", "scanners", "miss", "codes", "rains"], 5),
        ("kann ich den Kassenimport parallel starten?", ["kassenimport", "parallel", "starten"], 3),
        ("how are fares rounded?", ["fares", "rounded"], 2),
    ],
)
def test_a_question_and_an_order_are_the_words_that_say_what_it_is(prompt: str, words: list[str], needed: int) -> None:
    question = question_in(prompt)

    assert question is not None
    assert (question.words, question.needed) == (words, needed)


@pytest.mark.parametrize(
    "prompt",
    [
        "",
        "rotate the keys",
        "write a poem about boarding passes",
        "two words",
        "what is a boarding pass?",
        "was ist ein Datenbank Index?",
        "what is the difference between a pool and a queue?",
        "what does exit code 137 mean in docker?",
        "translate 'where is the broker port?' into German",
        "what is this?",
        "how does one sort a list",
        "why?",
        "which of these nine words " + " ".join(f"word{letter}" for letter in "abcdefghi") + " is right?",
    ],
)
def test_a_definition_and_what_has_one_word_or_many_is_not_looked_for(prompt: str) -> None:
    assert question_in(prompt) is None


@pytest.mark.parametrize(
    ("prompt", "title", "content", "held"),
    [
        ("which port does the MQTT broker listen on?", "Broker certificate", "mill-mqtt, port 8883.", 3),
        ("what does the CSV export write?", "CsvManifestExport", "Writes semicolons.", 3),
        ("who reviews baseline ruler changes?", "Baseline ruler is frozen since 11 November", "Ask Maren.", 2),
        (
            "who reviews baseline ruler changes?",
            "Baseline of the ruler blocks every western gatehouse window",
            "Ask Maren.",
            0,
        ),
        ("which port does the MQTT broker listen on?", "Certificates", "mill-mqtt broker, port 8883.", 0),
        ("how do vacuum pumps work?", "Vacuum pump stalls under two cups", "The inverter trips.", 0),
        ("how is the vacuum pump cleaned?", "Vacuum pump", "Is cleaned with soap.", 3),
    ],
)
def test_a_memory_answers_that_holds_nearly_all_of_it_and_goes_by_one_of_the_words(
    prompt: str, title: str, content: str, held: int
) -> None:
    question = question_in(prompt)

    assert question is not None
    assert len(words_answered(question, title, content)) == held


def test_words_are_looked_for_together_with_a_rare_one_and_never_as_syntax() -> None:
    question = question_in("which port or pump near?")

    assert question is not None
    groups = '(("port" AND "pump") OR ("pump" AND "near"))'
    names = "title topic_key aliases"
    assert match_question(question, ["pump"]) == (
        f'({{{names} terms}} : ("port" OR "pump" OR "near") AND {groups}) OR ({{{names}}} : {groups})'
    )
