"""What a memory says about the files it is about, after they changed."""

from __future__ import annotations

import os
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.anchors.values import AnchorState
from engram_py.observations import table
from engram_py.observations.values import Saved
from tests.anchors.repositories import AUTH, about, commit, lines, state, states, write
from tests.memory import Git, Opener, RepoMaker


def facts(found: AnchorState) -> tuple[str, str | None, int | None, int | None]:
    return found.state, found.now_path, found.now_start, found.now_end


def blame(found: AnchorState) -> tuple[str, int | None, str | None, bool]:
    return found.state, found.commits_ago, found.author, found.uncommitted


# --- in its own file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20", f"{AUTH}:7"])
def test_what_nobody_touched_is_fresh(here: Engram, name: str) -> None:
    assert facts(state(here, about(here, name))) == ("fresh", None, None, None)


def test_lines_stay_fresh_when_others_of_the_file_change(here: Engram, root: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, [*lines("auth")[:30], "something_else = 1"])
    assert state(here, saved).state == "fresh"


def test_lines_below_an_insertion_are_said_to_have_moved_to_their_new_numbers(here: Engram, root: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["import one", "import two", *lines("auth")])
    assert facts(state(here, saved)) == ("moved", AUTH, 12, 22)


@pytest.mark.parametrize(
    "change",
    [
        pytest.param(lambda text: [*text[:14], "another = line", *text[15:]], id="replaced"),
        pytest.param(lambda text: [*text[:14], "another = line", *text[14:]], id="inserted"),
        pytest.param(lambda text: [*text[:14], *text[15:]], id="removed"),
        pytest.param(lambda text: [*text[:9], *reversed(text[9:20]), *text[20:]], id="reordered"),
        pytest.param(lambda text: [*text[:5]], id="cut"),
        pytest.param(lambda text: [], id="emptied"),
        pytest.param(lambda text: [line.replace("auth_15", "AUTH_15") for line in text], id="letter"),
    ],
)
def test_lines_that_do_not_stand_together_any_more_have_changed(here: Engram, root: Path, change: object) -> None:
    saved = about(here, f"{AUTH}:10-20")
    assert callable(change)
    write(root, AUTH, change(lines("auth")))
    assert blame(state(here, saved)) == ("changed", None, None, True)


def test_line_ends_trailing_blanks_and_a_byte_order_mark_change_nothing(here: Engram, root: Path) -> None:
    span, whole = about(here, f"{AUTH}:10-20", title="Lines"), about(here, AUTH, title="File")
    text = "".join(f"{line} \t\r\n" for line in lines("auth"))
    (root / AUTH).write_bytes(b"\xef\xbb\xbf" + text.encode() + b"\r\n\r\n")
    assert (state(here, span).state, state(here, whole).state) == ("fresh", "fresh")


def test_a_whole_file_changes_with_any_of_its_lines(here: Engram, root: Path) -> None:
    saved = about(here, AUTH)
    write(root, AUTH, [*lines("auth"), "one_more = 1"])
    assert blame(state(here, saved)) == ("changed", None, None, True)


def test_a_change_that_was_undone_is_fresh_again(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite")
    git(root, "revert", "--no-edit", "HEAD")
    assert state(here, saved).state == "fresh"


# --- a text that stands in its file more than once ---------------------------------------------------------


def test_one_of_several_copies_is_told_from_the_others_by_its_place_among_them(here: Engram, root: Path) -> None:
    block = ["try_once()", "return None"]
    text = [*lines("a", 5), *block, *lines("b", 5), *block, *lines("c", 5), *block]
    write(root, AUTH, text)
    second = about(here, f"{AUTH}:13-14")

    write(root, AUTH, [*lines("new", 7), *text])

    assert facts(state(here, second)) == ("moved", AUTH, 20, 21)


def test_where_a_copy_is_missing_it_is_not_guessed_which(here: Engram, root: Path) -> None:
    block = ["try_once()", "return None"]
    write(root, AUTH, [*lines("a", 5), *block, *lines("b", 5), *block])
    second = about(here, f"{AUTH}:13-14")

    write(root, AUTH, [*lines("new", 3), *lines("a", 5), *block, *lines("b", 5)])

    assert state(here, second).state == "changed"


def test_a_line_that_stands_in_every_file_does_not_move_to_another(here: Engram, root: Path, git: Git) -> None:
    write(root, AUTH, [*lines("auth"), "return None"])
    saved = about(here, f"{AUTH}:41")
    write(root, AUTH, lines("auth"))
    write(root, "src/other.py", [*lines("other"), "return None"])
    commit(git, root, "another file returns nothing")
    assert state(here, saved).state == "changed"


# --- in another file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
@pytest.mark.parametrize("step", ["staged", "committed", "committed twice"])
def test_a_renamed_file_takes_what_is_known_of_it_along(
    here: Engram, root: Path, git: Git, name: str, step: str
) -> None:
    saved = about(here, name)
    (root / "lib").mkdir()
    if step == "committed twice":
        git(root, "mv", AUTH, "src/identity.py")
        commit(git, root, "rename")
        write(root, "src/identity.py", [*lines("auth"), "# the end"])
        commit(git, root, "change")
        write(root, "src/identity.py", lines("auth"))
        git(root, "add", "-A")
    git(root, "mv", "src/identity.py" if step == "committed twice" else AUTH, "lib/identity.py")
    if step != "staged":
        commit(git, root, "rename")

    found = state(here, saved)

    assert (found.state, found.now_path) == ("moved", "lib/identity.py")
    assert found.now_start == (10 if ":" in name else None)


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20"])
@pytest.mark.parametrize("changed", [False, True])
def test_a_file_that_moved_is_asked_for_by_its_new_place(
    here: Engram, root: Path, git: Git, name: str, changed: bool
) -> None:
    saved = about(here, name)
    about(here, "src/login.py", title="Another")
    (root / "lib").mkdir()
    git(root, "mv", AUTH, "lib/auth.py")
    if changed:
        write(root, "lib/auth.py", [*lines("auth"), "# the end"])
    commit(git, root, "rename")

    for path in ("lib/auth.py", "auth.py", str(root / "lib/auth.py"), AUTH):
        assert [hit.id for hit in here.search(f"file:{path}").results] == [saved.id]
    assert here.search("file:other/auth.py").results == ()
    assert here.anchors.of_file("auth.py", projects=("gadgets",)) == []


def test_where_no_file_moved_nothing_is_compared_to_find_one(
    here: Engram, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = about(here, AUTH)
    monkeypatch.setattr("engram_py.anchors.anchors.local_states", lambda *_: pytest.fail("compared"))
    assert here.anchors.of_file(AUTH) == [saved.id]
    assert here.anchors.of_file("lib/auth.py") == []


def test_lines_are_found_in_a_file_that_was_renamed_and_changed_elsewhere(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "mv", AUTH, "src/identity.py")
    write(root, "src/identity.py", ["import os", *lines("auth")[:35]])
    commit(git, root, "rename and change")
    assert facts(state(here, saved)) == ("moved", "src/identity.py", 11, 21)


def test_lines_that_changed_in_a_renamed_file_are_said_to_be_there(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "mv", AUTH, "src/identity.py")
    commit(git, root, "rename", by="Bo")
    write(root, "src/identity.py", ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    commit(git, root, "change", by="Cy")

    found = state(here, saved)

    assert (*blame(found), found.now_path) == ("changed", 0, "Cy", False, "src/identity.py")


@pytest.mark.parametrize("committed", [True, False])
def test_a_function_that_went_to_another_file_is_found_there(
    here: Engram, root: Path, git: Git, committed: bool
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, lines("auth")[:9] + lines("auth")[20:])
    write(root, "src/tokens.py", ["import os", *lines("auth")[9:20]])
    if committed:
        commit(git, root, "extract a module")
    assert facts(state(here, saved)) == ("moved", "src/tokens.py", 2, 12)


def test_a_copy_of_a_whole_file_does_not_hide_that_the_file_itself_changed(here: Engram, root: Path) -> None:
    saved = about(here, AUTH)
    shutil.copy(root / AUTH, root / "src/auth_old.py")
    write(root, AUTH, ["all = new"])
    assert state(here, saved).state == "changed"


@pytest.mark.parametrize("committed", [True, False])
def test_a_deleted_file_is_gone_and_whoever_deleted_it_is_named(
    here: Engram, root: Path, git: Git, committed: bool
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    (root / AUTH).unlink()
    if committed:
        commit(git, root, "delete", by="Bo")
        commit(git, root, "go on")
    assert blame(state(here, saved)) == (("gone", 1, "Bo", False) if committed else ("gone", None, None, True))


def rewritten(here: Engram, root: Path, git: Git) -> Saved:
    """A memory of lines that Bo rewrote since."""
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite", by="Bo")
    return saved


def test_a_file_that_was_rewritten_and_then_deleted_is_gone_by_whoever_deleted_it(
    here: Engram, root: Path, git: Git
) -> None:
    saved = rewritten(here, root, git)
    (root / AUTH).unlink()
    deleted = commit(git, root, "delete", by="Cy")
    commit(git, root, "go on")
    found = state(here, saved)
    assert (*blame(found), found.commit) == ("gone", 1, "Cy", False, deleted)


def test_a_file_that_was_rewritten_and_is_deleted_but_not_committed_is_nobodys_yet(
    here: Engram, root: Path, git: Git
) -> None:
    saved = rewritten(here, root, git)
    (root / AUTH).unlink()
    assert blame(state(here, saved)) == ("gone", None, None, True)


def test_a_file_that_was_renamed_and_then_deleted_is_gone_by_whoever_deleted_it(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "mv", AUTH, "src/identity.py")
    commit(git, root, "rename", by="Bo")
    write(root, "src/identity.py", ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    commit(git, root, "change", by="Cy")
    (root / "src/identity.py").unlink()
    commit(git, root, "delete", by="Di")
    assert blame(state(here, saved)) == ("gone", 0, "Di", False)


def test_a_file_that_was_deleted_brought_back_and_deleted_again_is_gone_since_the_last_time(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, AUTH)
    (root / AUTH).unlink()
    commit(git, root, "delete", by="Bo")
    write(root, AUTH, ["all = new"])
    commit(git, root, "again", by="Cy")
    (root / AUTH).unlink()
    commit(git, root, "delete again", by="Di")
    commit(git, root, "go on")
    assert blame(state(here, saved)) == ("gone", 1, "Di", False)


@pytest.mark.parametrize("deleted_on", ["main", "topic"])
def test_a_file_that_one_side_of_a_merge_deleted_and_the_other_changed_is_gone_by_whoever_deleted_it(
    here: Engram, root: Path, git: Git, deleted_on: str
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "branch", "topic")
    git(root, "checkout", "-q", deleted_on)
    (root / AUTH).unlink()
    deleted = commit(git, root, "delete", by="Bo")
    git(root, "checkout", "-q", "topic" if deleted_on == "main" else "main")
    write(root, AUTH, ["all = new"])
    commit(git, root, "change", by="Cy")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-commit", "-s", "ours", "topic")
    (root / AUTH).unlink(missing_ok=True)
    commit(git, root, "merge", by="Di")

    found = state(here, saved)

    assert (found.state, found.author, found.commit) == ("gone", "Bo", deleted)


def test_a_file_that_was_deleted_came_back_and_was_dropped_by_a_merge_is_gone_by_the_merger(
    here: Engram, root: Path, git: Git
) -> None:
    (root / AUTH).unlink()
    commit(git, root, "delete", by="Bo")
    git(root, "checkout", "-q", "-b", "topic")
    write(root, "topic.py", lines("topic"))
    commit(git, root, "on the branch", by="Cy")
    git(root, "checkout", "-q", "main")
    write(root, AUTH, lines("again"))
    commit(git, root, "bring it back")
    saved = about(here, f"{AUTH}:3-6")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "topic")
    git(root, "rm", "-q", "-f", AUTH)
    commit(git, root, "merge", by="Di")
    gone = state(here, saved)
    assert (gone.state, gone.author, gone.commits_ago) == ("gone", "Di", 0)


def test_a_file_that_a_merge_alone_dropped_is_gone_by_the_merger(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, AUTH)
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "nothing", by="Bo")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "topic")
    (root / AUTH).unlink()
    commit(git, root, "merge", by="Cy")
    assert blame(state(here, saved)) == ("gone", 0, "Cy", False)


def test_a_deletion_further_back_than_a_shallow_clone_reaches_is_nobodys(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = rewritten(here, root, git)
    (root / AUTH).unlink()
    commit(git, root, "delete", by="Cy")
    commit(git, root, "go on")
    commit(git, root, "go on")
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{root}", "clone")

    found = state(open_memory(tmp_path / "clone", project=saved.project), saved)

    assert (*blame(found), found.commit) == ("gone", None, None, False, None)


def test_a_deletion_further_back_than_git_is_asked_about_is_nobodys(
    here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = about(here, AUTH)
    (root / AUTH).unlink()
    commit(git, root, "delete", by="Bo")
    for _ in range(3):
        commit(git, root, "go on")
    monkeypatch.setattr("engram_py.anchors.trace._DEPTHS", (1, 2))
    assert blame(state(here, saved)) == ("gone", None, None, False)


# --- who and when ------------------------------------------------------------------------------------------


def test_the_commit_that_changed_the_lines_is_named_and_not_a_later_one_of_the_same_file(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    text = ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")]
    write(root, AUTH, text)
    commit(git, root, "change them", by="Bo")
    for number in range(3):
        text = [f"import number_{number}", *text]
        write(root, AUTH, text)
        commit(git, root, "change the file elsewhere", by="Cy")
    assert blame(state(here, saved)) == ("changed", 3, "Bo", False)


def test_the_last_commit_is_zero_commits_ago(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite", by="Bo")
    assert blame(state(here, saved)) == ("changed", 0, "Bo", False)


def test_a_change_that_came_with_a_merge_is_its_authors_not_the_mergers(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "checkout", "-q", "-b", "topic")
    write(root, AUTH, ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    changed = commit(git, root, "change", by="Bo")
    git(root, "checkout", "-q", "main")
    commit(git, root, "go on")
    git(root, "-c", "user.name=Cy", "merge", "-q", "--no-ff", "-m", "merge", "topic")

    found = state(here, saved)

    assert (found.state, found.author, found.commit) == ("changed", "Bo", changed)


def test_a_change_made_while_merging_is_the_mergers(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "checkout", "-q", "-b", "topic")
    commit(git, root, "nothing")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--no-ff", "--no-commit", "topic")
    write(root, AUTH, ["all = new"])
    commit(git, root, "merge", by="Cy")

    assert blame(state(here, saved))[:3] == ("changed", 0, "Cy")


def test_a_squash_merge_names_its_commit(open_memory: Opener, root: Path, git: Git) -> None:
    saved = about(open_memory(root), f"{AUTH}:10-20")
    git(root, "checkout", "-q", "-b", "topic")
    write(root, AUTH, ["all = new"])
    commit(git, root, "change", by="Bo")
    git(root, "checkout", "-q", "main")
    git(root, "merge", "-q", "--squash", "topic")
    squashed = commit(git, root, "squashed", by="Cy")

    found = state(open_memory(root), saved)

    assert (*blame(found), found.commit) == ("changed", 0, "Cy", False, squashed)


def test_text_that_was_never_committed_as_it_was_saved_is_blamed_on_the_first_commit_after(
    here: Engram, root: Path, git: Git
) -> None:
    write(root, AUTH, ["draft = 1", *lines("auth")])
    saved = about(here, f"{AUTH}:1-3")
    write(root, AUTH, ["draft = 2", *lines("auth")])
    commit(git, root, "better", by="Bo")
    commit(git, root, "go on")
    assert blame(state(here, saved)) == ("changed", 1, "Bo", False)


def test_a_change_in_the_working_tree_on_top_of_commits_is_not_blamed_on_them(
    here: Engram, root: Path, git: Git
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["import os", *lines("auth")])
    commit(git, root, "elsewhere in the file")
    write(root, AUTH, ["all = new"])
    assert blame(state(here, saved)) == ("changed", None, None, True)


def test_blanks_that_a_commit_changed_do_not_make_it_the_one_to_blame(here: Engram, root: Path, git: Git) -> None:
    saved = about(here, AUTH)
    write(root, AUTH, [f"{line}  " for line in lines("auth")])
    commit(git, root, "blanks", by="Bo")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite", by="Cy")
    commit(git, root, "go on")
    assert blame(state(here, saved)) == ("changed", 1, "Cy", False)


def test_where_git_is_told_to_show_no_lines_of_a_file_nobody_is_blamed_for_them(
    here: Engram, root: Path, git: Git
) -> None:
    write(root, ".gitattributes", [f"{AUTH} -diff"])
    commit(git, root, "generated")
    span, whole = about(here, f"{AUTH}:10-20", title="Lines"), about(here, AUTH, title="File")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite", by="Bo")
    assert blame(state(here, span)) == ("changed", None, None, False)
    assert blame(state(here, whole)) == ("changed", 0, "Bo", False)


# --- places in which a repository can be ---------------------------------------------------------------------


def test_a_linked_worktree_is_compared_with_its_own_files(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    git(root, "worktree", "add", "-q", "-b", "topic", str(tmp_path / "tree"))
    write(tmp_path / "tree", AUTH, ["all = new"])
    there = open_memory(tmp_path / "tree")
    assert (state(here, saved).state, state(there, saved).state) == ("fresh", "changed")


def test_a_subfolder_sees_the_same_files(open_memory: Opener, here: Engram, root: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    assert state(open_memory(root / "src"), saved).state == "fresh"


def test_a_repository_without_commits_can_be_anchored_to(open_memory: Opener, tmp_path: Path, git: Git) -> None:
    root = tmp_path / "young"
    root.mkdir()
    git(root, "init", "-q")
    write(root, AUTH, lines("auth"))
    app = open_memory(root)
    saved = about(app, f"{AUTH}:10-20")
    assert state(app, saved).state == "fresh"
    write(root, AUTH, ["all = new"])
    assert blame(state(app, saved)) == ("changed", None, None, True)


def test_another_project_is_not_judged_by_the_files_here(
    open_memory: Opener, here: Engram, make_repo: RepoMaker
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    found = state(open_memory(make_repo("gadgets")), saved)
    assert (found.state, found.reason) == ("unknown", "not in the repository of its project")


def test_without_a_repository_everything_is_unknown(open_memory: Opener, here: Engram, tmp_path: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    (tmp_path / "plain").mkdir()
    assert state(open_memory(tmp_path / "plain"), saved).state == "unknown"


def test_a_shallow_clone_names_nobody_it_cannot_know(
    open_memory: Opener, here: Engram, root: Path, git: Git, tmp_path: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite", by="Bo")
    for _ in range(3):
        commit(git, root, "go on")
    git(root, "config", "remote.origin.url", "https://example.org/acme/widgets")
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{root}", "clone")
    git(tmp_path / "clone", "remote", "set-url", "origin", "https://example.org/acme/widgets")

    found = state(open_memory(tmp_path / "clone", project=saved.project), saved)

    assert (found.state, found.author) == ("changed", None)


# --- git that does not help ----------------------------------------------------------------------------------


def without_git(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder))


def test_without_git_a_change_is_seen_and_nobody_named(
    here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite")
    without_git(monkeypatch, tmp_path / "bin")
    assert blame(state(here, saved)) == ("changed", None, None, False)


def test_who_was_not_named_for_want_of_a_git_is_named_once_there_is_one(
    here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite")
    with monkeypatch.context() as elsewhere:
        without_git(elsewhere, tmp_path / "bin")
        assert state(here, saved).author is None
    assert blame(state(here, saved))[:2] == ("changed", 0)
    assert state(here, saved).author is not None


@pytest.mark.skipif(os.name == "nt", reason="the stand-in is a shell script")
def test_a_git_that_hangs_is_ended_and_not_asked_again(
    open_memory: Opener, here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite")
    folder = tmp_path / "bin"
    folder.mkdir()
    (folder / "git").write_text(f"#!/bin/sh\necho asked >> {tmp_path}/asked\nexec sleep 600\n")
    (folder / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{folder}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setattr("engram_py.git.program.TIMEOUT_SECONDS", 0.2)
    row = here.get(saved.id).observation

    first = here.anchors.states([row], patience=0.2)[saved.id][0]
    second = open_memory(root).anchors.states([row], patience=0.2)[saved.id][0]

    assert blame(first) == blame(second) == ("changed", None, None, False)
    assert (tmp_path / "asked").read_text().count("asked") == 1


def test_git_is_not_asked_where_nothing_changed(here: Engram, root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = about(here, f"{AUTH}:10-20", "src/login.py", "src/login.py:3")
    write(root, AUTH, ["import os", *lines("auth")])
    monkeypatch.setattr("subprocess.Popen", None)
    assert [found.state for found in states(here, saved)] == ["moved", "fresh", "fresh"]


def test_what_git_said_of_a_head_is_not_asked_again_by_the_next_process(
    open_memory: Opener, here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite", by="Bo")
    first = state(here, saved)
    monkeypatch.setattr("subprocess.Popen", None)
    assert state(open_memory(root), saved) == first
    assert first.author == "Bo"


def test_what_git_said_is_used_though_another_process_writes_and_it_cannot_be_kept(
    here: Engram, root: Path, git: Git, data_dir: Path
) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite", by="Bo")
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


def test_with_no_patience_git_is_not_asked(here: Engram, root: Path, git: Git, monkeypatch: pytest.MonkeyPatch) -> None:
    saved = about(here, f"{AUTH}:10-20")
    write(root, AUTH, ["all = new"])
    commit(git, root, "rewrite", by="Bo")
    row = here.get(saved.id).observation  # asks, and remembers
    write(root, "src/else.py", ["x = 1"])
    commit(git, root, "go on")
    monkeypatch.setattr("subprocess.Popen", None)
    assert blame(here.anchors.states([row], patience=0)[saved.id][0]) == ("changed", None, None, False)


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
