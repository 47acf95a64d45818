"""The probability that a prompt, which did not ask the memory, needs a row: logistic regression on six numbers.

``python -m bench.gate --write`` fits the coefficients and the bars in ``gate.json``.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from functools import cache
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from engram_py.base.dataclass import dataclass
from engram_py.base.lazy import regex
from engram_py.recall.score import K1, ordinary_rate

if TYPE_CHECKING:
    from collections.abc import Sequence

    from engram_py.memory.observations.values import Observation
    from engram_py.recall.query import Query
    from engram_py.recall.retrieval import Retrieved
    from engram_py.recall.score import Term

INPUTS = ("strength", "title", "score", "names", "asks", "meaning")
# Three words tell what a text is about; more are a longer prompt's.
_TELLING = 3
# A word that more ordinary texts have than this (`user`, `file`, `change`) does not say what a text is about.
_INFORMATIVE_RATE = 0.03
# A path, an identifier, a call: who names so many knows the place, and pasted text has more.
_NAME = regex(r"\w[./_:\\]\w|[a-z][A-Z]|\w\(\)")
_MOST_NAMES = 3


@dataclass(frozen=True, slots=True)
class Evidence:
    """The evidence that a prompt needs a row.

    What tells is the weight (in nats) of the three rarest words of the prompt that the row's best passage holds.
    ``strength`` is that, times the row's score as a share of the best possible; ``title`` is that, times the share of
    the prompt that the passage holds and the share of the title's words that the prompt has. ``score`` is ln(1 + the
    score of the row's own words), ``names`` how many names of code the prompt has, three at most, ``asks`` 1 of a
    question. ``meaning`` is the cosine of their vectors, times the share of the prompt that the passage does not hold;
    None without vectors.
    """

    strength: float = 0.0
    title: float = 0.0
    score: float = 0.0
    names: float = 0.0
    asks: float = 0.0
    meaning: float | None = None

    @property
    def odds(self) -> float:
        """The logarithm of the odds."""
        weights = fitted()[self.model]
        return weights["bias"] + sum(weights[name] * (getattr(self, name) or 0.0) for name in INPUTS)

    @property
    def probability(self) -> float:
        """The probability (0..1)."""
        return 1 / (1 + math.exp(-self.odds))

    @property
    def model(self) -> str:
        """The name of the model, another one where the meaning is known."""
        return "words" if self.meaning is None else "meaning"

    def reaches(self, bar: str) -> bool:
        """Return whether it is likely enough to be ``given``, or ``named``."""
        return self.probability >= fitted()[self.model][bar]


@cache
def fitted() -> Mapping[str, Mapping[str, float]]:
    """Return the coefficients of each model, and the least probabilities to be ``given`` and ``named``."""
    found: Mapping[str, Mapping[str, float]] = json.loads(Path(__file__).with_name("gate.json").read_text("utf-8"))
    return found


def evidence_of(found: Retrieved[Observation], prompt: str, query: Query) -> dict[int, Evidence]:
    """Return the evidence of each row that a ``prompt``, as a ``query``, led to, by its id.

    Of a prompt in another language than English, words that no row has do not count: memories have others for the same.
    """
    weights = [term.weight for term in found.terms]
    known = [term for term in found.terms if not query.is_foreign or term.rows or term.substitutes]
    whole = sum(term.weight for term in known) or 1.0
    names = float(len(list(islice(_NAME.finditer(prompt), _MOST_NAMES))))
    asks = float(query.is_question)
    evidence = {}
    for one in found.scored:
        held = sorted([weights[number] for number in one.held], reverse=True)
        telling, share = sum(held[:_TELLING]), sum(held) / whole
        strength = min(1.0, one.own / (K1 + 1) / whole)
        meaning = None if one.cosine is None else max(0.0, one.cosine) * (1 - share)
        evidence[one.id] = Evidence(
            telling * strength, telling * share * one.named, math.log1p(one.own), names, asks, meaning
        )
    return evidence


def informative(terms: Sequence[Term]) -> frozenset[str]:
    """Return the words that fewer than three of a hundred ordinary texts have, all where none is so rare."""
    rare = frozenset(term.text for term in terms if ordinary_rate(term.stems) < _INFORMATIVE_RATE)
    return rare or frozenset(term.text for term in terms)
