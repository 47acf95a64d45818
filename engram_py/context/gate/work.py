"""Prompts that give work: an order to change what is there, and a report of what goes wrong. Words only.

Nobody asks for memory in them, and what is known of the thing decides how the work is done. So they have to name the
thing: what is found is held to the floor for text that is given unasked as well.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import islice

from engram_py.context.gate.tasks import task
from engram_py.context.gate.verbs import ENGLISH as ENGLISH_VERBS
from engram_py.text import cues
from engram_py.text.prompt_text import UNSPACED_FROM, PromptText, listed
from engram_py.text.stopwords import ENGLISH

# An order names the thing in its first words, a report who reports and what goes wrong; a pasted log comes after.
_NAMED_WITHIN, _REPORTS_WITHIN, _WRONG_WITHIN = 14, 10, 30
_MOST_POLITE = 8
# How many words of it have to tell something: with an article, and without one.
_NAMED, _BARE = 2, 3
_TESTS, _TEST_WITHIN = frozenset(("test", "tests")), 6
# Between one order and the next.
_AND = re.compile(r"[;,]?\s+(?:and then|and|then|und dann|und|y luego|y|et puis|et)\s+|[;,]\s+|[.!]\s+", re.IGNORECASE)
_MOST_PARTS, _LONGEST = 4, 300


def work(heard: PromptText) -> tuple[str, str] | None:
    """The kind of work, ``order``, ``report`` or ``thing``, and what was heard of it; None of every other prompt.

    What is not looked for is cut: the verb of an order, and who reports.
    """
    begins = _after_politeness(heard.words)
    return _order(heard, begins) or _report(heard, begins) or task(heard)


def after_verb(words: Sequence[str]) -> int:
    """Where an order goes on behind its verb, 0 where none begins it. To write a test is work, a poem is not."""
    begins = _after_politeness(words)
    if words[begins : begins + 1] == ["write"] and not _TESTS.isdisjoint(words[begins : begins + _TEST_WITHIN]):
        return begins + 1
    verb = _begins_with(words, begins, f"{ENGLISH_VERBS.changes.strip()}|{cues.MAKES}")
    return begins + len(verb.split()) if verb else 0


def orders_in(text: str) -> list[str]:
    """The parts of an order that tells several things to do; none of what is one, or too long to be such."""
    if len(text) > _LONGEST:
        return []
    parts = [part for part in _AND.split(text) if part.strip()]
    return parts if 1 < len(parts) <= _MOST_PARTS else []


def _order(heard: PromptText, begins: int) -> tuple[str, str] | None:
    for verbs, bare in ((cues.CHANGES, True), (cues.MAKES, False)):
        verb = _begins_with(heard.words, begins, verbs)
        if not verb:
            continue
        end = begins + len(verb.split())
        words = heard.words[end : end + _NAMED_WITHIN]
        names = listed(cues.NAMING)
        telling = _telling(words)
        named = telling >= _NAMED and (any(word in names for word in words) or _has_code(heard.text))
        if named or (bare and telling >= _BARE) or (verb in listed(cues.VERSIONS) and _a_name(words)):
            heard.cut_words(0, end)
            if verb in listed(cues.VERSIONS):
                heard.cut_words(*_new_version(heard.words, end))
            return "order", verb
    return None


def _report(heard: PromptText, begins: int) -> tuple[str, str] | None:
    if not heard.words or heard.words[min(begins, len(heard.words) - 1)] in listed(cues.ASKS_FOR_WORDS):
        return None
    if heard.first(listed(cues.ASKS_FOR_WORDS_ANYWHERE)):
        return None
    phrase, end = _early(heard, cues.REPORTED, _REPORTS_WITHIN)
    if phrase and _telling(heard.words[end:]) >= _NAMED:
        heard.cut_words(0, end)
        return "report", phrase
    phrase, _ = _early(heard, cues.SYMPTOMS, _WRONG_WITHIN)
    if phrase and _telling(heard.words) >= _NAMED:
        return "report", phrase
    return None


def _early(heard: PromptText, phrases: str, within: int) -> tuple[str, int]:
    """The first of ``phrases`` that begins in so many words, and the number of the word after it."""
    for phrase in listed(phrases):
        at = heard.find(phrase)
        if at is not None and at < within:
            return phrase, at + len(phrase.split())
    return "", 0


def _after_politeness(words: Sequence[str]) -> int:
    polite = listed(cues.POLITE)
    return next((at for at, word in enumerate(islice(words, _MOST_POLITE)) if word not in polite), 0)


def _begins_with(words: Sequence[str], begins: int, verbs: str) -> str:
    known = listed(verbs)
    joined = (" ".join(words[begins : begins + count]) for count in (3, 2, 1))
    return next((verb for verb in joined if verb in known), "")


def _has_code(text: str) -> bool:
    """Whether an identifier or a path is named early on: `orders_line` is there already."""
    return any("_" in token or "/" in token or "()" in token for token in text.split()[:_NAMED_WITHIN])


def _new_version(words: Sequence[str], begins: int) -> tuple[int, int]:
    """Where `to 1.26` stands, which nothing here can know yet."""
    for at in range(begins, min(begins + _NAMED_WITHIN, len(words) - 1)):
        end = at + 1
        while words[at] == "to" and end < len(words) and words[end].lstrip("v")[:1].isdigit():
            end += 1
        if end > at + 1:
            return at, end
    return begins, begins


def _a_name(words: Sequence[str]) -> bool:
    """Whether the first word may be what a dependency is called: `go` is, `it` and `3` are not."""
    nothing = listed(cues.EVERYWHERE), listed(cues.POLITE), listed(cues.NAMING), ENGLISH
    return bool(words) and words[0][0].isalpha() and not any(words[0] in one for one in nothing)


def _telling(words: Sequence[str]) -> int:
    """How many different words say what a prompt is about; of a script without blanks two characters are one."""
    nothing = listed(cues.EVERYWHERE), listed(cues.FILLERS), listed(cues.POLITE), ENGLISH
    telling = {word for word in words if not word[0].isdigit() and not any(word in one for one in nothing)}
    return sum(len(word) // 2 if word[0] >= UNSPACED_FROM else 1 for word in telling)
