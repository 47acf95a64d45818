"""The nearest vectors of a question, and how far vectors are computed."""

from __future__ import annotations

from engram_py.dataclass import dataclass

# How much a cosine counts beside words (see recall.fusion): a sentence model reads, a table of words does not.
# Of a static model .25 finds less of recipes and code; of a sentence model 1.0 less of code, 1.5 less of conversations.
SENTENCE_WEIGHT, STATIC_WEIGHT = 1.2, 0.4


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest observations to a question.

    ``hits`` are (id, cosine), nearest first, and the ids that were asked about besides. ``mean`` and ``deviation`` are
    of the cosines of the ``population`` that the question may see; ``weight`` is that of the model's cosines beside
    words. Without hits the ``note`` says why.
    """

    hits: tuple[tuple[int, float], ...] = ()
    mean: float = 0.0
    deviation: float = 0.0
    population: int = 0
    weight: float = SENTENCE_WEIGHT
    note: str | None = None


@dataclass(frozen=True, slots=True)
class VectorState:
    """State of vectors: ``done`` of ``observations`` have theirs; ``question_ms`` is the model's time for a
    question."""

    embedder: str
    host: str
    observations: int
    done: int
    dimension: int
    bytes: int
    others: tuple[str, ...] = ()
    problem: str | None = None
    hint: str | None = None
    model_bytes: int = 0
    question_ms: float = 0.0


@dataclass(frozen=True, slots=True)
class Embedded:
    """What one pass computed: observations, passages of them, and the seconds it took."""

    embedder: str
    observations: int
    passages: int
    seconds: float
    state: VectorState
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class TurnedOff:
    """Vectors are off; ``kept`` observations keep theirs, ``deleted`` had theirs deleted."""

    kept: int
    deleted: int
    warnings: tuple[str, ...] = ()
