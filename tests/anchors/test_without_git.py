"""States of files where git cannot help, is not asked, or was asked before."""

from __future__ import annotations

import os
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.observations import table
from engram_py.observations.values import Saved
from tests.anchors.repositories import AUTH, Repo, about, blame, lines, state, states, without_git, write
from tests.memory import Opener


def test_without_git_a_change_is_seen_and_who_made_it_is_named_once_there_is_one(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, saved: Saved
) -> None:
    repo.commit("rewrite", {AUTH: ["all = new"]})
    with monkeypatch.context() as elsewhere:
        without_git(elsewhere, tmp_path / "bin")
        assert blame(state(here, saved)) == ("changed", None, None, False)
    assert blame(state(here, saved))[:2] == ("changed", 0)
    assert state(here, saved).author is not None


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_git_that_hangs_is_ended_and_not_asked_again(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, saved: Saved
) -> None:
    repo.commit("rewrite", {AUTH: ["all = new"]})
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\nexec sleep 600\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("engram_py.git.program.TIMEOUT_SECONDS", 0.2)
    row = here.get(saved.id).observation

    first = here.anchors.states([row], git_seconds=0.2)[saved.id][0]
    second = open_memory(repo.root).anchors.states([row], git_seconds=0.2)[saved.id][0]

    assert blame(first) == blame(second) == ("changed", None, None, False)
    assert (tmp_path / "asked").read_text().count("asked") == 1


def test_git_is_not_asked_where_nothing_changed(here: Engram, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = about(here, f"{AUTH}:10-20", "src/login.py", "src/login.py:3")
    write(root, AUTH, ["import os", *lines("auth")])
    monkeypatch.setattr("subprocess.Popen", None)
    assert [found.state for found in states(here, saved)] == ["moved", "fresh", "fresh"]


def test_what_git_said_of_a_head_is_not_asked_again_by_the_next_process(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, saved: Saved
) -> None:
    repo.commit("rewrite", {AUTH: ["all = new"]}, by="Bo")
    first = state(here, saved)
    monkeypatch.setattr("subprocess.Popen", None)
    assert state(open_memory(repo.root), saved) == first
    assert first.author == "Bo"


def test_what_git_said_is_used_though_another_process_writes_and_it_cannot_be_kept(
    here: Engram, repo: Repo, data_dir: Path, saved: Saved
) -> None:
    repo.commit("rewrite", {AUTH: ["all = new"]}, by="Bo")
    row = table.by_id(here.store, saved.id)
    assert row is not None
    with here.store.connection() as connection:
        connection.execute("pragma busy_timeout = 600000")  # whoever waited for the writer would wait for ten minutes
    with closing(sqlite3.connect(data_dir / "engram.db", isolation_level=None)) as writer:
        writer.execute("begin immediate")
        found = here.anchors.states([row])[saved.id][0]
        writer.execute("rollback")
    assert found.author == "Bo"
    assert here.store.value("select count(*) from git_answers") == 0
    assert here.store.value("pragma busy_timeout") == 600_000


def test_without_time_git_is_not_asked(here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = about(here, f"{AUTH}:10-20")
    repo.commit("rewrite", {AUTH: ["all = new"]}, by="Bo")
    row = here.get(saved.id).observation  # asks, and remembers
    repo.commit("go on", {"src/else.py": ["x = 1"]})
    monkeypatch.setattr("subprocess.Popen", None)
    assert blame(here.anchors.states([row], git_seconds=0)[saved.id][0]) == ("changed", None, None, False)


def test_a_broken_git_file_leaves_the_files_to_be_compared(open_memory: Opener, tmp_path: Path) -> None:
    root = tmp_path / "torn"
    write(root, AUTH, lines("auth"))
    (root / ".git").write_text("gitdir: nowhere\n")
    app = open_memory(root)
    saved = about(app, f"{AUTH}:10-20")
    assert state(app, saved).state == "fresh"
    write(root, AUTH, ["all = new"])
    assert state(app, saved).state == "changed"


def test_a_draft_without_files_has_no_states(here: Engram) -> None:
    saved = here.save(Draft("No file", "Nothing to compare"))
    assert here.anchors.states([here.get(saved.id).observation]) == {}
