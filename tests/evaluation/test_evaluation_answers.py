"""The answers of a question come and go: deleted, replaced, merged, exported."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from tests.evaluation.evaluating import outcome, run
from tests.memory import FakeClock, draft


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


def test_a_question_follows_its_project_to_its_new_name(app: Engram) -> None:
    one = app.save(draft("Elsewhere."), project="gizmos")
    app.evaluations.add("elsewhere", [one.id])
    app.merging.merge(["gizmos"], "widgets")
    assert outcome(run(app), "elsewhere").rank == 1
