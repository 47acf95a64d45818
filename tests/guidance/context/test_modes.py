"""The modes session, full and cascade."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.guidance.context.values import Context
from engram_py.interfaces.wording import render
from engram_py.memory.observations.values import Change, Observation
from tests.guidance.context.prompting import text
from tests.support import FakeClock, Opener, draft


def cascade(app: Engram, query: str, **arguments: Any) -> Context:
    return app.contexts.assemble(query=query, mode="cascade", **arguments)


def full(app: Engram, **arguments: Any) -> Context:
    return app.contexts.assemble(mode="full", **arguments)


def titles(context: Context, section: str) -> list[str]:
    return [item.title for item in context.items(section) if isinstance(item, Observation)]


# --- session -----------------------------------------------------------------------------------------------


def test_a_session_reads_overrides_pins_sessions_and_decisions_in_this_order(app: Engram, clock: FakeClock) -> None:
    app.save(Draft("Chose uv", "Fast.", "decision"))
    clock.advance(hours=1)
    app.save(Draft("Fixed the parser", "A tab.", "bugfix"))
    rule = app.save(Draft("Never force-push", "Somebody did.", "policy"))
    override = app.save(Draft("Always reply in English", "Always reply in English", "identity", scope="personal"))
    app.observations.pin(rule.id)
    app.observations.pin(override.id)
    app.episodes.summarize("Built it.\n## Next Steps\n- ship it", session_id="s-1")
    app.prompts.save("Build it.", session_id="s-1")

    said = text(app, app.contexts.assemble())

    order = ["## About the user", "Always reply", "## Pinned", "Never force-push", "## Recent sessions", "Built it"]
    order += ["next: ship it", "## Recent observations", "Chose uv (", "Fixed the parser (", "## Recent user prompts"]
    places = [said.index(piece) for piece in order]
    assert places == sorted(places)
    assert said.count("Always reply in English") == 1


def test_a_decision_is_read_before_what_came_after_it(app: Engram, clock: FakeClock) -> None:
    decided = app.save(Draft("Chose uv", "Fast.", "decision"))
    for number in range(25):
        clock.advance(minutes=1)
        app.save(draft(f"text {number}", title=f"Title {number} of {number}{number}"))

    recent = app.contexts.assemble().recent

    assert recent[0].id == decided.id
    assert len(recent) == len({row.id for row in recent}) == 20
    assert [row.title for row in recent[1:3]] == ["Title 24 of 2424", "Title 23 of 2323"]


def test_an_override_is_left_out_of_a_narrower_scope(app: Engram) -> None:
    override = app.save(Draft("Always reply in English", "Always.", "identity", scope="personal"))
    app.observations.pin(override.id)

    assert app.contexts.assemble(scope="project").items("overrides") == ()
    assert len(app.contexts.assemble(scope="personal").items("overrides")) == 1


def test_a_summary_has_a_handle_and_names_no_step_that_is_done(app: Engram) -> None:
    saved = app.episodes.summarize("Built it.\n## Next Steps\n- [x] test it\n- [ ] ship it", session_id="s-1")

    said = text(app, app.contexts.assemble())

    assert f"- [#{saved.id}] now widgets: Built it; next: ship it [1 observation]" in said


def test_the_start_of_a_session_tells_what_the_last_ones_saved_where_they_left_no_summary(app: Engram) -> None:
    ids = [app.save(Draft(f"Step {number}", f"Text {number}."), session_id="s-1").id for number in (1, 2)]

    context = app.contexts.assemble()

    assert f"- now widgets: last saved Step 2 [#{ids[1]}]; Step 1 [#{ids[0]}] [2 observations]" in text(app, context)
    [told] = render.to_json(context, door="python")["sessions"]
    assert [one["title"] for one in told["last_saved"]] == ["Step 2", "Step 1"]


def test_preferences_are_read_however_much_came_after_them_the_persons_own_first(app: Engram, clock: FakeClock) -> None:
    app.save(Draft("No heap after init", "Jonas will not review it.", "preference"))
    app.save(Draft("Cookies are stripped", "Asked by the officer.", "policy"))
    app.save(Draft("English subjects", "Bodies may be French.", "preference", scope="personal"), project="gadgets")
    app.save(Draft("Tabs in gadgets", "Only there.", "preference"), project="gadgets")
    for number in range(60):
        clock.advance(hours=1)
        app.save(Draft(f"Chose {number}", f"Reason {number}.", "decision"))

    context = app.contexts.assemble()

    assert titles(context, "preferences") == ["English subjects", "No heap after init", "Cookies are stripped"]
    assert "## Preferences and policies\n- [#3] English subjects (preference, 2d, personal)" in text(app, context)
    assert titles(app.contexts.assemble(scope="project"), "preferences") == titles(context, "preferences")[1:]


def test_many_preferences_leave_room_for_the_rest_and_are_told_once(app: Engram) -> None:
    for number in range(12):
        app.save(Draft(f"Wish {number}", f"Word{number} matters.", "preference", scope="personal"))
        app.save(Draft(f"Rule {number}", f"Law{number} holds.", "policy"))
    app.save(Draft("Chose uv", "Fast.", "decision"))

    context = app.contexts.assemble(compact=True)

    assert len(titles(context, "preferences")) == 6
    assert "Chose uv" in titles(context, "recent")
    assert not set(titles(context, "preferences")) & set(titles(context, "recent"))


# --- cascade -----------------------------------------------------------------------------------------------


def test_notes_of_the_last_week_come_last_line_by_line(app: Engram, clock: FakeClock) -> None:
    app.save(Draft("Old note", "The gateway fell over.", "note"))
    clock.advance(days=8)
    app.save(Draft("Gateway owner", "Dan owns the gateway.", "fact"))
    app.save(Draft("Today", "# gateway day\nThe gateway was slow.\nLunch.\nGateway restarted.", "note"))

    context = cascade(app, "gateway")

    assert titles(context, "notes") == ["Today"]
    said = text(app, context)
    assert "The gateway was slow. / Gateway restarted." in said
    assert "Lunch" not in said


def test_a_summary_is_shown_by_its_lines(app: Engram) -> None:
    lines = "\n".join(f"line {number}" for number in range(1, 61))
    app.save(Draft("Billing", lines, "summary", topic_key="entity/billing"))

    said = text(app, cascade(app, "What does the billing? do"))

    assert "### Billing [#1]\nline 1\nline 2\n" in said
    assert "line 50" in said
    assert "line 51" not in said


@pytest.mark.parametrize("query", ["the who", "???", "zebra"])
def test_nothing_about_it_is_said_in_a_sentence(app: Engram, query: str) -> None:
    app.save(Draft("Billing", "Dan.", "fact"))
    assert text(app, cascade(app, query)).startswith("No memory of widgets is about this")


# --- full --------------------------------------------------------------------------------------------------


def test_everything_is_the_profile_then_the_days_then_the_rest(app: Engram, clock: FakeClock) -> None:
    clock.now = datetime(2026, 3, 1, 10, tzinfo=UTC)
    app.save(Draft("Profile", "Ada writes compilers.", "summary", topic_key="identity/profile", scope="personal"))
    app.save(Draft("Billing", "Retries.\nOwner Dan.", "summary", topic_key="entity/billing"))
    app.save(Draft("Chose uv", "Fast.", "decision"))
    clock.now = datetime(2026, 3, 3, 10, tzinfo=UTC)
    app.save(Draft("Chose ruff", "Fast.", "decision"))
    app.save(Draft("Fixed the parser", "A tab.", "bugfix"))

    said = text(app, full(app))

    order = ["### identity.md", "Ada writes", "### observations.md", "## 2026-03-03", "Fixed the", "Chose ruff"]
    order += ["## 2026-03-01", "Chose uv", "### entity/billing", "Retries.\nOwner Dan."]
    places = [said.index(piece) for piece in order]
    assert places == sorted(places)
    assert said.count("## 2026-03-03") == 1


def test_an_empty_memory_is_the_empty_text(app: Engram) -> None:
    assert text(app, full(app)) == ""


@pytest.mark.parametrize("tokens", [100, 500])
def test_what_does_not_fit_is_cut_with_a_mark(app: Engram, tokens: int) -> None:
    app.save(Draft("Profile", "word " * 1_000, "summary", topic_key="identity/profile", scope="personal"))

    said = text(app, full(app, budget_tokens=tokens))

    assert tokens * 3 < len(said) <= tokens * 4
    assert "word word" in said
    assert "\n[...truncated]\n" in said


def test_the_default_is_ten_thousand_tokens(app: Engram, clock: FakeClock) -> None:
    for number in range(200):
        app.save(Draft(f"Thing {number}", f"{number} " * 400, "decision"))

    said = text(app, full(app))

    assert 36_000 < len(said.encode()) <= 40_000
    assert "[...truncated]" in said


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
