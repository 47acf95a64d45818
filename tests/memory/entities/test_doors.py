"""Entities at each door (row 134), and their summaries."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from click.testing import CliRunner
from mcp import Client

from engram_py import Draft, Engram
from engram_py.base.settings import Settings
from engram_py.interfaces.cli.main import cli
from engram_py.interfaces.http.mcp_endpoint import build_server
from engram_py.memory.observations.values import Change
from tests.interfaces.http.asking import asker
from tests.support import FakeClock

FACT = "Alice works at Acme since May"
# A refusal is its code.
Door = Callable[..., Any]


def by_command(data_dir: Path) -> Door:
    def do(action: str, entity: str = "", **more: Any) -> Any:
        words = ["--data-dir", str(data_dir), "entity", action, *([entity] if entity else [])]
        words += [more[name] for name in ("predicate", "other") if name in more]
        words += ["--fact", more["fact"], "--kind", more["kind"]] if "fact" in more else []
        words += ["--depth", str(more["depth"])] if "depth" in more else []
        result = CliRunner().invoke(cli, [*words, "--json"], prog_name="engram")
        value = json.loads(result.stdout)
        assert (result.exit_code == 0) is ("error_code" not in value)
        return value.get("error_code", value)

    return do


def by_tool(data_dir: Path) -> Door:
    def do(action: str, entity: str = "", **more: Any) -> Any:
        arguments = {"action": action, "response_format": "json", **({"entity": entity} if entity else {}), **more}

        async def call() -> Any:
            async with Client(build_server(Settings(data_dir), tools="layers")) as client:
                return await client.call_tool("mem_entity", arguments)

        value = json.loads(anyio.run(call).content[0].text)
        return value.get("error_code", value)

    return do


def by_request(app: Engram) -> Door:
    ask = asker(app)

    def do(action: str, entity: str = "", **more: Any) -> Any:
        at = f"/entities/{entity}"
        match action:
            case "list":
                reply = ask("GET", "/entities")
            case "show":
                reply = ask("GET", at)
            case "graph":
                reply = ask("GET", f"{at}/graph?depth={more['depth']}")
            case "link":
                body = {"object": more.pop("other"), **more}
                reply = ask("POST", f"{at}/links", body)
            case "alias":
                reply = ask("POST", f"{at}/aliases", {"aliases": [more["other"]]})
            case "merge":
                reply = ask("POST", f"{at}/merge", {"into": more["other"]})
            case _:
                reply = ask("POST", f"{at}/archive", {"restore": action == "restore"})
        return reply.value.get("code", reply.value)

    return do


@pytest.mark.parametrize("door", ["cli", "mcp", "http"])
def test_row_134_every_door_does_the_same(
    app: Engram, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch, door: str
) -> None:
    monkeypatch.chdir(folder)
    do = {"cli": by_command, "mcp": by_tool}[door](data_dir) if door != "http" else by_request(app)

    assert do("link", "alice", predicate="WorksAt", other="acme-corp", fact=FACT, kind="person") == "invalid_argument"
    assert do("list")["entities"] == []
    linked = do("link", "alice", predicate="works_at", other="acme-corp", fact=FACT, kind="person")
    assert (linked["outcome"], linked["edge"]["object"], linked["edge"]["said"]) == ("added", "acme-corp", FACT)
    assert "listed once" in linked["warnings"][0]
    assert do("alias", "alice", other="Ali")["aliases"] == ["Ali"]
    reached = do("graph", "Ali", depth=9)
    assert (reached["depth"], [one["slug"] for one in reached["reached"]]) == (4, ["acme-corp"])
    shown = do("show", "Ali")
    assert (shown["entity"]["kind"], [one["text"] for one in shown["facts"]]) == ("person", [FACT])
    assert "## Current" in shown["summary"]
    assert do("merge", "acme-corp", other="alice")["merged"] == "acme-corp"
    assert do("merge", "acme-corp", other="alice") == "entity_refused"
    assert do("archive", "alice")["done"] == "archived"
    assert do("list")["entities"] == []
    assert do("show", "nobody") == "entity_not_found"


def test_words_for_a_reader(app: Engram, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)

    def said(*words: str) -> str:
        result = CliRunner().invoke(cli, ["--data-dir", str(data_dir), "entity", *words], prog_name="engram")
        assert result.exit_code == 0, result.output
        return result.stdout

    assert said("list").strip() == "No entities"
    assert "Linked: alice works_at acme-corp [#1]" in said("link", "alice", "works_at", "acme-corp", "--fact", FACT)
    assert "Already known" in said("link", "alice", "works_at", "acme-corp")
    assert "alice is also called Ali" in said("alias", "alice", "Ali")
    assert "1 acme-corp: alice works_at acme-corp" in said("graph", "alice")
    assert "alice works_at acme-corp [#1]" in said("show", "Ali")
    assert "1 fact" in said("list")
    assert "Archived alice" in said("archive", "alice")
    assert "Restored alice" in said("archive", "alice", "--restore")


def summary(app: Engram, name: str) -> str:
    return app.entities.show(name).summary


def test_row_37_a_summary_tells_what_is_and_what_was(app: Engram) -> None:
    app.facts.add("bob", "Bob works at Initech since spring")
    facts = ["Bob works at Globex these days", "Bob lives in Lyon near the river", "Bob reviews every migration"]
    for fact in facts:
        app.facts.add("bob", fact)
    done = app.entities.rewrite_summaries()

    now, was = summary(app, "bob").split("## History")
    assert "## Current" in now
    assert all(fact in now for fact in facts)
    assert "Bob works at Initech since spring" in was
    assert len(summary(app, "bob").split()) <= 500
    assert (done.entities, done.written, done.done) == (1, 1, True)
    assert app.entities.rewrite_summaries().written == 0


def test_row_37_history_says_what_a_value_was_and_what_it_is_now(app: Engram, clock: FakeClock) -> None:
    app.facts.add("bob", "Bob works at Initech")
    clock.advance(days=1)
    app.facts.add("bob", "Bob works at Globex these days")
    app.entities.rewrite_summaries()
    assert "previously Bob works at Initech, now Bob works at Globex these days" in summary(app, "bob")


def test_row_125_what_nobody_touched_for_a_month_stands_under_earlier_and_is_found(
    app: Engram, clock: FakeClock
) -> None:
    app.facts.add("svc", "The nightly job exports invoices to the archive")
    clock.advance(days=31)
    app.facts.add("svc", "It is deployed to fly.io in two regions")
    app.entities.rewrite_summaries()

    current, earlier = summary(app, "svc").split("## Earlier")
    assert "fly.io" in current
    assert "exports invoices" in earlier
    assert app.search("nightly job invoices").results[0].title.startswith("The nightly job")


def test_row_40_facts_are_counted_until_a_synthesis(app: Engram) -> None:
    for text in ("Bob works at Initech since spring", "Bob works at Globex these days"):
        app.facts.add("bob", text)
    assert (app.upkeep_reports.runs().facts_since_synthesis, app.statistics.count().facts_since_synthesis) == (2, 2)
    app.maintenance.run("synthesize")
    assert app.upkeep_reports.runs().facts_since_synthesis == 0
    app.facts.add("ann", "Ann reviews every migration")
    assert app.upkeep_reports.runs().facts_since_synthesis == 1
    assert (
        "1 new fact since summaries were last written" in CliRunner().invoke(cli, ["runs"], prog_name="engram").stdout
    )


def test_row_1_a_fact_carries_its_details_through_every_door(
    app: Engram, data_dir: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    more = {"kind": "person", "category": "milestone", "source": "meeting", "source_ref": "s-12", "date": "2026-01-05"}
    words = [word for name, value in more.items() for word in (f"--{name.replace('_', '-')}", value)]
    texts = ["Alice got promoted to VP", "Alice founded the chess club", "Alice moved to the Berlin office"]

    CliRunner().invoke(cli, ["fact", "add", "alice", texts[0], *words], prog_name="engram")
    assert asker(app)("POST", "/facts", {"entity": "alice", "text": texts[1], **more}).status == 201

    async def call() -> None:
        async with Client(build_server(Settings(data_dir), tools="layers")) as client:
            await client.call_tool("mem_fact", {"entity": "alice", "text": texts[2], **more})

    anyio.run(call)

    facts = app.facts.of("alice").items
    assert {fact.text for fact in facts} == set(texts)
    kept = {(fact.kind, fact.category, fact.source, fact.source_ref, fact.said_at) for fact in facts}
    assert kept == {("person", "milestone", "meeting", "s-12", "2026-01-05T12:00:00.000Z")}
    assert app.entities.show("alice").entity.kind == "person"
    shown = CliRunner().invoke(cli, ["fact", "list", "alice"], prog_name="engram").stdout
    assert "milestone, from meeting s-12" in shown


def test_row_7_a_fact_of_an_earlier_day_replaces_nothing_that_was_said_later(app: Engram) -> None:
    new = app.facts.add("bob", "Bob works at Globex these days")
    old = app.facts.add("bob", "Bob works at Initech since spring", date="2020-05-04")
    assert old.outcome == "added"
    assert [app.get(one.id).observation.lifecycle for one in (new, old)] == ["active", "historical"]


def test_row_37_many_long_facts_stay_within_500_words(app: Engram) -> None:
    for number in range(150):
        text = f"Rule {number}: " + " ".join(f"word{number}x{place}" for place in range(60))
        app.facts.add("svc", text, checked=False)
    app.entities.rewrite_summaries()
    assert len(summary(app, "svc").split()) <= 500
    assert " more" in summary(app, "svc")


@pytest.mark.parametrize("how", ["save", "update"])
def test_what_somebody_wrote_is_not_written_over(app: Engram, how: str) -> None:
    app.facts.add("bob", "Bob works at Initech since spring")
    if how == "save":
        app.save(Draft("Bob", "My own words", "entity", topic_key="entity/bob"))
    else:
        app.entities.rewrite_summaries()
        app.observations.update(app.entities.show("bob").entity.id or 0, Change(content="My own words"))
    app.facts.add("bob", "Bob lives in Lyon near the river")
    app.entities.rewrite_summaries()
    app.entities.alias("bob", ["Bobby"])
    app.entities.rewrite_summaries()
    assert summary(app, "bob") == "My own words"


def test_row_38_contradicting_facts_that_were_stored_raw_are_set_right(app: Engram, clock: FakeClock) -> None:
    old = app.facts.add("svc", "Its database is MySQL for now", checked=False)
    clock.advance(days=1)
    new = app.facts.add("svc", "The database is PostgreSQL everywhere", checked=False)
    assert app.entities.rewrite_summaries().superseded == 1
    assert app.get(old.id).observation.lifecycle == "historical"
    assert app.get(new.id).observation.lifecycle == "active"
    assert app.entities.rewrite_summaries().superseded == 0


@pytest.mark.parametrize(("days", "cut"), [(179, False), (181, True)])
def test_row_39_old_history_is_shortened_and_the_whole_is_a_version(
    app: Engram, clock: FakeClock, days: int, cut: bool
) -> None:
    long = "The database is MySQL, " + "which was chosen for its tooling. " * 30
    old = app.facts.add("svc", long[:1_000])
    kept = app.get(old.id).observation.content
    app.facts.add("svc", "The database is PostgreSQL everywhere")
    clock.advance(days=days)
    assert app.entities.rewrite_summaries().shortened == int(cut)

    now = app.get(old.id, history=True)
    assert now.observation.lifecycle == "historical"
    assert (len(now.observation.content) < 250) is cut
    assert [one.content for one in now.versions] == ([kept] if cut else [])
    assert app.entities.rewrite_summaries().shortened == 0


def test_a_pass_that_is_out_of_time_goes_on_where_it_stopped(app: Engram) -> None:
    for name in ("a1", "b2", "c3"):
        app.facts.add(name, f"{name} is deployed to fly.io")
    stopped = app.entities.rewrite_summaries(until=0.0)
    assert (stopped.entities, stopped.done) == (0, False)
    assert app.entities.rewrite_summaries().written == 3


def test_facts_of_both_names_are_in_the_summary_of_one_that_was_merged(app: Engram) -> None:
    app.facts.add("bob", "Bob works at Initech since spring")
    app.facts.add("bobby", "Bobby lives in Lyon near the river")
    app.entities.merge("bobby", "bob")
    app.entities.rewrite_summaries()
    assert "Lyon" in summary(app, "bob")
    assert "Initech" in summary(app, "bob")
