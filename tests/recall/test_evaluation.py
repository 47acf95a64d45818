"""The user's own retrieval tests: what a question counts, what a run says, and when it has fallen."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.errors import EmptyFieldError, EmptyQueryError, InvalidArgumentError, InvalidTextError, TextTooLongError
from engram_py.observations.errors import ObservationNotFoundError
from engram_py.observations.values import Change
from engram_py.recall.errors import QuestionNotFoundError
from engram_py.recall.evaluation_values import Asked, Evaluation
from tests.memory import FakeClock, draft

FACTS = {"engram": "1.0"}
# Nothing of one is in another, so each question finds its own and nothing else.
TEXTS = {
    "tokens": ("Access tokens", "They live fifteen minutes."),
    "port": ("Listening port", "Loopback 7437."),
    "backup": ("Nightly backup", "Runs at four."),
}


@pytest.fixture
def ids(app: Engram) -> dict[str, int]:
    return {name: app.save(draft(content, title=title)).id for name, (title, content) in TEXTS.items()}


def outcome(result: Evaluation, question: str) -> Asked:
    [asked] = [one for one in result.asked if one.question == question]
    return asked


def run(app: Engram, **options: object) -> Evaluation:
    return app.evaluations.run(FACTS, **options)  # type: ignore[arg-type]


# --- questions ----------------------------------------------------------------------------------------------


def test_a_question_is_kept_with_what_answers_it(app: Engram, ids: dict[str, int]) -> None:
    kept = app.evaluations.add("  how long do\ntokens live ", [ids["tokens"]])

    [question] = app.evaluations.questions()
    assert (kept.outcome, kept.question) == ("added", question)
    assert (question.question, question.project, question.origin) == ("how long do tokens live", "widgets", "user")
    assert [(answer.id, answer.title) for answer in question.answers] == [(ids["tokens"], "Access tokens")]


def test_the_same_question_again_gets_another_answer(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("what runs", [ids["tokens"]])
    more = app.evaluations.add("What  RUNS", [ids["backup"], ids["tokens"]])
    same = app.evaluations.add("what runs", [ids["backup"]])

    assert (more.outcome, same.outcome) == ("updated", "unchanged")
    assert [answer.id for answer in same.question.answers] == [ids["tokens"], ids["backup"]]
    assert len(app.evaluations.questions()) == 1


def test_a_secret_in_a_question_is_not_stored(app: Engram, ids: dict[str, int]) -> None:
    kept = app.evaluations.add("is password=hunter2! still used", [ids["port"]])
    assert "hunter2!" not in kept.question.question
    assert kept.warnings


def test_what_the_user_says_takes_the_place_of_what_was_learned(app: Engram, ids: dict[str, int]) -> None:
    app.trail.searched("what runs", projects=("widgets",), ids=list(ids.values()))
    app.get(ids["port"])
    run(app)
    kept = app.evaluations.add("what runs", [ids["backup"]])

    assert kept.outcome == "updated"
    assert (kept.question.origin, kept.question.times) == ("user", 1)
    assert [answer.id for answer in kept.question.answers] == [ids["backup"]]
    assert app.evaluations.forget_learned().count == 0


def test_a_question_is_asked_from_where_its_answer_was_saved(app: Engram) -> None:
    there = app.save(draft("Elsewhere."), project="gizmos")
    assert app.evaluations.add("where", [there.id]).question.project == "gizmos"


def test_a_personal_answer_is_asked_for_from_here(app: Engram) -> None:
    mine = app.save(draft("Tabs.", scope="personal"), project="gizmos")
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
    app: Engram, ids: dict[str, int], question: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        app.evaluations.add(question, [ids["port"]])
    assert app.evaluations.questions() == ()


def test_a_question_has_either_answers_or_none(app: Engram, ids: dict[str, int]) -> None:
    for answers, silent in (([], False), ([ids["port"]], True)):
        with pytest.raises(InvalidArgumentError):
            app.evaluations.add("which", answers, silent=silent)
    app.evaluations.add("which", [ids["port"]])
    app.evaluations.add("colour", silent=True)
    with pytest.raises(InvalidArgumentError, match="which"):
        app.evaluations.add("which", silent=True)
    with pytest.raises(InvalidArgumentError, match="colour"):
        app.evaluations.add("colour", [ids["port"]])


def test_an_answer_that_is_not_there_is_refused_and_nothing_is_kept(app: Engram, ids: dict[str, int]) -> None:
    for missing in (99, 0, 2**63):
        with pytest.raises((ObservationNotFoundError, InvalidArgumentError)):
            app.evaluations.add("which", [ids["port"], missing])
    assert app.evaluations.questions() == ()


def test_an_answer_that_cannot_be_seen_from_the_project_is_refused(app: Engram, ids: dict[str, int]) -> None:
    there = app.save(draft("Elsewhere."), project="gizmos")
    with pytest.raises(InvalidArgumentError) as refusal:
        app.evaluations.add("which", [ids["port"]], project="gizmos")
    assert "widgets" in refusal.value.hint
    with pytest.raises(InvalidArgumentError):
        app.evaluations.add("which", [ids["port"], there.id])


def test_questions_are_removed_all_or_none(app: Engram, ids: dict[str, int]) -> None:
    numbers = [app.evaluations.add(text, [ids["port"]]).question.id for text in ("one", "two", "three")]
    with pytest.raises(QuestionNotFoundError) as refusal:
        app.evaluations.remove([numbers[0], 99])
    assert refusal.value.number == 99
    assert app.evaluations.remove(numbers[:2]).count == 2
    assert [question.id for question in app.evaluations.questions()] == numbers[2:]


def test_a_number_is_never_given_twice(app: Engram, ids: dict[str, int]) -> None:
    first = app.evaluations.add("one", [ids["port"]]).question.id
    app.evaluations.remove([first])
    assert app.evaluations.add("one", [ids["port"]]).question.id > first


# --- a run --------------------------------------------------------------------------------------------------


def test_without_questions_there_is_nothing_to_say_and_nothing_kept(app: Engram) -> None:
    result = run(app, keep=True)
    assert (result.asked, result.kept, result.fell) == ((), False, ())
    assert run(app).kept_at is None


def test_a_run_says_what_was_found_where(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    app.evaluations.add("nothing like it", [ids["port"]])
    app.evaluations.add("favourite colour", silent=True)
    app.evaluations.add("loopback 7437", silent=True)

    result = run(app)

    assert (outcome(result, "access tokens").outcome, outcome(result, "access tokens").rank) == ("found", 1)
    assert (outcome(result, "nothing like it").outcome, outcome(result, "nothing like it").rank) == ("missed", None)
    assert outcome(result, "favourite colour").outcome == "silent"
    wrong = outcome(result, "loopback 7437")
    assert wrong.outcome == "answered"
    assert wrong.shown is not None
    assert wrong.shown.id == ids["port"]
    measures = result.measures
    assert (measures.questions, measures.hit_1, measures.hit_5, measures.hit_10, measures.mrr) == (
        2,
        0.5,
        0.5,
        0.5,
        0.5,
    )
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


def test_the_first_run_is_what_later_ones_are_compared_with(app: Engram, ids: dict[str, int], clock: FakeClock) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    first = run(app)
    clock.advance(days=2)
    second = run(app)

    assert (first.kept, first.kept_at, first.before) == (True, None, None)
    assert (second.kept, second.fell) == (False, ())
    assert second.kept_at == "2026-03-01T10:00:00.000Z"
    assert second.before == second.now == first.measures


def test_a_lower_rank_is_a_fall_and_is_named(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    app.evaluations.add("nightly backup", [ids["backup"]])
    run(app)
    app.observations.update(ids["tokens"], Change(title="Gone", content="Elsewhere."))

    result = run(app)

    assert result.fell == ("hit_5", "mrr")
    assert (result.before.hit_5, result.now.hit_5) == (1, 0.5) if result.before and result.now else False
    moved = outcome(result, "access tokens")
    assert (moved.before, moved.rank_before, moved.outcome, moved.rank) == ("found", 1, "missed", None)
    assert moved.moved
    assert not outcome(result, "nightly backup").moved


def test_a_run_that_was_not_kept_changes_nothing(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    run(app)
    app.observations.update(ids["tokens"], Change(title="Gone", content="Elsewhere."))
    assert run(app).fell == run(app).fell == ("hit_5", "mrr")


def test_a_fall_that_is_kept_is_what_counts_from_then_on(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    run(app)
    app.observations.update(ids["tokens"], Change(title="Gone", content="Elsewhere."))

    kept = run(app, keep=True)

    assert (kept.fell, kept.kept) == (("hit_5", "mrr"), True)
    assert run(app).fell == ()
    assert app.store.value("select count(*) from eval_runs") == 1


def test_a_new_false_answer_is_a_fall(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("favourite colour", silent=True)
    assert run(app).fell == ()
    app.save(draft("Blue.", title="Favourite colour"))
    assert run(app).fell == ("false_answers",)


def test_a_false_answer_that_was_there_before_is_none(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("loopback 7437", silent=True)
    run(app)
    assert run(app).fell == ()


def test_a_fall_within_the_tolerance_is_none(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    app.evaluations.add("nightly backup", [ids["backup"]])
    run(app)
    app.observations.update(ids["tokens"], Change(title="Gone", content="Elsewhere."))
    assert run(app, tolerance=0.5).fell == ()
    assert run(app, tolerance=0.49).fell == ("hit_5", "mrr")


@pytest.mark.parametrize("tolerance", [-0.1, 1.5, float("nan")])
def test_a_tolerance_that_is_no_share_is_refused(app: Engram, tolerance: float) -> None:
    with pytest.raises(InvalidArgumentError):
        run(app, tolerance=tolerance)


def test_a_question_added_later_is_neither_rise_nor_fall(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    run(app)
    app.evaluations.add("nothing like it", [ids["port"]])

    result = run(app)

    assert result.fell == ()
    assert result.measures.hit_5 == 0.5
    assert result.now == result.before
    assert outcome(result, "nothing like it").before is None
    assert result.now is not None
    assert result.new is not None
    assert (result.now.questions, result.new.questions, result.new.hit_5) == (1, 1, 0)


def test_a_question_with_other_answers_than_in_the_kept_run_is_a_new_one(app: Engram, ids: dict[str, int]) -> None:
    app.trail.searched("what runs", projects=("widgets",), ids=[ids["backup"]])
    app.get(ids["backup"])
    app.evaluations.add("access tokens", [ids["tokens"]])
    app.evaluations.add("loopback 7437", [ids["port"]])
    run(app)
    app.evaluations.add("what runs", silent=True)
    app.evaluations.add("access tokens", [ids["backup"]])

    result = run(app)

    assert (result.fell, result.now) == ((), result.before)
    assert [one.question for one in result.asked if one.comparable] == ["loopback 7437"]
    assert sorted(one.question for one in result.asked if one.new) == ["access tokens", "what runs"]


def test_an_answer_that_a_question_has_already_leaves_it_in_the_comparison(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    run(app)
    app.evaluations.add("access tokens", [ids["tokens"]])
    assert outcome(run(app), "access tokens").comparable


def test_a_removed_question_is_left_out_of_the_comparison(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    number = app.evaluations.add("nothing like it", [ids["port"]]).question.id
    run(app)
    app.evaluations.remove([number])
    result = run(app)
    assert (result.fell, len(result.asked)) == ((), 1)
    assert result.before is not None
    assert result.before.hit_5 == 1


def test_what_is_not_as_in_the_kept_run_is_said(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    app.evaluations.run({"engram": "1.0"})
    assert app.evaluations.run({"engram": "1.0"}).changed == ()
    assert app.evaluations.run({"engram": "2.0"}).changed == ("engram 1.0 → 2.0",)


def test_another_way_to_derive_terms_is_another_index(
    app: Engram, ids: dict[str, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    run(app)
    monkeypatch.setattr("engram_py.upkeep.reindex.derived_terms", lambda *texts: "others")

    result = run(app)

    [changed] = result.changed
    assert changed.startswith("index ")
    assert result.warnings == (
        "3 of 3 observations looked at have index terms of another version: run `engram reindex`",
    )


def test_a_run_leaves_no_trail(app: Engram, ids: dict[str, int]) -> None:
    app.search("access tokens")
    app.get(ids["tokens"])
    run(app)
    app.get(ids["tokens"])
    assert [(question.origin, question.times) for question in app.evaluations.questions()] == [("learned", 1)]


def test_a_run_counts_no_use_of_what_it_finds(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    run(app)
    app.usage.flush()
    assert app.store.value("select max(access_count) from observations") == 0


def test_progress_counts_the_questions(app: Engram, ids: dict[str, int]) -> None:
    for text in ("one", "two"):
        app.evaluations.add(text, [ids["port"]])
    told: list[tuple[int, int]] = []
    run(app, progress=lambda done, total: told.append((done, total)))
    assert told == [(1, 2), (2, 2)]


# --- answers come and go ------------------------------------------------------------------------------------


@pytest.mark.parametrize("hard", [False, True])
def test_a_deleted_answer_is_lost_and_not_counted(app: Engram, ids: dict[str, int], hard: bool) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    app.evaluations.add("nightly backup", [ids["backup"]])
    run(app)
    app.observations.delete(ids["tokens"], hard=hard)

    result = run(app)

    lost = outcome(result, "access tokens")
    assert (lost.outcome, lost.answers[0].id) == ("lost", None if hard else ids["tokens"])
    assert (result.measures.questions, result.measures.hit_5, result.fell) == (1, 1, ())


def test_of_two_answers_one_is_enough(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("access tokens", [ids["tokens"], ids["port"]])
    app.observations.delete(ids["port"])
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


def test_a_verdict_that_was_taken_back_makes_no_answer(app: Engram) -> None:
    old = app.save(draft("Ten.", title="Token lifetime limit"))
    new = app.save(draft("Fifteen.", title="Token lifetime limit raised"))
    app.evaluations.add("lifetime raised", [old.id])
    app.relations.judge(new.candidates[0].judgment_id, "supersedes")
    with app.store.transaction():
        app.store.execute("update memory_relations set judgment_status = 'ignored'")
    app.observations.delete(old.id)
    assert outcome(run(app), "lifetime raised").outcome == "lost"


def test_a_relation_other_than_supersedes_makes_no_answer(app: Engram) -> None:
    old = app.save(draft("Ten.", title="Token lifetime limit"))
    new = app.save(draft("Fifteen.", title="Token lifetime limit raised"))
    app.evaluations.add("lifetime raised", [old.id])
    app.relations.judge(new.candidates[0].judgment_id, "related")
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


def test_what_was_superseded_and_left_without_a_replacement_is_lost(app: Engram, ids: dict[str, int]) -> None:
    app.evaluations.add("nothing like it", [ids["tokens"]])
    with app.store.transaction():
        app.store.update("observations", {"id": ids["tokens"]}, {"lifecycle": "historical"})
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


def test_answers_survive_an_export_and_an_import(app: Engram, ids: dict[str, int], tmp_path: Path) -> None:
    app.evaluations.add("access tokens", [ids["tokens"]])
    file = tmp_path / "memory.json"
    app.transfer.export(file)
    with app.store.transaction():  # the memory is lost, the tests are not
        app.store.execute("delete from observations")
    assert outcome(run(app), "access tokens").outcome == "lost"

    app.transfer.import_file(file)

    assert outcome(run(app), "access tokens").outcome == "found"
    assert {answer.id for question in app.evaluations.questions() for answer in question.answers} != {ids["tokens"]}


def test_nothing_of_it_is_queued_for_other_machines(app: Engram, ids: dict[str, int]) -> None:
    before = app.store.rows("select * from sync_mutations")
    app.evaluations.add("a question of my own", [ids["tokens"]])
    run(app)
    assert app.store.rows("select * from sync_mutations") == before
    assert "a question of my own" not in json.dumps(app.transfer.document())


def test_a_question_follows_its_project_to_its_new_name(app: Engram) -> None:
    one = app.save(draft("Elsewhere."), project="gizmos")
    app.evaluations.add("elsewhere", [one.id])
    app.merging.merge(["gizmos"], "widgets")
    assert outcome(run(app), "elsewhere").rank == 1
