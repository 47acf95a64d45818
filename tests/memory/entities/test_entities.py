"""Entities, their names and edges (shared/spec/seed-capabilities.md section 4, rows 19 to 21, 36, 120 to 123)."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.base.errors import (
    EmptyFieldError,
    InvalidArgumentError,
    InvalidInputError,
    NotFoundError,
    TextTooLongError,
)
from engram_py.memory.entities.values import EntityRefusedError
from tests.support import FakeClock, Git, RepoMaker, names, raising, words

ALICE = "Alice works at Acme since May"


def note(app: Engram, text: str, title: str = "note") -> int:
    return app.save(Draft(f"{title}: {text[:20]}".lower(), text, "note")).id


def listed(app: Engram, *, candidates: bool = False) -> list[str]:
    return [one.slug for one in app.entities.listed(candidates=candidates).entities]


def rows(app: Engram) -> tuple[int, ...]:
    names = ("observations", "memory_relations", "sync_mutations")
    return tuple(int(app.store.value(f"select count(*) from {name}")) for name in names)


# --- edges -------------------------------------------------------------------------------------------------


def test_row_19_an_edge_is_kept_with_the_fact_that_says_so(app: Engram) -> None:
    app.facts.add("acme-corp", "Acme builds rockets for everyone")
    done = app.entities.link("alice", "works_at", "acme-corp", fact=ALICE, kind="person")

    assert (done.edge.subject, done.edge.predicate, done.edge.object) == ("alice", "works_at", "acme-corp")
    assert app.get(done.edge.fact).observation.content == ALICE
    stored = app.store.value("select evidence from memory_relations where sync_id = :id", id=done.sync_id)
    assert stored == app.get(done.edge.fact).observation.sync_id
    assert app.entities.show("alice").entity.kind == "person"
    assert done.warnings == ()


@pytest.mark.parametrize("predicate", ["WorksAt", "works at", "works-at", "_works", "9lives", "", "жена", "a" * 65])
def test_row_19_a_predicate_that_is_not_snake_case_stores_nothing(app: Engram, predicate: str) -> None:
    before = rows(app)
    with pytest.raises(InvalidArgumentError) as refused:
        app.entities.link("alice", predicate, "acme-corp", fact=ALICE)
    assert "snake_case of at most 64 characters, as in works" in str(refused.value.hint)
    assert rows(app) == before


def test_an_edge_whose_fact_is_refused_is_not_stored(app: Engram) -> None:
    before = rows(app)
    with raising(InvalidInputError, "fact_refused"):
        app.entities.link("alice", "works_at", "acme", fact="maybe Acme")
    assert rows(app) == before


def test_row_20_an_edge_to_something_unknown_is_stored_with_a_warning(app: Engram) -> None:
    done = app.entities.link("alice", "works_at", "acme-corp", fact=ALICE)
    assert "acme-corp" in words(*done.warnings)
    assert "acme-corp" not in listed(app)
    assert "acme-corp" in listed(app, candidates=True)
    assert [edge.object for edge in app.entities.show("alice").edges] == ["acme-corp"]


def test_row_21_a_walk_tells_depth_and_path_and_goes_four_edges_at_most(app: Engram) -> None:
    for one, other in zip("abcdef", "bcdefg", strict=True):
        app.entities.link(one, "depends_on", other)

    assert [one.slug for one in app.entities.graph("a", depth=1).reached] == ["b"]
    [_, c] = app.entities.graph("a", depth=2).reached
    assert (c.slug, c.depth, [(edge.subject, edge.object) for edge in c.path]) == ("c", 2, [("a", "b"), ("b", "c")])
    far = app.entities.graph("a", depth=9)
    assert (far.depth, [one.slug for one in far.reached]) == (4, ["b", "c", "d", "e"])
    assert names(far.warnings) == ["clamped"]


def test_a_walk_in_a_circle_ends(app: Engram) -> None:
    for one, other in ("ab", "bc", "ca"):
        app.entities.link(one, "calls", other)
    assert sorted(one.slug for one in app.entities.graph("a", depth=4).reached) == ["b", "c"]


def test_the_same_edge_twice_is_one(app: Engram) -> None:
    first = app.entities.link("billing", "depends_on", "ledger")
    assert app.entities.link("Billing", "depends_on", "Ledger").outcome == "duplicate"
    assert app.entities.link("billing", "depends_on", "ledger", fact="Billing reads the ledger nightly").sync_id == (
        first.sync_id
    )
    assert app.store.value("select count(*) from memory_relations where source_id like 'entity:%'") == 1


def test_an_edge_ends_with_the_fact_that_says_so(app: Engram) -> None:
    app.entities.link("alice", "works_at", "acme", fact=ALICE)
    app.entities.link("alice", "works_at", "newcorp", fact="Alice works at NewCorp now")
    assert [edge.object for edge in app.entities.show("alice").edges] == ["newcorp"]


def test_an_entity_is_not_connected_with_itself(app: Engram) -> None:
    with pytest.raises(EntityRefusedError, match="one entity"):
        app.entities.link("alice", "knows", "Alice")


# --- the list ----------------------------------------------------------------------------------------------


def test_row_36_the_list_is_by_slug_and_counts_missing_summaries(app: Engram) -> None:
    app.facts.add("zebra", "Zebra serves every static file")
    app.facts.add("alice", ALICE)
    app.entities.rewrite_summaries()
    app.facts.add("middle", "Middle is deployed to fly.io")
    found = app.entities.listed()

    assert [one.slug for one in found.entities] == ["alice", "middle", "zebra"]
    assert [one.has_summary for one in found.entities] == [True, False, True]
    assert found.without_summary == 1
    assert all(one.last_updated for one in found.entities)


def test_a_fact_that_replaces_another_stands_in_the_summary_at_once(app: Engram) -> None:
    app.facts.add("alice", "Alice works at Acme Corp in Bordeaux")
    app.entities.rewrite_summaries()
    assert "Acme" in app.entities.show("alice").summary.partition("## History")[0]

    assert app.facts.add("alice", "Alice works at NewCorp now").outcome == "superseded"

    current = app.entities.show("alice").summary.partition("## History")[0]
    assert "NewCorp" in current
    assert "- Alice works at Acme" not in current


def test_an_unknown_entity_is_named_with_those_like_it(app: Engram) -> None:
    app.facts.add("billing-service", "Billing runs on Kubernetes")
    with raising(NotFoundError, "entity_not_found") as refused:
        app.entities.show("biling-service")
    assert "billing-service" in str(refused.value.hint)


# --- mentions ----------------------------------------------------------------------------------------------


def test_row_120_three_mentions_make_an_entity(app: Engram) -> None:
    note(app, "The Falcon rollout waits for the audit.")
    note(app, "We moved Falcon to the new cluster.")
    app.entities.count_mentions()
    assert "falcon" not in listed(app)
    assert "falcon" in listed(app, candidates=True)

    third = note(app, "Falcon is out.")
    assert app.entities.count_mentions().promoted == 1
    [falcon] = [one for one in app.entities.listed().entities if one.slug == "falcon"]
    assert (falcon.name, falcon.mentions) == ("Falcon", 3)
    assert third in [one.id for one in app.entities.show("falcon").mentioned]


def test_row_120_a_pass_reads_only_what_is_new(app: Engram) -> None:
    for text in ("The Falcon waits.", "See the Falcon."):
        note(app, text)
    assert app.entities.count_mentions().rows == 2
    assert app.entities.count_mentions().rows == 0
    again = app.entities.count_mentions(rebuild=True)
    assert (again.rows, app.entities.listed(candidates=True).entities[0].mentions) == (2, 2)


def test_a_pass_that_is_out_of_time_reads_nothing_and_says_so(app: Engram) -> None:
    note(app, "The Falcon waits.")
    assert app.entities.count_mentions(until=0.0).done is False
    assert app.entities.count_mentions().rows == 1


def test_prompts_and_turns_of_one_session_count_once(app: Engram) -> None:
    for number in range(5):
        app.prompts.save(f"look at the Falcon logs, part {number}", session_id="one")
    app.entities.count_mentions()
    assert "falcon" not in listed(app)
    for session in ("two", "three"):
        app.prompts.save("deploy the Falcon again", session_id=session)
    app.entities.count_mentions()
    assert "falcon" in listed(app)


@pytest.mark.parametrize(
    ("texts", "names"),
    [
        pytest.param(["Fixed the retry loop"], [], id="begins-a-sentence"),
        pytest.param(["What we did: Added tests"], [], id="begins-behind-a-colon"),
        pytest.param(["- Updated README\n- Added one"], [], id="begins-an-item"),
        pytest.param(["They call the Cache {} slow", "we flush the cache {} times"], [], id="written-small-as-often"),
        pytest.param(["run {}: `parse_http_header` fails on folded lines"], ["parse-http-header"], id="code-span"),
        pytest.param(
            ["вчера {} раза упал Сокол на стенде", "昨天 {} `猎鹰服务` 又挂了"],
            ["сокол", "猎鹰服务"],
            id="scripts",
        ),
    ],
)
def test_a_name_is_what_is_written_as_one_wherever_it_stands(app: Engram, texts: list[str], names: list[str]) -> None:
    for number in range(3):
        for text in texts:
            note(app, text.format(number), title=f"{number}")
    app.entities.count_mentions()
    assert listed(app) == names


def test_a_verb_that_begins_a_sentence_is_no_name(app: Engram) -> None:
    for number in range(3):
        app.save(Draft(f"Round {number}", "Fixed Falcon again. Deployed it. Running tests. Check logs. Use Redis."))
    app.entities.count_mentions()
    found = {one.slug for one in app.entities.listed(candidates=True).entities}
    assert {"falcon", "redis"} <= found
    assert found.isdisjoint({"fixed", "fixed-falcon", "deployed", "running", "check", "use", "use-redis"})


@pytest.mark.parametrize("verb", ["Committed", "Logging", "Applies", "Watches", "Configured", "Wrote"])
def test_no_form_of_such_a_verb_is_part_of_the_name_behind_it(app: Engram, verb: str) -> None:
    for number in range(3):
        app.save(Draft(f"Round {number}", f"{verb} Falcon again."))
    app.entities.count_mentions()
    assert [one.slug for one in app.entities.listed(candidates=True).entities if "falcon" in one.slug] == ["falcon"]


def test_a_name_inside_another_word_is_no_mention(app: Engram) -> None:
    note(app, "The Falcon waits.")
    for word in ("Falconry", "Gyrfalcon", "falconer"):
        note(app, f"a book about {word}", title=word)
    app.entities.count_mentions()
    [falcon] = [one for one in app.entities.listed(candidates=True).entities if one.slug == "falcon"]
    assert falcon.mentions == 1


def test_row_121_what_somebody_calls_theirs_is_an_entity_at_once(app: Engram) -> None:
    note(app, "my colleague Dana Reyes reviews every migration")
    app.entities.count_mentions()
    [dana] = app.entities.listed().entities
    assert (dana.slug, dana.name, dana.kind) == ("dana-reyes", "Dana Reyes", "person")


def test_row_121_a_kind_that_is_said_is_kept(app: Engram) -> None:
    note(app, "I shipped my project Falcon today")
    app.entities.count_mentions()
    assert [(one.slug, one.kind) for one in app.entities.listed().entities] == [("falcon", "project")]


def test_row_121_the_repository_is_a_project_without_mentions(
    open_memory: Callable[..., Engram], make_repo: RepoMaker
) -> None:
    app = open_memory(make_repo("rockets"))
    assert [(one.slug, one.kind, one.mentions) for one in app.entities.listed().entities] == [("rockets", "project", 0)]


def test_authors_of_the_repository_are_people_once_they_are_mentioned(
    open_memory: Callable[..., Engram], make_repo: RepoMaker, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    repo = make_repo("rockets")
    monkeypatch.setenv("GIT_AUTHOR_NAME", "Dana Reyes")
    git(repo, "commit", "--allow-empty", "-qm", "One")
    app = open_memory(repo)
    for number in range(3):
        note(app, f"ask dana reyes about step {number}; the Dana Reyes way", title=str(number))
    app.entities.count_mentions()
    first = app.entities.listed().entities[0]
    assert (first.slug, first.kind) == ("dana-reyes", "person")


def test_row_122_a_first_name_means_the_one_entity_that_has_it(app: Engram) -> None:
    app.facts.add("Adam Watson", "Adam Watson works at Acme in Berlin")
    said = note(app, "yesterday Adam shipped Acme billing")
    app.entities.count_mentions()
    assert "adam" not in listed(app, candidates=True)
    assert said in [one.id for one in app.entities.show("adam-watson").mentioned]


def test_row_122_a_first_name_is_not_what_an_entity_is_called(app: Engram) -> None:
    note(app, "yesterday Adam shipped Acme billing")
    app.facts.add("Adam Watson", "He works at Acme in Berlin")
    app.entities.count_mentions()
    assert app.entities.show("adam-watson").entity.name == "Adam Watson"


def test_row_122_a_first_name_of_two_means_neither(app: Engram) -> None:
    app.facts.add("Adam Watson", "Adam Watson works at Acme in Berlin")
    app.facts.add("Adam Smith", "Adam Smith lives in Glasgow still")
    said = note(app, "yesterday Adam shipped the billing")
    app.entities.count_mentions()
    for slug in ("adam-watson", "adam-smith"):
        assert said not in [one.id for one in app.entities.show(slug).mentioned]


def test_a_mention_goes_with_the_text_that_had_it(app: Engram) -> None:
    row = note(app, "my colleague Dana Reyes reviews")
    app.entities.count_mentions()
    app.observations.delete(row, hard=True)
    assert listed(app, candidates=True) == []


# --- names -------------------------------------------------------------------------------------------------


def test_row_123_one_name_is_one_entity_whatever_it_is_claimed_to_be(app: Engram) -> None:
    app.entities.link("Mercury", "knows", "alice", kind="person")
    app.entities.link("mercury", "owns", "acme", kind="company")
    found = [one for one in app.entities.listed().entities if one.slug == "mercury"]
    assert [one.kind for one in found] == ["company"]
    assert app.store.value("select count(*) from observations where topic_key = 'entity/mercury'") == 1


def test_row_123_a_search_by_an_alias_finds_the_facts(app: Engram) -> None:
    for number in range(20):
        note(app, f"the network of node {number} is slow", title=str(number))
    fact = app.facts.add("Kubernetes cluster", "The port is 6443 on every node")
    app.entities.alias("kubernetes-cluster", ["k8s"])
    for query in ("k8s port", "what do we know about k8s?"):
        found = app.search(query)
        assert fact.id in [one.id for one in found.results][:2]


def test_row_144_a_search_finds_what_is_one_edge_away_after_what_is_meant(app: Engram) -> None:
    own = app.facts.add("billing", "Billing runs on the blue machines")
    for name in ("tulips", "violins", "glaciers"):  # what stands right behind would share its words
        app.facts.add(name, f"All there is to know about {name}")
    beside = app.facts.add("ledger", "Exports leave at two in the morning")
    far = app.facts.add("mainframe", "Tapes are changed by hand on Sundays")
    assert beside.id not in [hit.id for hit in app.search("billing").results]

    app.entities.link("billing", "depends_on", "ledger", fact="Billing depends on what the ledger exports")
    app.entities.link("ledger", "depends_on", "mainframe", fact="The ledger is loaded from tapes")
    found = [hit.id for hit in app.search("billing").results]
    assert found.index(own.id) < found.index(beside.id)
    assert far.id not in found


def test_a_fact_by_an_alias_is_about_the_entity(app: Engram) -> None:
    app.facts.add("Kubernetes cluster", "The port is 6443 on every node")
    app.entities.alias("kubernetes cluster", ["k8s"])
    saved = app.facts.add("K8s", "The port is 7443 on every node")
    assert (saved.about, saved.outcome) == ("kubernetes-cluster", "superseded")
    assert len(app.facts.of("k8s").items) == 1


def test_an_alias_that_is_another_entity_is_refused_with_the_way_to_join_them(app: Engram) -> None:
    app.facts.add("alice", ALICE)
    app.facts.add("bob", "Bob works at Initech since spring")
    with pytest.raises(EntityRefusedError) as refused:
        app.entities.alias("alice", ["Bob"])
    assert "entity merge bob alice" in str(refused.value.hint)


def test_four_hundred_aliases_are_refused_and_none_is_kept(app: Engram) -> None:
    app.facts.add("alice", ALICE)
    with pytest.raises(EntityRefusedError, match="400 aliases"):
        app.entities.alias("alice", [f"name {number}" for number in range(400)])
    assert app.entities.show("alice").entity.aliases == ()


def test_merging_gives_one_the_facts_edges_and_names_of_both(app: Engram) -> None:
    app.entities.link("Bob Miller", "works_at", "acme", fact="Bob Miller works at Acme these days")
    app.facts.add("bobby", "Bobby lives in Lyon near the river")
    done = app.entities.merge("bobby", "bob-miller")

    assert (done.slug, done.merged, done.aliases) == ("bob-miller", "bobby", ("Bobby",))
    shown = app.entities.show("bobby")
    assert shown.entity.slug == "bob-miller"
    assert {fact.text for fact in shown.facts} == {
        "Bob Miller works at Acme these days",
        "Bobby lives in Lyon near the river",
    }
    assert [edge.subject for edge in shown.edges] == ["bob-miller"]
    assert "bobby" not in listed(app, candidates=True)
    # What is said of either name later replaces what either had.
    later = app.facts.add("bobby", "Bob works at Globex these days")
    assert (later.about, later.outcome) == ("bob-miller", "superseded")


def test_two_that_are_merged_into_each_other_are_one(app: Engram) -> None:
    app.facts.add("alice", ALICE)
    app.facts.add("ali", "Ali lives in Paris near the river")
    app.entities.merge("ali", "alice")
    with pytest.raises(EntityRefusedError, match="one entity already"):
        app.entities.merge("alice", "ali")
    assert listed(app) == ["alice"]


def test_merging_a_chain_ends_at_its_last(app: Engram) -> None:
    for name in ("one", "two", "three"):
        app.facts.add(name, f"{name} keeps the books of its own year")
    app.entities.merge("one", "two")
    app.entities.merge("two", "three")
    assert listed(app) == ["three"]
    assert len(app.entities.show("one").facts) == 3


def test_an_archived_entity_stays_away_when_it_is_mentioned_again(app: Engram) -> None:
    app.facts.add("falcon", "Falcon is deployed to fly.io")
    assert app.entities.archive("falcon").done == "archived"
    for number in range(4):
        note(app, f"the Falcon flew {number} times", title=str(number))
    app.entities.count_mentions()
    app.entities.rewrite_summaries()
    assert listed(app) == []
    assert [one.state for one in app.entities.listed(archived=True).entities] == ["archived"]
    app.entities.alias("falcon", ["bird"])
    assert listed(app) == []
    assert app.entities.archive("falcon", restore=True).done == "restored"
    assert listed(app) == ["falcon"]
    assert len(app.facts.of("falcon").items) == 1


# --- hostile -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("name", "slug"), [("../x", "x"), ("../../etc/passwd", "etc-passwd"), ("Zoë—Ω", "zoë-ω")])
def test_any_name_is_a_slug(app: Engram, name: str, slug: str) -> None:
    app.entities.link(name, "knows", "alice")
    assert app.entities.show(slug).entity.slug == slug
    assert app.entities.archive(name).slug == slug


@pytest.mark.parametrize("name", ["", "   ", "…", "a" * 10_000, "a" * 150, "nul\0byte"])
def test_a_name_that_is_none_is_refused(app: Engram, name: str) -> None:
    before = rows(app)
    with pytest.raises((EmptyFieldError, InvalidArgumentError, TextTooLongError, Exception)) as refused:
        app.entities.link(name, "knows", "alice")
    assert type(refused.value).__module__.startswith("engram_py")
    assert rows(app) == before


def test_a_long_text_of_names_is_read_in_part_and_bounded(app: Engram, clock: FakeClock) -> None:
    note(app, " ".join(f"the Name{number}x" for number in range(5_000))[:49_000])
    app.entities.count_mentions()
    assert int(app.store.value("select count(*) from entity_names")) <= 5_000


def test_an_observation_of_that_topic_is_the_entity(app: Engram, folder: Path) -> None:
    app.save(Draft("Gateway", "Routes every request", topic_key="entity/gateway", aliases=("edge proxy",)))
    shown = app.entities.show("edge proxy")
    assert (shown.entity.slug, shown.summary) == ("gateway", "Routes every request")
