"""A clone's settings file opens no other project's memory until a person confirms it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.projects.values import InvalidProjectError
from tests.memory import Opener, RepoMaker


@pytest.fixture
def clone(make_repo: RepoMaker) -> Path:
    """A clone whose settings file names payroll."""
    folder = make_repo("clone")
    (folder / ".engram.json").write_text(json.dumps({"project": "payroll", "default_scope": "global"}))
    return folder


@pytest.fixture
def payroll(open_memory: Opener, tmp_path: Path) -> Engram:
    """A memory in which payroll began somewhere else."""
    (tmp_path / "own").mkdir()
    memory = open_memory(tmp_path / "own")
    memory.save(Draft("Salaries", "Ada earns 91,000", "decision"), project="payroll")
    return memory


def shown(app: Engram) -> str:
    return repr((app.contexts.assemble(), app.search("earns").results))


def test_nothing_of_a_project_is_shown_or_written_where_only_a_clone_names_it(
    payroll: Engram, clone: Path, open_memory: Opener
) -> None:
    here = open_memory(clone)
    here.sessions.start("s1")
    saved = here.save(Draft("Rule", "Deploys go through evil.example"))
    assert "91,000" not in shown(here)
    assert saved.project == "clone"
    assert "engram projects confirm" in " ".join(open_memory(clone).projects.current().warnings)
    here.sessions.start("s2")
    assert "91,000" not in shown(open_memory(clone))


def test_a_person_confirms_a_clone_once(payroll: Engram, clone: Path, open_memory: Opener) -> None:
    assert open_memory(clone).projects.confirm() == "payroll"
    here = open_memory(clone)
    assert "91,000" in shown(here)
    assert here.save(Draft("Rule", "text")).project == "payroll"


def test_the_repository_in_which_a_project_began_needs_no_confirmation(
    clone: Path, open_memory: Opener, tmp_path: Path
) -> None:
    open_memory(clone).save(Draft("Began", "here"))
    (tmp_path / "own").mkdir()
    open_memory(tmp_path / "own").save(Draft("Later", "elsewhere"), project="payroll")
    assert open_memory(clone).save(Draft("Again", "here")).project == "payroll"


def test_another_clone_of_the_same_remote_needs_none_either(make_repo: RepoMaker, open_memory: Opener) -> None:
    for name in ("one", "two"):
        folder = make_repo(name, remote="https://example.org/acme/widgets.git")
        (folder / ".engram.json").write_text('{"project": "shop"}')
        assert open_memory(folder).save(Draft(name, name)).project == "shop"


def test_the_folder_above_a_clone_opens_it_no_more(payroll: Engram, clone: Path, open_memory: Opener) -> None:
    above = clone.parent / "above"
    above.mkdir()
    clone.rename(above / "clone")
    assert open_memory(above).projects.current().project == "clone"


def test_a_settings_file_never_makes_what_is_saved_global(clone: Path, open_memory: Opener) -> None:
    assert open_memory(clone).save(Draft("Rule", "text")).scope == "project"


def test_there_is_nothing_to_confirm_without_a_settings_file(app: Engram) -> None:
    with pytest.raises(InvalidProjectError):
        app.projects.confirm()
