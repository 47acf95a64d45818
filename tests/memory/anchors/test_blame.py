"""The commit that changed or deleted an anchored file, and what is known without git."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.memory.observations import table
from engram_py.memory.observations.values import Saved
from tests.memory.anchors.repositories import AUTH, Repo, about, blame, lines, state, states, without_git, write
from tests.support import Opener, stand_in

# --- gone ---------------------------------------------------------------------------------------------------


def about_lines(here: Engram, repo: Repo) -> Saved:
    return about(here, f"{AUTH}:10-20")


def rewritten(here: Engram, repo: Repo) -> Saved:
    """A memory of lines that Bo rewrote since."""
    saved = about(here, f"{AUTH}:10-20")
    repo.commit("rewrite", {AUTH: ["all = new"]}, by="Bo")
    return saved


@pytest.mark.parametrize("before", [about_lines, rewritten], ids=["as-saved", "rewritten"])
@pytest.mark.parametrize("committed", [True, False])
def test_a_deleted_file_is_gone_and_whoever_deleted_it_is_named(
    here: Engram, repo: Repo, before: Callable[[Engram, Repo], Saved], committed: bool
) -> None:
    saved, deleted = before(here, repo), None
    (repo.root / AUTH).unlink()
    if committed:
        deleted = repo.commit("delete", by="Cy")
        repo.commit("go on")
    found = state(here, saved)
    assert blame(found) == (("gone", 1, "Cy", False) if committed else ("gone", None, None, True))
    assert found.commit == deleted


def test_a_file_that_was_renamed_and_then_deleted_is_gone_by_whoever_deleted_it(here: Engram, repo: Repo) -> None:
    saved = about(here, f"{AUTH}:10-20")
    repo.rename(AUTH, "src/identity.py", by="Bo")
    repo.write("src/identity.py", ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    repo.commit("change", by="Cy")
    repo.delete("src/identity.py", by="Di")
    assert blame(state(here, saved)) == ("gone", 0, "Di", False)


def test_a_file_that_was_deleted_brought_back_and_deleted_again_is_gone_since_the_last_time(
    here: Engram, repo: Repo
) -> None:
    saved = about(here, AUTH)
    repo.delete(AUTH, by="Bo")
    repo.commit("again", {AUTH: ["all = new"]}, by="Cy")
    (repo.root / AUTH).unlink()
    repo.commit("delete again", by="Di")
    repo.commit("go on")
    assert blame(state(here, saved)) == ("gone", 1, "Di", False)


@pytest.mark.parametrize("deleted_on", ["main", "topic"])
def test_a_file_that_one_side_of_a_merge_deleted_and_the_other_changed_is_gone_by_whoever_deleted_it(
    here: Engram, repo: Repo, deleted_on: str, saved: Saved
) -> None:
    repo.git("branch", "topic")
    repo.git("checkout", "-q", deleted_on)
    deleted = repo.delete(AUTH, by="Bo")
    repo.git("checkout", "-q", "topic" if deleted_on == "main" else "main")
    repo.commit("change", {AUTH: ["all = new"]}, by="Cy")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-commit", "-s", "ours", "topic")
    (repo.root / AUTH).unlink(missing_ok=True)
    repo.commit("merge", by="Di")

    found = state(here, saved)

    assert (found.state, found.author, found.commit) == ("gone", "Bo", deleted)


def test_a_file_that_was_deleted_came_back_and_was_dropped_by_a_merge_is_gone_by_the_merger(
    here: Engram, repo: Repo
) -> None:
    repo.delete(AUTH, by="Bo")
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("on the branch", {"topic.py": lines("topic")}, by="Cy")
    repo.git("checkout", "-q", "main")
    repo.commit("bring it back", {AUTH: lines("again")})
    saved = about(here, f"{AUTH}:3-6")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "topic")
    repo.git("rm", "-q", "-f", AUTH)
    repo.commit("merge", by="Di")
    gone = state(here, saved)
    assert (gone.state, gone.author, gone.commits_ago) == ("gone", "Di", 0)


@pytest.mark.parametrize("deleted", [True, False])
def test_a_change_or_deletion_further_back_than_a_shallow_clone_reaches_is_nobodys(
    open_memory: Opener, here: Engram, repo: Repo, tmp_path: Path, deleted: bool
) -> None:
    saved = rewritten(here, repo)
    if deleted:
        repo.delete(AUTH, by="Cy")
    for _ in range(3):
        repo.commit("go on")
    repo.at(tmp_path).git("clone", "-q", "--depth=2", f"file://{repo.root}", "clone")

    found = state(open_memory(tmp_path / "clone", project=saved.project), saved)

    assert (*blame(found), found.commit) == ("gone" if deleted else "changed", None, None, False, None)


def test_a_deletion_further_back_than_git_is_asked_about_is_nobodys(
    here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = about(here, AUTH)
    repo.delete(AUTH, by="Bo")
    for _ in range(3):
        repo.commit("go on")
    monkeypatch.setattr("engram_py.memory.anchors.trace._DEPTHS", (1, 2))
    assert blame(state(here, saved)) == ("gone", None, None, False)


# --- who and when ------------------------------------------------------------------------------------------


def test_a_change_that_came_with_a_merge_is_its_authors_not_the_mergers(here: Engram, repo: Repo, saved: Saved) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.write(AUTH, ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    changed = repo.commit("change", by="Bo")
    repo.git("checkout", "-q", "main")
    repo.commit("go on")
    repo.git("-c", "user.name=Cy", "merge", "-q", "--no-ff", "-m", "merge", "topic")

    found = state(here, saved)

    assert (found.state, found.author, found.commit) == ("changed", "Bo", changed)


def test_a_change_made_while_merging_is_the_mergers(here: Engram, repo: Repo, saved: Saved) -> None:
    repo.git("checkout", "-q", "-b", "topic")
    repo.commit("nothing")
    repo.git("checkout", "-q", "main")
    repo.git("merge", "-q", "--no-ff", "--no-commit", "topic")
    repo.commit("merge", {AUTH: ["all = new"]}, by="Cy")

    assert blame(state(here, saved))[:3] == ("changed", 0, "Cy")


def test_text_that_was_never_committed_as_it_was_saved_is_blamed_on_the_first_commit_after(
    here: Engram, repo: Repo
) -> None:
    repo.write(AUTH, ["draft = 1", *lines("auth")])
    saved = about(here, f"{AUTH}:1-3")
    repo.commit("better", {AUTH: ["draft = 2", *lines("auth")]}, by="Bo")
    repo.commit("go on")
    assert blame(state(here, saved)) == ("changed", 1, "Bo", False)


def test_a_change_in_the_working_tree_on_top_of_commits_is_not_blamed_on_them(here: Engram, repo: Repo) -> None:
    saved = about(here, f"{AUTH}:10-20")
    repo.commit("elsewhere in the file", {AUTH: ["import os", *lines("auth")]})
    repo.write(AUTH, ["all = new"])
    assert blame(state(here, saved)) == ("changed", None, None, True)


def test_blanks_that_a_commit_changed_do_not_make_it_the_one_to_blame(here: Engram, repo: Repo) -> None:
    saved = about(here, AUTH)
    repo.commit("blanks", {AUTH: [f"{line}  " for line in lines("auth")]}, by="Bo")
    repo.commit("rewrite", {AUTH: ["all = new"]}, by="Cy")
    repo.commit("go on")
    assert blame(state(here, saved)) == ("changed", 1, "Cy", False)


def test_where_git_is_told_to_show_no_lines_of_a_file_nobody_is_blamed_for_them(here: Engram, repo: Repo) -> None:
    repo.commit("generated", {".gitattributes": [f"{AUTH} -diff"]})
    span, whole = about(here, f"{AUTH}:10-20", title="Lines"), about(here, AUTH, title="File")
    repo.commit("rewrite", {AUTH: ["all = new"]}, by="Bo")
    assert blame(state(here, span)) == ("changed", None, None, False)
    assert blame(state(here, whole)) == ("changed", 0, "Bo", False)


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
def test_a_git_that_does_not_answer_is_not_asked_again(
    open_memory: Opener, here: Engram, repo: Repo, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, saved: Saved
) -> None:
    repo.commit("rewrite", {AUTH: ["all = new"]})
    stand_in(tmp_path / "bin", monkeypatch, f"echo asked >> {tmp_path}/asked; exit 1")
    row = here.get(saved.id).observation

    first = here.anchors.states([row])[saved.id][0]
    second = open_memory(repo.root).anchors.states([row])[saved.id][0]

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
