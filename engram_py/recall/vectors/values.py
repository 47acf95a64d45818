"""The nearest vectors of a question, and how far vectors are computed; failures of an embedder."""

from __future__ import annotations

import math

from engram_py.base.dataclass import dataclass
from engram_py.base.errors import EmbedderError
from engram_py.base.reasons import Reason, Told

# How much a cosine counts beside words (recall/search.py): a sentence model reads, a table of words does not.
# Mean recall at 5 of five sets by the weight of the sentence model: .5 .892, .8 .881, 1.2 .863; words alone .868.
SENTENCE_WEIGHT, STATIC_WEIGHT = 0.5, 0.2
# Copies of one text are all equally near: that is no measure for anything else.
_NO_DEVIATION, _MOST_DEVIATIONS = 1e-6, 50.0


@dataclass(frozen=True, slots=True)
class Nearest:
    """The nearest observations to a question.

    ``hits`` are (id, cosine), nearest first, and the ids that were asked about besides. ``middle`` is
    that of the cosines of the ``population`` that the question may see, ``deviation`` of those below it, ``weight``
    that of the model's cosines beside words. Without hits the ``note`` says why.
    """

    hits: tuple[tuple[int, float], ...] = ()
    middle: float = 0.0
    deviation: float = 0.0
    population: int = 0
    weight: float = SENTENCE_WEIGHT
    note: Reason | None = None

    def deviations(self) -> dict[int, float]:
        """Return by how many deviations each cosine is above the middle of what the question may see."""
        if self.deviation < _NO_DEVIATION:
            return {}
        return {
            key: max(-_MOST_DEVIATIONS, min(_MOST_DEVIATIONS, (cosine - self.middle) / self.deviation))
            for key, cosine in self.hits
        }

    @property
    def chance(self) -> float:
        """How many deviations the nearest of so many texts is above the middle by chance: ``sqrt(2 ln N)``, the
        asymptotic largest of N normal values."""
        return math.sqrt(2 * math.log(max(self.population, 10)))


@dataclass(frozen=True, slots=True)
class VectorState:
    """State of vectors: ``done`` of ``observations`` have theirs, ``documents_done`` of the passages of ``documents``;
    ``question_ms`` is the model's time for a question, ``runtime`` the folder of the packages that run it, ``process``
    the id of another process that holds the model, ``fitting`` the lane that reads the language of the prompts."""

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
    runtime: str = ""
    documents: int = 0
    documents_done: int = 0
    process: int = 0
    fitting: str = "sentence"

    @property
    def misfits(self) -> bool:
        """Whether the prompts are in other languages than the model reads."""
        return self.fitting == "multilingual" and self.embedder.partition(":")[0] in ("sentence", "static")

    @property
    def lacking(self) -> int:
        """The number of texts that have no vectors yet."""
        return self.observations - self.done + self.documents - self.documents_done


@dataclass(frozen=True, slots=True)
class Embedded:
    """The result of one pass: observations and passages of ``documents``, the vectors of both (``passages``), and the
    seconds it took."""

    embedder: str
    observations: int
    passages: int
    seconds: float
    state: VectorState
    warnings: tuple[Told, ...] = ()
    documents: int = 0


@dataclass(frozen=True, slots=True)
class TurnedOff:
    """Vectors are off; ``kept`` observations keep theirs, ``deleted`` had theirs deleted."""

    kept: int
    deleted: int
    warnings: tuple[str, ...] = ()


class InvalidEmbedderError(EmbedderError):
    code = "invalid_embedder"

    def __init__(self, setting: str, expected: str) -> None:
        self.setting = setting[:200]
        super().__init__(
            f"embedder {self.setting!r} is not understood: {expected}",
            hint="run `engram vectors on`, or `engram vectors off`; ENGRAM_EMBEDDER, where it is set, wins over both",
        )


class EmbedderFailedError(EmbedderError):
    code = "embedder_failed"

    def __init__(self, setting: str, reason: str, *, hint: str) -> None:
        self.setting, self.reason = setting, reason[:300]
        super().__init__(f"{setting}: {self.reason}", hint=hint)

    @classmethod
    def absent(cls, setting: str) -> EmbedderFailedError:
        hint = "run `engram vectors on` once; it fetches the model"
        return cls(setting, "the model is not on this machine", hint=hint)

    @classmethod
    def loading(cls, setting: str, cause: Exception) -> EmbedderFailedError:
        reason = f"the model cannot be loaded: {cause or type(cause).__name__}"
        own = ":" not in setting  # others have a folder that the user chose
        again = "the model's folder is incomplete; delete it and run `engram vectors on`"
        return cls(setting, reason, hint=again if own else "check that the folder has a complete model of this kind")

    @classmethod
    def running(cls, setting: str, cause: Exception) -> EmbedderFailedError:
        return cls(setting, f"the model failed: {cause or type(cause).__name__}", hint="run `engram doctor`")
