"""`engram init`, and the example settings file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_py.projects.settings_file import KEYS, parse_project_settings
from tests.interfaces.cli.conftest import Run, answer, refusal
from tests.memory import Git

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


def test_the_example_names_every_setting_and_loads_without_a_warning() -> None:
    settings = parse_project_settings(EXAMPLE.read_text(encoding="utf-8"), EXAMPLE)
    assert settings.warnings == ()
    assert set(settings.given) == set(KEYS)
