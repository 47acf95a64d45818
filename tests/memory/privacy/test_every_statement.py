"""Every statement that reads the text of memories says whose they are."""

from __future__ import annotations

import pkgutil
import re
from collections.abc import Iterator
from importlib import import_module

import engram_py

# Statements that give no text to an agent, and why.
ELSEWHERE = {
    "engram_py.base.database.health.INCOMPLETE_OBSERVATIONS": "the doctor looks for rows without a text",
    "engram_py.upkeep.distill.table.SAVED_SINCE": "compares what was said with what was saved; nothing of it is shown",
    "engram_py.upkeep.evaluation.questions.ANSWERS": "titles of the answers that the user named in their own tests",
    "engram_py.guidance.ledger.citations._TO_SESSION": "titles of what agents were given, for the user",
    "engram_py.guidance.ledger.citations._MOST_CITED": "titles of what agents cited, for the user",
    "engram_py.guidance.ledger.citations._IN_VAIN": "titles of what agents were given and never cited, for the user",
    "engram_py.guidance.ledger.costs._NEVER_USED": "titles that cost tokens and were never used, for the user",
    "engram_py.guidance.ledger.worth._WORTH": "titles with what came of them, for the user",
    "engram_py.upkeep.doctor._RULES": "the doctor explains its checks",
    "engram_py.memory.relations.table._RELATION": "the clauses that are added to it say whose the verdict is",
}
_READS = re.compile(r"\b(?:from|join) observations\b")
_TEXT = re.compile(r"\b(?:title|content)\b")


def statements() -> Iterator[tuple[str, str]]:
    for module in pkgutil.walk_packages(engram_py.__path__, "engram_py."):
        if module.name != "engram_py.__main__":
            for name, value in vars(import_module(module.name)).items():
                for text in texts(value):
                    if "select" in text and _READS.search(text) and _TEXT.search(text):
                        yield f"{module.name}.{name}", text


def texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, (tuple, list, dict)):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


def test_every_statement_that_reads_a_memory_says_whose_it_is_or_gives_no_text_to_an_agent() -> None:
    found = list(statements())
    assert len(found) > 50
    silent = {text: name for name, text in found if "arrival" not in text}
    assert set(silent.values()) <= ELSEWHERE.keys()
