"""Several observations at once: listed, deleted, retagged and brought back, with a question first where it is many."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.cli.conftest import Run, Start, answer, refusal


@pytest.fixture
def four(run: Run) -> Run:
    """#1 and #2 are notes, #3 a decision, #4 a note of gizmos."""
    run("save", "Uses tabs", "In Go.", "--type", "note", "--session", "s-1")
    run("save", "Uses ruff", "For speed.", "--type", "note", "--session", "s-1")
    run("save", "Chose SQLite", "One file.", "--type", "decision", "--session", "s-2")
    run("save", "Uses spaces", "In Python.", "--type", "note", "--project", "gizmos")
    return run


def ids(run: Run, *words: str) -> list[int]:
    return [row["id"] for row in answer(run("list", *words, "--json"))["observations"]]


# --- list -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "found"),
    [
        pytest.param([], [3, 2, 1], id="project"),
        pytest.param(["--all"], [4, 3, 2, 1], id="all"),
        pytest.param(["--type", "note"], [2, 1], id="type"),
        pytest.param(["type:note,decision", "--limit", "2"], [3, 2], id="filter-and-limit"),
        pytest.param(["--project", "gizmos"], [4], id="other-project"),
        pytest.param(["is:pinned"], [], id="none"),
    ],
)
def test_observations_are_listed_latest_change_first(four: Run, words: list[str], found: list[int]) -> None:
    assert ids(four, *words) == found
    assert four("recent", *words).stdout == four("list", *words).stdout


# --- delete by number -------------------------------------------------------------------------------------


def test_several_are_deleted_and_brought_back_together(four: Run) -> None:
    gone = four("delete", "1", "#3")
    assert gone.exit_code == 0
    assert ids(four) == [2]
    four("undelete", "3", "1")
    assert sorted(ids(four)) == [1, 2, 3]


@pytest.mark.parametrize("more", [[], ["--hard", "--yes"]])
def test_of_several_none_is_deleted_where_one_is_not_there(four: Run, more: list[str]) -> None:
    assert "observation_not_found" in refusal(four("delete", "1", "99", *more))
    assert ids(four) == [3, 2, 1]


def test_several_are_destroyed(four: Run) -> None:
    assert answer(four("delete", "obs", "3", "--json"))["id"] == 3  # Engram's own word for one
    assert len(answer(four("delete", "1", "2", "--hard", "--yes", "--json"))["deleted"]) == 2
    assert ids(four, "--deleted") == [3]
    four("delete", "session", "s-1", "--yes")  # nothing is left of it
    assert "s-1" not in {one["id"] for one in answer(four("sessions", "--json"))["sessions"]}
    assert four("undelete", "1").exit_code == 1


def test_what_is_destroyed_is_shown_and_asked_about(four: Run) -> None:
    refused = four("delete", "1", "2", "--hard", stdin="n\n")
    assert "[#1] Uses tabs" in refused.stderr
    assert "Destroy 2 observations for good? [y/N]" in refused.stderr
    assert "not_confirmed" in refused.stderr
    assert ids(four) == [3, 2, 1]


PROMPTS = ["prompts", "--delete", "1", "--delete", "2"], ["delete", "prompt", "1", "2"]


@pytest.mark.parametrize("words", [pytest.param(words, id=words[0]) for words in PROMPTS])
def test_prompts_are_destroyed_together_after_a_question(four: Run, app: Engram, words: list[str]) -> None:
    for text in ("Use tabs", "Use ruff"):
        app.prompts.save(text, project="widgets")
    asked = four(*words, stdin="n\n")
    assert "[1] Use tabs" in asked.stderr
    assert "Destroy 2 prompts for good? [y/N]" in asked.stderr
    assert "Use tabs" in four("prompts").stdout
    assert four(*words, "--yes").exit_code == 0
    assert answer(four("prompts", "--json"))["prompts"] == []


@pytest.mark.parametrize("words", [pytest.param(words, id=words[0]) for words in PROMPTS])
def test_of_prompts_none_is_destroyed_where_one_is_of_another_project(four: Run, app: Engram, words: list[str]) -> None:
    for project in ("widgets", "gizmos"):
        app.prompts.save("Use tabs", project=project)
    assert "prompt_not_found: no prompt 2 in widgets" in refusal(four(*words, "--yes"))
    assert len(answer(four("prompts", "--all", "--json"))["prompts"]) == 2
    assert four(*words, "--yes", "--all").exit_code == 0


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["delete"], id="nothing"),
        pytest.param(["delete", "1", "--where", "type:note"], id="both"),
        pytest.param(["delete", "one"], id="no-number"),
        pytest.param(["delete", "--where", "type:note", "--hard"], id="hard-by-filter"),
        pytest.param(["delete", "session", "s-1", "s-2"], id="two-sessions"),
        pytest.param(["retag", "1"], id="no-new-type"),
        pytest.param(["search"], id="search-without-words"),
    ],
)
def test_what_names_nothing_or_too_much_is_wrong_usage(four: Run, words: list[str]) -> None:
    assert four(*words).exit_code == 2
    assert ids(four) == [3, 2, 1]


# --- by filter --------------------------------------------------------------------------------------------


def test_a_filter_shows_counts_and_titles_and_asks(four: Run) -> None:
    asked = four("delete", "--where", "type:note", stdin="y\n")
    assert "type:note in widgets: 2 observations (2 note)\n  [#2] Uses ruff\n  [#1] Uses tabs\n" in asked.stderr
    assert "Delete 2 observations? [y/N]" in asked.stderr
    assert asked.stdout.startswith("Deleted 2 observations of type:note in widgets.")
    assert ids(four, "--all") == [4, 3]


@pytest.mark.parametrize("said", [pytest.param("n\n", id="no"), pytest.param("", id="nobody-there")])
def test_without_a_yes_nothing_is_changed(four: Run, said: str) -> None:
    refused = four("delete", "--where", "type:note", stdin=said)
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "not_confirmed" in refused.stderr
    assert "pass --yes" in refused.stderr
    assert ids(four) == [3, 2, 1]


def test_yes_asks_nothing_and_a_dry_run_changes_nothing(four: Run) -> None:
    seen = answer(four("delete", "--where", "type:note", "--dry-run", "--json"))
    assert (seen["ids"], seen["types"]) == ([2, 1], {"note": 2})
    assert ids(four) == [3, 2, 1]
    done = four("delete", "--where", "type:note", "--yes", "--json")
    assert (answer(done)["ids"], done.stderr) == ([2, 1], "")


@pytest.mark.parametrize(
    "filters",
    [
        pytest.param("tabs", id="words"),
        pytest.param("type:note tabs", id="words-beside"),
        pytest.param("type:note since:yesterdy", id="no-date"),
        pytest.param("type:note -tabs", id="excluded"),
        pytest.param("tipe:note", id="unknown"),
        pytest.param("is:stale", id="stale"),
        pytest.param("", id="blank"),
        pytest.param("project:widgets", id="project-alone"),
    ],
)
def test_what_is_no_filter_never_widens_a_deletion(four: Run, filters: str) -> None:
    assert "bulk_filter" in refusal(four("delete", "--where", filters, "--yes"))
    assert ids(four, "--all") == [4, 3, 2, 1]


def test_a_filter_of_one_project_leaves_what_others_share_with_it(four: Run) -> None:
    four("save", "Likes tea", "Green.", "--type", "note", "--scope", "personal", "--project", "gizmos")
    four("delete", "--where", "type:note", "--yes")
    assert "Likes tea" in four("search", "tea").stdout


def test_where_no_project_is_meant_a_change_of_many_has_to_be_told_which(
    four: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir("/")
    said = refusal(four("delete", "--where", "type:note", "--yes"))
    assert "ambiguous_project" in said
    assert "repeat it with `--project NAME`" in said
    assert ids(four, "--all") == [4, 3, 2, 1]
    assert answer(four("delete", "--where", "type:note", "--project", "gizmos", "--yes", "--json"))["ids"] == [4]
    assert answer(four("delete", "--where", "type:note", "--all", "--yes", "--json"))["ids"] == [2, 1]


def test_a_filter_that_nothing_passes_is_no_failure(four: Run) -> None:
    done = four("delete", "--where", "type:policy")
    assert (done.exit_code, done.stdout) == (0, "Nothing to change in type:policy in widgets.\n")


def test_types_are_changed_by_filter_and_by_number(four: Run) -> None:
    changed = answer(four("retag", "--where", "type:note", "--type", "pattern", "--yes", "--json"))
    assert changed["ids"] == [2, 1]
    assert sorted(ids(four, "--type", "pattern")) == [1, 2]

    four("retag", "2", "3", "--type", "Decision")
    assert sorted(ids(four, "--type", "decision")) == [2, 3]
    assert answer(four("retag", "2", "--type", "decision", "--json"))["unchanged"] == 1


# --- sessions and projects --------------------------------------------------------------------------------


def test_a_session_is_deleted_with_what_it_holds_after_asking(four: Run) -> None:
    refused = four("delete", "session", "s-1", stdin="n\n")
    assert "session s-1: 2 observations and 1 session (2 note)" in refused.stderr
    assert len(ids(four)) == 3

    four("delete", "session", "s-1", "--yes")
    assert ids(four) == [3]
    assert [one["id"] for one in answer(four("sessions", "--json"))["sessions"]] == ["s-2"]
    assert "Uses ruff" not in four("context").stdout
    four("undelete", "1")
    assert answer(four("get", "1", "--json"))["session_id"] == "s-1"


def test_what_a_session_was_asked_told_and_summed_up_goes_with_it(four: Run, data_dir: Path, folder: Path) -> None:
    with Engram(data_dir, directory=folder) as app:
        app.prompts.save("xylophone please", session_id="s-1")
        app.sessions.end("s-1", summary="Built a xylophone.")
        app.transcripts.add_message("A xylophone it is.", session_id="s-1", project="widgets")
        prompt = app.prompts.recent()[0].sync_id
    seen = four("delete", "session", "s-1", "--dry-run").stdout
    assert "2 observations, 1 prompt and 1 session" in seen
    assert "removed for good" in seen
    four("delete", "session", "s-1", "--yes")

    with Engram(data_dir, directory=folder) as app:
        assert app.store.value("select count(*) from tombstones where entity_key = :key", key=prompt) == 1
        assert app.store.value("select count(*) from turns") == 0
        assert app.sessions.get("s-1").summary is None
        app.store.value("pragma wal_checkpoint(truncate)")
    assert b"xylophone" not in (data_dir / "engram.db").read_bytes()


def test_a_project_is_deleted_with_its_sessions_and_nothing_of_another(four: Run) -> None:
    done = answer(four("delete", "project", "widgets", "--yes", "--json"))
    assert (sorted(done["ids"]), ids(four, "--all")) == ([1, 2, 3], [4])
    assert "Chose SQLite" not in four("context").stdout


def test_a_process_without_a_terminal_is_told_about_yes(start: Start) -> None:
    start("save", "Uses tabs", "In Go.", "--type", "note")
    refused = start("delete", "--where", "type:note")
    assert (refused.code, refused.stdout) == (1, "")
    assert "hint: pass --yes to do it without asking" in refused.stderr
    assert start("delete", "--where", "type:note", "--yes").code == 0
