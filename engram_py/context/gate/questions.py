"""Questions about what a memory knows well: "which port does the broker listen on?". Words only.

A question is answered where one memory holds nearly all of its words, one of them in its title; so is an order without
its verb. How something is done or works is asked of the world more often than of a project: there all words are needed,
as in what neither asks nor orders. What a thing is in general ("what is a closure?") no project says.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations

from engram_py.context.gate.order_subject import order_in
from engram_py.context.gate.titles import telling, telling_words
from engram_py.context.gate.work import after_verb
from engram_py.recall.query.dates import months
from engram_py.recall.query.parse import Word, quote
from engram_py.recall.score.bm25 import idf
from engram_py.recall.score.relevance import Term
from engram_py.recall.score.threshold import BACKGROUND
from engram_py.recall.score.topics import words_held
from engram_py.text import cues
from engram_py.text.derived_terms import derived_terms
from engram_py.text.prompt_text import PromptText, listed

# Of more words every so many would be too many groups to look for; such a prompt says what is meant by other means.
_LEAST, _MOST = 2, 8
# What neither asks nor orders has to have so many, and what may be asked anywhere.
_LEAST_SAID = 3
# Which share of a question a memory has to hold; less where its title is about two of the words, and little else.
_NEARLY, _BY_TITLE = 2 / 3, 0.5
# And which share of what its words tell: of "which port does postgres use by default?" port and default are little,
# where many rows have them and none has postgres.
_TELLING = 0.4
_QUESTION_MARKS = ("?", "？")
_NAMES = "title topic_key aliases"


@dataclass(frozen=True, slots=True)
class Question:
    """The words that say what is asked; ``whole`` where a memory has to hold them all."""

    asked: tuple[Word, ...]
    whole: bool = False

    @property
    def words(self) -> list[str]:
        return [word.text for word in self.asked]

    @property
    def needed(self) -> int:
        """How many of them a memory has to hold."""
        return len(self.asked) if self.whole else max(_LEAST, math.ceil(_NEARLY * len(self.asked)))


def question_in(prompt: str) -> Question | None:
    """None of a prompt that wants a text, or to know what a word means, and of one that says too little or too much."""
    heard = PromptText(prompt)
    polite = listed(cues.POLITE)
    first = next((word for word in heard.words if word not in polite), "")
    if heard.first(listed(cues.ASKS_FOR_WORDS_ANYWHERE)) or (
        first in listed(cues.WANTS_WORDS) and not after_verb(heard.words)
    ):
        return None
    if first in listed(cues.ASKS) or any(mark in heard.text for mark in _QUESTION_MARKS):
        if heard.first(listed(cues.WHAT_IT_IS)):
            return None
        world = heard.first(listed(cues.OF_THE_WORLD))
        certain = world is None or heard.first(listed(cues.AS_IT_IS)) is not None
        return _question(heard.text, whole=world is not None, least=_LEAST if certain else _LEAST_SAID)
    order = order_in(heard)
    if order is not None:
        return _question(order, whole=False)
    return _question(heard.text, whole=True, least=_LEAST_SAID)


def _question(text: str, *, whole: bool, least: int = _LEAST) -> Question | None:
    words = telling_words(text)
    return Question(words, whole) if least <= len(words) <= _MOST else None


def tells(words: Collection[str], terms: Sequence[Term], total: int) -> bool:
    """Whether ``words`` say enough of what is asked: one that nobody ever saw says more than one that many of the
    ``total`` rows have."""
    told = {term.text: idf(term.rows, total + BACKGROUND) for term in terms}
    return sum(told.get(word, 0.0) for word in words) >= _TELLING * sum(told.values())


def match_question(question: Question, rare: Collection[str]) -> str:
    """The FTS5 expression for what may answer: one of the words in a title and enough of them anywhere, or two in a
    title. Of words that stand together one is ``rare``: to look for the others alone costs too much."""
    enough = _together(question, question.needed, rare)
    names = " OR ".join(map(quote, question.words))
    found = f"({{{_NAMES} terms}} : ({names}) AND ({enough}))"
    return found if question.whole else f"{found} OR ({{{_NAMES}}} : ({_together(question, _LEAST, rare)}))"


def _together(question: Question, count: int, rare: Collection[str]) -> str:
    groups = (group for group in combinations(question.words, count) if not set(group).isdisjoint(rare))
    return " OR ".join(f"({' AND '.join(map(quote, group))})" for group in groups)


def words_answered(question: Question, title: str, content: str, *more: str | None) -> list[str]:
    """Which of the words a memory holds, none where these are too few. ``more`` is what else it goes by."""
    words = question.words
    named = words_held(" ".join(filter(None, (title, derived_terms(title), *more))), words)
    if not named:
        return []
    held = [*named, *words_held(content, [word for word in words if word not in named])]
    enough = len(held) >= question.needed or (not question.whole and _by_title(question, title, named))
    return held if enough else []


def _by_title(question: Question, title: str, named: Sequence[str]) -> bool:
    """Whether half of a question, two words at least, is half of a title, but for the day this tells."""
    said = [word for word in telling(PromptText(title).words) if word not in _times()]
    enough = max(_LEAST, _BY_TITLE * len(question.asked), _BY_TITLE * len(said))
    return len(named) >= enough


@cache
def _times() -> frozenset[str]:
    return frozenset((*months(), *listed(cues.SINCE)))
