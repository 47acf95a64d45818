"""`engram check`, and what else the command line says of files that changed."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.interfaces.cli.conftest import Run, Start, answer
from tests.memory import Git


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

    assert told.stdout.startswith("1 of 2 observations with files went stale in widgets (files: 1 changed, 2 fresh)")
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


@pytest.mark.parametrize(
    ("files", "notes"),
    [
        (["nothing.py"], ["their text was not read: nothing.py (no such file)"]),
        (["auth.py:99"], ["taken otherwise: auth.py:99 (the whole file, it has 30 lines)"]),
        (["auth.py:20-10", "auth.py:0"], ["auth.py:20-10 (lines 10-20), auth.py:0 (the whole file)"]),
        ([" "], ["not anchored: a blank name"]),
    ],
)
def test_a_save_says_what_it_made_of_files_it_could_not_take_as_given(
    run: Run, root: Path, files: list[str], notes: list[str]
) -> None:
    told = run("save", "Odd", "text", *(word for file in files for word in ("--file", file)))
    assert told.exit_code == 0
    assert all(note in told.stderr for note in notes)


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
    assert told.stdout.startswith("None of 1 observations with files went stale")
    assert told.stdout.splitlines()[-1] == "[#1] Lens (manual, now): lens.py only on branch topic"
