"""``engram projects``: renamed, consolidated, pruned."""

from __future__ import annotations

from pathlib import Path

import pytest

from engram_py import Engram
from tests.interfaces.cli.conftest import Run, answer, refusal


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
