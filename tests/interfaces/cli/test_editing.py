"""``engram edit``, ``undo`` and ``revert``, lists, and the commands that change many observations at once."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from tests.interfaces.cli.conftest import Run, Start, answer, refusal

HEAD = "title: Timeout\ntype: manual\nscope: project\ntopic:"


@pytest.fixture
def saved(run: Run) -> Run:
    run("save", "Timeout", "5 seconds.")
    return run


def does(editor: Path, *lines: str) -> None:
    head = ["import os, pathlib, subprocess, sys", "file = pathlib.Path(sys.argv[1])", "text = file.read_text()"]
    editor.write_text("\n".join([*head, *lines]))


def kept(data_dir: Path) -> list[Path]:
    return sorted((data_dir / "edits").iterdir())


def test_an_editor_is_given_the_text_and_what_it_leaves_is_kept(saved: Run, editor: Path, data_dir: Path) -> None:
    does(
        editor,
        f"assert text == {HEAD!r} + '\\n\\n5 seconds.\\n', text",
        f"assert oct(file.stat().st_mode)[-3:] == {'600' if os.name == 'posix' else '666'!r}",
        "file.write_text(text.replace('5 sec', '30 sec').replace('Timeout', 'Login timeout'))",
    )
    done = saved("edit", "1")

    assert done.stdout == 'Updated [#1] "Login timeout" in widgets: title, content (revision 2)\n'
    found = answer(saved("history", "1", "--json"))
    assert (found["content"], [one["content"] for one in found["versions"]]) == ("30 seconds.", ["5 seconds."])
    assert kept(data_dir) == []


def test_a_text_that_was_left_alone_changes_nothing(saved: Run, editor: Path, data_dir: Path) -> None:
    does(editor)
    assert answer(saved("edit", "1", "--json"))["outcome"] == "unchanged"
    assert kept(data_dir) == []
    does(editor, "sys.exit(1)")
    assert saved("edit", "1").exit_code == 1
    assert kept(data_dir) == []


def test_what_somebody_changed_meanwhile_is_not_overwritten_and_both_texts_are_kept(
    saved: Run, editor: Path, data_dir: Path
) -> None:
    does(
        editor,
        "subprocess.run([sys.executable, '-m', 'engram_py', 'update', '1', '--content', 'Theirs.'], check=True)",
        "file.write_text(text.replace('5 seconds.', 'Mine.'))",
    )
    refused = saved("edit", "1")

    assert (refused.exit_code, refused.stdout) == (1, "")
    assert "engram: changed_meanwhile: observation #1 was changed meanwhile" in refused.stderr
    [mine] = kept(data_dir)
    assert f"note: your text is kept in {mine}" in refused.stderr
    assert mine.read_text().endswith("\n\nMine.\n")
    if os.name == "posix":
        assert [stat.S_IMODE(one.stat().st_mode) for one in (mine.parent, mine)] == [0o700, 0o600]
    assert answer(saved("get", "1", "--json"))["content"] == "Theirs."


@pytest.mark.parametrize(
    ("written", "code"),
    [
        pytest.param("nothing like it", "invalid_argument", id="no-head"),
        pytest.param(f"{HEAD}\ncolor: red\n\nText.", "invalid_argument", id="unknown-line"),
        pytest.param(f"{HEAD.replace('Timeout', '')}\n\nText.", "empty_field", id="no-title"),
        pytest.param(f"{HEAD}\n\n", "empty_field", id="no-text"),
    ],
)
def test_what_cannot_be_read_is_refused_and_kept(
    saved: Run, editor: Path, data_dir: Path, written: str, code: str
) -> None:
    does(editor, f"file.write_text({written!r})")
    refused = saved("edit", "1", "--json")

    assert refused.exit_code == 1
    assert f'"error_code": "{code}"' in refused.stdout
    assert [one.read_text() for one in kept(data_dir)] == [written]
    assert answer(saved("get", "1", "--json"))["content"] == "5 seconds."


def test_a_topic_is_given_and_taken_and_a_text_may_look_like_a_head(saved: Run, editor: Path) -> None:
    does(editor, "file.write_text(text.replace('topic:', 'topic: config/timeout').replace('5 sec', 'type: x\\n\\ny'))")
    saved("edit", "1")
    found = answer(saved("get", "1", "--json"))
    assert (found["topic_key"], found["content"], found["type"]) == ("config/timeout", "type: x\n\nyonds.", "manual")

    does(editor, "file.write_text(text.replace('topic: config/timeout', 'topic:'))")
    saved("edit", "1")
    assert answer(saved("get", "1", "--json"))["topic_key"] is None


def test_without_a_terminal_and_an_editor_an_edit_says_what_else_to_do(
    saved: Run, start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("VISUAL", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    refused = start("edit", "1")
    assert refused.code == 1
    assert "`engram update 1 --content TEXT`" in refused.stderr


# --- undo and revert --------------------------------------------------------------------------------------


def test_revert_brings_back_any_version_and_loses_none(saved: Run) -> None:
    for seconds in (10, 20):
        saved("update", "1", "--content", f"{seconds} seconds.")
    saved("revert", "1", "--version", "1")

    found = answer(saved("history", "1", "--json"))
    assert found["content"] == "5 seconds."
    assert [one["content"] for one in found["versions"]] == ["20 seconds.", "10 seconds.", "5 seconds."]


@pytest.fixture
def four(run: Run, data_dir: Path, folder: Path) -> Run:
    """#1 and #2 are notes, #3 a decision, #4 a note of gizmos."""
    with Engram(data_dir, directory=folder) as app:
        app.save(Draft("Uses tabs", "In Go.", "note"), session_id="s-1")
        app.save(Draft("Uses ruff", "For speed.", "note"), session_id="s-1")
        app.save(Draft("Chose SQLite", "One file.", "decision"), session_id="s-2")
        app.save(Draft("Uses spaces", "In Python.", "note"), project="gizmos")
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


def test_a_list_that_is_cut_says_of_how_many_and_how_to_see_more(four: Run) -> None:
    first, second = four("list", "--limit", "2"), four("list", "--limit", "2", "--page", "2")
    assert first.stderr == "note: 2 of 3; `--page 2` shows the next, `--limit N` more\n"
    assert (len(first.stdout.splitlines()), len(second.stdout.splitlines()), second.stderr) == (2, 1, "")
    assert "note: 1 of 2; `--page 2`" in four("list", "--type", "note", "--limit", "1").stderr
    assert "note: 2-2 of 3; `--page 3`" in four("list", "--limit", "1", "--page", "2").stderr
    four("delete", "1", "2")
    assert "note: 1 of 2;" in four("list", "--deleted", "--limit", "1").stderr
    assert four("list").stderr == ""


def test_sessions_prompts_and_turns_are_cut_by_the_same_rule(four: Run, app: Engram) -> None:
    for text in ("Use tabs", "Use ruff", "Use both"):
        app.prompts.save(text, project="widgets")
    app.ingest("c-1", [{"role": "user", "content": f"Turn {number}"} for number in range(3)], project="widgets")
    for name, whole in (("sessions", "sessions"), ("prompts", "prompts"), ("turns", "turns")):
        every = answer(four(name, "--json"))[whole]
        pages = [answer(four(name, "--limit", "1", "--page", str(page), "--json"))[whole] for page in (1, 2, 3)]
        assert [row for page in pages for row in page] == every[:3], name
        assert f"note: 1 of {len(every)}; `--page 2`" in four(name, "--limit", "1").stderr, name
    assert "the first 1; `--page 2` shows the next" in four("prompts", "use", "--limit", "1").stderr


# --- delete by number -------------------------------------------------------------------------------------


def test_several_are_deleted_and_brought_back_together(four: Run) -> None:
    gone = four("delete", "1", "#3")
    assert gone.exit_code == 0
    assert ids(four) == [2]
    four("undelete", "3", "1")
    assert sorted(ids(four)) == [1, 2, 3]


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
        pytest.param(["conflicts", "list", "--status", "odd"], id="no-such-status"),
    ],
)
def test_what_names_nothing_or_too_much_is_wrong_usage(four: Run, words: list[str]) -> None:
    assert four(*words).exit_code == 2
    assert ids(four) == [3, 2, 1]


# --- by filter --------------------------------------------------------------------------------------------


def test_a_filter_shows_counts_and_titles_and_asks(four: Run) -> None:
    four("pin", "1")
    refused = four("delete", "--where", "type:note", stdin="n\n")
    assert (refused.exit_code, refused.stdout, "not_confirmed" in refused.stderr) == (1, "", True)
    assert ids(four) == [3, 2, 1]
    asked = four("delete", "--where", "type:note", stdin="y\n")
    assert "type:note in widgets: 2 observations (2 note, 1 pinned)\n" in asked.stderr
    assert "  [#2] Uses ruff\n" in asked.stderr
    assert "  [#1] Uses tabs" in asked.stderr
    assert "Delete 2 observations? [y/N]" in asked.stderr
    assert asked.stdout.startswith("Deleted 2 observations of type:note in widgets.")
    assert ids(four, "--all") == [4, 3]


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
    assert "repeat this with `--project NAME`" in said
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
        app.checkpoints.save(b"xylophone", session_id="s-1")
        prompt = app.prompts.recent()[0].sync_id
    seen = four("delete", "session", "s-1", "--dry-run").stdout
    assert "2 observations, 1 prompt and 1 session" in seen
    assert "removed for good" in seen
    four("delete", "session", "s-1", "--yes")

    with Engram(data_dir, directory=folder) as app:
        assert app.store.value("select count(*) from tombstones where entity_key = :key", key=prompt) == 1
        assert app.store.value("select (select count(*) from turns) + (select count(*) from checkpoints)") == 0
        assert app.sessions.get("s-1").summary is None
        app.store.value("pragma wal_checkpoint(truncate)")
    assert b"xylophone" not in (data_dir / "engram.db").read_bytes()


def test_a_project_is_deleted_with_its_sessions_and_nothing_of_another(four: Run) -> None:
    done = answer(four("delete", "project", "widgets", "--yes", "--json"))
    assert (sorted(done["ids"]), ids(four, "--all")) == ([1, 2, 3], [4])
    assert "Chose SQLite" not in four("context").stdout


KNOWN = ("2 of ", "; `--page 2` shows the next"), ("3-4 of ", "; `--page 3` shows the next")
UNKNOWN = ("the first 2", "; `--page 2` shows the next"), ("3-4 of more", "; `--page 3` shows the next")


@pytest.fixture
def filled(app: Engram) -> Engram:
    for number, name in enumerate(("amber", "brass", "cedar", "delta", "ember")):
        app.save(Draft(f"Number {number}", f"Text {number}."), project=name)
        app.identity.add(f"I like number {number} a lot", origin="user")
        app.checkpoints.save(b"x", session_id=f"run-{number}")
        app.entities.link(name, "uses", "billing", kind="service", object_kind="service")
    return app


@pytest.mark.parametrize(
    ("command", "notes"),
    [
        pytest.param("projects list", KNOWN, id="projects"),
        pytest.param("list --all", KNOWN, id="memories"),
        pytest.param("sessions --all", KNOWN, id="sessions"),
        pytest.param("entity list", KNOWN, id="entities"),
        pytest.param("identity list", UNKNOWN, id="identity"),
        pytest.param("checkpoint list", UNKNOWN, id="checkpoints"),
        pytest.param("undo --list", UNKNOWN, id="changes"),
    ],
)
def test_every_list_says_what_it_leaves_out(
    filled: Engram, run: Run, command: str, notes: tuple[tuple[str, str], ...]
) -> None:
    for page, (begin, rest) in enumerate(notes, 1):
        said = run(*command.split(), "--limit", "2", "--page", str(page)).stderr
        assert said.startswith(f"note: {begin}")
        assert rest in said
    assert run(*command.split(), "--limit", "100").stderr == ""


def test_the_last_page_that_is_full_names_no_next_one(filled: Engram, run: Run) -> None:
    assert run("identity", "list", "--limit", "5").stderr == ""
    assert "number" not in run("identity", "list", "--limit", "5", "--page", "2").stdout
