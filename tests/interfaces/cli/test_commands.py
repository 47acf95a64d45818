"""Each command does what it says, in this process."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, answer, refusal


@pytest.fixture
def saved(run: Run) -> int:
    """Observation 1: a decision under a topic."""
    text = "Access tokens live 15 minutes."
    found = answer(run("save", "Chose short tokens", text, "--type", "decision", "--topic", "decision/ttl", "--json"))
    return int(found["id"])


@pytest.mark.parametrize("typed", ["1", "#1", "[#1]"])
def test_an_id_may_be_typed_as_answers_show_it(run: Run, saved: int, typed: str) -> None:
    assert answer(run("get", typed, "--json"))["title"] == "Chose short tokens"


@pytest.mark.parametrize("typed", ["one", "", "1.5", "#", "1_0", "9" * 5000])
def test_what_is_no_id_is_wrong_usage(run: Run, typed: str) -> None:
    said = refusal(run("get", typed), code=2)
    assert "is not an observation id such as 12" in said
    assert len(said) < 400


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["get", "99"], "observation_not_found", id="unknown-id"),
        pytest.param(["get", "0"], "invalid_argument", id="id-0"),
        pytest.param(["search", "  "], "empty_query", id="blank-query"),
        pytest.param(["prompts", "--delete", "9"], "prompt_not_found", id="unknown-prompt"),
        pytest.param(["judge", "rel-0", "related"], "judgment_not_found", id="unknown-judgment"),
        pytest.param(["projects", "merge", "nope", "--into", "widgets"], "unknown_project", id="unknown-project"),
        pytest.param(["doctor", "--check", "astrology"], "invalid_argument", id="unknown-check"),
        pytest.param(["restore", "absent.db"], "invalid_backup", id="no-such-backup"),
        pytest.param(["import", "absent.json"], "invalid_export", id="no-such-export"),
        pytest.param(["export", "absent/x.json"], "invalid_argument", id="export-to-nowhere"),
        pytest.param(["export", "--project", "nope"], "unknown_project", id="export-of-unknown-project"),
        pytest.param(["context", "--project", "nope"], "unknown_project", id="context-of-unknown-project"),
        pytest.param(["delete", "session", "nope", "--yes"], "session_not_found", id="delete-unknown-session"),
        pytest.param(["delete", "project", "nope", "--yes"], "unknown_project", id="delete-unknown-project"),
        pytest.param(["clear", "project", "nope", "--yes"], "unknown_project", id="clear-unknown-project"),
        pytest.param(["undo", "1"], "no_earlier_version", id="undo-of-nothing"),
        pytest.param(["revert", "1", "--version", "7"], "no_earlier_version", id="revert-to-unknown-version"),
        pytest.param(["conflicts", "show", "²"], "judgment_not_found", id="relation-with-a-raised-digit"),
        pytest.param(["conflicts", "scan", "--limit", "0"], "invalid_argument", id="scan-of-nothing"),
        pytest.param(["cost", "--session", "a\x1b[2Jb"], "session_not_found", id="cost-of-hostile-session"),
        pytest.param(["eval", "add", "who pays"], "invalid_argument", id="question-without-an-answer"),
        pytest.param(["eval", "remove", "7"], "question_not_found", id="unknown-question"),
        pytest.param(["why", " "], "empty_query", id="blank-prompt"),
        pytest.param(["sync"], "no_repository", id="no-repository"),
        pytest.param(["list", "tokens"], "bulk_filter", id="list-by-words"),
    ],
)
def test_a_refusal_has_a_code_a_hint_and_exit_code_1_in_both_forms(
    run: Run, saved: int, words: list[str], code: str
) -> None:
    told, machine = run(*words), run(words[0], "--json", *words[1:])
    assert (told.exit_code, told.stdout) == (1, "")
    assert re.match(rf"engram: {code}: .+\nhint: .+", told.stderr)
    assert machine.exit_code == 1
    assert f'"error_code": "{code}"' in machine.stdout


def test_content_may_come_from_standard_input(run: Run) -> None:
    run("save", "Piped", "-", stdin="from a pipe\n")
    run("update", "1", "--content", "-", stdin="and once more")
    found = answer(run("history", "1", "--json"))
    assert (found["content"], [one["content"] for one in found["versions"]]) == ("and once more", ["from a pipe"])


def test_a_memory_is_corrected_hidden_and_destroyed(run: Run, saved: int) -> None:
    changed = run("update", "1", "--find", "15", "--replace", "5")
    hidden, destroyed = run("delete", "1"), run("delete", "1", "--hard", "--yes")
    assert changed.stdout.startswith('Updated [#1] "Chose short tokens"')
    assert (hidden.exit_code, destroyed.exit_code, run("get", "1").exit_code) == (0, 0, 1)


def test_a_verdict_is_asked_for_and_given(run: Run, saved: int) -> None:
    second = answer(run("save", "Chose access tokens of an hour", "Access tokens live 60 minutes.", "--json"))
    [waiting] = answer(run("judge", "--json"))["pending"]
    assert run("judge", waiting["sync_id"]).exit_code == 2

    given = run("judge", waiting["sync_id"], "supersedes", "--reason", "measured", "--confidence", "0.9")

    assert second["judgment_required"] is True
    assert given.stdout.startswith("Judged ")
    assert answer(run("judge", "--json"))["pending"] == []


def test_projects_are_merged_and_the_old_name_goes_on_working(run: Run, saved: int) -> None:
    run("save", "Elsewhere", "Also ours.", "--project", "gizmos")

    merged = run("projects", "merge", "gizmos", "--into", "widgets")
    alias = answer(run("projects", "alias", "gadgets", "widgets", "--json"))

    assert (merged.exit_code, alias) == (0, {"alias": "gadgets", "project": "widgets"})
    assert [row["name"] for row in answer(run("projects", "--json"))["projects"]] == ["widgets"]
    assert answer(run("search", "elsewhere", "--project", "gizmos", "--json"))["count"] == 1


def test_what_is_no_result_goes_to_standard_error(run: Run) -> None:
    told = run("save", "Elsewhere", "Text.", "--project", "gizmos")
    machine = run("save", "Elsewhere too", "Text.", "--project", "gizmoz", "--json")
    assert told.stderr == 'note: created project "gizmos"\n'
    assert "note:" not in told.stdout
    assert any("gizmoz" in warning for warning in answer(machine)["warnings"])


def test_a_backup_is_restored(run: Run, saved: int, tmp_path: Path) -> None:
    backup = str(tmp_path / "copy.db")
    assert run("backup", backup).exit_code == 0
    run("delete", "1", "--hard", "--yes")
    assert run("restore", backup).stdout.startswith("Restored 1 observation")
    assert run("get", "1").exit_code == 0


def test_an_export_is_imported_by_name_and_through_a_pipe(run: Run, saved: int, tmp_path: Path) -> None:
    file = tmp_path / "out.json"
    written = answer(run("export", str(file), "--json"))
    piped = run("export", "-").stdout

    named = answer(run("--data-dir", str(tmp_path / "two"), "import", str(file), "--json"))
    streamed = answer(run("--data-dir", str(tmp_path / "three"), "import", "-", "--json", stdin=piped))

    assert written["observations"] == 1
    taken = {"read": 1, "new": 1, "newer": 0, "skipped": 0, "invalid": 0, "reasons": {}}
    assert named["observations"] == streamed["observations"] == taken
    assert (named["path"], streamed["path"]) == (str(file), "-")


def test_times_are_shown_in_the_configured_zone(run: Run, saved: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_NOW", "2026-01-02T23:30:00Z")
    run("save", "At night", "Late.")

    monkeypatch.setenv("ENGRAM_TIMEZONE", "Asia/Tokyo")
    tokyo = run("get", "2").stdout
    monkeypatch.setenv("ENGRAM_TIMEZONE", "UTC")

    assert "2026-01-03 08:30 JST" in tokyo
    assert "2026-01-02 23:30 UTC" in run("get", "2").stdout


def test_a_save_near_a_topic_names_its_key_and_what_holds_it(run: Run) -> None:
    run("save", "Auth model", "JWTs.", "--topic", "architecture/auth-tokens")
    told = run("save", "Token for auth", "JWTs with RS256.", "--type", "architecture")
    assert "Near [#1]: `--topic architecture/auth-tokens`" in told.stdout
    assert "revises it later" not in told.stdout
