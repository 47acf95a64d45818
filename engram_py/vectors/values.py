"""What vectors say about a question, and how far they have been computed."""

from __future__ import annotations

from dataclasses import dataclass

# What is assumed of a model that was not measured on a memory: of average use (see recall.fusion).
UNMEASURED_TRUST = 0.5


@dataclass(frozen=True, slots=True)
class Nearest:
    """How close observations are to a question.

    ``hits`` are (id, cosine), nearest first, and the ids that were asked about besides. ``mean`` and ``deviation``
    are of the cosines of the ``population`` that the question may see, ``trust`` is how well the model does on texts
    of this memory (0..1). With a ``note`` there are no hits and it says why.
    """

    hits: tuple[tuple[int, float], ...] = ()
    mean: float = 0.0
    deviation: float = 0.0
    population: int = 0
    trust: float = UNMEASURED_TRUST
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Trust:
    """The measured trust in a model for one project ('' all of them) and script ('' any)."""

    project: str
    script: str
    trust: float
    asked: int


@dataclass(frozen=True, slots=True)
class VectorState:
    """What there is of vectors: ``done`` of ``observations`` have theirs from the ``embedder`` that is set."""

    embedder: str
    host: str
    observations: int
    done: int
    dimension: int
    bytes: int
    others: tuple[str, ...] = ()
    trust: tuple[Trust, ...] = ()
    problem: str | None = None
    hint: str | None = None


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
class Cleared:
    """How many vectors were deleted, of whatever model."""

    observations: int
