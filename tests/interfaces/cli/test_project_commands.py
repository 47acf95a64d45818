"""``engram projects``, ``init``, ``config`` and ``check``."""

from __future__ import annotations

import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.base.settings import SETTINGS
from tests.interfaces.cli.conftest import Run, Start, answer, refusal
from tests.support import Git


def names(run: Run) -> dict[str, int]:
    return {one["name"]: one["observations"] for one in answer(run("projects", "--json"))["projects"]}


@pytest.fixture
def saved(run: Run) -> Run:
    run("save", "Uses tabs", "In Go.")
    return run


def test_a_project_is_renamed_and_the_old_name_goes_on_working(saved: Run) -> None:
    renamed = saved("projects", "rename", "widgets", "Gadgets")

    assert "Renamed widgets to gadgets" in renamed.stdout
    assert names(saved) == {"gadgets": 1}
    assert saved("search", "tabs", "--project", "widgets").stdout.startswith("1 match.")
    saved("save", "Uses ruff", "For speed.")  # from the folder that is called widgets
    assert names(saved) == {"gadgets": 2}

    saved("projects", "rename", "gadgets", "widgets")
    assert names(saved) == {"widgets": 2}
    assert saved("search", "tabs", "--project", "gadgets").stdout.startswith("1 match.")


@pytest.mark.parametrize(
    ("words", "code"),
    [
        pytest.param(["nope", "gadgets"], "unknown_project", id="unknown"),
        pytest.param(["widgets", "gizmos"], "invalid_argument", id="taken"),
        pytest.param(["widgets", "widgets"], "invalid_argument", id="same"),
        pytest.param(["widgets", "../x"], "invalid_project", id="path"),
    ],
)
def test_a_name_that_cannot_be_given_is_refused(saved: Run, words: list[str], code: str) -> None:
    saved("save", "Uses spaces", "In Python.", "--project", "gizmos")
    assert code in refusal(saved("projects", "rename", *words))
    assert names(saved) == {"widgets": 1, "gizmos": 1}


def test_a_merge_is_shown_before_it_is_made(saved: Run) -> None:
    saved("save", "Uses spaces", "In Python.", "--project", "gizmos")
    shown = saved("projects", "merge", "gizmos", "--into", "widgets", "--dry-run")
    assert shown.stdout.startswith("Would merge gizmos into widgets: 1 observation")
    assert names(saved) == {"widgets": 1, "gizmos": 1}


def test_open_sessions_end_by_name_or_by_the_age_of_their_last_use(saved: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    [session] = [one["id"] for one in answer(saved("sessions", "--json"))["sessions"]]
    assert answer(saved("session", "end", "--by-age", "30d", "--apply", "--json")) == {"sessions": [], "applied": True}

    monkeypatch.setenv("ENGRAM_NOW", "2199-01-01T00:00:00Z")
    assert saved("session", "end", "--by-age", "720h").stdout == f"With --apply this would end 1 session.\n{session}\n"
    assert answer(saved("sessions", "--json"))["sessions"][0]["ended_at"] is None
    assert answer(saved("session", "end", "--by-age", "30d", "--project", "gizmos", "--json"))["sessions"] == []
    assert saved("session", "end", "--by-age", "2w", "--apply").stdout.startswith("Ended 1 session.")
    assert saved("session", "end", session).stdout == f"Session {session} ended already.\n"
    assert "invalid_argument" in refusal(saved("session", "end"))
    assert "invalid_argument" in refusal(saved("session", "end", "--by-age", "soon"))


# --- consolidate ------------------------------------------------------------------------------------------


@pytest.fixture
def alike(saved: Run) -> Run:
    saved("save", "Uses ruff", "For speed.")
    for name in ("widget", "wid_gets", "payments"):
        saved("save", f"Of {name}", "Text.", "--project", name)
    return saved


def test_alike_projects_are_shown_and_merged_after_asking(alike: Run) -> None:
    seen = answer(alike("projects", "consolidate", "--dry-run", "--json"))["alike"]
    assert [(one["into"], sorted(one["names"])) for one in seen] == [("widgets", ["wid_gets", "widget"])]
    assert len(names(alike)) == 4
    for name, groups in (("payments", 0), ("widget", 1)):
        found = answer(alike("projects", "consolidate", name, "--dry-run", "--json"))
        assert len(found["alike"]) == groups

    asked = alike("projects", "consolidate", stdin="y\n")
    assert "into widgets? [y/N]" in asked.stderr
    assert names(alike) == {"widgets": 4, "payments": 1}


def test_a_no_merges_nothing_and_nobody_there_is_told_about_yes(alike: Run) -> None:
    assert alike("projects", "consolidate", stdin="n\n").stdout == "Nothing was merged\n"
    assert "not_confirmed" in refusal(alike("projects", "consolidate"))
    assert len(names(alike)) == 4
    assert alike("projects", "consolidate", "--yes").exit_code == 0
    assert len(names(alike)) == 2


def test_repositories_with_different_remotes_are_never_put_together(alike: Run, data_dir: Path) -> None:
    with Engram(data_dir) as app, app.store.transaction():
        for name in ("widgets", "widget", "wid_gets"):
            values = {"value": f"github.com/a/{name}", "project": name, "created_at": "2026-01-01T00:00:00.000Z"}
            app.store.insert("project_identities", {"kind": "remote", **values}, replace=True)
    assert answer(alike("projects", "consolidate", "--dry-run", "--json"))["alike"] == []


# --- prune ------------------------------------------------------------------------------------------------


def test_empty_projects_are_removed_after_asking_and_nothing_else(saved: Run) -> None:
    saved("save", "Gone", "Text.", "--project", "empty", "--session", "s-9")
    saved("delete", "2", "--hard", "--yes")
    saved("save", "Hidden", "Text.", "--project", "hidden")
    hidden = answer(saved("list", "--project", "hidden", "--json"))["observations"][0]["id"]
    saved("delete", str(hidden))

    assert answer(saved("projects", "prune", "--dry-run", "--json"))["names"] == ["empty"]
    assert "not_confirmed" in saved("projects", "prune", stdin="n\n").stderr
    assert saved("projects", "prune", stdin="y\n").stdout == "Removed 1 empty project: empty\n"
    assert names(saved) == {"widgets": 1, "hidden": 0}
    assert saved("projects", "prune").stdout == "No project is empty.\n"
    assert saved("undelete", str(hidden)).exit_code == 0
    saved("save", "Back", "Text.", "--project", "empty")
    assert names(saved) == {"widgets": 1, "hidden": 1, "empty": 1}
    assert saved("doctor").exit_code == 0


EXAMPLE = Path(__file__).resolve().parents[3] / ".engram.example.json"


def written(folder: Path) -> object:
    return json.loads((folder / ".engram.json").read_text(encoding="utf-8"))


@pytest.fixture
def repository(here: Path, git: Git) -> Path:
    git(here, "init", "--initial-branch=main")
    git(here, "commit", "--allow-empty", "-m", "start")
    return here


@pytest.mark.parametrize(("words", "name"), [([], "widgets"), (["  My Ünïts "], "my ünïts")])
def test_a_folder_gets_its_own_name_or_the_normalised_one_that_was_given(
    run: Run, here: Path, words: list[str], name: str
) -> None:
    assert answer(run("init", *words, "--json")) == {"path": str(here / ".engram.json"), "project": name}
    assert written(here) == {"project": name}
    assert answer(run("projects", "current", "--json"))["project_source"] == "config"


@pytest.mark.parametrize("name", ["", "../up", "_._", "x" * 200])
def test_what_is_no_name_is_refused_and_nothing_is_written(run: Run, here: Path, name: str) -> None:
    assert refusal(run("init", name)).startswith("engram: invalid_project: ")
    assert list(here.iterdir()) == []


def test_the_config_file_of_engram_is_kept_and_renamed_so_that_both_programs_agree(run: Run, here: Path) -> None:
    config = here / ".engram" / "config.json"
    config.parent.mkdir()
    config.write_text('{"project_name": "mine", "theirs": 1}')

    assert run("init", "other").exit_code == 1
    assert json.loads(config.read_text()) == {"project_name": "mine", "theirs": 1}
    made = answer(run("init", "Other", "--force", "--json"))

    assert made == {"path": str(config), "project": "other"}
    assert json.loads(config.read_text()) == {"project_name": "other", "theirs": 1}
    assert not (here / ".engram.json").exists()
    assert answer(run("projects", "current", "--json"))["project"] == "other"


def test_force_changes_the_name_and_keeps_the_rest(run: Run, here: Path) -> None:
    (here / ".engram.json").write_text(
        '{"project_name": "old", "ignore": ["vendor/*"], "budgets": {"search_limit": 5}}'
    )
    assert refusal(run("init", "new")).startswith("engram: already_initialized: ")
    run("init", "new", "--force")
    assert written(here) == {"project": "new", "ignore": ["vendor/*"], "budgets": {"search_limit": 5}}


@pytest.mark.parametrize("worktree", [False, True])
def test_below_the_top_of_a_checkout_the_file_is_written_there(
    run: Run, repository: Path, tmp_path: Path, git: Git, monkeypatch: pytest.MonkeyPatch, worktree: bool
) -> None:
    top = tmp_path / "feature" if worktree else repository
    if worktree:
        git(repository, "worktree", "add", str(top))
    (top / "src").mkdir()
    monkeypatch.chdir(top / "src")

    assert answer(run("init", "--json")) == {"path": str(top / ".engram.json"), "project": "widgets"}
    assert list((top / "src").iterdir()) == []
    assert (repository / ".engram.json").exists() is not worktree


def test_a_place_that_suggests_no_name_asks_for_one(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    (tmp_path / "home").mkdir()
    monkeypatch.chdir(tmp_path / "home")

    assert run("init").exit_code == 1
    assert run("init", "mine").exit_code == 0
    assert written(tmp_path / "home") == {"project": "mine"}


def test_a_place_that_cannot_be_written_is_refused_in_words(run: Run, here: Path) -> None:
    (here / ".engram.json").mkdir()
    assert refusal(run("init", "--force")).startswith("engram: invalid_argument: folder is ")
    assert [path.name for path in here.iterdir()] == [".engram.json"]


@pytest.fixture
def kept(data_dir: Path) -> Any:
    """What config.json holds now."""
    return lambda: json.loads((data_dir / "config.json").read_text(encoding="utf-8"))


def test_every_setting_is_listed_with_its_value_and_where_it_comes_from(
    run: Run, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data_dir.mkdir()
    (data_dir / "config.json").write_text('{"documents": false, "gate": "off"}', encoding="utf-8")
    monkeypatch.setenv("ENGRAM_GATE", "heuristic")
    listed = {one["name"]: one for one in answer(run("config", "--json"))}
    assert set(listed) == {one.name for one in SETTINGS if one.place != "project"}
    assert (listed["documents"]["value"], listed["documents"]["source"]) == (False, "config.json")
    assert (listed["gate"]["value"], listed["gate"]["source"]) == ("heuristic", "ENGRAM_GATE")
    assert (listed["port"]["value"], listed["port"]["source"]) == (7437, "default")
    assert listed["data_dir"]["value"] == str(data_dir)
    lines = [line.split() for line in run("config").stdout.splitlines()]
    assert ["documents", "off", "config.json"] in lines
    assert ["distill_url", "-", "default"] in lines


def test_a_secret_is_never_shown(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_HTTP_TOKEN", "swordfish")
    for words in (["list"], ["list", "--json"], ["get", "http_token"], ["get", "ENGRAM_HTTP_TOKEN", "--json"]):
        said = run("config", *words)
        assert "set, not shown" in said.stdout
        assert "swordfish" not in said.output


@pytest.mark.parametrize(("name", "value", "held"), [
    ("documents", "off", False), ("ENGRAM_HOOK_PRETOOL", "ON", True), ("consolidate_hours", "12", 12),
    ("salience_floor", "0.3", 0.3), ("gate", "Off", "off"), ("timezone", "Europe/Berlin", "Europe/Berlin"),
    ("distill_model", " small ", "small"),
])  # fmt: skip
def test_a_setting_that_is_set_holds_from_then_on(run: Run, kept: Any, name: str, value: str, held: object) -> None:
    assert answer(run("config", "set", name, value, "--json"))["value"] == held
    assert list(kept().values()) == [held]
    assert answer(run("config", "get", name, "--json"))["source"] == "config.json"
    assert answer(run("config", "set", name, "--unset", "--json"))["source"] == "default"
    assert kept() == {}


@pytest.mark.skipif(os.name == "nt", reason="modes are of POSIX")
def test_a_data_directory_that_this_makes_is_its_owners_alone(run: Run, data_dir: Path) -> None:
    run("config", "set", "documents", "off")
    assert [stat.S_IMODE(path.stat().st_mode) for path in (data_dir, data_dir / "config.json")] == [0o700, 0o600]


def test_a_variable_that_wins_is_named(run: Run, kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGRAM_GATE", "heuristic")
    said = run("config", "set", "gate", "off")
    assert said.stdout == "gate: heuristic (ENGRAM_GATE)\n"
    assert "ENGRAM_GATE overrides this value" in said.stderr
    assert kept() == {"gate": "off"}


@pytest.mark.parametrize(
    ("words", "hint"),
    [
        (["set", "documents", "perhaps"], "documents must be on or off"),
        (["set", "gate", "loud"], "gate must be one of heuristic, off, llm"),
        (["set", "timezone", "Mars/Base"], "timezone must be an IANA name such as Europe/Berlin"),
        (["set", "port", "80"], "set ENGRAM_PORT where engram starts"),
        (["set", "http_token", "swordfish"], "set ENGRAM_HTTP_TOKEN where engram starts"),
        (["set", "default_scope", "personal"], "one of `engram config list`"),
        (["get", "gates"], "one of `engram config list`, such as gate"),
    ],
)
def test_what_cannot_be_set_is_refused_with_what_can(run: Run, data_dir: Path, words: list[str], hint: str) -> None:
    said = refusal(run("config", *words))
    assert hint in said
    assert "swordfish" not in said
    assert not (data_dir / "config.json").exists()


@pytest.mark.parametrize("more", [[], ["on", "--unset"]])
def test_a_value_or_unset_is_given_and_not_both(run: Run, more: list[str]) -> None:
    assert "give a VALUE, or --unset" in refusal(run("config", "set", "documents", *more), code=2)


def test_a_file_that_cannot_be_read_is_left_alone(run: Run, data_dir: Path) -> None:
    data_dir.mkdir()
    (data_dir / "config.json").write_text("{", encoding="utf-8")
    assert "a JSON object that can be written" in refusal(run("config", "set", "documents", "off"))
    assert (data_dir / "config.json").read_text(encoding="utf-8") == "{"


@pytest.fixture
def root(here: Path, git: Git) -> Path:
    """The folder widgets as a repository with one file."""
    (here / "auth.py").write_text("".join(f"line_{number} = {number}\n" for number in range(30)))
    for command in ("init -q -b main", "add -A", "commit -q -m first"):
        git(here, *command.split())
    return here


def test_a_check_lists_what_changed_and_counts_the_rest(run: Run, root: Path) -> None:
    run("save", "Stays", "text", "--file", "auth.py:20-25")
    run("save", "Changes", "text", "--file", "auth.py:1-3", "--file", "auth.py:5")
    (root / "auth.py").write_text((root / "auth.py").read_text().replace("line_1 = 1\n", "line_1 = 111\n"))

    told = run("check")
    found = answer(run("check", "--json"))

    assert told.stdout.startswith("1 of 2 memories with files is stale in widgets (files: 1 changed, 2 fresh)")
    assert "[#2] Changes (manual, now): auth.py:1-3 changed, not committed yet" in told.stdout
    assert (found["observations"], found["anchors"], found["states"]) == (2, 3, {"changed": 1, "fresh": 2})
    [anchor] = answer(run("get", "1", "--json"))["anchors"]
    assert (anchor["path"], anchor["start"], anchor["state"]) == ("auth.py", 20, "fresh")
    assert run("review").stdout.startswith("[#2] Changes (manual, widgets, now): auth.py:1-3 changed")
    run("review", "2")
    assert run("review").stdout == "Nothing is due for review\n"
    [stale] = found["stale"]
    assert (stale["id"], [(one["path"], one["start"], one["state"]) for one in stale["anchors"]]) == (
        2,
        [("auth.py", 1, "changed")],
    )


def test_only_a_strict_check_fails_where_something_is_stale(run: Run, root: Path) -> None:
    run("save", "Changes", "text", "--file", "auth.py")
    assert (run("check").exit_code, run("check", "--strict").exit_code) == (0, 0)
    (root / "auth.py").unlink()
    assert (run("check").exit_code, run("check", "--strict").exit_code) == (0, 1)


def test_a_check_of_a_project_whose_repository_is_elsewhere_says_so(run: Run, root: Path) -> None:
    run("save", "Elsewhere", "text", "--project", "gadgets", "--file", "auth.py")
    told = run("check", "--project", "gadgets")
    assert told.exit_code == 0
    assert "1 unknown" in told.stdout
    assert "the repository of gadgets is not here" in told.stderr
    assert run("check", "--project", "gadgets", "--strict").exit_code == 1
    run("save", "Without a file", "text", "--project", "bolts")
    assert run("check", "--project", "bolts", "--strict").exit_code == 0


@pytest.mark.parametrize(
    "words", [["check"], ["check", "--strict"], ["check", "--json"], ["check", "--project", "nope"]]
)
def test_a_check_of_nothing_is_no_failure(run: Run, words: list[str]) -> None:
    assert run(*words).exit_code == 0


def test_a_file_name_that_is_no_text_is_said_and_the_memory_kept(start: Start, root: Path) -> None:
    told = start("save", "Odd", "text", "--file", "caf\udce9.py")
    assert (told.code, "caf?.py (not a path)" in told.stderr) == (0, True)


def test_a_check_lists_what_is_only_on_a_branch_apart(run: Run, root: Path, git: Git) -> None:
    git(root, "checkout", "-q", "-b", "topic")
    (root / "lens.py").write_text("lens = 1\n")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "lens")
    run("save", "Lens", "text", "--file", "lens.py")
    git(root, "checkout", "-q", "main")

    told = run("check", "--strict")

    assert told.exit_code == 0
    assert told.stdout.startswith("0 of 1 memory with files are stale")
    assert told.stdout.splitlines()[-1] == "[#1] Lens (manual, now): lens.py only on branch topic"
