"""What a new session is given to read, and the counts of the memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.errors import InvalidArgumentError
from engram_py.observations.listing import Suggestion
from engram_py.observations.values import Change
from engram_py.settings import Settings
from tests.memory import FakeClock, Opener, draft


def test_an_empty_memory_gives_an_empty_context_and_counts_nothing(app: Engram) -> None:
    context, stats = app.contexts.assemble(), app.statistics.count()
    assert (context.project, context.memories) == ("widgets", 0)
    assert (context.sessions, context.prompts, context.pinned, context.recent) == ((), (), (), ())
    assert (stats.total_observations, stats.total_sessions, stats.types, stats.projects) == (0, 0, {}, ())


def test_what_changed_last_comes_first(app: Engram, clock: FakeClock) -> None:
    ids = []
    for number in range(4):
        ids.append(app.save(draft(f"text {number}", title=f"Title {number}")).id)
        clock.advance(minutes=1)
    app.observations.update(ids[1], Change(content="changed"))
    assert [row.id for row in app.contexts.assemble().recent] == [ids[1], ids[3], ids[2], ids[0]]


def test_rows_of_one_moment_come_in_the_order_of_their_ids(app: Engram) -> None:
    ids = [app.save(draft(f"text {number}")).id for number in range(4)]
    assert [row.id for row in app.contexts.assemble().recent] == ids[::-1]


def test_pinned_rows_stand_apart_and_summaries_with_their_sessions(app: Engram) -> None:
    pinned = app.save(draft("Never force-push.", title="Rule"))
    plain = app.save(draft("Fifteen minutes."))
    app.observations.pin(pinned.id)
    app.episodes.summarize("Built the login.", session_id="s-1")
    context = app.contexts.assemble()
    assert [row.id for row in context.pinned] == [pinned.id]
    assert [row.id for row in context.recent] == [plain.id]
    assert "Built the login." in [line.summary for line in context.sessions]
    assert context.memories == 3


def test_each_section_is_bounded(app: Engram, clock: FakeClock) -> None:
    for number in range(25):
        app.observations.pin(app.save(draft(f"pinned {number}"), session_id=f"s-{number}").id)
        app.save(draft(f"plain {number}"), session_id=f"s-{number}")
        app.prompts.save(f"prompt {number}")
        clock.advance(minutes=1)
    context = app.contexts.assemble()
    sizes = [len(section) for section in (context.sessions, context.prompts, context.pinned, context.recent)]
    assert sizes == [5, 10, 20, 20]
    assert (context.recent[0].content, context.prompts[0].content) == ("plain 24", "prompt 24")


def test_a_project_sees_its_own_rows_and_what_is_personal_or_global_anywhere(app: Engram) -> None:
    mine = app.save(draft("Here.", title="Here"))
    personal = app.save(draft("Tabs, not spaces.", title="Personal", scope="personal"), project="gadgets")
    everywhere = app.save(draft("English only.", title="Global", scope="global"), project="gadgets")
    theirs = app.save(draft("There.", title="There"), project="gadgets")

    here, there = app.contexts.assemble(), app.contexts.assemble("gadgets")
    assert {row.id for row in here.recent} == {mine.id, personal.id, everywhere.id}
    assert {row.id for row in there.recent} == {theirs.id, personal.id, everywhere.id}
    assert (here.memories, there.memories) == (3, 3)
    assert {row.id for row in app.contexts.assemble(scope="personal").recent} == {personal.id}


def test_a_scope_nobody_knows_is_refused(app: Engram) -> None:
    with pytest.raises(InvalidArgumentError):
        app.contexts.assemble(scope="team")


@pytest.mark.parametrize(("asked", "used"), [(0, 600), (-5, 600), (1_000_000, 65_536)])
def test_a_budget_out_of_range_is_held_and_said(app: Engram, asked: int, used: int) -> None:
    context = app.contexts.assemble(max_bytes=asked)
    assert context.max_bytes == used
    assert any(str(used) in warning for warning in context.warnings)


def test_the_budget_comes_from_the_projects_settings(folder: Path, open_memory: Opener) -> None:
    (folder / ".engram.json").write_text('{"budgets": {"context_tokens": 200}}', encoding="utf-8")
    assert open_memory().contexts.assemble().max_bytes == 800


def test_the_budgets_of_a_prompt_and_of_everything_come_from_the_settings(data_dir: Path, folder: Path) -> None:
    settings = Settings(data_dir, memory_budget_tokens=300, full_budget_tokens=500)
    with Engram(settings=settings, directory=folder) as app:
        assert app.contexts.assemble(query="why?", mode="query").max_bytes == 1_200
        assert app.contexts.assemble(mode="full").max_bytes == 2_000
        assert app.contexts.assemble(mode="full", budget_tokens=800).max_bytes == 3_200


def test_the_context_of_a_project_without_memory_says_so(app: Engram) -> None:
    app.save(draft("One."))
    context = app.contexts.assemble("widget")
    assert context.recent == ()
    assert any('"widget" has no memory yet' in warning and "widgets" in warning for warning in context.warnings)


@pytest.mark.parametrize(
    ("title", "key"),
    [("Token lifetime", "decision/token-lifetime"), ("What was decided", "decision/lifetime-of-tokens"),
     ("Token lifetime", "config/deploy")],
    ids=["the-same-key", "a-near-key", "the-same-title"],
)  # fmt: skip
def test_a_suggested_topic_names_what_holds_it_already(app: Engram, title: str, key: str) -> None:
    free = app.topics.suggest(type="decision", title="Token lifetime")
    saved = app.save(draft("One.", title=title, topic_key=key, type="decision"))
    taken = app.topics.suggest(type="decision", title="Token lifetime")
    assert (free.topic_key, free.existing_id) == ("decision/token-lifetime", None)
    assert taken == Suggestion(key, saved.id, title)


def test_the_counts_are_those_of_what_is_there(app: Engram) -> None:
    app.save(draft("One.", topic_key="auth/tokens", type="decision"), session_id="s-1")
    app.save(draft("Two.", topic_key="auth/tokens", type="decision"), session_id="s-1")
    doomed = app.save(draft("Three.", title="Other"), session_id="s-1")
    app.observations.delete(doomed.id)
    app.save(draft("Four.", type="bugfix"), project="gadgets", session_id="s-2")
    app.prompts.save("Please.", session_id="s-1")

    stats, here = app.statistics.count(), app.statistics.count("widgets")
    assert (stats.total_sessions, stats.total_observations, stats.total_prompts) == (2, 2, 1)
    assert (stats.deleted_observations, stats.versions) == (1, 1)
    assert stats.types == {"bugfix": 1, "decision": 1}
    assert set(stats.projects) == {"widgets", "gadgets"}
    assert stats.database_bytes > 0
    assert (here.total_sessions, here.total_observations, here.types) == (1, 1, {"decision": 1})


def test_sessions_that_saved_nothing_do_not_hide_the_last_one_that_did(app: Engram, clock: FakeClock) -> None:
    app.sessions.start("worked")
    app.episodes.summarize("## Goal\nMove the orders.\n\n## Next Steps\n- Write the migration", session_id="worked")
    for number in range(120):
        clock.advance(minutes=1)
        app.sessions.start(f"empty-{number}")

    context = app.contexts.assemble()

    assert [line.id for line in context.sessions] == ["worked"]
    assert context.remarks.next_steps["worked"] == ("Write the migration",)
