"""The user's own retrieval tests: questions with the answers this memory should give, asked again after a change."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from engram_py.base.database.store import Row
from engram_py.base.dataclass import replace
from engram_py.base.errors import EmptyQueryError, InvalidArgumentError, InvalidInputError, NotFoundError
from engram_py.memory.observations.arguments import live_observation
from engram_py.memory.observations.validation import clean_line, intake_notes
from engram_py.memory.observations.values import Observation
from engram_py.memory.projects.projects import Core
from engram_py.memory.projects.values import Place
from engram_py.recall.query import parse_query
from engram_py.recall.search import Search
from engram_py.recall.values import Hit
from engram_py.upkeep.evaluation import questions as table
from engram_py.upkeep.evaluation.questions import (
    DEPTH,
    Asked,
    Evaluation,
    ExpectedAnswer,
    KeptAs,
    Measures,
    Question,
    QuestionKept,
    QuestionOutcome,
    QuestionsRemoved,
)
from engram_py.upkeep.reindex import index_version, reindex_notes

Key = TypeVar("Key", bound=Hashable)


def first_rank(found: Sequence[Key], relevant: Collection[Key]) -> int | None:
    """Return the place of the first relevant one, counted from 1; None when there is none."""
    return next((rank for rank, key in enumerate(found, 1) if key in relevant), None)


def hit_at(rank: int | None, k: int) -> bool:
    """Return whether something relevant was among the first ``k`` (TREC's success@k; the field's hit@k)."""
    return rank is not None and rank <= k


def reciprocal_rank(rank: int | None, k: int = 10) -> float:
    """1 / rank of the first relevant one, 0 beyond ``k``. Its mean over questions is MRR@k.

    E. Voorhees, *The TREC-8 Question Answering Track Report*, 1999.
    """
    return 1 / rank if rank is not None and rank <= k else 0.0


def ndcg_at(found: Sequence[Key], relevant: Collection[Key], k: int = 10) -> float:
    """nDCG@k with gains of 0 and 1: Σ 1 / log2(rank + 1) over the relevant, divided by the best possible sum.

    K. Järvelin, J. Kekäläinen, *Cumulated gain-based evaluation of IR techniques*, ACM TOIS 20(4), 2002, with the
    discount log2(rank + 1) that is usual since C. Burges et al., *Learning to Rank using Gradient Descent*, 2005.
    What is found twice counts once.
    """
    wanted = set(relevant)
    best = sum(_discount(rank) for rank in range(1, min(len(wanted), k) + 1))
    if not best:
        return 0.0
    gained = 0.0
    for rank, key in enumerate(found[:k], 1):
        if key in wanted:
            wanted.discard(key)
            gained += _discount(rank)
    return gained / best


def mean(values: Iterable[float]) -> float:
    """Return the mean, 0 of nothing."""
    listed = list(values)
    return sum(listed) / len(listed) if listed else 0.0


def _discount(rank: int) -> float:
    return 1 / math.log2(rank + 1)


QUESTION_LIMIT_CHARS = 1_000
# A fall of hit@5 or MRR that is no more than this is none: of a hundred questions one answer one place lower.
TOLERANCE = 0.01
_ROUNDING = 1e-9

Progress = Callable[[int, int], None]


class Evaluations:
    """Keeps questions and their answers, asks them, and compares with the run that was kept."""

    def __init__(self, core: Core, searches: Search) -> None:
        self._store, self._journal, self._projects = core.store, core.journal, core.projects
        self._searches = searches

    # --- questions -------------------------------------------------------------------------------------------

    def add(
        self, question: str, ids: Sequence[int] = (), *, silent: bool = False, project: str | None = None
    ) -> QuestionKept:
        """Keep a question that the observations ``ids`` answer, or with ``silent`` one that nothing should answer.

        Asked from ``project``; by default from where the first answer was saved, else from here. Adding it again
        adds answers. With other answers it is another question: what the kept run made of it is forgotten.

        Raises:
            InvalidInputError: the question is empty or too long, names both or neither of answers and silence,
                contradicts one that is kept, or is asked from where an answer cannot be seen.
            ObservationNotFoundError: there is no such live observation.
        """
        text, hidden = clean_line("question", question, limit=QUESTION_LIMIT_CHARS)
        if not parse_query(text).words:
            raise EmptyQueryError(text)
        if bool(ids) == silent:
            said = "ids and --none do not go together" if ids else "the answer is missing"
            raise InvalidArgumentError("answer", said=said, step="give observation ids, or --none if none answers it")
        with self._store.transaction():
            found = [live_observation(self._store, one) for one in dict.fromkeys(ids)]
            place = self._asked_from(found, project)
            outcome = self._keep(text, found, place.project, silent=silent)
            row = table.question(self._store, project=place.project, folded=fold(text))
            assert row is not None
            kept = self._question(row, table.answers(self._store, row["id"]))
        return QuestionKept(outcome, kept, (*intake_notes(hidden, None), *place.warnings))

    def _asked_from(self, found: Sequence[Observation], project: str | None) -> Place:
        own = [one for one in found if one.scope == "project"]
        place = self._projects.for_read(project or (own[0].project if own else None))
        hidden = [one for one in own if place.project not in ("", one.project)]
        if hidden:
            said = f"project {place.project} does not see [#{hidden[0].id}], which belongs to {hidden[0].project}"
            raise InvalidArgumentError("project", said=said, step=f"pass --project {hidden[0].project}")
        return place

    def _keep(self, text: str, found: Sequence[Observation], project: str, *, silent: bool) -> KeptAs:
        now, folded = self._journal.now(), fold(text)
        old = table.question(self._store, project=project, folded=folded)
        if old is None:
            values = {"question": text, "silent": int(silent), "last_at": now}
            key = {"project": project, "folded": folded, "created_at": now}
            self._answer(self._store.insert("eval_questions", values | key), found, now)
            return "added"
        if bool(old["silent"]) != silent:
            kept_as = "without an answer" if old["silent"] else "with an answer"
            said = f"the question is kept already, {kept_as}"
            raise InvalidArgumentError("question", said=said, step=f"run `engram eval remove {old['id']}` first")
        known = {row["sync_id"] for row in table.answers(self._store, old["id"])}
        new = [one for one in found if one.sync_id not in known]
        if not new:
            return "unchanged"
        table.forget_outcome(self._store, old["id"])
        self._answer(old["id"], new, now)
        return "updated"

    def _answer(self, number: int, found: Iterable[Observation], now: str) -> None:
        for one in found:
            values = {"question_id": number, "sync_id": one.sync_id, "last_at": now}
            self._store.insert("eval_answers", values)

    def questions(self) -> tuple[Question, ...]:
        """Return all questions with their answers."""
        answers = _grouped(table.answers(self._store), "question_id")
        return tuple(self._question(row, answers.get(row["id"], ())) for row in table.questions(self._store))

    def _question(self, row: Row, answers: Iterable[Row]) -> Question:
        values = {name: row[name] for name in ("id", "question", "created_at", "last_at")}
        return Question(
            **values,
            project=row["project"] or None,
            silent=bool(row["silent"]),
            answers=tuple(
                ExpectedAnswer(one["sync_id"], one["id"], one["title"] or "", one["deleted_at"] is not None)
                for one in answers
            ),
        )

    def remove(self, numbers: Sequence[int]) -> QuestionsRemoved:
        """Remove questions by the numbers ``questions`` shows. Raises NotFoundError; then none is removed."""
        with self._store.transaction():
            known = table.known_numbers(self._store, numbers)
            for number in numbers:
                if number not in known:
                    raise NotFoundError(
                        f"no question {number}", hint="list them with `engram eval list`", code="question_not_found"
                    )
            return QuestionsRemoved(table.remove(self._store, numbers))

    # --- a run -----------------------------------------------------------------------------------------------

    def run(
        self,
        facts: Mapping[str, str],
        *,
        keep: bool = False,
        tolerance: float | None = None,
        progress: Progress | None = None,
    ) -> Evaluation:
        """Ask every question and compare with the kept run, question by question.

        ``facts`` are the versions this is run with, to which the index adds its own. The first run is kept by itself,
        later ones with ``keep``. Only questions that both runs could ask are compared, so adding one is no rise and
        losing one no fall.
        """
        tolerance = TOLERANCE if tolerance is None else tolerance
        if not 0 <= tolerance <= 1:
            raise InvalidArgumentError("tolerance", tolerance, expected="a share from 0 to 1, such as 0.02")
        kept = table.kept_run(self._store)
        before = table.outcomes(self._store, kept["id"]) if kept else {}
        asked = tuple(_with_before(one, before.get(one.id)) for one in self._ask_all(progress))
        answerable = [one for one in asked if one.outcome in ("found", "missed")]
        result = Evaluation(
            measures=_measures(asked),
            precision=_rounded(one.precision for one in answerable),
            recall=_rounded(one.recall for one in answerable),
            f1=_rounded(one.f1 for one in answerable),
            facts={**facts, "index": index_version(self._store)},
            asked=asked,
            tolerance=tolerance,
            warnings=tuple(f"{said}: run `engram reindex`" for said in reindex_notes(self._store)),
        )
        if kept is not None:
            result = _compared(result, kept["kept_at"], json.loads(kept["facts"]))
        if any(one.outcome != "lost" for one in asked) and (keep or kept is None):
            self._keep_run(result)
            result = replace(result, kept=True)
        return result

    def _ask_all(self, progress: Progress | None) -> Iterable[Asked]:
        questions = self.questions()
        standing = _grouped(
            table.standing(self._store, (one.sync_id for q in questions for one in q.answers)), "answer"
        )
        for number, question in enumerate(questions, 1):
            yield self._ask(question, standing)
            if progress is not None:
                progress(number, len(questions))

    def _ask(self, question: Question, standing: dict[str, list[Row]]) -> Asked:
        hits = self._hits(question)
        asked = Asked(question.id, question.question, question.project, "silent")
        if question.silent:
            if not hits:
                return asked
            shown = ExpectedAnswer(hits[0].sync_id, hits[0].id, hits[0].title)
            return replace(asked, outcome="answered", rank=1, shown=shown)
        # An answer is found by whichever row gives it now, so two that say the same are one place in the list.
        gives = {row["id"]: one.sync_id for one in question.answers for row in standing.get(one.sync_id, ())}
        found = [gives.get(hit.id, hit.sync_id) for hit in hits]
        wanted = set(gives.values())
        rank = first_rank(found, wanted)
        active = any(row["lifecycle"] == "active" for one in question.answers for row in standing.get(one.sync_id, ()))
        outcome: QuestionOutcome = "found" if rank else "missed" if active else "lost"
        ndcg = ndcg_at(found, wanted, DEPTH)
        right = len(wanted.intersection(found))
        asked = replace(asked, precision=right / (len(found) or 1), recall=right / (len(wanted) or 1))
        return replace(asked, outcome=outcome, rank=rank, ndcg=ndcg, answers=question.answers, empty=not hits)

    def _hits(self, question: Question) -> tuple[Hit, ...]:
        everywhere = question.project is None
        try:
            found = self._searches.search(
                question.question, project=question.project, all_projects=everywhere, limit=DEPTH, recorded=False
            )
        except InvalidInputError:  # nothing to search for in it, as this version reads it
            return ()
        return found.results

    def _keep_run(self, result: Evaluation) -> None:
        outcomes = [
            {"question": one.id, "outcome": one.outcome, "rank": one.rank, "ndcg": one.ndcg} for one in result.asked
        ]
        with self._store.transaction():
            facts = json.dumps(result.facts, sort_keys=True)
            table.keep_run(self._store, kept_at=self._journal.now(), facts=facts, outcomes=outcomes)


def fold(question: str) -> str:
    """Return the question without case and spacing, by which it is recognised."""
    return " ".join(question.casefold().split())


def _grouped(rows: Iterable[Row], column: str) -> dict[Any, list[Row]]:
    found: dict[Any, list[Row]] = {}
    for row in rows:
        found.setdefault(row[column], []).append(row)
    return found


def _with_before(asked: Asked, row: Row | None) -> Asked:
    if row is None:
        return asked
    return replace(asked, before=row["outcome"], rank_before=row["rank"], ndcg_before=row["ndcg"])


def _compared(result: Evaluation, kept_at: str, kept_facts: dict[str, str]) -> Evaluation:
    both = [one for one in result.asked if one.comparable]
    now = _measures(both)
    before = _measures(
        replace(one, outcome=one.before or "lost", rank=one.rank_before, ndcg=one.ndcg_before) for one in both
    )
    slack = result.tolerance + _ROUNDING
    fell = [name for name in ("hit_5", "mrr") if getattr(before, name) - getattr(now, name) > slack]
    fell += ["false_answers"] if now.false_answers > before.false_answers else []
    changed = [
        f"{name} {kept_facts.get(name, 'unknown')} → {value}"
        for name, value in result.facts.items()
        if kept_facts.get(name) != value
    ]
    return replace(
        result,
        kept_at=kept_at,
        kept_facts=kept_facts,
        now=now,
        before=before,
        new=_measures(one for one in result.asked if one.new),
        changed=tuple(changed),
        fell=tuple(fell),
    )


def _measures(asked: Iterable[Asked]) -> Measures:
    listed = list(asked)
    answerable = [one for one in listed if one.outcome in ("found", "missed")]
    silent = [one for one in listed if one.outcome in ("silent", "answered")]
    return Measures(
        questions=len(answerable),
        hit_1=_rounded(hit_at(one.rank, 1) for one in answerable),
        hit_5=_rounded(hit_at(one.rank, 5) for one in answerable),
        hit_10=_rounded(hit_at(one.rank, 10) for one in answerable),
        mrr=_rounded(reciprocal_rank(one.rank, DEPTH) for one in answerable),
        ndcg_10=_rounded(one.ndcg for one in answerable),
        silent_questions=len(silent),
        false_answers=sum(one.outcome == "answered" for one in silent),
    )


def _rounded(values: Iterable[float]) -> float:
    return round(mean(values), 4)
