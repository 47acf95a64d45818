"""The probability that a prompt, which did not ask the memory, needs a row: from the rarity of the words they share.

``python -m bench.evidence --write`` fits the coefficients in ``probability.json``, and the bars.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from engram_py.base.dataclass import dataclass
from engram_py.recall.score import Scored, Term, idf, ordinary_rate

# Three words tell what a text is about; more are a longer question's.
TELLING = 3
# A word that more ordinary texts have than this (`user`, `file`, `change`) does not say what a text is about.
_INFORMATIVE_RATE = 0.03


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that a prompt needs a row.

    ``share`` is what the row holds of the prompt: the rarity of its words there, by ordinary texts, beside that of the
    missing ones, by this memory as well. ``rare`` is the rarity of its three rarest words; an unknown word has 1.
    ``title`` is the rarity of the words in its title, topic and aliases, ``named`` the share of the title's words that
    were asked, ``words`` ln(1 + how many words were asked), ``asks`` 1 of a question. ``meaning`` is how near its
    vector is beside what the nearest of as many texts is by chance; None without vectors.
    """

    share: float = 0.0
    rare: float = 0.0
    title: float = 0.0
    named: float = 0.0
    words: float = 0.0
    asks: float = 1.0
    meaning: float | None = None

    @property
    def probability(self) -> float:
        """The probability (0..1)."""
        if not self.share and self.meaning is None:
            return 0.0
        weights = fitted()[self.of("unasked")]
        odds = weights["bias"] + sum(weights.get(name, 0.0) * (getattr(self, name) or 0.0) for name in PARTS)
        return 1 / (1 + math.exp(-odds))

    def of(self, name: str) -> str:
        """Return the name of a model or a bar: another one holds where the meaning is known."""
        return name if self.meaning is None else f"{name}_meant"


PARTS = ("share", "rare", "title", "named", "words", "asks", "meaning")


@cache
def fitted() -> Mapping[str, Mapping[str, float]]:
    """Return the coefficients of each model, and in ``bars`` the thresholds."""
    found: Mapping[str, Mapping[str, float]] = json.loads(
        Path(__file__).with_name("probability.json").read_text(encoding="utf-8")
    )
    return found


def threshold(name: str) -> float:
    """Return the least probability to be given ``unasked``, or ``pointed`` at."""
    return fitted()["bars"][name]


def rarity(term: Term, total: int) -> float:
    """Return the rarity (0..1) of a word among ``total`` rows; 1 of one that no visible row holds."""
    here = term.rows if term.visible and not term.substitutes else 0
    # A row without the word makes it no rarer than it is in ordinary texts.
    return min(idf(here, total, ordinary_rate(term.stems)) / idf(0, total), ordinary_rarity(term))


def ordinary_rarity(term: Term) -> float:
    """Return the rarity (0..1) of a word by ordinary texts alone, whatever this memory has."""
    return _of_ordinary(ordinary_rate(term.stems))


def _of_ordinary(rate: float) -> float:
    return idf(round(900 * rate), 900, rate) / idf(0, 900)


def informative(terms: Sequence[Term]) -> frozenset[str]:
    """Return the words that fewer than three of a hundred ordinary texts have, all where none is so rare."""
    rare = frozenset(term.text for term in terms if ordinary_rate(term.stems) < _INFORMATIVE_RATE)
    return rare or frozenset(term.text for term in terms)


def weighed(
    terms: Sequence[Term], scored: Sequence[Scored], total: int, *, asks: bool = True, foreign: bool = False
) -> dict[int, Evidence]:
    """Return the evidence of each row by its id.

    Of a prompt in a ``foreign`` language unknown words do not count.
    """
    here = [rarity(term, total) for term in terms]
    held_here = [weight * term.discount for weight, term in zip(here, terms, strict=True)]
    ordinarily = [ordinary_rarity(term) * term.discount for term in terms]
    due = [number for number, term in enumerate(terms) if not foreign or term.rows or term.substitutes]
    words = math.log(1 + len(terms))
    found = {}
    for one in scored:
        held = sum([ordinarily[number] for number in one.held])
        missing = sum([here[number] for number in due if number not in one.held])
        rare = sum(sorted([held_here[number] for number in one.held], reverse=True)[:TELLING])
        title = sum([held_here[number] for number in one.titled])
        share = held / (held + missing) if held else 0.0
        found[one.id] = Evidence(share, rare, title, one.named, words, float(asks), one.meaning)
    return found
