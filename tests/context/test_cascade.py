"""What is known about something: the entity that is named first (shared/spec/seed-capabilities.md section 4, rows 26 to
33), and what is known of the person in every project."""

from __future__ import annotations

from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.context.values import Context
from engram_py.observations.values import Change, Observation
from tests.context.prompting import text
from tests.memory import FakeClock, Opener


def cascade(app: Engram, query: str, **arguments: Any) -> Context:
    return app.contexts.assemble(query=query, mode="cascade", **arguments)


def titles(context: Context, section: str) -> list[str]:
    return [item.title for item in context.items(section) if isinstance(item, Observation)]


def entity(app: Engram, name: str, said: str = "What is known.", *, aliases: tuple[str, ...] = ()) -> int:
    slug = name.lower().replace(" ", "-")
    return app.save(Draft(name, said, "summary", topic_key=f"entity/{slug}", aliases=aliases)).id


def test_rows_26_and_27_five_summaries_are_enough_and_no_fact_follows(app: Engram, clock: FakeClock) -> None:
    for number in range(1, 8):
        clock.advance(minutes=1)
        entity(app, f"svc-{number}")
    app.facts.add("gateway", "The gateway calls every svc there is")

    context = cascade(app, "svc")

    assert titles(context, "entities") == [f"svc-{number}" for number in (7, 6, 5, 4, 3)]
    assert context.items("facts") == ()
    assert "## Facts" not in text(app, context)


def test_row_28_ten_facts_and_the_newest_first(app: Engram, clock: FakeClock) -> None:
    things = [f"shelf {letter * 3}" for letter in "abcdefghijklmn"]
    for thing in things:
        clock.advance(minutes=1)
        app.facts.add(thing, f"The gateway keeps its {thing} in a table")

    facts = titles(cascade(app, "gateway"), "facts")

    assert facts == [f"The gateway keeps its {thing} in a table" for thing in things[:3:-1]]


def test_row_29_the_notes_of_a_week_fill_what_facts_do_not(app: Engram, clock: FakeClock) -> None:
    app.notes.add("The gateway was slow eight days ago")
    clock.advance(days=8)
    app.facts.add("gateway", "The gateway runs on port 8080 here")
    app.notes.add("The gateway was slow again today")

    context = cascade(app, "gateway")
    assert titles(context, "notes") == ["The gateway was slow again today"]


def test_row_30_no_note_is_read_with_three_facts(app: Engram) -> None:
    for thing in ("ports", "hosts", "logs"):
        app.facts.add(f"part-{thing}", f"The gateway keeps its {thing} in a table of {thing}")
    app.save(Draft("Today", "The gateway was slow.", "note"))

    context = cascade(app, "gateway")
    assert (len(context.items("facts")), context.items("notes")) == (3, ())


def test_row_31_what_was_replaced_is_in_no_context(app: Engram) -> None:
    app.facts.add("bob", "Bob works at Initech since spring")
    app.facts.add("bob", "Bob works at Globex these days")
    for query in ("bob", "where does bob work", "Initech since spring"):
        said = text(app, cascade(app, query))
        assert "Bob works at Globex" in said
        assert "Initech" not in said


@pytest.mark.parametrize(("query", "found"), [("what does the acme? do", True), ("the who", False)])
def test_row_32_small_words_and_marks_are_not_asked_for(app: Engram, query: str, found: bool) -> None:
    app.save(Draft("Acme", "Makes anvils.", "fact"))
    app.save(Draft("The deploy", "It is who knows what the job does.", "fact"))
    assert ("Makes anvils" in text(app, cascade(app, query))) == found


def test_row_33_what_is_shown_is_counted(app: Engram, clock: FakeClock) -> None:
    fact = app.facts.add("acme", "Acme makes anvils of cast iron").id
    for _ in range(2):
        clock.advance(hours=1)
        cascade(app, "acme")
    app.usage.flush()
    with app.usage.paused():
        row = app.get(fact).observation
    assert row.access_count == 2
    assert (row.last_accessed_at or "")[:16] == clock().isoformat()[:16]


# --- an entity that is named ---------------------------------------------------------------------------------


@pytest.fixture
def billing(app: Engram, clock: FakeClock) -> None:
    """An entity with an alias and two facts, beside one whose name begins so, and what else mentions it."""
    entity(app, "Billing", "Charges cards.", aliases=("money service",))
    entity(app, "Billing UI", "Shows invoices.")
    app.facts.add("billing", "The database is PostgreSQL in every region")
    clock.advance(minutes=1)
    app.facts.add("billing", "Dan owns every part of it")
    app.facts.add("billing-ui", "Its port is 8080 on every machine")
    app.save(Draft("Retries", "Billing retries a charge three times.", "decision"))


@pytest.mark.parametrize(
    "query", ["billing", "what is known about Billing?", "the money service", "how does the MONEY-SERVICE charge?"]
)
def test_its_summary_is_first_then_its_facts_the_newest_first(app: Engram, billing: None, query: str) -> None:
    context = cascade(app, query)
    assert titles(context, "entities") == ["Billing"]
    facts = ["Dan owns every part of it", "The database is PostgreSQL in every region"]
    assert titles(context, "facts")[:2] == facts
    said = text(app, context)
    places = [said.index(part) for part in ("Charges cards.", *facts)]
    assert places == sorted(places)


def test_the_longer_name_brings_its_own_facts_as_well(app: Engram, billing: None) -> None:
    context = cascade(app, "billing ui")
    assert "Billing UI" in titles(context, "entities")
    assert "Its port is 8080 on every machine" in titles(context, "facts")


def test_an_entity_without_a_summary_is_known_by_its_facts(app: Engram) -> None:
    app.facts.add("Adam Watson", "He maintains the parser and the lexer")
    for thing in ("tulips", "violins", "glaciers"):
        app.save(Draft(thing, f"Adam wrote all there is about {thing}.", "decision"))
    context = cascade(app, "who is adam watson")
    assert titles(context, "facts")[0] == "He maintains the parser and the lexer"
    assert "He maintains the parser and the lexer (fact about adam-watson, now)" in text(app, context)


def test_what_is_found_follows_while_there_is_too_little(app: Engram) -> None:
    entity(app, "Ledger", "Keeps the books.")
    app.save(Draft("Audit", "The ledger is audited in March.", "decision"))
    context = cascade(app, "ledger")
    assert (titles(context, "entities"), titles(context, "facts")) == (["Ledger"], ["Audit"])


def test_facts_of_another_project_and_archived_ones_stay_away(app: Engram, open_memory: Opener) -> None:
    open_memory(project="gadgets").facts.add("billing", "The database is MySQL in every region")
    away = app.facts.add("billing", "Dan owns every part of it").id
    app.observations.update(away, Change(archived=True))
    assert titles(cascade(app, "billing"), "facts") == []


# --- the person ------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ["who am I?", "What do I prefer?", "what are my preferences", "tell me about myself"])
@pytest.mark.parametrize("mode", ["query", "cascade"])
def test_a_question_about_oneself_is_asked_of_every_project(open_memory: Opener, query: str, mode: str) -> None:
    one, other = open_memory(project="gadgets"), open_memory(project="widgets")
    one.save(Draft("Editor", "Helix.", "preference", scope="personal"))
    one.save(Draft("Tests", "No mocks in gadgets.", "preference"))
    one.save(Draft("Chose uv", "It is fast.", "decision"))

    context = other.contexts.assemble(query=query, mode=mode)

    assert titles(context, "identity") == ["Editor", "Tests"]
    assert "No mocks in gadgets" in text(other, context)
    assert "Chose uv" not in text(other, context)
