"""The probability that a row answers a question, from the rarity of the question's words that it holds.

``python -m bench.evidence --write`` fits the coefficients in ``probability.json``, and the bar ``unasked``. The bars
``shown`` and ``sure`` are chosen.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence, Set
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from engram_py.dataclass import dataclass

if TYPE_CHECKING:
    from engram_py.recall.score.bm25 import Scored, Term

# In a memory of ten rows every word is either everywhere or unknown. As if there were so many texts more of what
# developers write, each word in as many of them as is ordinary (``python -m bench.ordinary_words``): smoothing by a
# background collection (Zhai and Lafferty 2004).
BACKGROUND = 300
# A session's words are those of its rows among so many of the best.
LOOKED_AT = 10
# Three words tell what a text is about; more are a longer question's.
TELLING = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence for one row.

    ``passage`` and ``session`` are shares (0..1) of the rarity of all words of the question: in the row's best passage,
    and in the first hits of its session. ``told`` is the rarity of the three rarest words of the passage, ``title``
    that of the words in its title, topic and aliases; an unknown word has 1. ``named`` is the share of the title's
    words that were asked, ``words`` ln(1 + how many words were asked). ``asks`` is 1 of a question; only a prompt may
    be none.
    """

    passage: float = 0.0
    session: float = 0.0
    told: float = 0.0
    title: float = 0.0
    named: float = 0.0
    words: float = 0.0
    asks: float = 1.0

    def probability(self, model: str = "asked") -> float:
        """Return the probability: ``asked`` of a search, ``unasked`` of a prompt that did not ask the memory."""
        if not self.passage:
            return 0.0
        weights = fitted()[model]
        odds = weights["bias"] + sum(weights.get(name, 0.0) * getattr(self, name) for name in PARTS)
        return 1 / (1 + math.exp(-odds))


PARTS = ("passage", "session", "told", "title", "named", "words", "asks")
NONE = Evidence()


@cache
def fitted() -> Mapping[str, Mapping[str, float]]:
    """Return the coefficients of each model, and in ``bars`` the thresholds."""
    found: Mapping[str, Mapping[str, float]] = _data("probability")
    return found


@cache
def ordinary() -> Mapping[str, float]:
    """Return the share of ordinary texts that have a stem."""
    found: Mapping[str, float] = _data("ordinary_words")
    return found


def _data(name: str) -> Any:
    return json.loads(Path(__file__).with_name(f"{name}.json").read_text(encoding="utf-8"))


def threshold(name: str) -> float:
    """Return the least probability to be ``shown`` as an answer, ``sure``, or given ``unasked``."""
    return fitted()["bars"][name]


def rarity(term: Term, total: int) -> float:
    """Return the rarity (0..1) of a word among ``total`` rows; 1 of one that no visible row holds."""
    here = term.rows if term.visible and not term.substitutes else 0
    rate = max((ordinary().get(stem, 0.0) for stem in term.stems), default=0.0)
    return _weight(here + BACKGROUND * rate, total) / _weight(0, total)


def _weight(rows: float, total: int) -> float:
    total += BACKGROUND
    rows = min(rows, total)
    return math.log(1 + (total - rows + 0.5) / (rows + 0.5))


def weigh_evidence(
    terms: Sequence[Term],
    scored: Sequence[Scored],
    sessions: Mapping[int, str],
    total: int,
    *,
    asks: bool = True,
    foreign: bool = False,
) -> None:
    """Fill ``passage_share`` and ``evidence`` of each of ``scored``, best first.

    In a question in a ``foreign`` language unknown words do not count.
    """
    told = [rarity(term, total) * term.discount for term in terms]
    whole = sum(rarity(term, total) for term in terms if not foreign or term.rows or term.substitutes)
    if not whole:
        return

    def held(numbers: Set[int]) -> float:
        return sum(told[number] for number in numbers)

    together: dict[str, set[int]] = {}
    for one in scored[:LOOKED_AT]:
        together.setdefault(sessions.get(one.id, f"#{one.id}"), set()).update(one.passage)
    shares = {session: held(numbers) / whole for session, numbers in together.items()}
    words = math.log(1 + len(terms))
    for one in scored:
        one.passage_share = held(one.passage) / whole
        session = max(one.passage_share, shares.get(sessions.get(one.id, f"#{one.id}"), 0.0))
        rarest = sum(sorted((told[number] for number in one.passage), reverse=True)[:TELLING])
        one.evidence = Evidence(one.passage_share, session, rarest, held(one.titled), one.named, words, float(asks))
