"""Verdicts on two observations, and how both are shown."""

from __future__ import annotations

import pytest

from engram_py import Engram
from engram_py.errors import EmptyFieldError, InvalidArgumentError, TextTooLongError
from engram_py.observations.errors import JudgmentNotFoundError, ObservationNotFoundError
from tests.memory import draft, rows_of
from tests.relations.pairs import NEW, OLD, pair


def notes(app: Engram, observation_id: int) -> list[tuple[str, int | None, bool]]:
    return [(note.label, note.id, note.deleted) for note in app.get(observation_id).relations]


def test_a_pair_that_nobody_judged_or_that_does_not_conflict_labels_neither(app: Engram) -> None:
    old, new = pair(app)
    assert notes(app, old.id) == notes(app, new.id) == []
    assert all(hit.relations == () for hit in app.search("storage").results)
    app.relations.judge(new.candidates[0].judgment_id, "not_conflict")
    assert notes(app, old.id) == notes(app, new.id) == []
    assert app.relations.pending() == ()


@pytest.mark.parametrize(
    ("verb", "at_new", "at_old"),
    [
        pytest.param("supersedes", "supersedes", "superseded_by", id="supersedes"),
        pytest.param("conflicts_with", "conflicts", "conflicts", id="conflicts"),
        pytest.param("related", "related", "related", id="related"),
        pytest.param("compatible", "compatible", "compatible", id="compatible"),
        pytest.param("scoped", "limits", "limited_by", id="scoped"),
    ],
)
def test_a_verdict_is_said_at_both_ends_wherever_they_are_shown(
    app: Engram, verb: str, at_new: str, at_old: str
) -> None:
    old, new = pair(app)
    judged = app.relations.judge(
        new.candidates[0].judgment_id, f" {verb.upper()} ", reason="Load.", evidence="Bench.", confidence=0.9
    )
    assert (judged.source_observation, judged.target_observation) == (new.id, old.id)
    assert (judged.relation, judged.judgment_status, judged.confidence) == (verb, "judged", 0.9)
    assert (judged.reason, judged.evidence, judged.marked_by_kind) == ("Load.", "Bench.", "agent")
    assert notes(app, new.id) == [(at_new, old.id, False)]
    assert notes(app, old.id) == [(at_old, new.id, False)]
    hits = [*app.search("storage").results, *app.search("storage is:superseded").results]
    shown = {hit.id: [(note.label, note.id) for note in hit.relations] for hit in hits}
    assert shown == {new.id: [(at_new, old.id)], old.id: [(at_old, new.id)]}
    assert app.relations.pending() == ()


def test_a_deleted_peer_is_shown_as_deleted(app: Engram) -> None:
    old, new = pair(app)
    app.relations.judge(new.candidates[0].judgment_id, "supersedes")
    app.observations.delete(old.id)
    [hit] = app.search("storage").results
    assert [(note.label, note.id, note.title, note.deleted) for note in hit.relations] == [
        ("supersedes", old.id, OLD, True)
    ]


def test_any_two_observations_of_a_project_can_be_compared(app: Engram) -> None:
    one, other = app.save(draft("One.", title="Alpha")), app.save(draft("Two.", title="Beta"))
    judged = app.relations.compare(one.id, other.id, "supersedes", confidence=1, reasoning="Newer.", model="m-1")
    assert (judged.source_observation, judged.target_title) == (one.id, "Beta")
    assert (judged.marked_by_kind, judged.marked_by_model, judged.reason) == ("system", "m-1", "Newer.")
    assert notes(app, other.id) == [("superseded_by", one.id, False)]


def test_judging_again_replaces_the_verdict_and_comparing_the_other_way_turns_it_round(app: Engram) -> None:
    old, new = pair(app)
    app.relations.judge(new.candidates[0].judgment_id, "conflicts_with", reason="Load.")
    app.relations.judge(new.candidates[0].judgment_id, "supersedes")
    assert notes(app, new.id) == [("supersedes", old.id, False)]
    app.relations.compare(old.id, new.id, "supersedes", confidence=0.8, reasoning="We went back.")
    assert notes(app, old.id) == [("supersedes", new.id, False)]
    assert notes(app, new.id) == [("superseded_by", old.id, False)]
    assert rows_of(app, "memory_relations") == 1


@pytest.mark.parametrize("confidence", [1.5, -0.1, float("nan"), float("inf")])
def test_a_confidence_is_between_none_and_all(app: Engram, confidence: float) -> None:
    old, new = pair(app)
    with pytest.raises(InvalidArgumentError) as refusal:
        app.relations.judge(new.candidates[0].judgment_id, "related", confidence=confidence)
    assert refusal.value.argument == "confidence"
    with pytest.raises(InvalidArgumentError):
        app.relations.compare(old.id, new.id, "related", confidence=confidence, reasoning="x")
    assert len(app.relations.pending()) == 1


@pytest.mark.parametrize("verb", ["", "replaces", "pending"])
def test_an_unknown_verb_is_refused(app: Engram, verb: str) -> None:
    _, new = pair(app)
    with pytest.raises(InvalidArgumentError) as refusal:
        app.relations.judge(new.candidates[0].judgment_id, verb)
    assert refusal.value.argument == "relation"
    assert len(app.relations.pending()) == 1


def test_a_judgment_nobody_asked_for_is_not_found(app: Engram) -> None:
    with pytest.raises(JudgmentNotFoundError):
        app.relations.judge("rel-0123456789abcdef", "related")


def test_a_comparison_needs_two_live_observations_of_one_project_and_a_reason(app: Engram) -> None:
    here = app.save(draft("One."))
    there = app.save(draft("Two."), project="gadgets")
    gone = app.save(draft("Three.", title="Gone"))
    app.observations.delete(gone.id)
    compare = app.relations.compare
    with pytest.raises(InvalidArgumentError):
        compare(here.id, here.id, "related", confidence=1, reasoning="x")
    with pytest.raises(InvalidArgumentError):
        compare(here.id, there.id, "related", confidence=1, reasoning="x")
    with pytest.raises(ObservationNotFoundError):
        compare(here.id, gone.id, "related", confidence=1, reasoning="x")
    with pytest.raises(EmptyFieldError):
        compare(here.id, there.id, "related", confidence=1, reasoning=" ")
    with pytest.raises(TextTooLongError):
        compare(here.id, there.id, "related", confidence=1, reasoning="x" * 201)
    assert rows_of(app, "memory_relations") == 0


def test_pending_verdicts_are_listed_by_project_newest_first(app: Engram) -> None:
    pair(app)
    third = app.save(draft("MySQL.", title="Token storage backend again"))
    app.save(draft("Redis.", title=OLD), project="gadgets")
    app.save(draft("Postgres.", title=NEW), project="gadgets")
    assert app.relations.pending()[0].source_observation == third.id
    assert len(app.relations.pending()) == 3
    assert len(app.relations.pending(all_projects=True)) == 4
    assert len(app.relations.pending(limit=-1)) == 1
