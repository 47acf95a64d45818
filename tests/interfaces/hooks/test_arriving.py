"""A clone that carries `.engram/`: a session that begins there knows what others committed."""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp import Client

from engram_py import Draft, Engram
from engram_py.app import Engram as App
from engram_py.interfaces.mcp.server import build_server
from engram_py.settings import Settings
from engram_py.sync.sealing import secret_of
from tests.interfaces.hooks.conftest import Hook
from tests.interfaces.mcp.agent import Agent
from tests.memory import Git

Commit = Callable[..., None]


@pytest.fixture
def commit(tmp_path: Path, git: Git) -> Commit:
    """``commit("title", …)``: Ada, on another machine, saves these and pushes her project ``widgets``."""
    root = tmp_path / "ada" / "widgets"
    bare = tmp_path / "origin" / "widgets.git"
    bare.mkdir(parents=True)
    git(bare, "init", "-q", "--bare", "-b", "main")
    root.mkdir(parents=True)
    git(root, "init", "-q", "-b", "main")
    git(root, "remote", "add", "origin", str(bare))

    def committed(*titles: str) -> None:
        with Engram(settings=Settings(tmp_path / "ada" / "data"), directory=root) as app:
            for title in titles:
                app.save(Draft(title, f"{title}, as Ada decided.", "decision"))
            app.git_sync.sync()
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", "memory")
        git(root, "push", "-q", "origin", "main")

    return committed


@pytest.fixture
def cloned(tmp_path: Path, folder: Path, git: Git) -> Callable[[str], None]:
    """``cloned("widgets")``: the folder of the hooks is a clone of a repository of that name."""

    def clone(name: str) -> None:
        bare = tmp_path / "origin" / "widgets.git"
        if name != "widgets":
            bare = Path(shutil.copytree(bare, bare.with_name(f"{name}.git")))
        folder.rmdir()
        git(tmp_path, "clone", "-q", str(bare), str(folder))

    return clone


Clone = Callable[[str], None]


def test_sessions_in_a_clone_begin_with_what_others_committed_and_write_nothing_there(
    commit: Commit, cloned: Clone, hook: Hook, folder: Path, git: Git
) -> None:
    commit("Tokens live 5 minutes")
    cloned("widgets")
    assert "Tokens live 5 minutes" in hook("session-start", source="startup").context
    assert git(folder, "status", "--porcelain", "--ignored") == ""
    commit("Deploys are frozen on Fridays")
    git(folder, "pull", "-q")

    assert "Deploys are frozen on Fridays" in hook("session-start", session_id="s2", source="startup").context


async def test_mem_context_of_an_empty_project_reads_the_folder_first(
    commit: Commit, cloned: Clone, folder: Path, data_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    commit("Tokens live 5 minutes")
    cloned("gadgets")
    monkeypatch.chdir(folder)

    async with Client(build_server(Settings(data_dir))) as client:
        assert "Tokens live 5 minutes" in await Agent(client).told("mem_context")


def test_a_clone_under_another_name_goes_by_the_project_of_its_chunks(
    commit: Commit, cloned: Clone, hook: Hook, memory: App
) -> None:
    commit("Tokens live 5 minutes")
    cloned("gadgets")

    said = hook("session-start", source="startup").context
    assert "This repository is project widgets from now on" in said
    assert "Tokens live 5 minutes" in said
    hook("user-prompt", prompt="how long do tokens live here, and who decided it?")
    assert [line.name for line in memory.projects.list()] == ["widgets"]
    assert memory.sessions.get("s1").project == "widgets"


def test_a_folder_without_news_is_not_read_again(
    commit: Commit, cloned: Clone, hook: Hook, folder: Path, logged: Callable[[], list[str]]
) -> None:
    commit("Tokens live 5 minutes")
    cloned("widgets")
    hook("session-start", source="startup")
    for chunk in (folder / ".engram" / "chunks").glob("*.gz"):
        chunk.write_bytes(b"\0" * chunk.stat().st_size)  # reading it would be noticed

    assert "Tokens live 5 minutes" in hook("session-start", session_id="s2", source="startup").context
    assert logged() == []


def test_what_there_is_no_time_for_is_read_by_later_sessions(
    commit: Commit, cloned: Clone, hook: Hook, memory: App
) -> None:
    for start in range(0, 60, 20):
        commit(*(f"Decision number {number}" for number in range(start, start + 20)))
    cloned("widgets")

    for number in range(6):
        assert hook("session-start", "--limit-ms", "700", session_id=f"s{number}", source="startup").code == 0
    hook("session-start", session_id="s9", source="startup")

    assert memory.statistics.count().total_observations == 60


def test_an_encrypted_folder_is_named_in_the_log_and_breaks_nothing(
    commit: Commit, cloned: Clone, hook: Hook, folder: Path, tmp_path: Path, logged: Callable[[], list[str]]
) -> None:
    commit("Tokens live 5 minutes")
    root = tmp_path / "ada" / "widgets"
    with Engram(settings=Settings(tmp_path / "ada" / "data"), directory=root) as app:
        app.git_sync.sync(encrypt=True, secret=secret_of("correct horse battery"))
    cloned("widgets")
    shutil.rmtree(folder / ".engram")
    shutil.copytree(root / ".engram", folder / ".engram")

    done = hook("session-start", source="startup")

    assert done.code == 0
    assert logged() == ["passphrase_missing"]


def test_a_clone_whose_settings_name_another_memory_reads_nothing(
    commit: Commit, cloned: Clone, hook: Hook, folder: Path, tmp_path: Path, memory: App
) -> None:
    other = tmp_path / "diary"
    other.mkdir()
    with Engram(settings=memory.settings, directory=other) as app:
        app.save(Draft("Dear diary", "Nothing happened."))
    commit("Tokens live 5 minutes")
    cloned("widgets")
    (folder / ".engram.json").write_text(json.dumps({"project": "diary"}))

    hook("session-start", source="startup")

    assert memory.statistics.count().total_observations == 1
