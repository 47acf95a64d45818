"""The other orderings: what a session starts with, what is known about something, and everything."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from engram_py import Draft, Engram
from engram_py.context.values import Context
from engram_py.interfaces.wording import render
from engram_py.observations.values import Observation
from tests.context.prompting import text
from tests.memory import FakeClock, draft


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


def test_the_same_thing_again_comes_after_what_is_different(app: Engram, clock: FakeClock) -> None:
    different = app.save(draft("Backups are kept for a week.", title="Backups"))
    for number in range(6):
        clock.advance(minutes=1)
        app.save(draft(f"The nightly job ran on the build server and was green, run {number}.", title="Nightly job"))

    assert app.contexts.assemble().recent[1].id == different.id


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
    ids = [app.save(Draft(f"Step {number}", f"Text {number}.", "note"), session_id="s-1").id for number in (1, 2)]

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
    assert "## What is wanted here\n- [#3] English subjects (preference, 2d, personal)" in text(app, context)
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


def test_a_budget_of_tokens_is_the_same_as_one_of_bytes(app: Engram) -> None:
    assert app.contexts.assemble(budget_tokens=1_000).max_bytes == 4_000
    assert app.contexts.assemble(budget_tokens=1).max_bytes == 600
    assert app.contexts.assemble(budget_tokens=1_000, max_bytes=800).max_bytes == 800


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
    assert text(app, cascade(app, query)).startswith("Nothing in the memory of widgets is about this")


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
