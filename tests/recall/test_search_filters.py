"""Phrases, excluded words and filters: each alone, together, and beside the arguments of a call."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.base.reasons import reason
from engram_py.memory.observations import visible
from engram_py.recall import dates, index, scope_filter
from tests.memory.anchors.repositories import Repo, lines
from tests.recall.searching import fill, ids, kept, silence
from tests.support import FakeClock, Git, Opener, RepoMaker

# --- phrases and excluded words --------------------------------------------------------------------------------


@pytest.mark.parametrize("query", ['"retry queue"', '"Retry  queue" drains', "“retry queue”", '("retry queue")'])
def test_a_quoted_phrase_is_required(app: Engram, query: str) -> None:
    fill(app)
    phrase = kept(app, "The retry queue drains.")
    kept(app, "A queue to retry; it drains.")
    assert ids(app, query) == [phrase]


def test_every_phrase_is_required_and_one_of_a_script_without_blanks(app: Engram) -> None:
    kept(app, "The retry queue drains.")
    both = kept(app, "The retry queue drains, the last worker sleeps.")
    assert ids(app, '"retry queue" "last worker"') == [both]
    unspaced = kept(app, "用户登录失败时重试三次")
    kept(app, "登录用户")
    assert ids(app, '"用户登录"') == [unspaced]


def test_a_question_that_quotes_what_nothing_says_is_asked_without_the_quotes(app: Engram) -> None:
    fill(app)
    drains = kept(app, "The worker drains the queue to retry.")
    found = app.searches.search('why does the worker drain the "retry queue"')
    assert [hit.id for hit in found.results] == [drains]
    assert reason("unquoted") in found.warnings
    assert ids(app, '"retry queue"') == []  # nothing else is asked for


def test_a_neighbour_without_the_phrase_or_with_the_excluded_word_does_not_slip_in(app: Engram) -> None:
    fill(app)
    good = kept(app, "The retry queue drains.", session="day")
    kept(app, "Redis was full.", session="day")
    assert ids(app, '"retry queue"') == ids(app, "retry queue -redis") == [good]


@pytest.mark.parametrize("query", ["queue -redis", "-redis queue", "queue -Redis", 'queue -"redis cluster"'])
def test_a_word_after_a_minus_is_excluded(app: Engram, query: str) -> None:
    fill(app)
    good = kept(app, "The queue drains.")
    kept(app, "The queue lives in a redis cluster.")
    assert ids(app, query) == [good]


def test_an_excluded_word_narrows_what_filters_alone_list(app: Engram) -> None:
    good = kept(app, "Kafka it is.", type="decision")
    kept(app, "Redis it is.", type="decision")
    assert ids(app, "type:decision -redis") == [good]
    assert silence(app, "-redis").reason == reason("no_word")


# --- filters ----------------------------------------------------------------------------------------------------


@pytest.fixture
def memories(app: Engram, clock: FakeClock) -> dict[str, int]:
    """Five memories of queues, a day apart, no two of a kind; and ten of other things."""
    fill(app)
    saved = {"plain": kept(app, "The queue drains.", title="One")}
    clock.advance(days=1)
    saved["bug"] = kept(app, "The queue hangs.", title="Two", type="bugfix", topic_key="auth/queue")
    clock.advance(days=1)
    saved["decision"] = kept(app, "The queue stays.", title="Three", type="decision", topic_key="auth")
    clock.advance(days=1)
    saved["mine"] = kept(app, "My queue.", title="Four", scope="personal", topic_key="authors")
    clock.advance(days=1)
    saved["theirs"] = kept(app, "Their queue.", title="Five", project="gadgets")
    app.observations.pin(saved["bug"])
    clock.advance(hours=1)
    return saved


FILTERS = [
    pytest.param("type:bugfix", ["bug"], id="type"),
    pytest.param("type:BugFix", ["bug"], id="type-in-capitals"),
    pytest.param("type:bugfix,decision", ["decision", "bug"], id="either-type"),
    pytest.param("type:bugfix type:decision", ["decision", "bug"], id="either-type-twice"),
    pytest.param("topic:auth", ["decision", "bug"], id="topic-and-what-is-below"),
    pytest.param("topic:auth/queue", ["bug"], id="topic-below"),
    pytest.param('topic:"Auth Queue"', [], id="another-topic"),
    pytest.param("scope:personal", ["mine"], id="scope"),
    pytest.param("scope:Personal", ["mine"], id="scope-in-capitals"),
    pytest.param("project:gadgets", ["theirs", "mine"], id="project"),
    pytest.param("project:gadgets scope:project", ["theirs"], id="project-and-scope"),
    pytest.param("is:pinned", ["bug"], id="pinned"),
    pytest.param("is:pinned type:decision", [], id="two-that-exclude-each-other"),
    pytest.param("topic:auth type:decision until:2026-03-03", ["decision"], id="three"),
    pytest.param("branch:main", [], id="branch"),
    pytest.param("file:src/x.py", [], id="file"),
]  # fmt: skip


@pytest.mark.parametrize(("query", "names"), FILTERS)
def test_a_filter_narrows_a_search_and_alone_lists_the_latest_change_first(
    app: Engram, memories: dict[str, int], query: str, names: list[str]
) -> None:
    assert set(ids(app, f"{query} queue")) == set(ids(app, f"queue {query}")) == {memories[name] for name in names}
    assert ids(app, query) == [memories[name] for name in names]


def test_a_filter_and_an_argument_hold_together(app: Engram, memories: dict[str, int]) -> None:
    assert ids(app, "queue topic:auth", type=" Bugfix ") == ids(app, "topic:auth", type="bugfix") == [memories["bug"]]
    assert ids(app, "queue is:pinned", scope="personal") == []
    assert ids(app, "scope:project queue", project="gadgets") == [memories["theirs"]]
    assert set(ids(app, "queue project:gadgets", all_projects=True)) == {memories["theirs"], memories["mine"]}


def test_one_project_is_searched_at_a_time_and_that_is_said(app: Engram, memories: dict[str, int]) -> None:
    found = app.searches.search("queue project:widgets scope:project", project="gadgets")
    assert [hit.id for hit in found.results] == [memories["theirs"]]
    assert reason("one_project", project="gadgets") in found.warnings


@pytest.mark.parametrize(
    ("query", "names"),
    [
        pytest.param("since:2026-03-03", ["mine", "decision"], id="since-a-day"),
        pytest.param("until:2026-03-02", ["bug", "plain"], id="until-the-end-of-a-day"),
        pytest.param("since:2026-03-02 until:2026-03-02", ["bug"], id="one-day"),
        pytest.param("since:2026-03", ["mine", "decision", "bug", "plain"], id="since-a-month"),
        pytest.param("until:2026-02", [], id="until-a-month"),
        pytest.param("since:2027", [], id="since-a-year"),
        pytest.param("until:2026", ["mine", "decision", "bug", "plain"], id="until-a-year"),
        pytest.param("since:2d", ["mine"], id="days-ago"),
        pytest.param("since:49h", ["mine", "decision"], id="hours-ago"),
        pytest.param("until:1w", [], id="weeks-ago"),
        pytest.param("since:1m", ["mine", "decision", "bug", "plain"], id="months-ago"),
        pytest.param("since:yesterday", ["mine"], id="yesterday"),
        pytest.param("since:2026-03-03T10:00:00Z", ["mine", "decision"], id="a-time"),
    ],
)
def test_dates_bound_the_last_change(app: Engram, memories: dict[str, int], query: str, names: list[str]) -> None:
    asked = ids(app, f"{query} queue scope:project,personal")
    assert sorted(asked) == sorted(memories[name] for name in names)


def test_what_was_replaced_is_found_by_it(app: Engram) -> None:
    old = kept(app, "The queue lives in redis.", title="Old")
    new = kept(app, "The queue lives in postgres.", title="New")
    app.relations.compare(new, old, "supersedes", confidence=0.9, reasoning="It moved.")
    assert ids(app, "is:superseded") == ids(app, "queue is:superseded") == [old]
    app.observations.delete(new)
    assert ids(app, "is:superseded") == []


# --- what went stale --------------------------------------------------------------------------------------------


def test_what_is_overdue_is_stale(app: Engram, clock: FakeClock) -> None:
    old = kept(app, "The queue stays.", type="decision")
    clock.advance(days=400)
    new = kept(app, "The queue stays on.", title="Newer", type="decision")
    assert ids(app, "is:stale") == ids(app, "queue is:stale") == [old]
    assert new in ids(app, "queue")


def test_a_file_that_a_text_names_is_found_whether_it_was_there_or_not(
    make_repo: RepoMaker, git: Git, open_memory: Opener
) -> None:
    repo = Repo(make_repo("work/widgets"), git)
    repo.commit("a file", {"auth.py": lines("auth")})
    app = open_memory(repo.root)
    named = kept(app, "**What**: The worker retries. **Where**: orders/tasks.py:14", title="Retries")
    anchored = kept(app, "Tokens are made here.", title="Auth", files=("auth.py",))
    kept(app, "Orders have tasks, and py is a name.", title="Other")
    assert ids(app, "file:orders/tasks.py") == ids(app, "retries file:tasks.py") == [named]
    assert ids(app, "file:auth.py") == [anchored]
    assert ids(app, "file:orders/none.py") == []


def test_what_is_about_a_file_that_changed_is_stale(make_repo: RepoMaker, git: Git, open_memory: Opener) -> None:
    repo = Repo(make_repo("work/widgets"), git)
    repo.commit("two files", {"auth.py": lines("auth"), "login.py": lines("login")})
    app = open_memory(repo.root)
    changed = kept(app, "Tokens are made here.", title="Auth", files=("auth.py:10-20",))
    fresh = kept(app, "Tokens are read here.", title="Login", files=("login.py",))
    assert ids(app, "is:stale") == []
    assert silence(app, "tokens is:stale").reason == reason("not_stale")
    assert ids(app, "file:auth.py") == ids(app, "tokens file:auth.py") == [changed]

    repo.commit("a change", {"auth.py": [line.replace("auth_15", "other_15") for line in lines("auth")]})
    assert ids(app, "is:stale") == ids(app, "tokens is:stale") == [changed]
    assert set(ids(app, "tokens branch:main")) == {changed, fresh}


def test_many_rows_about_fresh_files_do_not_hide_a_stale_one(app: Engram, folder: Path, clock: FakeClock) -> None:
    (folder / "queue.py").write_text("queue = []\n", encoding="utf-8")
    old = kept(app, "The queue stays.", type="decision")
    clock.advance(days=400)
    for number in range(12):
        kept(app, f"The queue, part {number}.", title=f"Part {number}", files=("queue.py",))
    assert ids(app, "is:stale", limit=3) == ids(app, "is:stale queue", limit=3) == [old]


def test_filters_beside_stop_words_list_as_if_alone_and_say_so(app: Engram) -> None:
    saved = [kept(app, "The pool.", type="decision"), kept(app, "A queue, without the article.", type="decision")]
    kept(app, "The ledger.", type="bugfix")

    found = app.searches.search("type:decision the")

    assert ([hit.id for hit in found.results], found.rung) == (saved[::-1], "filters")
    assert found.warnings == (reason("filters_alone", query="the"),)
    assert app.searches.search("type:decision").warnings == ()
    assert ids(app, "project:widgets the") == ids(app, "project:widgets")
    assert len(ids(app, "the", type="decision")) == 2
    assert silence(app, "type:policy the").reason == reason("nothing_passes", without_words=False)


# --- what filters took away -------------------------------------------------------------------------------------


def test_what_was_filtered_away_of_the_project_is_counted_and_the_filters_are_named(app: Engram) -> None:
    fill(app)
    for number in range(3):
        kept(app, f"The queue drains, part {number}.")
    kept(app, "Their queue.", project="gadgets")
    found = silence(app, "queue type:bugfix since:2d")
    assert (found.filtered, found.filters) == (3, ("type:bugfix", "since:2d"))
    assert found.reason == reason("filtered")
    assert silence(app, "queue", type="bugfix").filtered == 3


def test_filters_that_let_nothing_through_say_so(app: Engram) -> None:
    kept(app, "The queue drains.")
    found = silence(app, "type:bugfix is:pinned")
    assert (found.reason, found.filters) == (
        reason("nothing_passes", without_words=False),
        ("type:bugfix", "is:pinned"),
    )


@pytest.mark.parametrize(
    ("query", "meant"),
    [("type:bug", "bugfix"), ("type:fix crash", "bugfix"), ("type:decison", "decision"), ("type:adr", "architecture")],
)
def test_a_type_that_nothing_has_is_told_the_usual_one(app: Engram, query: str, meant: str) -> None:
    kept(app, "The importer crashed on empty rows.", type="bugfix")
    [note] = app.searches.search(query).warnings

    asked = query.removeprefix("type:").split()[0]
    assert note == reason("unusual_type", type=asked, usual=meant)


@pytest.mark.parametrize(
    "query", ["type:zebra", "type:reference", "type:note", "type:fix since:2030-01-01", "kubernetes type:fix"]
)
def test_a_type_that_is_usual_or_used_or_resembles_none_is_not_corrected(app: Engram, query: str) -> None:
    kept(app, "The importer crashed on empty rows.", type="fix")
    found = app.searches.search(query)

    assert (found.results, found.warnings) == ((), ())


@pytest.mark.parametrize("everywhere", [False, True])
def test_a_type_in_use_is_not_corrected_in_a_large_memory(
    app: Engram, monkeypatch: pytest.MonkeyPatch, everywhere: bool
) -> None:
    monkeypatch.setattr(visible, "MOST_COUNTED", 5)
    kept(app, "The importer crashed on empty rows.", type="bug")
    for number in range(10):
        kept(app, f"Thing {number}.", type="decision")

    assert app.searches.search("kubernetes type:bug", all_projects=everywhere).warnings == ()
    [note] = app.searches.search("kubernetes type:decison", all_projects=everywhere).warnings
    assert note == reason("unusual_type", type="decison", usual="decision")


def test_a_type_of_a_megabyte_is_compared_with_nothing_and_not_said_again(app: Engram) -> None:
    kept(app, "The importer crashed on empty rows.", type="fix")
    found = app.searches.search("importer", type="bugfix" * 160_000)

    assert found.warnings == ()
    assert found.silence is not None
    assert [len(one) for one in found.silence.filters] == [len("type:") + 300]


def test_a_file_that_many_texts_of_other_projects_name_is_found_in_a_small_one(
    app: Engram, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = kept(app, "The scripts of package.json are sorted.", project="small")
    for number in range(5):
        kept(app, f"Release {number} bumps package.json.", project="large")
    monkeypatch.setattr(scope_filter, "_MOST_FILES", 3)
    assert ids(app, "file:package.json", project="small") == [mine]


def test_a_day_on_which_others_changed_much_finds_what_a_small_project_saved(
    app: Engram, monkeypatch: pytest.MonkeyPatch, clock: FakeClock
) -> None:
    mine = kept(app, "The belt was replaced.", project="small")
    shared = kept(app, "Ada answers on Mondays.", project="large", scope="personal")
    for number in range(5):
        kept(app, f"Release {number}.", project="large")
    clock.advance(days=1)
    monkeypatch.setattr(dates, "NEWEST_ROWS", 3)
    assert set(ids(app, "what happened yesterday?", project="small")) == {mine, shared}
    assert app.searches.search("what happened yesterday?", project="third").results[0].id == shared
    app.observations.delete(shared)
    none = silence(app, "what happened yesterday?", project="third")
    assert (none.reason, none.unknown) == (reason("no_change", start="2026-03-01", last="2026-03-01", open=False), ())
    changed = index.changed_between(app.store, "2026-03-01", "2026-03-02", projects=["large"], limit=2)
    assert changed == [shared + 5, shared + 4]  # the latest first
