"""The user's own retrieval tests: questions, what a run made of each, how that compares with the kept run; and their
SQL.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Literal

from engram_py.base.database.store import Row, Store
from engram_py.base.dataclass import dataclass, field
from engram_py.base.reasons import Told

# Of a question with answers: one of them was found, or none. Of one that should find nothing: it did not, it did.
# `lost`: nothing of what it was answered by is left.
QuestionOutcome = Literal["found", "missed", "silent", "answered", "lost"]
KeptAs = Literal["added", "updated", "unchanged"]

DEPTH = 10  # how many results of a search count


@dataclass(frozen=True, slots=True)
class ExpectedAnswer:
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
    answers: tuple[ExpectedAnswer, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionKept:
    """The result of adding a question; ``updated``: it was there and has another answer."""

    outcome: KeptAs
    question: Question
    warnings: tuple[Told, ...] = ()


@dataclass(frozen=True, slots=True)
class QuestionsRemoved:
    """The number of questions that were removed."""

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
    """The outcome of one question in a run, and in the kept run (None: it was not asked then).

    ``rank`` is the place of the first answer, or None beyond the tenth. ``shown`` is the first hit of a search that
    should have found nothing; a question with answers was ``empty`` where nothing at all was found. ``precision`` is
    the share of the hits that are answers, ``recall`` that of the answers among the hits.
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
    answers: tuple[ExpectedAnswer, ...] = ()
    shown: ExpectedAnswer | None = None
    empty: bool = False
    precision: float = 0.0
    recall: float = 0.0

    @property
    def f1(self) -> float:
        return 2 * self.precision * self.recall / ((self.precision + self.recall) or 1)

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
    is not as it was then: the program, the index. ``kept`` when later runs are compared with this one. ``precision``,
    ``recall`` and ``f1`` are means over this run's questions that have an answer.
    """

    measures: Measures
    precision: float
    recall: float
    f1: float
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
    warnings: tuple[Told, ...] = ()


QUESTIONS = """
select id, project, question, silent, created_at, last_at
from eval_questions
order by id
"""

ANSWERS = """
select
    eval_answers.question_id, eval_answers.sync_id,
    observations.id, observations.title, observations.deleted_at
from eval_answers
left join observations on observations.sync_id = eval_answers.sync_id
where :question is null or eval_answers.question_id = :question
order by eval_answers.question_id, observations.id, eval_answers.sync_id
"""

# What says the same now: rows that were judged to supersede one (an orphaned verdict is one whose older row was
# destroyed since), and the row that holds its topic since it was deleted (a merge of two projects leaves the later
# of two topics). Followed to the end; a cycle ends itself.
STANDING = """
with recursive standing (answer, sync_id) as (
    select value, value from json_each(:sync_ids)
    union
    select standing.answer, memory_relations.source_id
    from standing
    join memory_relations on memory_relations.target_id = standing.sync_id
    where memory_relations.relation = 'supersedes'
      and memory_relations.judgment_status in ('judged', 'orphaned')
      and memory_relations.superseded_at is null
    union
    select standing.answer, holder.sync_id
    from standing
    join observations as gone on gone.sync_id = standing.sync_id
    join observations as holder
      on holder.topic_key = gone.topic_key and holder.scope = gone.scope and holder.deleted_at is null
    where gone.deleted_at is not null and gone.topic_key is not null
      and holder.project in (
          gone.project, coalesce((select project from project_aliases where alias = gone.project), gone.project)
      )
)
select standing.answer, observations.id, observations.lifecycle
from standing
join observations on observations.sync_id = standing.sync_id
where observations.deleted_at is null
order by standing.answer, observations.id
"""

OUTCOMES = "select question_id, outcome, rank, ndcg from eval_outcomes where run_id = :run order by question_id"

KEEP_OUTCOME = """
insert into eval_outcomes (run_id, question_id, outcome, rank, ndcg)
select :run, id, :outcome, :rank, :ndcg from eval_questions where id = :question
"""


# --- questions ---------------------------------------------------------------------------------------------


def questions(store: Store) -> list[Row]:
    return store.rows(QUESTIONS)


def answers(store: Store, question: int | None = None) -> list[Row]:
    """Return the answers of one question or of all, with the observations they name, which may be gone."""
    return store.rows(ANSWERS, question=question)


def question(store: Store, *, project: str, folded: str) -> Row | None:
    return store.row(
        "select * from eval_questions where project = :project and folded = :folded", project=project, folded=folded
    )


def standing(store: Store, sync_ids: Iterable[str]) -> list[Row]:
    """For each answer the live rows that give it now (``answer``, ``id``, ``lifecycle``)."""
    return store.rows(STANDING, sync_ids=sorted(set(sync_ids)))


def remove(store: Store, numbers: Sequence[int]) -> int:
    sql = "delete from eval_questions where id in (select value from json_each(:ids))"
    return store.execute(sql, ids=numbers).rowcount


def known_numbers(store: Store, numbers: Sequence[int]) -> set[int]:
    sql = "select id from eval_questions where id in (select value from json_each(:ids))"
    return {row[0] for row in store.rows(sql, ids=numbers)}


def forget_outcome(store: Store, number: int) -> None:
    """Leave a question out of the kept run."""
    store.execute("delete from eval_outcomes where question_id = :question", question=number)


# --- the kept run ------------------------------------------------------------------------------------------


def kept_run(store: Store) -> Row | None:
    return store.row("select id, kept_at, facts from eval_runs order by id desc limit 1")


def outcomes(store: Store, run: int) -> dict[int, Row]:
    return {row["question_id"]: row for row in store.rows(OUTCOMES, run=run)}


def keep_run(store: Store, *, kept_at: str, facts: str, outcomes: Iterable[dict[str, Any]]) -> None:
    """Put a run in the place of the one that was kept. A question that was removed meanwhile is left out."""
    store.execute("delete from eval_runs")
    run = store.insert("eval_runs", {"kept_at": kept_at, "facts": facts})
    for outcome in outcomes:
        store.execute(KEEP_OUTCOME, run=run, **outcome)
