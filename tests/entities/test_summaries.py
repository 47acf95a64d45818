"""Summaries of entities and what is set right among their facts (rows 37 to 39)."""

from __future__ import annotations

import pytest

from engram_py import Draft, Engram
from engram_py.observations.values import Change
from tests.memory import FakeClock


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
