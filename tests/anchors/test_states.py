"""What a memory says about the files it is about, after they changed."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from engram_py import Engram
from engram_py.observations.values import Saved
from tests.anchors.repositories import AUTH, Repo, about, blame, facts, lines, state, write

# --- in its own file ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [AUTH, f"{AUTH}:10-20", f"{AUTH}:7"])
def test_what_nobody_touched_is_fresh(here: Engram, name: str) -> None:
    assert facts(state(here, about(here, name))) == ("fresh", None, None, None)


def test_lines_stay_fresh_when_others_of_the_file_change(here: Engram, root: Path, saved: Saved) -> None:
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


def test_a_change_that_was_undone_is_fresh_again(here: Engram, repo: Repo, saved: Saved) -> None:
    repo.commit("rewrite", {AUTH: ["all = new"]})
    repo.git("revert", "--no-edit", "HEAD")
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


def test_a_line_that_stands_in_every_file_does_not_move_to_another(here: Engram, repo: Repo) -> None:
    repo.write(AUTH, [*lines("auth"), "return None"])
    saved = about(here, f"{AUTH}:41")
    repo.write(AUTH, lines("auth"))
    repo.write("src/other.py", [*lines("other"), "return None"])
    repo.commit("another file returns nothing")
    assert state(here, saved).state == "changed"


# --- in another file ---------------------------------------------------------------------------------------


def test_lines_are_found_in_a_file_that_was_renamed_and_changed_elsewhere(here: Engram, repo: Repo) -> None:
    saved = about(here, f"{AUTH}:10-20")
    repo.git("mv", AUTH, "src/identity.py")
    repo.commit("rename and change", {"src/identity.py": ["import os", *lines("auth")[:35]]})
    assert facts(state(here, saved)) == ("moved", "src/identity.py", 11, 21)


def test_lines_that_changed_in_a_renamed_file_are_said_to_be_there(here: Engram, repo: Repo, saved: Saved) -> None:
    repo.rename(AUTH, "src/identity.py", by="Bo")
    repo.write("src/identity.py", ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    repo.commit("change", by="Cy")

    found = state(here, saved)

    assert (*blame(found), found.now_path) == ("changed", 0, "Cy", False, "src/identity.py")


def test_a_copy_of_a_whole_file_does_not_hide_that_the_file_itself_changed(here: Engram, root: Path) -> None:
    saved = about(here, AUTH)
    shutil.copy(root / AUTH, root / "src/auth_old.py")
    write(root, AUTH, ["all = new"])
    assert state(here, saved).state == "changed"
