"""The user's own retrieval tests: questions, answers, measures, runs and their comparison."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import (
    EmptyFieldError,
    EmptyQueryError,
    InvalidArgumentError,
    InvalidTextError,
    NotFoundError,
    TextTooLongError,
)
from engram_py.interfaces.wording import render
from engram_py.memory.observations.errors import ObservationNotFoundError
from engram_py.memory.observations.values import Change
from engram_py.upkeep.evaluation.evaluation import (
    first_rank,
    hit_at,
    mean,
    ndcg_at,
    reciprocal_rank,
)
from tests.support import FakeClock, draft, raising, words
from tests.upkeep.evaluation.evaluating import keep, outcome, run

# --- questions ----------------------------------------------------------------------------------------------


def test_row_153_a_run_tells_precision_recall_and_f1(app: Engram) -> None:
    said = "The gateway listens on {}."
    ids = [app.save(draft(said.format(port), title=f"Gateway {port}")).id for port in (7001, 7002, 7003)]
    other = app.save(draft("Access tokens live fifteen minutes.", title="Tokens")).id
    app.evaluations.add("gateway listens", [ids[0], other])

    result = run(app)

    assert (result.precision, result.recall, result.f1) == (0.3333, 0.5, 0.4)
    assert "precision 0.333, recall 0.500, F1 0.400" in render.text(result, now=app.journal.moment(), door="cli")


def test_a_question_is_kept_with_what_answers_it(app: Engram, answers: dict[str, int]) -> None:
    kept = app.evaluations.add("  how long do\ntokens live ", [answers["tokens"]])

    [question] = app.evaluations.questions()
    assert (kept.outcome, kept.question) == ("added", question)
    assert (question.question, question.project) == ("how long do tokens live", "widgets")
    assert [(answer.id, answer.title) for answer in question.answers] == [(answers["tokens"], "Access tokens")]


def test_the_same_question_again_gets_another_answer(app: Engram, answers: dict[str, int]) -> None:
    app.evaluations.add("what runs", [answers["tokens"]])
    more = app.evaluations.add("What  RUNS", [answers["backup"], answers["tokens"]])
    same = app.evaluations.add("what runs", [answers["backup"]])

    assert (more.outcome, same.outcome) == ("updated", "unchanged")
    assert [answer.id for answer in same.question.answers] == [answers["tokens"], answers["backup"]]
    assert len(app.evaluations.questions()) == 1


def test_a_secret_in_a_question_is_not_stored(app: Engram, answers: dict[str, int]) -> None:
    kept = app.evaluations.add("is password=hunter2! still used", [answers["port"]])
    assert "hunter2!" not in kept.question.question
    assert kept.warnings


def test_a_question_is_asked_from_where_its_answer_was_saved_and_of_a_personal_one_from_here(app: Engram) -> None:
    there = app.save(draft("Elsewhere."), project="gizmos")
    mine = app.save(draft("Tabs.", scope="personal"), project="gizmos")
    assert app.evaluations.add("where", [there.id]).question.project == "gizmos"
    assert app.evaluations.add("tabs or spaces", [mine.id]).question.project == "widgets"
    assert app.evaluations.add("tabs or spaces", [mine.id], project="gadgets").question.project == "gadgets"


@pytest.mark.parametrize(
    ("question", "error"),
    [
        pytest.param("  ", EmptyFieldError, id="blank"),
        pytest.param("?!", EmptyQueryError, id="punctuation"),
        pytest.param("x" * 1_001, TextTooLongError, id="too-long"),
        pytest.param("why " * 250_000, TextTooLongError, id="a-megabyte"),
        pytest.param("nul \0", InvalidTextError, id="nul"),
        pytest.param("half \ud800", InvalidTextError, id="surrogate"),
    ],
)
def test_what_cannot_be_asked_is_refused(
    app: Engram, answers: dict[str, int], question: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        app.evaluations.add(question, [answers["port"]])
    assert app.evaluations.questions() == ()


def test_a_question_has_either_answers_or_none(app: Engram, answers: dict[str, int]) -> None:
    for given, silent in (([], False), ([answers["port"]], True)):
        with pytest.raises(InvalidArgumentError):
            app.evaluations.add("which", given, silent=silent)
    app.evaluations.add("which", [answers["port"]])
    app.evaluations.add("colour", silent=True)
    with pytest.raises(InvalidArgumentError, match="kept already"):
        app.evaluations.add("which", silent=True)
    with pytest.raises(InvalidArgumentError, match="kept already"):
        app.evaluations.add("colour", [answers["port"]])


def test_an_answer_that_is_not_there_is_refused_and_nothing_is_kept(app: Engram, answers: dict[str, int]) -> None:
    for missing in (99, 0, 2**63):
        with pytest.raises((ObservationNotFoundError, InvalidArgumentError)):
            app.evaluations.add("which", [answers["port"], missing])
    assert app.evaluations.questions() == ()


def test_an_answer_that_cannot_be_seen_from_the_project_is_refused(app: Engram, answers: dict[str, int]) -> None:
    there = app.save(draft("Elsewhere."), project="gizmos")
    with pytest.raises(InvalidArgumentError) as refusal:
        app.evaluations.add("which", [answers["port"]], project="gizmos")
    assert "widgets" in refusal.value.hint
    with pytest.raises(InvalidArgumentError):
        app.evaluations.add("which", [answers["port"], there.id])


def test_questions_are_removed_all_or_none(app: Engram, answers: dict[str, int]) -> None:
    numbers = [app.evaluations.add(text, [answers["port"]]).question.id for text in ("one", "two", "three")]
    with raising(NotFoundError, "question_not_found", match="no question 99"):
        app.evaluations.remove([numbers[0], 99])
    assert app.evaluations.remove(numbers[:2]).count == 2
    assert [question.id for question in app.evaluations.questions()] == numbers[2:]
    assert app.evaluations.add("one", [answers["port"]]).question.id > numbers[2], "no number is given twice"


# --- a run --------------------------------------------------------------------------------------------------


def test_without_questions_there_is_nothing_to_say_and_nothing_kept(app: Engram) -> None:
    result = run(app, keep=True)
    assert (result.asked, result.kept, result.fell) == ((), False, ())
    assert run(app).kept_at is None


def test_a_run_says_what_was_found_where(app: Engram, answers: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [answers["tokens"]])
    app.evaluations.add("nothing like it", [answers["port"]])
    app.evaluations.add("favourite colour", silent=True)
    app.evaluations.add("loopback 7437", silent=True)

    result = run(app)

    assert (outcome(result, "access tokens").outcome, outcome(result, "access tokens").rank) == ("found", 1)
    assert (outcome(result, "nothing like it").outcome, outcome(result, "nothing like it").rank) == ("missed", None)
    assert outcome(result, "favourite colour").outcome == "silent"
    wrong = outcome(result, "loopback 7437")
    assert wrong.outcome == "answered"
    assert wrong.shown is not None
    assert wrong.shown.id == answers["port"]
    measures = result.measures
    assert measures.questions == 2
    assert {measures.hit_1, measures.hit_5, measures.hit_10, measures.mrr} == {0.5}
    assert (measures.silent_questions, measures.false_answers) == (2, 1)


def test_the_rank_is_that_of_the_first_answer(app: Engram) -> None:
    ids = [app.save(draft("The same words each time.", title=f"Row {number}")).id for number in range(12)]
    order = [hit.id for hit in app.search("the same words each time", limit=10).results]
    missing = (set(ids) - set(order)).pop()
    app.evaluations.add("the same words each time", [missing, order[6], order[3]])

    result = run(app)

    assert [one.rank for one in result.asked] == [4]
    assert result.measures.mrr == 0.25
    assert (result.measures.hit_1, result.measures.hit_5) == (0, 1)
    assert 0 < result.measures.ndcg_10 < 0.5


def test_the_first_run_is_what_later_ones_are_compared_with(
    app: Engram, answers: dict[str, int], clock: FakeClock
) -> None:
    first = keep(app, answers)
    clock.advance(days=2)
    second = run(app)

    assert (first.kept, first.kept_at, first.before) == (True, None, None)
    assert (second.kept, second.fell) == (False, ())
    assert second.kept_at == "2026-03-01T10:00:00.000Z"
    assert second.before == second.now == first.measures


@pytest.fixture
def fallen(app: Engram, answers: dict[str, int]) -> None:
    """Two questions of a kept run, one of which has lost its answer since."""
    app.evaluations.add("access tokens", [answers["tokens"]])
    app.evaluations.add("nightly backup", [answers["backup"]])
    run(app)
    app.observations.update(answers["tokens"], Change(title="Gone", content="Elsewhere."))


def test_a_lower_rank_is_a_fall_and_is_named_until_a_run_is_kept(app: Engram, fallen: None) -> None:
    result = run(app)

    assert result.fell == run(app).fell == ("hit_5", "mrr")
    assert result.before is not None
    assert result.now is not None
    assert (result.before.hit_5, result.now.hit_5) == (1, 0.5)
    moved = outcome(result, "access tokens")
    assert (moved.before, moved.rank_before, moved.outcome, moved.rank) == ("found", 1, "missed", None)
    assert moved.moved
    assert not outcome(result, "nightly backup").moved


def test_a_fall_within_the_tolerance_is_none_and_one_that_is_kept_counts_no_more(app: Engram, fallen: None) -> None:
    assert run(app, tolerance=0.5).fell == ()
    assert run(app, tolerance=0.49).fell == ("hit_5", "mrr")

    kept = run(app, keep=True)

    assert (kept.fell, kept.kept) == (("hit_5", "mrr"), True)
    assert run(app).fell == ()
    assert app.store.value("select count(*) from eval_runs") == 1


def test_a_new_false_answer_is_a_fall_and_one_that_was_there_before_is_none(
    app: Engram, answers: dict[str, int]
) -> None:
    app.evaluations.add("favourite colour", silent=True)
    app.evaluations.add("loopback 7437", silent=True)
    assert run(app).fell == run(app).fell == ()
    app.save(draft("Blue.", title="Favourite colour"))
    assert run(app).fell == ("false_answers",)


@pytest.mark.parametrize("tolerance", [-0.1, 1.5, float("nan")])
def test_a_tolerance_that_is_no_share_is_refused(app: Engram, tolerance: float) -> None:
    with pytest.raises(InvalidArgumentError):
        run(app, tolerance=tolerance)


def test_a_question_added_later_is_neither_rise_nor_fall(app: Engram, answers: dict[str, int]) -> None:
    keep(app, answers)
    app.evaluations.add("nothing like it", [answers["port"]])

    result = run(app)

    assert result.fell == ()
    assert result.measures.hit_5 == 0.5
    assert result.now == result.before
    assert outcome(result, "nothing like it").before is None
    assert result.now is not None
    assert result.new is not None
    assert (result.now.questions, result.new.questions, result.new.hit_5) == (1, 1, 0)


def test_a_question_with_other_answers_than_in_the_kept_run_is_a_new_one(app: Engram, answers: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [answers["tokens"]])
    app.evaluations.add("loopback 7437", [answers["port"]])
    run(app)
    app.evaluations.add("access tokens", [answers["backup"]])

    result = run(app)

    assert (result.fell, result.now) == ((), result.before)
    assert [one.question for one in result.asked if one.comparable] == ["loopback 7437"]
    assert [one.question for one in result.asked if one.new] == ["access tokens"]


def test_an_answer_that_a_question_has_already_leaves_it_in_the_comparison(
    app: Engram, answers: dict[str, int]
) -> None:
    keep(app, answers)
    app.evaluations.add("access tokens", [answers["tokens"]])
    assert outcome(run(app), "access tokens").comparable


def test_a_removed_question_is_left_out_of_the_comparison(app: Engram, answers: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [answers["tokens"]])
    number = app.evaluations.add("nothing like it", [answers["port"]]).question.id
    run(app)
    app.evaluations.remove([number])
    result = run(app)
    assert (result.fell, len(result.asked)) == ((), 1)
    assert result.before is not None
    assert result.before.hit_5 == 1


def test_what_is_not_as_in_the_kept_run_is_said(app: Engram, answers: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [answers["tokens"]])
    app.evaluations.run({"engram": "1.0"})
    assert app.evaluations.run({"engram": "1.0"}).changed == ()
    assert app.evaluations.run({"engram": "2.0"}).changed == ("engram 1.0 → 2.0",)


def test_another_way_to_derive_terms_is_another_index(
    app: Engram, answers: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(app, answers)
    monkeypatch.setattr("engram_py.upkeep.reindex.derived_terms", lambda *texts: "others")

    result = run(app)

    [changed] = result.changed
    assert changed.startswith("index ")
    [warning] = result.warnings
    assert "engram reindex" in words(warning)


def test_a_run_counts_no_use_of_what_it_finds(app: Engram, answers: dict[str, int]) -> None:
    keep(app, answers)
    app.usage.flush()
    assert app.store.value("select max(access_count) from observations") == 0


def test_progress_counts_the_questions(app: Engram, answers: dict[str, int]) -> None:
    for text in ("one", "two"):
        app.evaluations.add(text, [answers["port"]])
    told: list[tuple[int, int]] = []
    run(app, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


@pytest.mark.parametrize("hard", [False, True])
def test_a_deleted_answer_is_lost_and_not_counted(app: Engram, answers: dict[str, int], hard: bool) -> None:
    app.evaluations.add("access tokens", [answers["tokens"]])
    app.evaluations.add("nightly backup", [answers["backup"]])
    run(app)
    app.observations.delete(answers["tokens"], hard=hard)

    result = run(app)

    lost = outcome(result, "access tokens")
    assert (lost.outcome, lost.answers[0].id) == ("lost", None if hard else answers["tokens"])
    assert (result.measures.questions, result.measures.hit_5, result.fell) == (1, 1, ())


def test_of_two_answers_one_is_enough(app: Engram, answers: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [answers["tokens"], answers["port"]])
    app.observations.delete(answers["port"])
    assert outcome(run(app), "access tokens").outcome == "found"


@pytest.mark.parametrize("hard", [False, True])
def test_an_observation_that_supersedes_an_answer_is_one(app: Engram, hard: bool) -> None:
    old = app.save(draft("Ten.", title="Token lifetime limit"))
    new = app.save(draft("Fifteen.", title="Token lifetime limit raised"))
    last = app.save(draft("Twenty, which is another figure.", title="Session length"))
    app.evaluations.add("session length figure", [old.id])
    assert outcome(run(app), "session length figure").outcome == "missed"
    app.relations.judge(new.candidates[0].judgment_id, "supersedes")
    app.relations.compare(last.id, new.id, "supersedes", confidence=1.0, reasoning="measured")

    assert outcome(run(app), "session length figure").rank == 1
    app.observations.delete(old.id, hard=hard)
    app.observations.delete(new.id, hard=hard)
    assert outcome(run(app), "session length figure").outcome == "found"


@pytest.mark.parametrize(("verdict", "status"), [("supersedes", "ignored"), ("related", "judged")])
def test_a_verdict_that_was_taken_back_or_another_one_makes_no_answer(app: Engram, verdict: str, status: str) -> None:
    old = app.save(draft("Ten.", title="Token lifetime limit"))
    new = app.save(draft("Fifteen.", title="Token lifetime limit raised"))
    app.evaluations.add("lifetime raised", [old.id])
    app.relations.judge(new.candidates[0].judgment_id, verdict)
    with app.store.transaction():
        app.store.execute("update memory_relations set judgment_status = :status", status=status)
    app.observations.delete(old.id)
    assert outcome(run(app), "lifetime raised").outcome == "lost"


def test_observations_that_supersede_each_other_do_not_hang_a_run(app: Engram) -> None:
    one, other = (app.save(draft(text, title=text)) for text in ("First", "Second"))
    app.relations.compare(one.id, other.id, "supersedes", confidence=1.0, reasoning="a")
    with app.store.transaction():  # the other way round as well, which no door offers
        [row] = app.store.rows("select * from memory_relations")
        values = dict(row) | {"id": None, "sync_id": "rel-0"}
        app.store.insert("memory_relations", values | {"source_id": row["target_id"], "target_id": row["source_id"]})
    app.evaluations.add("second", [one.id])
    assert outcome(run(app), "second").rank == 1


def test_what_was_superseded_and_left_without_a_replacement_is_lost(app: Engram, answers: dict[str, int]) -> None:
    app.evaluations.add("nothing like it", [answers["tokens"]])
    with app.store.transaction():
        app.store.update("observations", {"id": answers["tokens"]}, {"lifecycle": "historical"})
    assert outcome(run(app), "nothing like it").outcome == "lost"


def test_when_projects_are_merged_the_row_that_keeps_the_topic_answers(app: Engram, clock: FakeClock) -> None:
    gone = app.save(Draft("Token lifetime", "Ten minutes.", topic_key="auth/ttl"), project="gizmos")
    app.evaluations.add("minutes", [gone.id])
    clock.advance(minutes=1)
    kept = app.save(Draft("Token lifetime", "Fifteen minutes.", topic_key="auth/ttl"))
    app.merging.merge(["gizmos"], "widgets")

    result = run(app)

    assert app.search("minutes").results[0].id == kept.id
    assert outcome(result, "minutes").rank == 1


def test_answers_survive_an_export_and_an_import(app: Engram, answers: dict[str, int], tmp_path: Path) -> None:
    app.evaluations.add("access tokens", [answers["tokens"]])
    file = tmp_path / "memory.json"
    app.transfer.export(file)
    with app.store.transaction():  # the memory is lost, the tests are not
        app.store.execute("delete from observations")
    assert outcome(run(app), "access tokens").outcome == "lost"

    app.transfer.import_file(file)

    assert outcome(run(app), "access tokens").outcome == "found"
    assert {answer.id for question in app.evaluations.questions() for answer in question.answers} != {answers["tokens"]}


def test_nothing_of_it_is_queued_for_other_machines(app: Engram, answers: dict[str, int]) -> None:
    before = app.store.rows("select * from sync_mutations")
    app.evaluations.add("a question of my own", [answers["tokens"]])
    run(app)
    assert app.store.rows("select * from sync_mutations") == before
    assert "a question of my own" not in json.dumps(app.transfer.document())


def test_ranks_and_gains_are_of_the_first_places_and_nothing_found_is_nothing() -> None:
    assert first_rank("abcd", {"c", "d"}) == 3
    assert first_rank("abcd", {"z"}) is None
    assert first_rank("", {"z"}) is None
    assert not hit_at(None, 10)
    assert reciprocal_rank(None) == 0
    assert [reciprocal_rank(rank) for rank in (1, 4, 10, 11)] == [1, 0.25, 0.1, 0]
    assert ndcg_at(range(10), range(40)) == pytest.approx(1)
    assert mean([]) == 0
    assert mean([1, 0]) == 0.5


@pytest.mark.parametrize(("rank", "hits"), [(1, [True] * 3), (5, [False, True, True]), (6, [False, False, True])])
def test_a_hit_is_one_within_the_first_k(rank: int, hits: list[bool]) -> None:
    assert [hit_at(rank, k) for k in (1, 5, 10)] == hits


@pytest.mark.parametrize(
    ("found", "relevant", "expected"),
    [
        pytest.param("ab", "ab", 1, id="best-order"),
        pytest.param("xa", "a", 1 / math.log2(3), id="second-place"),
        pytest.param("axb", "ab", (1 + 0.5) / (1 + 1 / math.log2(3)), id="gap"),
        pytest.param("aa", "ab", 1 / (1 + 1 / math.log2(3)), id="found-twice-counts-once"),
        pytest.param("x" * 10 + "a", "a", 0, id="eleventh"),
        pytest.param("ab", "", 0, id="nothing-relevant"),
        pytest.param("", "a", 0, id="nothing-found"),
    ],
)
def test_ndcg_is_the_gain_over_the_best_gain(found: str, relevant: str, expected: float) -> None:
    assert ndcg_at(found, relevant) == pytest.approx(expected)
