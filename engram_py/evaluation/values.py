"""The user's own retrieval tests: questions, what a run made of each, and how that compares with the kept run."""

from __future__ import annotations

from typing import Literal

from engram_py.dataclass import dataclass, field

# Of a question with answers: one of them was found, or none. Of one that should find nothing: it did not, it did.
# `lost`: nothing of what it was answered by is left.
QuestionOutcome = Literal["found", "missed", "silent", "answered", "lost"]
KeptAs = Literal["added", "updated", "unchanged"]

DEPTH = 10  # how many results of a search count


@dataclass(frozen=True, slots=True)
class Answer:
    """An observation that answers a question. ``id`` is None when it is not on this machine any more."""

    sync_id: str
    id: int | None
    title: str
    deleted: bool = False


@dataclass(frozen=True, slots=True)
class Question:
    """A question to ask of the memory. ``project`` None asks every project; ``silent``: nothing should be found."""

    id: int
    question: str
    project: str | None
    silent: bool
    created_at: str
    last_at: str
    answers: tuple[Answer, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionKept:
    """The result of adding a question; ``updated``: it was there and has another answer."""

    outcome: KeptAs
    question: Question
    warnings: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionsRemoved:
    """How many questions were removed."""

    count: int


@dataclass(frozen=True, slots=True)
class Measures:
    """Means over questions that have an answer, and how many of those that have none got one."""

    questions: int
    hit_1: float
    hit_5: float
    hit_10: float
    mrr: float
    ndcg_10: float
    silent_questions: int
    false_answers: int


@dataclass(frozen=True, slots=True)
class Asked:
    """What a run made of one question, and what the kept run had made of it (None: it was not asked then).

    ``rank`` is the place of the first answer, or None beyond the tenth. ``shown`` is the first hit of a search that
    should have found nothing; a question with answers was ``empty`` where nothing at all was found.
    """

    id: int
    question: str
    project: str | None
    outcome: QuestionOutcome
    rank: int | None = None
    ndcg: float = 0.0
    before: QuestionOutcome | None = None
    rank_before: int | None = None
    ndcg_before: float = 0.0
    answers: tuple[Answer, ...] = ()
    shown: Answer | None = None
    empty: bool = False

    @property
    def moved(self) -> bool:
        return self.before is not None and (self.outcome, self.rank) != (self.before, self.rank_before)

    @property
    def comparable(self) -> bool:
        return self.before is not None and "lost" not in (self.outcome, self.before)

    @property
    def new(self) -> bool:
        """Nothing of the kept run says how it was answered then: added or changed since, or it has an answer again."""
        return not self.comparable and self.outcome != "lost"


@dataclass(frozen=True, slots=True)
class Evaluation:
    """A run over all questions. ``now`` and ``before`` are over the questions that both runs asked, ``new`` is over
    those that only this one did.

    ``fell`` names the measures that are worse than in the kept run by more than ``tolerance``. ``changed`` says what
    is not as it was then: the program, the index. ``kept`` when later runs are compared with this one.
    """

    measures: Measures
    facts: dict[str, str]
    asked: tuple[Asked, ...]
    tolerance: float
    kept_at: str | None = None
    kept_facts: dict[str, str] = field(default_factory=dict)
    now: Measures | None = None
    before: Measures | None = None
    new: Measures | None = None
    changed: tuple[str, ...] = ()
    fell: tuple[str, ...] = ()
    kept: bool = False
    warnings: tuple[str, ...] = ()
