"""Entities on two machines and in exports (rows 157, 158)."""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from tests.support import FakeClock


@pytest.fixture
def two(tmp_path: Path, clock: FakeClock) -> Any:
    machines = [
        Engram(settings=Settings(tmp_path / name, clock=clock), directory=tmp_path, project="widgets")
        for name in ("one", "two")
    ]
    yield machines
    for machine in machines:
        machine.close()


def carry(one: Engram, other: Engram) -> None:
    """Every mutation of one machine, applied on the other twice."""
    sent = one.replica.changes().mutations
    other.trust.source("t", projects=["widgets"])
    for _ in range(2):
        other.replica.apply(sent, source="t")


def remember(app: Engram) -> None:
    app.facts.add("Kubernetes cluster", "The port is 6443 on every node")
    app.entities.alias("kubernetes-cluster", ["k8s"])
    app.entities.link("billing", "depends_on", "ledger", fact="Billing reads the ledger nightly", kind="service")
    app.facts.add("ledger", "Exports leave at two in the morning", category="context", source="meeting", source_ref="7")
    app.facts.add("old-thing", "Old thing is deployed to a shelf")
    app.entities.archive("old-thing")
    app.facts.add("bobby", "Bobby lives in Lyon near the river")
    app.facts.add("bob", "Bob works at Initech since spring")
    app.entities.merge("bobby", "bob")


def shown(app: Engram) -> object:
    lines = [(one.slug, one.kind, one.state, one.aliases) for one in app.entities.listed(archived=True).entities]
    titles = [[hit.title for hit in app.search(query).results] for query in ("k8s port", "billing", "bobby")]
    reached = [one.slug for one in app.entities.graph("billing").reached]
    facts = [*app.entities.show("bobby").facts, *app.entities.show("ledger").facts]
    return lines, titles, reached, [(one.text, one.category, one.source, one.source_ref) for one in facts]


def test_row_157_facts_edges_aliases_and_the_archive_sync(two: list[Engram]) -> None:
    one, other = two
    remember(one)
    carry(one, other)
    assert shown(other) == shown(one)
    one.entities.archive("old-thing", restore=True)
    carry(one, other)
    assert shown(other) == shown(one)


def test_the_same_edge_of_two_machines_is_one(two: list[Engram], clock: FakeClock) -> None:
    one, other = two
    for machine in two:
        machine.entities.link("billing", "depends_on", "ledger")
        clock.advance(seconds=1)
    carry(one, other)
    carry(other, one)
    for machine in two:
        assert len(machine.entities.show("billing").edges) == 1


def test_two_machines_that_rewrite_summaries_come_to_the_same(two: list[Engram], clock: FakeClock) -> None:
    one, other = two
    one.facts.add("svc", "The port is 6443 on every node")
    other.facts.add("svc", "The database is PostgreSQL everywhere")
    for _ in range(3):
        for machine in two:
            clock.advance(seconds=1)
            machine.entities.rewrite_summaries()
        carry(one, other)
        carry(other, one)
    assert one.entities.show("svc").summary == other.entities.show("svc").summary
    assert one.entities.rewrite_summaries().written == other.entities.rewrite_summaries().written == 0


def test_what_a_personal_fact_says_of_two_entities_stays_here(two: list[Engram]) -> None:
    one, other = two
    one.entities.link("alice", "married_to", "bob", fact="Alice is married to Bob since May", scope="personal")
    sent = one.replica.changes().mutations
    assert "married" not in repr(sent)
    carry(one, other)
    assert other.store.value("select count(*) from memory_relations") == 0


@pytest.mark.parametrize(
    ("source", "verb", "target"),
    [("entity:a", "Works At", "entity:b"), ("obs-1", "works_at", "entity:b"), ("entity:a", "x" * 65, "entity:b")],
)
def test_an_import_of_an_edge_that_is_none_is_left_out(two: list[Engram], source: str, verb: str, target: str) -> None:
    one, _ = two
    edge = {"sync_id": "rel-1", "source_id": source, "relation": verb, "target_id": target}
    document = {"version": "0.2.0", "engram_py": {"edges": [edge]}}
    done = one.transfer.import_file(io.BytesIO(json.dumps(document).encode()))
    assert (done.relations.new, done.relations.invalid) == (0, 1)


def test_row_158_an_export_has_only_relations_of_observations_and_restores_edges(two: list[Engram]) -> None:
    one, other = two
    remember(one)
    one.save(Draft("Plain", "An ordinary note"))
    file = io.StringIO()
    one.transfer.export(file)
    document = json.loads(file.getvalue())

    ends = {row["sync_id"] for row in document["observations"]}
    assert document["relations"]
    assert all({row["source_id"], row["target_id"]} <= ends for row in document["relations"])
    assert not any("about" in row or "entity_kind" in row for row in document["observations"])
    [edge] = document["engram_py"]["edges"]
    assert (edge["source_id"], edge["relation"], edge["target_id"]) == (
        "entity:billing",
        "depends_on",
        "entity:ledger",
    )
    for _ in range(2):
        other.transfer.import_file(io.BytesIO(file.getvalue().encode()), trusted=True)
    assert shown(other) == shown(one)
