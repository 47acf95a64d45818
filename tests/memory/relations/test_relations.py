"""Verdicts on two observations, and how a replacement stands in for what it replaced."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import EmptyFieldError, InvalidArgumentError, NotFoundError, TextTooLongError
from engram_py.interfaces.wording import render
from engram_py.interfaces.wording.reasons import spelled
from engram_py.memory.observations.errors import ObservationNotFoundError
from engram_py.memory.observations.values import Change, RelationNote
from engram_py.memory.relations import table
from tests.memory.relations.pairs import NEW, OLD, pair
from tests.recall.searching import fill, ids, kept
from tests.sharing.sync.replica import machines as net
from tests.support import FakeClock, draft, facts, names, raising, rows_of


def notes(app: Engram, observation_id: int) -> list[tuple[str, int | None, bool]]:
    return [(note.label, note.id, note.deleted) for note in app.get(observation_id).relations]


def test_a_pair_that_nobody_judged_or_that_does_not_conflict_labels_neither(app: Engram) -> None:
    old, new = pair(app)
    assert notes(app, old.id) == notes(app, new.id) == []
    asked = {hit.id: [(note.label, note.id) for note in hit.relations] for hit in app.search("storage").results}
    assert asked == {new.id: [("contested", old.id)], old.id: []}  # a search says that the newer is in question
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


def test_a_comparison_needs_two_live_observations_and_a_reason_and_a_judgment_one_who_asked(app: Engram) -> None:
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
    with raising(NotFoundError, "judgment_not_found"):
        app.relations.judge("rel-0123456789abcdef", "related")


def test_pending_verdicts_are_listed_by_project_newest_first(app: Engram) -> None:
    pair(app)
    third = app.save(draft("MySQL.", title="Token storage backend again"))
    app.save(draft("Redis.", title=OLD), project="gadgets")
    app.save(draft("Postgres.", title=NEW), project="gadgets")
    assert app.relations.pending()[0].source_observation == third.id
    assert len(app.relations.pending()) == 2
    assert len(app.relations.pending(all_projects=True)) == 3
    assert len(app.relations.pending(limit=-1)) == 1


def test_of_a_pair_without_a_verdict_the_newer_one_may_take_the_place_of_the_older(
    app: Engram, clock: FakeClock
) -> None:
    old, new = pair(app)
    clock.advance(minutes=1)
    third = app.save(draft("MySQL.", title="Token storage backend again"))
    ids = [old.id, new.id, third.id]
    assert table.unanswered(app.store, ids) == {old.id: new.id, new.id: third.id}
    assert table.unanswered(app.store, [third.id]) == {}
    assert table.unanswered(app.store, [old.id]) == {old.id: new.id}
    app.observations.delete(third.id)
    assert table.unanswered(app.store, ids) == {old.id: new.id}
    app.relations.judge(new.candidates[0].judgment_id, "compatible")
    assert table.unanswered(app.store, ids) == {}


def test_of_a_pair_the_one_whose_text_was_written_last_is_the_newer(app: Engram, clock: FakeClock) -> None:
    old, new = pair(app)
    clock.advance(minutes=1)
    app.observations.update(old.id, Change(content="Redis after all."))
    assert table.unanswered(app.store, [old.id, new.id]) == {new.id: old.id}


ELASTICSEARCH, MEILISEARCH = "We search with Elasticsearch", "Meilisearch answers queries now"


def lifecycle(app: Engram, observation_id: int) -> str:
    return str(app.store.value("select lifecycle from observations where id = :id", id=observation_id))


def supersede(app: Engram, new: int, old: int) -> None:
    app.relations.compare(new, old, "supersedes", confidence=0.9, reasoning="one binary, a tenth of the memory")


@pytest.fixture
def line(app: Engram, clock: FakeClock) -> tuple[int, int]:
    """Two decisions, the second in the place of the first."""
    fill(app)
    old = kept(app, "Full-text queries go to an Elasticsearch cluster.", title=ELASTICSEARCH, type="decision")
    clock.advance(days=1)
    new = kept(app, "One small binary holds the product index.", title=MEILISEARCH, type="decision")
    clock.advance(days=1)
    supersede(app, new, old)
    return old, new


def test_what_a_verdict_replaces_is_historical_until_the_verdict_is_another(app: Engram) -> None:
    old, new = kept(app, "Redis.", title="Cache in Redis"), kept(app, "Memcached.", title="Cache in Memcached")
    supersede(app, new, old)
    assert (lifecycle(app, old), lifecycle(app, new)) == ("historical", "active")
    app.relations.compare(new, old, "related", confidence=0.9, reasoning="both are in use")
    assert lifecycle(app, old) == "active"
    app.relations.compare(old, new, "supersedes", confidence=0.9, reasoning="we went back")
    assert (lifecycle(app, old), lifecycle(app, new)) == ("active", "historical")


def test_the_last_of_a_line_stands_in_for_the_first_and_says_so(app: Engram, line: tuple[int, int]) -> None:
    old, new = line
    [hit] = app.search("do we use elasticsearch?").results
    assert (hit.id, hit.instead_of) == (new, RelationNote("replaced", old, ELASTICSEARCH))
    last = kept(app, "The product index lives in a table.", title="Postgres does it all", type="decision")
    supersede(app, last, new)
    [hit] = app.search("do we use elasticsearch?").results
    assert hit.instead_of is not None
    assert (hit.id, hit.instead_of.id) == (last, old)
    assert ids(app, "type:decision") == [last]


def test_what_was_replaced_is_asked_for_by_its_state_or_its_number(app: Engram, line: tuple[int, int]) -> None:
    old, _ = line
    assert ids(app, "elasticsearch is:superseded") == ids(app, f"#{old}") == [old]


def test_a_replacement_that_the_filters_leave_out_is_named(app: Engram, line: tuple[int, int]) -> None:
    old, new = line
    found = app.search("elasticsearch until:2026-03-01")
    assert found.results == ()
    assert any(f"#{old}" in said and f"#{new}" in said for said in (spelled(one, "python") for one in found.warnings))


def test_a_prompt_is_given_what_replaced_the_old_answer(app: Engram, line: tuple[int, int]) -> None:
    old, new = line
    for prompt in ("Why do we use Elasticsearch for full-text queries?", "We search with Elasticsearch, don't we?"):
        context = app.contexts.assemble(query=prompt)
        shown = [getattr(item, "id", None) for section in context.sections for item in section.items]
        assert old not in shown
        assert new in shown, prompt


def test_deleting_what_replaced_it_brings_the_old_answer_back(app: Engram, line: tuple[int, int]) -> None:
    old, new = line
    app.observations.delete(new)
    assert lifecycle(app, old) == "active"
    app.observations.undelete(new)
    assert lifecycle(app, old) == "historical"
    app.observations.delete(new, hard=True)
    assert lifecycle(app, old) == "active"


def test_the_first_of_a_line_stays_replaced_when_the_middle_is_destroyed(app: Engram, line: tuple[int, int]) -> None:
    old, new = line
    last = kept(app, "The product index lives in a table.", title="Postgres does it all")
    supersede(app, last, new)
    app.observations.delete(new, hard=True)
    assert lifecycle(app, old) == "historical"
    assert ids(app, "elasticsearch") == [last]


def test_of_a_circle_the_last_verdicts_count(app: Engram, clock: FakeClock) -> None:
    one, two, three = (kept(app, f"Cache {name}.", title=name) for name in ("Redis", "Memcached", "Valkey"))
    for new, old in ((two, one), (three, two), (one, three)):
        supersede(app, new, old)
        clock.advance(days=1)
    assert [lifecycle(app, row) for row in (one, two, three)] == ["active", "historical", "historical"]


def test_what_one_project_decides_replaces_nothing_for_all_of_them(app: Engram) -> None:
    mine = kept(app, "Tabs.", title="Indent with tabs", scope="personal")
    here = kept(app, "Spaces.", title="Indent with spaces")
    supersede(app, here, mine)
    assert lifecycle(app, mine) == "active"
    app.observations.update(here, Change(scope="personal"))
    assert lifecycle(app, mine) == "historical"


def test_saving_to_a_topic_that_was_replaced_makes_it_the_answer_again(app: Engram, clock: FakeClock) -> None:
    old = app.save(Draft("Cache", "Redis.", topic_key="cache/engine")).id
    new = kept(app, "Memcached.", title="Memcached for all")
    supersede(app, new, old)
    clock.advance(minutes=1)
    saved = app.save(Draft("Cache", "Redis again, with a cluster.", topic_key="cache/engine"))
    assert saved.id == old
    assert lifecycle(app, old) == "active"
    assert new in [facts(one)["id"] for one in saved.warnings if names([one]) == ["current_again"]]
    assert old in ids(app, "redis cluster")
    supersede(app, new, old)
    assert lifecycle(app, old) == "historical"


def test_saving_again_what_was_replaced_a_moment_ago_is_a_new_memory(app: Engram) -> None:
    old = app.save(draft("Redis.", title="Cache in Redis"))
    new = app.save(draft("Memcached.", title="Cache in Memcached"))
    supersede(app, new.id, old.id)
    again = app.save(draft("Redis.", title="Cache in Redis"))
    assert (again.outcome, lifecycle(app, again.id)) == ("added", "active")


def test_a_replaced_memory_is_no_candidate(app: Engram, line: tuple[int, int]) -> None:
    old, _ = line
    found = app.save(draft("Typesense.", title="We search with Elasticsearch no longer"))
    assert old not in [one.id for one in found.candidates]


def test_an_import_of_the_verdict_replaces_as_well(
    app: Engram, line: tuple[int, int], tmp_path: Path, folder: Path
) -> None:
    app.transfer.export(tmp_path / "all.json")
    with Engram(tmp_path / "other", directory=folder) as other:
        other.transfer.import_file(tmp_path / "all.json")
        assert other.store.tuples("select title from observations where lifecycle = 'historical'") == [(ELASTICSEARCH,)]
        assert ELASTICSEARCH not in [hit.title for hit in other.search("do we use elasticsearch?").results]


@pytest.fixture
def empty(tmp_path: Path) -> Path:
    return net.template(tmp_path / "empty")


def states(machine: net.Machine) -> dict[str, str]:
    return dict(machine.app.store.tuples("select title, lifecycle from observations"))


@pytest.fixture
def machines(tmp_path: Path, empty: Path) -> Iterator[list[net.Machine]]:
    with ExitStack() as stack:
        made = [net.machine(name, tmp_path, empty) for name in ("desk", "laptop")]
        for one in made:
            stack.enter_context(one.app)
        yield made


def test_a_verdict_replaces_on_every_machine_and_its_end_is_heard_of_too(machines: list[net.Machine]) -> None:
    desk, laptop = machines
    old, new = (desk.app.save(draft(text, title=text)).id for text in ("Redis", "Memcached"))
    net.exchange_all([desk, laptop])
    supersede(desk.app, new, old)
    net.exchange_all([desk, laptop])
    assert states(desk) == states(laptop) == {"Redis": "historical", "Memcached": "active"}
    assert net.contents(desk) == net.contents(laptop)
    desk.app.relations.compare(new, old, "compatible", confidence=0.9, reasoning="both")
    net.exchange_all([desk, laptop])
    assert states(desk) == states(laptop) == {"Redis": "active", "Memcached": "active"}


def test_a_change_of_a_replaced_memory_elsewhere_does_not_bring_it_back(machines: list[net.Machine]) -> None:
    desk, laptop = machines
    old, new = (desk.app.save(draft(text, title=text)).id for text in ("Redis", "Memcached"))
    net.exchange_all([desk, laptop])
    supersede(desk.app, new, old)
    there = laptop.app.store.value("select id from observations where title = 'Redis'")
    laptop.app.observations.pin(there)
    net.exchange_all([desk, laptop])
    assert states(desk) == states(laptop) == {"Redis": "historical", "Memcached": "active"}
    assert desk.app.replica.digest() == laptop.app.replica.digest()


def test_the_history_of_either_tells_who_replaced_whom_when_and_why(app: Engram, line: tuple[int, int]) -> None:
    old, new = line
    for row in line:
        [step] = app.get(row, history=True).line
        assert (step.newer, step.older, step.at) == (new, old, "2026-03-03T10:00:00.000Z")
        assert step.reason == "one binary, a tenth of the memory"
        assert step.older_content == "Full-text queries go to an Elasticsearch cluster."
    assert app.get(old).line == ()


def test_the_history_tells_texts_and_supersessions_in_the_order_they_happened(app: Engram, clock: FakeClock) -> None:
    old = app.save(draft("Elasticsearch.", "Search engine then"))
    new = app.save(draft("Meilisearch.", "Search engine now", topic_key="decision/search"))
    clock.advance(days=1)
    app.relations.compare(new.id, old.id, "supersedes", confidence=1.0, reasoning="it needed 4 GB")
    for text in ("Meilisearch 1.9.", "Meilisearch 2."):
        clock.advance(days=1)
        app.save(draft(text, "Search engine now", topic_key="decision/search"))

    told = render.text(app.get(new.id, history=True), now=clock.now, door="python")

    places = [told.index(part) for part in ("version 2", "it needed 4 GB", "Elasticsearch.", "version 1")]
    assert places == sorted(places)
