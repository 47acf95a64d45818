"""What becomes of the files of a memory that is written again, corrected, reviewed or deleted."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from engram_py import Draft, Engram
from engram_py.anchors import table
from engram_py.observations.values import Change
from tests.anchors.repositories import AUTH, WHERE, Repo, about, kept, lines, places, state, states, write
from tests.memory import Opener


def test_a_revision_is_about_the_files_as_they_are_when_it_is_written(here: Engram, root: Path) -> None:
    first = here.save(Draft("Topic", WHERE, topic_key="a/b", files=("src/login.py:1-5",)))
    write(root, AUTH, ["rewritten", *lines("auth")])
    write(root, "src/login.py", ["rewritten", *lines("login")])

    again = here.save(Draft("Topic", "**Where**: src/auth.py:1-3", topic_key="a/b"))

    assert again.id == first.id
    assert places(here, again) == [(AUTH, 1, 3, "where"), ("src/login.py", 2, 6, "given")]
    assert {one.state for one in states(here, again)} == {"fresh"}


def test_a_revision_that_lists_files_is_about_those(here: Engram) -> None:
    here.save(Draft("Topic", "one", topic_key="a/b", files=(AUTH,)))
    again = here.save(Draft("Topic", "two", topic_key="a/b", files=("src/login.py",)))
    assert places(here, again) == [("src/login.py", None, None, "given")]


def test_saying_the_same_again_without_files_keeps_them_and_with_files_replaces_them(here: Engram) -> None:
    first = about(here, AUTH)
    draft = Draft("About some code", here.get(first.id).observation.content)

    again = here.save(draft)
    assert (again.outcome, places(here, again)) == ("duplicate", [(AUTH, None, None, "given")])

    other = here.save(Draft(draft.title, draft.content, files=("src/login.py",)))
    assert (other.outcome, places(here, other)) == ("duplicate", [("src/login.py", None, None, "given")])


def test_a_corrected_content_is_read_for_its_where_line_again(here: Engram, root: Path) -> None:
    saved = here.save(Draft("Race", WHERE, files=("src/login.py:1-5",)))
    write(root, AUTH, ["rewritten", *lines("auth")])

    updated = here.observations.update(saved.id, Change(find="10-20`, src/login.py", replace="11-12`, src/no.py"))

    assert places(here, saved) == [(AUTH, 11, 12, "where"), ("src/login.py", 1, 5, "given")]
    assert {one.state for one in states(here, saved)} == {"fresh"}
    assert updated.warnings == ("not anchored: src/no.py (no such file)",)


def test_a_new_title_leaves_the_anchors_as_they_are(here: Engram, root: Path) -> None:
    saved = about(here, AUTH)
    write(root, AUTH, ["rewritten"])
    here.observations.update(saved.id, Change(title="Other"))
    assert state(here, saved).state == "changed"


def test_a_review_confirms_the_files_as_they_are(here: Engram, repo: Repo) -> None:
    saved = about(here, f"{AUTH}:10-20", "src/login.py:5-9", "src")
    repo.write(AUTH, ["fifteen = 1" if "auth_15" in line else line for line in lines("auth")])
    repo.git("mv", "src/login.py", "src/signin.py")
    assert [one.state for one in states(here, saved)] == ["changed", "moved", "unknown"]

    here.observations.mark_reviewed(saved.id)

    assert [one[:3] for one in places(here, saved)] == [(AUTH, 10, 20), ("src/signin.py", 5, 9), ("src", None, None)]
    assert [one.state for one in states(here, saved)] == ["fresh", "fresh", "unknown"]


def test_a_review_drops_a_file_that_is_gone(here: Engram, root: Path) -> None:
    saved = about(here, AUTH, "src/login.py")
    (root / AUTH).unlink()
    here.observations.mark_reviewed(saved.id)
    assert [one[0] for one in places(here, saved)] == ["src/login.py"]


def test_a_review_elsewhere_changes_nothing_it_cannot_see(open_memory: Opener, here: Engram, tmp_path: Path) -> None:
    saved = about(here, f"{AUTH}:10-20")
    before = kept(here, saved)
    (tmp_path / "plain").mkdir()
    open_memory(tmp_path / "plain").observations.mark_reviewed(saved.id)
    assert [(one.path, one.digest, one.git_commit) for one in kept(here, saved)] == [
        (one.path, one.digest, one.git_commit) for one in before
    ]


def test_a_save_that_fails_leaves_no_anchor(here: Engram, monkeypatch: pytest.MonkeyPatch, data_dir: Path) -> None:
    monkeypatch.setattr(table, "replace", lambda *_: (_ for _ in ()).throw(RuntimeError("in the middle")))
    with pytest.raises(RuntimeError, match="in the middle"):
        about(here, AUTH)
    with closing(sqlite3.connect(data_dir / "engram.db")) as database:
        assert database.execute("select count(*) from observations").fetchone() == (0,)


def test_a_repeated_operation_answers_the_same_notes_and_other_files_are_another_request(here: Engram) -> None:
    draft = Draft("Once", "text", operation_id="op-1", files=("src/nothing.py",))
    first = here.save(draft)
    assert here.save(draft).warnings == first.warnings
    with pytest.raises(Exception, match="operation_id was used before"):
        here.save(Draft("Once", "text", operation_id="op-1", files=(AUTH,)))


def test_a_hard_delete_takes_the_anchors_along(here: Engram) -> None:
    saved = about(here, AUTH)
    here.observations.delete(saved.id, hard=True)
    assert here.store.value("select count(*) from anchors") == 0
