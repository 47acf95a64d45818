"""What a person decided, said or wants is asked of the memory, whoever it is and however it is asked."""

from __future__ import annotations

from datetime import date

import pytest

from engram_py.context.gate.gate import gate

TODAY = date(2026, 3, 5)


@pytest.mark.parametrize(
    ("prompt", "rest"),
    [
        ("what did Ines decide about the threshold?", "Ines the threshold?"),
        ("remind me what Ines said about int8", "me Ines int8"),
        ("why did Ada Lovelace reject the cache", "Ada Lovelace the cache"),
        ("what did Ines and Joost agree on for releases", "Ines and Joost on for releases"),
        ("what does Joost want for bug fixes", "Joost for bug fixes"),
        ("did Marisol finally approve recharts", "Marisol finally recharts"),
        ("what was Joost's reason against Kafka", "Joost' against Kafka"),
        ("what did they say about the limit", "the limit"),
        ("what did the team decide about the limit", "the limit"),
        ("¿qué decidió Marisol sobre los gráficos?", "¿ Marisol sobre los gráficos?"),
        ("was hat Ines zum Schwellwert gesagt", "Ines zum Schwellwert"),
        ("Pourquoi Ines a refusé le cache", "Ines le cache"),
        ("o que Ana decidiu sobre o cache", "Ana sobre o cache"),
        ("cosa ha deciso Ada per la cache", "Ada per la cache"),
        ("wat heeft Ines besloten over de drempel", "Ines over de drempel"),
        ("что решила Анна про кэш", "Анна про кэш"),
    ],
)
def test_the_name_stands_where_we_would(prompt: str, rest: str) -> None:
    [cue] = gate(prompt, (), today=TODAY)

    assert (cue.section, cue.kind, cue.rest) == ("memories", "reason", rest)


@pytest.mark.parametrize(
    "prompt",
    [
        "what did the docs say about retries",
        "what does this function want",
        "WHAT DID INES DECIDE ABOUT LUNCH",
        "what did I decide",
        "How does Kubernetes schedule pods?",
        "Why did Rome fall?",
        "what Ines",
        "what did",
        "was hat Ines",
    ],
)
def test_where_nobody_is_named_or_nothing_was_said_nothing_is_heard(prompt: str) -> None:
    assert gate(prompt, (), today=TODAY) == ()


def test_a_day_restricts_what_somebody_decided() -> None:
    first, *_ = gate("what did Ines decide last week about the limit", (), today=TODAY)

    assert first.days is not None
    assert (first.kind, first.rest) == ("reason", "Ines the limit")
