"""The words of the user's retrieval tests, and of an experiment with and without the memory."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

from engram_py.base.files import lines_of
from engram_py.interfaces.wording.phrases import Words, amount, clock
from engram_py.upkeep.evaluation.questions import (
    DEPTH,
    Asked,
    Evaluation,
    ExpectedAnswer,
    Measures,
    Question,
    QuestionKept,
    QuestionsRemoved,
)
from engram_py.upkeep.evaluation.tasks import ARMS, Plan, Result

MOST_MOVED = 40
_NAMES = {"hit_1": "hit@1", "hit_5": "hit@5", "hit_10": "hit@10", "mrr": "MRR", "ndcg_10": "nDCG@10"}
_KEPT = {"added": "Added", "updated": "Updated", "unchanged": "Already kept"}
_FELL = {**_NAMES, "false_answers": "false answers"}


def _answer(value: ExpectedAnswer) -> str:
    if value.id is None:
        return "a memory that is not here"
    return f"[#{value.id}] {value.title}" + (" (deleted)" if value.deleted else "")


# What an agent takes for a task of this size, with the models of 2026.
_RUN_TOKENS, _RUN_DOLLARS = (50_000, 300_000), (0.2, 1.5)


def _plan(value: Plan, now: datetime) -> str:
    left = value.runs - value.done
    lines = [
        f"{one.id} {lines_of(one.prompt)[0]} ({one.why}; {' '.join(one.check) or 'its guard'})" for one in value.tasks
    ]
    low, high = (round(left * dollars) for dollars in _RUN_DOLLARS)
    few, many = (f"{tokens:,}" for tokens in _RUN_TOKENS)
    tasks, runs = amount(len(value.tasks), "task"), amount(value.runs, "run")
    head = f"{tasks}, each in {len(ARMS)} variants ({', '.join(ARMS)}): {runs}"
    return "\n".join(
        [
            head + (f", {value.done} of them done" if value.done else ""),
            *lines,
            f"At most {left * value.timeout / 3600:.1f} hours. A real agent takes {few} to {many} tokens a run: "
            f"roughly ${low} to ${high} in total.",
        ]
    )


def _result(value: Result, now: datetime) -> str:
    if not value.tasks:
        return "No task has run in all four variants yet"
    lines = [
        f"{amount(value.tasks, 'task')} in all four variants",
        f"{'':10}" + "".join(f"{one:>10}" for one in _ARM_COUNTS),
    ]
    lines += [f"{one.arm:10}" + "".join(f"{getattr(one, name):>10}" for name in _ARM_COUNTS) for one in value.arms]
    lines += ["helped: solved, but not solved without memory. harmed: the opposite."]
    lines += [
        f"{one.arm}: {one.helped} helped, {one.harmed} harmed"
        + (f"; that may be chance (p = {one.chance:.2f})" if one.chance > _CHANCE else f" (p = {one.chance:.3f})")
        for one in value.arms
        if one.helped + one.harmed
    ]
    return "\n".join(lines)


_ARM_COUNTS = ("runs", "solved", "helped", "harmed", "timeouts", "seconds")
_CHANCE = 0.05


def _question(value: Question, now: datetime) -> str:
    answers = "; ".join(map(_answer, value.answers)) or "nothing"
    where = value.project or "all projects"
    return f'{value.id} "{value.question}" → {"nothing expected" if value.silent else answers} ({where})'


def _evaluation(value: Evaluation, now: datetime) -> str:
    if not value.asked:
        return 'No questions yet: engram eval add "your question" ID'
    parts = (_measured(value, now), [""], _table(value), _moved(value), _lost(value), [""], _verdict(value))
    return "\n".join([_failing(value), *(line for part in parts for line in part)])


def _failing(value: Evaluation) -> str:
    """Return how many questions are not answered as they should be; the kept run may have asked few of them."""
    asked = [one for one in value.asked if one.outcome != "lost"]
    wrong = sum(one.outcome in ("missed", "answered") for one in asked)
    of = "the question" if len(asked) == 1 else f"{len(asked):,} questions"
    if not wrong:
        return f"none of {of} fails" if len(asked) != 1 else "the question is answered as it should be"
    return f"{wrong:,} of {of} {'fails' if wrong == 1 else 'fail'}" if len(asked) > 1 else "the question fails"


def _measured(value: Evaluation, now: datetime) -> Iterator[str]:
    facts = ", ".join(f"{name} {fact}" for name, fact in value.facts.items())
    silent = value.measures.silent_questions
    asked = amount(len(value.asked), "question")
    yield f"{facts}: {asked}, {silent} that should find nothing"
    if value.kept_at is not None:
        both = sum(one.comparable for one in value.asked)
        new = sum(one.new for one in value.asked)
        asked = f"{amount(both, 'question')} asked then and now" + (f", {new} new" if new else "")
        yield f"before: the kept run of {clock(value.kept_at, now)}; {asked}"
        yield f"changed since then: {', '.join(value.changed) or 'nothing in the program or the index'}"


def _table(value: Evaluation) -> Iterator[str]:
    columns = _columns(value)
    yield f"{'':14}" + "".join(f"{name:>10}" for name in columns)
    yield f"{'with an answer':14}" + "".join(f"{measures.questions:>10}" for measures in columns.values())
    for name, label in _NAMES.items():
        shares = (f"{getattr(one, name):.3f}" if one.questions else "-" for one in columns.values())
        cells = "".join(f"{share:>10}" for share in shares)
        yield f"{label:14}{cells}" + ("  FELL" if name in value.fell else "")
    if value.measures.questions:
        yield f"of the hits: precision {value.precision:.3f}, recall {value.recall:.3f}, F1 {value.f1:.3f}"
    false = (
        f"{one.false_answers} of {one.silent_questions}" if one.silent_questions else "-" for one in columns.values()
    )
    cells = "".join(f"{share:>10}" for share in false)
    yield f"{'false answers':14}{cells}" + ("  ROSE" if "false_answers" in value.fell else "")


def _columns(value: Evaluation) -> dict[str, Measures]:
    """Return the measures of a comparison: what both runs asked, and apart from it what only this one did."""
    if value.before is None or value.now is None:
        return {"all": value.measures}
    new = value.new if any(one.new for one in value.asked) else None
    return {"before": value.before, "now": value.now} | ({"new": new} if new else {})


def _moved(value: Evaluation) -> Iterator[str]:
    moved = [one for one in value.asked if one.comparable and one.moved]
    wrong = [one for one in value.asked if one.outcome in ("missed", "answered") and one not in moved]
    for title, asked in (("moved", moved), ("not answered as they should be", wrong)):
        if asked:
            yield from ("", f"{title}:")
            yield from (_line(one) for one in asked[:MOST_MOVED])
            if len(asked) > MOST_MOVED:
                yield f"  and {len(asked) - MOST_MOVED} more: --json lists them all"


def _line(one: Asked) -> str:
    then = f"{_place(one.before, one.rank_before)} → " if one.before is not None and one.moved else ""
    shown = f", with {_answer(one.shown)}" if one.shown else ""
    return f'  {one.id} "{one.question}": {then}{_place(one.outcome, one.rank, empty=one.empty)}{shown}'


def _place(outcome: str | None, rank: int | None, *, empty: bool = False) -> str:
    match outcome:
        case "found":
            return f"rank {rank}"
        case "missed" if not empty:
            return f"not in the first {DEPTH}"
        case "answered":
            return "answered"
    return "nothing found"


def _lost(value: Evaluation) -> Iterator[str]:
    lost = [one for one in value.asked if one.outcome == "lost"]
    if lost:
        yield from (
            "",
            "Not counted, because the answer was deleted. Remove: `engram eval remove N`. "
            "New answer: `engram eval add QUESTION ID`:",
        )
        yield from (f'  {one.id} "{one.question}": {"; ".join(map(_answer, one.answers))}' for one in lost)


def _verdict(value: Evaluation) -> Sequence[str]:
    lines = []
    if value.fell:
        names = ", ".join(_FELL[name] for name in value.fell)
        lines.append(f"worse than the kept run by more than {value.tolerance:g}: {names}")
    elif value.kept_at is not None:
        compared = sum(one.comparable for one in value.asked)
        lines.append(f"no worse than the kept run in the {amount(compared, 'question')} of both")
    if value.kept:
        lines.append("kept: later runs are compared with this one")
    elif value.kept_at is not None and (new := sum(one.new for one in value.asked)):
        lines.append(f"{amount(new, 'new question')}, not compared; to compare later runs with this one: --keep")
    return lines


WORDS: Words = {
    Question: _question,
    QuestionKept: lambda value, now: f"{_KEPT[value.outcome]}: {_question(value.question, now)}",
    QuestionsRemoved: lambda value, now: f"Removed {amount(value.count, 'question')}",
    Evaluation: _evaluation,
    Plan: _plan,
    Result: _result,
}
