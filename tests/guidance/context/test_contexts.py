"""The context of a new session: its sections, counts, days, diversity, cache and cost in a large memory."""

from __future__ import annotations

import re
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engram_py import Draft, Engram
from engram_py.base.reasons import reason
from engram_py.base.settings import Settings
from engram_py.base.text.words import jaccard, shingles
from engram_py.guidance.context.contexts import KEPT_FOR, MOST_KEPT, Cache
from engram_py.guidance.context.providers import mmr
from engram_py.interfaces.wording import render
from engram_py.memory.observations.listing import Suggestion
from engram_py.memory.observations.values import Change, Observation
from tests.memory.observations.test_read import counted
from tests.support import START, FakeClock, Opener, draft, facts


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


@pytest.mark.parametrize(("asked", "used"), [(0, 600), (-5, 600), (1_000_000, 65_536)])
def test_a_budget_out_of_range_is_held_and_said(app: Engram, asked: int, used: int) -> None:
    context = app.contexts.assemble(max_bytes=asked)
    assert context.max_bytes == used
    assert used in [facts(one)["used"] for one in context.warnings]


def test_the_budgets_come_from_the_settings_of_the_project_and_the_user(
    folder: Path, open_memory: Opener, data_dir: Path
) -> None:
    (folder / ".engram.json").write_text('{"budgets": {"context_tokens": 200}}', encoding="utf-8")
    assert open_memory().contexts.assemble().max_bytes == 800
    settings = Settings(data_dir, memory_budget_tokens=300, full_budget_tokens=500)
    with Engram(settings=settings, directory=folder) as app:
        assert app.contexts.assemble(query="why?", mode="query").max_bytes == 1_200
        assert app.contexts.assemble(mode="full").max_bytes == 2_000
        assert app.contexts.assemble(mode="full", budget_tokens=800).max_bytes == 3_200


def test_the_context_of_a_project_without_memory_says_so(app: Engram) -> None:
    app.save(draft("One."))
    context = app.contexts.assemble("widget")
    assert context.recent == ()
    assert reason("no_memory_yet", project="widget", similar=("widgets",)) in context.warnings


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


def chosen(texts: dict[str, float], *, lam: float = 0.85, limit: int | None = None) -> list[str]:
    items = [((text, shingles(text)), relevance) for text, relevance in texts.items()]
    return [text for text, _ in mmr(items, lambda one, other: jaccard(one[1], other[1]), lam=lam, limit=limit)]


def test_what_is_relevant_comes_first_and_what_is_alike_gives_way_to_what_is_different() -> None:
    assert chosen({"parser reads csv": 0.2, "tokens expire": 0.9, "deploys go through argo": 0.5}) == [
        "tokens expire",
        "deploys go through argo",
        "parser reads csv",
    ]
    texts = {"token lifetime is short": 1.0, "token lifetime is long lived": 0.72, "retry with backoff": 0.70}

    assert chosen(texts)[1] == "retry with backoff"
    assert chosen(texts, lam=1.0)[1] == "token lifetime is long lived"
    same = {f"The nightly job runs at two on the build server, run {number}": 1.0 - number / 100 for number in range(6)}

    assert chosen(same | {"Backups are kept for a week": 0.01})[1] == "Backups are kept for a week"
    equal = ["zebra crossing", "apple pie", "mango juice", "apricot jam"]
    assert chosen(dict.fromkeys(equal, 0.5)) == equal


@given(st.lists(st.tuples(st.text(max_size=40), st.floats(-1e6, 1e6)), max_size=30), st.integers(0, 40))
def test_it_is_a_choice_of_what_was_given_and_never_more_than_asked(items: list[tuple[str, float]], limit: int) -> None:
    pairs = [((place, shingles(text)), relevance) for place, (text, relevance) in enumerate(items)]

    found = [place for place, _ in mmr(pairs, lambda one, other: jaccard(one[1], other[1]), limit=limit)]

    assert len(found) == min(limit, len(items)) == len(set(found))
    assert set(found) <= set(range(len(items)))


MORE = re.compile(r'\((\d+(?: or more)?) more saved then: search\("([^"]*)"\)\)')


def told(app: Engram, prompt: str, **arguments: Any) -> str:
    return render.text(app.contexts.assemble(query=prompt, **arguments), now=app.journal.moment(), door="python")


@pytest.fixture
def week(app: Engram, clock: FakeClock) -> Engram:
    """A Thursday after a week in which one session left a summary and three memories, and others two more."""
    clock.now = datetime(2026, 2, 25, 10, tzinfo=UTC)
    app.episodes.summarize("## Goal\nCSV parser\n", session_id="s-parser")
    for number in range(3):
        app.save(Draft(f"Quotes, part {number}", f"Doubled by rule {number}.", "gotcha"), session_id="s-parser")
    app.save(Draft("Chose uv", "It locks.", "decision"), session_id="s-1")
    app.save(Draft("Menu of the canteen", "Fish on Friday.", "note"), session_id="s-1")
    clock.now = datetime(2026, 3, 5, 10, tzinfo=UTC)
    app.save(Draft("Chose ruff", "Today.", "decision"), session_id="s-2")
    return app


@pytest.mark.parametrize("prompt", ["what happened last week?", "what was decided last week"])
def test_days_of_a_summary_say_how_many_more_were_saved_and_what_lists_them(week: Engram, prompt: str) -> None:
    found = MORE.search(told(week, prompt))

    assert found is not None
    assert found[1] == "5"
    assert len(week.searches.search(found[2]).results) == 6
    assert render.to_json(week.contexts.assemble(query=prompt), door="python")["note"] == found[0][1:-1]


def test_a_reason_asked_of_days_says_so_too_and_one_that_is_whole_does_not(week: Engram, clock: FakeClock) -> None:
    for number in range(4):
        week.save(Draft(f"Chose color {number}", f"Of hue {number}.", "decision"), session_id="s-2")
    clock.advance(days=1)

    assert MORE.search(told(week, "what did we decide yesterday?")) is None
    for number in range(4):
        week.save(Draft(f"Chose hue {number}", f"Of color {number}.", "decision"), session_id="s-2")
    clock.advance(days=1)
    assert MORE.search(told(week, "what did we decide this week?"))


def test_a_question_about_something_in_those_days_does_not_count_the_others(week: Engram) -> None:
    assert "Chose uv" in told(week, "why did we choose uv last week?")
    assert MORE.search(told(week, "why did we choose uv last week?")) is None


def test_the_note_stays_within_the_budget(week: Engram) -> None:
    said = told(week, "what happened last week?", budget_tokens=100)

    assert len(said.encode()) <= 400
    assert MORE.search(said)


def test_days_of_another_zone_are_told_by_their_moments(data_dir: Path, folder: Path, clock: FakeClock) -> None:
    with Engram(settings=Settings(data_dir, clock=clock, timezone="Europe/Berlin"), directory=folder) as app:
        clock.now = datetime(2026, 3, 3, 23, 30, tzinfo=UTC)  # in Berlin already the 4th
        app.episodes.summarize("## Goal\nCSV parser\n", session_id="s-parser")
        late = app.save(Draft("Chose uv", "It locks.", "decision"), session_id="s-parser").id
        clock.now = datetime(2026, 3, 5, 10, tzinfo=UTC)

        found = MORE.search(told(app, "what happened yesterday?"))

        assert found is not None
        assert found[2] == "since:2026-03-03T23:00:00.000Z until:2026-03-04T23:00:00.000Z"
        assert late in {hit.id for hit in app.searches.search(found[2]).results}


SMALL, LARGE = 1_000, 4_000

# One row of each kind for each number, of the ways in which a memory grows.
_ROWS = """
with recursive n (i) as (select 1 union all select i + 1 from n where i < :rows)
insert into observations (sync_id, session_id, project, scope, type, title, content, topic_key, origin, lifecycle,
    pinned, content_hash, last_seen_at, created_at, updated_at, clock)
select 'obs-' || i, {session}, 'widgets', {scope}, {type}, 'Title ' || i, 'Text ' || i, null, 'user', {lifecycle},
    {pinned}, 'hash ' || i, {at}, {at}, {at}, :clock
from n
"""
_SESSIONS = """
with recursive n (i) as (select 1 union all select i + 1 from n where i < :rows / 10 + 1)
insert into sessions (id, project, started_at, updated_at, clock)
select 's-' || (i - 1), 'widgets', {at}, {at}, :clock from n
"""
_PROMPTS = """
with recursive n (i) as (select 1 union all select i + 1 from n where i < :rows / 10)
insert into user_prompts (sync_id, session_id, project, content, created_at, clock)
select 'prompt-' || i, 's-' || i, 'widgets', 'Prompt ' || i, {at}, :clock from n
"""
_AT = "strftime('%Y-%m-%dT%H:%M:%fZ', '2026-01-01', '+' || i || ' minutes')"
_PLAIN = {
    "session": "'s-' || (i / 10)",
    "scope": "'project'",
    "type": "substr('decisionbugfix  pattern ', 8 * (i % 3) + 1, 8)",
    "lifecycle": "'active'",
    "pinned": "0",
    "at": _AT,
}
KINDS = {
    "plain": {},
    "one-session": {"session": "'s-0'"},
    "notes": {"type": "'note'"},
    "summaries": {"type": "iif(i % 10, 'decision', 'session_summary')"},
    "shared": {"scope": "'global'"},
    "personal": {"scope": "'personal'"},
    "pinned": {"pinned": "iif(i % 5, 0, 1)"},
    "preferences": {"type": "'preference'", "scope": "'personal'"},
}
ASKED: dict[str, Callable[[Engram], object]] = {
    "session-start": lambda app: app.contexts.assemble(mode="session", unasked=True),
    "context": lambda app: app.contexts.assemble(mode="session"),
    "stats": lambda app: app.statistics.count(),
    "stats-of-a-project": lambda app: app.statistics.count("widgets"),
    "a-session-begins": lambda app: app.sessions.start("agent-1", directory=str(app.store.path.parent)),
}


def filled(folder: Path, rows: int, **kind: str) -> Engram:
    app = Engram(settings=Settings(folder), directory=folder.parent, project="widgets")
    with app.store.transaction():
        app.projects.for_write(None)
        for sql in (_SESSIONS, _ROWS, _PROMPTS):
            app.store.execute(sql.format(**{**_PLAIN, **kind}), rows=rows, clock=app.journal.stamp())
    return app


def steps(app: Engram, ask: Callable[[Engram], object]) -> int:
    """How many instructions SQLite runs, in hundreds."""
    ask(app)
    counted = 0

    def count() -> int:
        nonlocal counted
        counted += 1
        return 0

    app.store._connection.set_progress_handler(count, 100)
    app.contexts._answers = type(app.contexts._answers)()
    ask(app)
    app.store._connection.set_progress_handler(None, 0)
    return counted


def test_a_note_of_today_stands_in_the_start_of_a_session_once(app: Engram) -> None:
    app.notes.add("Deploy notes stay here")
    context = app.contexts.assemble()
    assert render.text(context, now=app.journal.moment(), door="cli").count("Deploy notes stay here") == 1


@pytest.mark.parametrize("kind", KINDS.values(), ids=KINDS)
def test_it_takes_no_more_steps_on_a_large_memory(tmp_path: Path, kind: dict[str, str]) -> None:
    small, large = (filled(tmp_path / str(rows) / "data", rows, **kind) for rows in (SMALL, LARGE))
    grown = {name: (steps(small, ask), steps(large, ask)) for name, ask in ASKED.items()}
    assert [name for name, (few, many) in grown.items() if many > 1.3 * few + 10] == [], grown
    small.close()
    large.close()


def test_row_69_the_same_question_is_answered_once_and_counted_once(app: Engram, clock: FakeClock) -> None:
    saved = app.save(draft("Fifteen minutes."))
    first = app.contexts.assemble()
    clock.advance(seconds=9)

    assert app.contexts.assemble() is first
    assert app.usage.flush()
    assert counted(app, saved.id)[0] == 1
    assert app.contexts.assemble() is first, "counting is no change"


@pytest.mark.parametrize("seconds", [10, 3_600, -1])
def test_after_ten_seconds_or_with_a_clock_set_back_it_is_answered_anew(
    app: Engram, clock: FakeClock, seconds: int
) -> None:
    app.save(draft("Fifteen minutes."))
    first = app.contexts.assemble()
    clock.advance(seconds=seconds)

    assert app.contexts.assemble() is not first


def test_a_write_of_this_or_another_process_is_seen_at_once(app: Engram, open_memory: Opener) -> None:
    saved = app.save(draft("Fifteen minutes."))
    app.contexts.assemble()

    app.observations.update(saved.id, Change(content="One hour."))
    assert app.contexts.assemble().recent[0].content == "One hour."
    app.observations.delete(saved.id)
    assert app.contexts.assemble().recent == ()

    app.save(draft("Fifteen minutes."))
    app.contexts.assemble()

    open_memory().save(draft("One hour.", title="Other"))
    assert len(app.contexts.assemble().recent) == 2


@pytest.mark.parametrize("other", [
    {"project": "gadgets"}, {"mode": "full"}, {"query": "why did we?"}, {"budget_tokens": 200}, {"compact": True},
    {"scope": "personal"}, {"unasked": True},
])  # fmt: skip
def test_another_question_has_another_answer(app: Engram, other: dict[str, object]) -> None:
    app.save(draft("Fifteen minutes."))
    assert app.contexts.assemble(**other) is not app.contexts.assemble()  # type: ignore[arg-type]


def test_equal_prompts_stand_in_the_context_once_and_the_latest_counts(app: Engram, clock: FakeClock) -> None:
    for number in range(30):
        app.prompts.save("Decide how mails\nare sent." if number % 3 else f"prompt {number}", session_id=f"s-{number}")
        clock.advance(minutes=1)
    shown = [one.content for one in app.contexts.assemble().prompts]
    assert shown == ["Decide how mails\nare sent.", *(f"prompt {number}" for number in range(27, 0, -3))]


@pytest.mark.parametrize("mode", ["session", "full"])
def test_a_text_stands_in_the_context_once_whatever_rows_have_it(app: Engram, mode: str) -> None:
    app.observations.pin(app.save(draft("Fifteen minutes.")).id)
    for fields in ({"type": "preference"}, {"type": "decision"}, {"topic_key": "auth/tokens"}, {"scope": "personal"}):
        app.save(draft("fifteen  minutes.", **fields))
    shown = [item for section in app.contexts.assemble(mode=mode).sections for item in section.items]
    assert [item.content for item in shown if isinstance(item, Observation)] in (
        ["Fifteen minutes."],
        ["fifteen  minutes."],
    )


def test_prompts_are_told_apart_by_their_beginning(app: Engram) -> None:
    long = "why did we choose this " * 10
    assert app.contexts.assemble(query=long + "one") is app.contexts.assemble(query=long + "two")
    assert app.contexts.assemble(query="why one") is not app.contexts.assemble(query="why two")


def test_a_cache_keeps_a_few_answers_and_drops_the_oldest() -> None:
    cache = Cache[int]()
    for number in range(MOST_KEPT + 1):
        cache.keep(number, number, state=0, now=START)

    assert cache.get(0, state=0, now=START) is None
    assert cache.get(1, state=0, now=START) == 1
    assert cache.get(1, state=1, now=START) is None, "the memory is in another state"
    assert cache.get(2, state=0, now=START + KEPT_FOR) is None
