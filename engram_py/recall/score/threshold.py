"""Whether what was found is an answer at all: how much of the question it covers, by what its words tell."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

from engram_py.recall.score.bm25 import idf
from engram_py.recall.score.relevance import Scored, Term

# Measured on LoCoMo (bench/recall.py, foreign): each question asked in its own and in two other conversations, one
# memory per turn and one per session. With idf ** 0.3 one floor serves both sizes of memory; with idf itself twice as
# many foreign questions are answered. At .44 foreign questions answered .14 and .14, own ones kept .99 and .99; at .45
# .11 and .12, but of 28 questions of somebody who tried it one more was not answered; at .42 .16 and .18.
DAMPING = 0.3
FLOOR = 0.44
UNASKED_FLOOR = 0.6
# A long question in other words than the text's own covers little of itself, and what it covers still says enough:
# four of the rarest possible words for each whole floor.
ENOUGH = 4.0
# A question of up to six words needs the whole floor; in many words, or in the pairs of a script without blanks, the
# text's own words are a smaller part. Least: what a pasted paragraph needs.
SHORT_WORDS = 6
LEAST_EASE = 0.4
# Of two words of which one was never seen the other covers about half, whatever it is: of "is there a mobile app" every
# app. That is an answer where a title has it: what it names is what that memory is about. Without this rule foreign
# questions answered .136 and .141 instead of .121 and .132, and of a user's 25 questions without an answer 11 instead
# of 7; of 63 with one he got one less, which stood third.
PAIR_NEEDS = 1.3
# In a memory of ten rows every word is either everywhere or unknown. As if there were a hundred more without any of
# the words, what is known counts nearly as much as what is not.
BACKGROUND = 100
_LOOKED_AT = 10
# A session of many things has the words of nearly every question somewhere: it counts for so much more than its best
# passage alone (LoCoMo turns: foreign .169 without, .16 with; at 1.25 .14, but XQuAD loses a hundredth).
SPREAD = 1.6
# What a question asks of that only other projects know, it asks of them: it counts for so much more than a word that
# nobody ever wrote down. And where other projects are known, a question of which less than half is theirs needs less.
# With each word counted alike under one floor foreign questions answered were .19 and .17 instead of .11 and .10.
ELSEWHERE = 1.6
# Two words are no question that could be meant for another project: the one that is known here is what is looked for.
_LEAST_ASKED_ELSEWHERE = 3
# But everything has a version: of Postgres here is asked, although only another project has the word itself.
ORDINARY_ELSEWHERE = 0.5
_ORDINARY_WORDS = """
current default inside kind level list name names number open option options part place process reason role rule rules
settings setup size state status step steps type types value values version versions way
"""
_ORDINARY = frozenset(_ORDINARY_WORDS.split())
ELSEWHERE_EASE = 0.89
MOST_ELSEWHERE = 0.5
# The index cuts the endings of English words alone; of Cyrillic ones the query asks for the beginning.
UNSTEMMED_EASE = 0.3
_UNSTEMMED = re.compile("[\u0370-\u03ff\u0530-\u07ff\u0900-\u0dff\u10a0-\u10ff\u1e00-\u1fff]")


@dataclass(frozen=True, slots=True)
class Verdict:
    """``coverage`` is 0..1: the mean of what the best passage and what the best session cover, at most 1.6 times the
    passage; ``told`` the sum of idf of the best passage over that of a word seen once; ``unstemmed`` the share of
    words in a script whose endings the index does not cut; ``others`` whether many rows of other projects are known,
    so that a foreign question would show it; ``pair`` that two words are
    all that is asked, one of them unknown and the other in no title; ``passage`` and ``session`` what the best
    of each covers."""

    coverage: float
    told: float
    words: int = 0
    unstemmed: float = 0.0
    others: bool = False
    elsewhere: float = 0.0
    pair: bool = False
    passage: float = 0.0
    session: float = 0.0

    def answers(self, floor: float) -> bool:
        return self.coverage >= floor * self.ease or self.told >= ENOUGH * floor

    @property
    def ease(self) -> float:
        """How much of the floor a question has to reach, 0.25..1.3. By its length: the share of its words that a text
        has by chance comes near to its mean as the words grow in number, with the root of it."""
        if not self.words:
            return 1.0
        length = PAIR_NEEDS if self.pair else max(LEAST_EASE, min(1.0, math.sqrt(SHORT_WORDS / self.words)))
        return length * (1 - UNSTEMMED_EASE * self.unstemmed) * (ELSEWHERE_EASE if self.others else 1.0)


def is_elsewhere(term: Term) -> bool:
    """Whether only rows out of sight hold the word itself."""
    return bool(term.rows) and not term.in_sight and not term.stands_for


def _is_nowhere(term: Term) -> bool:
    """Whether nobody ever saw the word, nor one like it, or only other projects did."""
    return not term.rows or is_elsewhere(term)


def weights(terms: Sequence[Term], total: int, *, hidden: bool = False) -> list[float]:
    """What each word of the question counts: ``idf ** 0.3``; one that no row in sight holds counts as never seen, and
    one that only other projects hold for more, an ordinary one for less (not where something else may be what keeps
    rows ``hidden``)."""
    known = total + BACKGROUND
    elsewhere = ELSEWHERE if len(terms) >= _LEAST_ASKED_ELSEWHERE else 1.0
    found = []
    for term in terms:
        here = term.rows if term.in_sight and not term.stands_for else 0
        factor = 1.0
        if is_elsewhere(term) and not hidden:
            factor = elsewhere if tells_elsewhere(term) else ORDINARY_ELSEWHERE
        found.append(idf(here, known) ** DAMPING * factor)
    return found


def tells_elsewhere(term: Term) -> bool:
    """Whether only rows out of sight hold the word, and it says something of what these are about."""
    return is_elsewhere(term) and not is_ordinary(term.text)


def is_ordinary(word: str) -> bool:
    """Whether everything has what the word names: a version, a name."""
    return word in _ORDINARY


def judge(
    terms: Sequence[Term],
    scored: Sequence[Scored],
    sessions: Mapping[int, str],
    total: int,
    *,
    hidden: bool = False,
) -> Verdict:
    """How much of the question the first ten of ``scored`` cover; notes in each its own ``share``."""
    weighed = weights(terms, total, hidden=hidden)
    whole = sum(weighed)
    if not whole or not scored:
        return Verdict(0.0, 0.0)

    def share(numbers: Set[int]) -> float:
        return sum(weighed[number] * terms[number].worth for number in numbers) / whole

    for one in scored:
        one.share = share(one.passage)
    together: dict[str, set[int]] = {}
    for one in scored[:_LOOKED_AT]:
        together.setdefault(sessions.get(one.id, f"#{one.id}"), set()).update(one.passage)
    best = max(one.share for one in scored[:_LOOKED_AT])
    told = max(sum(terms[number].idf * terms[number].worth for number in one.passage) for one in scored[:_LOOKED_AT])
    unstemmed = sum(bool(_UNSTEMMED.match(term.text)) for term in terms) / len(terms)
    session = max(map(share, together.values()))
    coverage = min((best + session) / 2, best * SPREAD)
    elsewhere = sum(weight for weight, term in zip(weighed, terms, strict=True) if tells_elsewhere(term)) / whole
    pair = len(terms) == 2 and all(term.indexed for term in terms) and any(map(_is_nowhere, terms))
    pair = pair and not any(one.titled for one in scored[:_LOOKED_AT])
    told = told / idf(0, total)
    return Verdict(coverage, told, len(terms), unstemmed, elsewhere=elsewhere, pair=pair, passage=best, session=session)
