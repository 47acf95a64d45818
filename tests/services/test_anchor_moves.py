"""Memories that are asked for by the file their text is in now."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from engram_py import Engram
from engram_py.project.history import Log, read_log
from engram_py.services.anchors import Anchors
from tests.services.anchored import about, commit, lines, state, write
from tests.services.conftest import Git, Opener, RepoMaker

AUTH = "src/auth.py"


@pytest.fixture
def root(make_repo: RepoMaker, git: Git) -> Path:
    root = make_repo("work/widgets")
    write(root, AUTH, lines("auth"))
    write(root, "src/login.py", lines("login"))
    commit(git, root, "two files")
    return root


@pytest.fixture
def here(open_memory: Opener, root: Path) -> Engram:
    return open_memory(root)


def found(app: Engram, path: str) -> list[int]:
    return [hit.id for hit in app.search(f"file:{path}").results]


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
@pytest.mark.parametrize("step", ["staged", "committed", "committed twice", "committed and changed"])
def test_a_file_that_got_another_name_is_asked_for_by_it(
    here: Engram, root: Path, git: Git, name: str, step: str
) -> None:
    saved = about(here, name)
    about(here, "src/login.py", title="Another")
    (root / "lib").mkdir()
    if step == "committed twice":
        git(root, "mv", AUTH, "src/identity.py")
        commit(git, root, "rename")
    git(root, "mv", "src/identity.py" if step == "committed twice" else AUTH, "lib/sub_a.py")
    if step == "committed and changed":
        write(root, "lib/sub_a.py", ["import os", *lines("auth")])
    if step != "staged":
        commit(git, root, "rename")

    assert state(here, saved).now_path == "lib/sub_a.py"
    for path in ("lib/sub_a.py", "sub_a.py", str(root / "lib/sub_a.py"), AUTH):
        assert found(here, path) == [saved.id]
    assert found(here, "src/identity.py") == found(here, "src/sub_a.py") == []


@pytest.mark.parametrize("committed", [True, False])
def test_a_function_that_went_to_another_file_is_asked_for_there(
    here: Engram, root: Path, git: Git, committed: bool
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    stays = about(here, f"{AUTH}:30-35", title="What stays")
    write(root, AUTH, lines("auth")[:9] + lines("auth")[20:])
    write(root, "src/tokens.py", ["import os", *lines("auth")[9:20]])
    if committed:
        commit(git, root, "extract a module")
        write(root, "src/tokens.py", ["import os", "import sys", *lines("auth")[9:20]])
        commit(git, root, "go on there")

    assert state(here, saved).now_path == "src/tokens.py"
    assert found(here, "src/tokens.py") == found(here, "tokens.py") == [saved.id]
    assert found(here, AUTH) == [stays.id, saved.id]


def test_every_memory_of_a_file_that_moved_is_found(here: Engram, root: Path, git: Git) -> None:
    saved = [about(here, f"{AUTH}:{number}-{number + 3}", title=f"Lines {number}").id for number in range(1, 31)]
    git(root, "mv", AUTH, "src/identity.py")
    commit(git, root, "rename")
    assert sorted(here.anchors.of_file("src/identity.py")) == saved


def test_nothing_moved_to_a_file_that_is_not_there(
    here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    about(here, AUTH)
    git(root, "mv", AUTH, "src/identity.py")
    commit(git, root, "rename")
    monkeypatch.setattr(Anchors, "states", lambda *_, **__: pytest.fail("compared"))
    monkeypatch.setattr("subprocess.Popen", None)
    assert here.anchors.of_file("src/other.py") == []


def test_a_file_that_was_renamed_and_changed_throughout_is_asked_for_by_its_new_name(
    open_memory: Opener, here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "mv", AUTH, "src/identity.py")
    commit(git, root, "rename")
    write(root, "src/identity.py", ["all = new"])
    commit(git, root, "rewrite")
    assert here.anchors.of_file("identity.py", patience=0) == []  # nobody asked git yet
    assert here.anchors.of_file("identity.py") == [saved.id]
    monkeypatch.setattr("subprocess.Popen", None)
    assert open_memory(root).anchors.of_file("identity.py") == [saved.id]


def test_a_copy_in_another_file_is_not_where_a_text_moved(here: Engram, root: Path) -> None:
    about(here, f"{AUTH}:10-20", AUTH)
    write(root, "src/copy.py", lines("auth"))
    assert here.anchors.of_file("src/copy.py") == []


def test_of_many_files_that_are_gone_a_few_are_followed(
    here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(100):
        write(root, f"old/part{number}.py", lines(f"part{number}", 5))
    commit(git, root, "many")
    for number in range(100):
        about(here, f"old/part{number}.py", title=f"Part {number}")
    moved = about(here, AUTH)
    for number in range(100):
        (root / f"old/part{number}.py").unlink()
    git(root, "mv", AUTH, "src/identity.py")
    commit(git, root, "clear out")
    paths: list[int] = []

    def counted(root: Path, head: str, names: Sequence[str], **more: Any) -> Log | None:
        paths.append(len(names))
        return read_log(root, head, names, **more)

    monkeypatch.setattr("engram_py.services.anchor_history.read_log", counted)
    assert here.anchors.of_file("identity.py") == [moved.id]
    assert 0 < sum(paths) <= 65
